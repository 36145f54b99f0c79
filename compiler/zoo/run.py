"""Running a fetched model: its entry of the table as a request to `compiler.run`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ...dialects.core.dtypes import Array
from ..frontends.onnx import messages
from ..frontends.onnx.reading import require_onnx
from ..frontends.onnx.tensors import Constant, type_name
from ..request import Request
from .fetch import Fetched


def as_request(
    fetched: Fetched, *, target: str | None, precision: str | None, level: str
) -> Request:
    """The request to run a model as its entry says; `InputError` without the package `onnx`."""
    entry = fetched.entry
    return Request(
        model=str(fetched.path),
        inputs=_tensors(fetched.folder, entry.inputs),
        expect=_tensors(fetched.folder, entry.outputs),
        target=target,
        precision=precision,
        level=level,
        shapes=entry.shapes,
    )


def _tensors(folder: Path, names: Sequence[str]) -> list[Array] | None:
    """The arrays in files that hold a TensorProto each, in order; None without files."""
    return [read_tensor(folder / name) for name in names] or None


def read_tensor(path: Path) -> Array:
    """The array in a file that holds a TensorProto; `InputError` without the package `onnx`."""
    require_onnx()
    import onnx

    message = cast(Any, onnx).TensorProto()
    message.ParseFromString(path.read_bytes())
    tensor = cast(messages.Tensor, message)
    type_ = type_name(tensor.data_type)
    return Constant(tensor.name or path.name, type_, tuple(tensor.dims), None, tensor).values()
