"""The element types npuc knows, by name, and the numpy dtypes that hold them.

Names are those of the IR text (`f32`, `bf16`, `ui8`, ...), with `bool` for a one-bit integer.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from .errors import InputError

Array: TypeAlias = npt.NDArray[Any]
"""A numpy array of any element type; the value of a tensor or buffer."""

BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
"""numpy's view of bf16, as ml_dtypes registers it."""

_NUMPY: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "bool": np.dtype(np.bool_),
}
_NAMES = {dtype: name for name, dtype in _NUMPY.items()}

NAMES: tuple[str, ...] = tuple(_NUMPY)
"""All names, in a fixed order."""

DEVICE: frozenset[str] = frozenset({"f32", "f16", "bf16", "i8", "ui8", "i16", "i32"})
"""The types a machine may store and compute in; the rest is legalised before the tensor level."""

FLOATS: frozenset[str] = frozenset({"f32", "f16", "bf16", "f64"})
"""The floating-point types."""

HALVES: frozenset[str] = frozenset({"f16", "bf16"})
"""The 16-bit floating-point types, which are computed in f32 and rounded once."""


def to_numpy(name: str) -> np.dtype[Any]:
    """The numpy dtype of the element type `name`; `InputError` if npuc has no such type."""
    try:
        return _NUMPY[name]
    except KeyError:
        known = ", ".join(NAMES)
        raise InputError(f"`{name}` is not an element type", hint=f"use one of {known}") from None


def from_numpy(dtype: npt.DTypeLike) -> str:
    """The name of a numpy dtype (any byte order); `InputError` if npuc has no such type."""
    plain = np.dtype(dtype).newbyteorder("=")
    try:
        return _NAMES[plain]
    except KeyError:
        known = ", ".join(NAMES)
        hint = f"use one of {known}"
        raise InputError(f"arrays of `{plain}` are not supported", hint=hint) from None


def itemsize(name: str) -> int:
    """Bytes of one element in memory (a bool takes one)."""
    return to_numpy(name).itemsize


def is_float(name: str) -> bool:
    """Whether `name` is a floating-point type."""
    return name in FLOATS
