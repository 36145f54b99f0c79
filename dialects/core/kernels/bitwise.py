"""Logic and shifts on the bits of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array


def bit_and(a: Array, b: Array) -> Array:
    """Bits that are set in both."""
    return np.bitwise_and(a, b)


def bit_or(a: Array, b: Array) -> Array:
    """Bits that are set in either."""
    return np.bitwise_or(a, b)


def bit_not(x: Array) -> Array:
    """Bits that are not set."""
    return np.bitwise_not(x)


def shift_left(x: Array, count: int) -> Array:
    """Integers moved up by `count` bits, 0 to all of them; zeros follow, what leaves is lost."""
    bits = x.dtype.itemsize * 8
    return np.zeros_like(x) if count >= bits else np.left_shift(x, x.dtype.type(count))


def shift_right(x: Array, count: int, *, logical: bool = False, nearest: bool = False) -> Array:
    """Integers moved down by `count` bits, 0 to all of them.

    Copies of the sign follow, zeros when `logical`.  With `nearest` the last bit that left is added
    to the result, which rounds x / 2**count to nearest, ties upwards.
    """
    unsigned: np.dtype[Any] = np.dtype(f"u{x.dtype.itemsize}")
    wide = (x.view(unsigned) if logical else x).astype(np.int64)
    result = wide >> count
    if nearest and count:
        result += (wide >> (count - 1)) & 1
    return result.astype(x.dtype)
