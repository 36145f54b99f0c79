"""The Python API: `npuc.compile`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..backend.runtime.executable import Executable
from ..dialects.target.machines import DEFAULT
from .driver import compile_model
from .pipeline import Options


def compile(
    model: str | Path | bytes | Any,
    machine: str | Path = DEFAULT,
    precision: str = "mixed",
    *,
    strict: bool = False,
) -> Executable:
    """Compile a model for a machine; call the result with numpy arrays.

    `model` is an ONNX file, its bytes, or an `onnx.ModelProto`; `machine` a built-in name or the
    path of a TOML file; `precision` one of `origin`, `mixed` and `f16`; `strict` refuses
    what only the host engine (the AI CPU) can do. Raises `NpucError`, whose
    text says what is wrong, where, and what to do.
    """
    return Executable(compile_model(model, Options(str(machine), precision, strict)).program)
