"""Constants of a model: their element type and shape now, their values only when asked for.

Values are inline in the message, at a known place of the model's file, or in a file beside it.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....dialects.core.dtypes import Array, itemsize, to_numpy
from ....dialects.core.errors import InputError
from . import messages
from .reading import Source

# `TensorProto.DataType` to npuc's element types; the rest (strings, complex, 4 and 8-bit floats,
# 4-bit and other unsigned integers) has no counterpart.
ELEMENT_TYPES: dict[int, str] = {
    1: "f32",
    2: "ui8",
    3: "i8",
    5: "i16",
    6: "i32",
    7: "i64",
    9: "bool",
    10: "f16",
    11: "f64",
    16: "bf16",
}
EXTERNAL = 1
"""`TensorProto.DataLocation`: the data is in another file."""


def type_name(data_type: int) -> str:
    """npuc's name of an ONNX element type, or ONNX's own in lower case where there is none."""
    if data_type in ELEMENT_TYPES:
        return ELEMENT_TYPES[data_type]
    from onnx import TensorProto

    known = {number: name for name, number in TensorProto.DataType.items()}
    return known.get(data_type, f"type {data_type}").lower()


class FileRange(NamedTuple):
    """`length` bytes of the file `path`, from byte `offset` on: little-endian, row-major values."""

    path: Path
    offset: int
    length: int


class Constant(NamedTuple):
    """A constant tensor of the model.

    `dtype` is npuc's name (or ONNX's, if npuc has no such type); `range` says where the bytes of
    the values are in a file, or is None if the values are only in the message.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    range: FileRange | None
    tensor: messages.Tensor

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * itemsize(self.dtype)

    def values(self) -> Array:
        """The values, of `shape` and `dtype`; `InputError` if the data is not all there."""
        if self.tensor.data_location == EXTERNAL:
            assert self.range is not None
            data = _read_range(self.range, self.name)
        else:
            data = _inline_bytes(self.tensor, self.dtype)
        if len(data) != self.nbytes:
            raise InputError(
                f"the constant `{self.name}` does not have the size its shape says",
                why=f"{self.dtype}{list(self.shape)} takes {self.nbytes} bytes, not {len(data)}",
                hint="export the model again; its data was damaged",
            )
        little_endian = to_numpy(self.dtype).newbyteorder("<")
        return np.frombuffer(data, little_endian).astype(to_numpy(self.dtype)).reshape(self.shape)


def _inline_bytes(tensor: messages.Tensor, dtype: str) -> bytes:
    """The little-endian values of a tensor whose data is in the message."""
    if tensor.raw_data:
        return tensor.raw_data
    target = to_numpy(dtype)
    if dtype == "f32":
        values = np.array(tensor.float_data, np.float32)
    elif dtype == "f64":
        values = np.array(tensor.double_data, np.float64)
    elif dtype == "i64":
        values = np.array(tensor.int64_data, np.int64)
    elif dtype in ("f16", "bf16"):  # ONNX keeps their bits in 32-bit integers
        values = np.array(tensor.int32_data, np.int32).astype(np.uint16).view(target)
    else:
        values = np.array(tensor.int32_data, np.int32).astype(target)
    return values.astype(values.dtype.newbyteorder("<")).tobytes()


def _read_range(where: FileRange, name: str) -> bytes:
    """The bytes of a constant in another file."""
    try:
        with where.path.open("rb") as file:
            file.seek(where.offset)
            return file.read(where.length)
    except OSError as error:
        raise InputError(
            f"the data of the constant `{name}` cannot be read",
            where=str(where.path),
            why=error.strerror or str(error),
        ) from error


def constant(
    tensor: messages.Tensor, name: str, source: Source, place: tuple[int, int] | None
) -> Constant:
    """The constant in `tensor`, called `name`; `place` is where the file holds its data, if known.

    `InputError` if the data is in another file that is missing, too short, or not below the folder
    of the model.
    """
    dtype, shape = type_name(tensor.data_type), tuple(tensor.dims)
    if tensor.data_location == EXTERNAL:
        where = _external_range(tensor, name, source)
    elif place and source.path and _fills(place[1], dtype, shape):
        where = FileRange(source.path, *place)
    else:
        where = None
    return Constant(name, dtype, shape, where, tensor)


def _fills(length: int, dtype: str, shape: tuple[int, ...]) -> bool:
    """Whether `length` bytes are the values of such a tensor, one after the other."""
    return dtype in ELEMENT_TYPES.values() and length == math.prod(shape) * itemsize(dtype)


def _external_range(tensor: messages.Tensor, name: str, source: Source) -> FileRange:
    """Where the data of a constant in another file is, checked to exist."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    what = f"the data of the constant `{name}` is missing"
    location = entries.get("location", "")
    if not location:
        raise InputError(what, why="it is said to be in another file, but no file is named")
    if source.path is None:
        raise InputError(
            what,
            why=f"it is in the file `{location}`, relative to a model file that is not known",
            hint="give the path of the model instead of its contents",
        )
    folder = source.path.parent
    path = (folder / location).resolve()
    if not path.is_relative_to(folder):
        raise InputError(
            what,
            where=str(path),
            why=f"the model may only name files below its own folder {folder}",
            hint="move the file there",
        )
    if not path.is_file():
        raise InputError(
            what,
            where=str(path),
            why="there is no such file",
            hint="copy it beside the model; the exporter wrote both",
        )
    return _sized_range(tensor, name, path, entries)


def _sized_range(
    tensor: messages.Tensor, name: str, path: Path, entries: dict[str, str]
) -> FileRange:
    """The part of an existing file that holds a constant, checked to be there."""
    try:
        offset = int(entries.get("offset", "0"))
        rest = path.stat().st_size - offset
        length = int(entries.get("length", str(rest)))
    except ValueError as error:
        raise InputError(
            f"the place of the constant `{name}` in {path} is not a number", why=str(error)
        ) from error
    if offset < 0 or length < 0 or length > rest:
        raise InputError(
            f"the data of the constant `{name}` is cut off",
            where=str(path),
            why=f"bytes {offset} to {offset + length} are meant, the file has {offset + rest}",
            hint="copy the file again",
        )
    return FileRange(path, offset, length)
