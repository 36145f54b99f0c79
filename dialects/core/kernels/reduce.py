"""Reductions over the last axis and softmax.

16-bit floats are reduced in f32 and rounded once; integers keep their type and wrap. The order of a
sum depends on the length of the axis only, never on the memory layout of the input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal

import numpy as np

from ..dtypes import BFLOAT16, Array
from ..errors import InputError

_HALVES = frozenset((np.dtype(np.float16), BFLOAT16))
_F32 = np.dtype(np.float32)

Combiner = Literal["add", "max", "min", "mul"]
Reduction = Callable[[Array], Array]


def _reduction(function: Reduction) -> Reduction:
    @wraps(function)
    def kernel(x: Array) -> Array:
        with np.errstate(all="ignore"):
            dtype = x.dtype
            wide = x.astype(_F32) if dtype in _HALVES else x
            # numpy chooses the order of a sum by strides: fix them.
            return np.asarray(function(np.ascontiguousarray(wide))).astype(dtype)

    return kernel


@_reduction
def reduce_add(x: Array) -> Array:
    """The sum over the last axis; 0 for an empty axis."""
    return np.add.reduce(x, axis=-1, dtype=x.dtype)


@_reduction
def reduce_mul(x: Array) -> Array:
    """The product over the last axis; 1 for an empty axis."""
    return np.multiply.reduce(x, axis=-1, dtype=x.dtype)


@_reduction
def reduce_max(x: Array) -> Array:
    """The maximum over the last axis; NaN if one is NaN, the lowest value for an empty axis."""
    return np.maximum.reduce(x, axis=-1, initial=neutral("max", x.dtype))


@_reduction
def reduce_min(x: Array) -> Array:
    """The minimum over the last axis; NaN if one is NaN, the highest value for an empty axis."""
    return np.minimum.reduce(x, axis=-1, initial=neutral("min", x.dtype))


def index_of_max(x: Array) -> Array:
    """Where the maximum of the last axis first is: an int64; the first NaN if there is one."""
    return np.argmax(_wide(x), axis=-1)


def index_of_min(x: Array) -> Array:
    """Where the minimum of the last axis first is: an int64; the first NaN if there is one."""
    return np.argmin(_wide(x), axis=-1)


def _wide(x: Array) -> Array:
    return x.astype(_F32) if x.dtype in _HALVES else x


REDUCTIONS: dict[str, Reduction] = {
    "add": reduce_add,
    "mul": reduce_mul,
    "max": reduce_max,
    "min": reduce_min,
}
"""The reduction of each combiner."""


def neutral(combiner: Combiner, dtype: np.dtype[Any]) -> Any:
    """The numpy scalar that does not change a reduction: 0, 1, or the far bound of the type."""
    if combiner in ("add", "mul"):
        return dtype.type(0 if combiner == "add" else 1)
    lowest = combiner == "max"
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return dtype.type(bounds.min if lowest else bounds.max)
    if dtype.kind == "b":
        return dtype.type(not lowest)
    return dtype.type(-np.inf if lowest else np.inf)


def softmax(x: Array, axis: int = -1) -> Array:
    """exp(x - max) / sum over `axis`, computed in f32 for 16-bit floats and rounded once.

    Any float type and shape; raises `InputError` for an axis outside the rank.
    """
    if not -x.ndim <= axis < x.ndim:
        raise InputError(f"softmax over axis {axis}", why=f"the input has {x.ndim} dimensions")
    dtype = x.dtype
    wide = x.astype(_F32) if dtype in _HALVES else x
    rows = np.moveaxis(wide, axis, -1)
    with np.errstate(all="ignore"):
        powers = np.exp(rows - reduce_max(rows)[..., None])
        result = powers / reduce_add(powers)[..., None]
    return np.moveaxis(result, -1, axis).astype(dtype)
