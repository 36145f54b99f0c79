"""The kinds of files the commands take, by the end of their name."""

from __future__ import annotations

from pathlib import Path

from ..dialects.core.errors import InputError

MODEL, PROGRAM = ".onnx", ".npu"


def kind_of(path: str) -> str:
    """`MODEL` or `PROGRAM`; `InputError` for any other name."""
    suffix = Path(path).suffix.lower()
    if suffix not in (MODEL, PROGRAM):
        raise InputError(
            f"{path} is no model",
            why=f"its name ends neither in {MODEL} nor in {PROGRAM}",
            hint=f"give an ONNX model ({MODEL}), or a program that npuc compiled ({PROGRAM})",
        )
    return suffix
