"""Two operations in one: multiply and add, operations that end in a relu, leaky relus.

16-bit floats are computed in f32, where each of the two operations rounds, and rounded once more at
the end; f32 rounds after each operation.  NaN stays NaN.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import Array

_F32 = np.dtype(np.float32)


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a * b + c for floats whose shapes broadcast, in the element type of `c`; `a` and `b` may be
    f16 where `c` is f32."""
    with np.errstate(all="ignore"):
        return np.add(np.multiply(a.astype(_F32), b.astype(_F32)), c.astype(_F32)).astype(c.dtype)


def multiply_add_relu(a: Array, b: Array, c: Array) -> Array:
    """max(a * b + c, 0)."""
    return np.maximum(multiply_add(a, b, c), c.dtype.type(0))


def add_relu(a: Array, b: Array) -> Array:
    """max(a + b, 0); the sum of integers saturates."""
    return _relu(a, b, 1)


def sub_relu(a: Array, b: Array) -> Array:
    """max(a - b, 0); the difference of integers saturates."""
    return _relu(a, b, -1)


def leaky_relu(x: Array, slope: Array) -> Array:
    """`x`, or x * slope where it is less than 0; one float type, shapes that broadcast."""
    with np.errstate(all="ignore"):
        scaled = np.multiply(x.astype(_F32), slope.astype(_F32)).astype(x.dtype)
    return np.where(x < 0, scaled, x)


def _relu(a: Array, b: Array, sign: int) -> Array:
    dtype = a.dtype
    combine = np.add if sign > 0 else np.subtract
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            wide = combine(a.astype(np.int64), b.astype(np.int64))
            return np.clip(wide, 0, np.iinfo(dtype).max).astype(dtype)
        return np.maximum(combine(a.astype(_F32), b.astype(_F32)).astype(dtype), dtype.type(0))
