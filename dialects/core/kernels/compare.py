"""Comparisons, the bits that hold their results, and selection by such bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import Array

Flags = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

COMPARISONS: dict[str, Callable[[Any, Any], Flags]] = {
    "lt": np.less,
    "gt": np.greater,
    "eq": np.equal,
    "le": np.less_equal,
    "ge": np.greater_equal,
    "ne": np.not_equal,
}
"""Comparisons by name, for shapes that broadcast.  NaN is not equal to anything, and neither less
nor greater: only `ne` holds for it.  Zeros of either sign are equal."""


def pack_bits(flags: Flags) -> Bytes:
    """bool[..., n] as uint8[..., ceil(n / 8)]: flag i is bit i % 8 of byte i / 8, others are 0."""
    return np.packbits(flags, axis=-1, bitorder="little")


def unpack_bits(packed: Bytes, count: int) -> Flags:
    """The first `count` flags of what `pack_bits` made."""
    bits = np.unpackbits(packed, axis=-1, count=count, bitorder="little")
    return bits.view(np.bool_)


def select(flags: Flags, a: Array, b: Array) -> Array:
    """`a` where the flag is set, else `b`, which have one element type; bits are kept."""
    return np.where(flags, a, b)
