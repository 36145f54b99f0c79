"""Conversion between element types: one rounding, saturating integers, NaN to zero."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..dtypes import BFLOAT16, Array, to_numpy

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I64_EXACT = 1 << 53
_STICKY_BITS = 11


def cast(x: Array, dtype: str, rounding: Literal["even", "zero"] = "even") -> Array:
    """Convert `x` (any shape, any npuc element type) to the element type named `dtype`.

    Floats round to nearest, ties to even, exactly once. Floats become integers by `rounding`
    ("even" is what the device does, "zero" truncates), integers saturate at the bounds of the
    target, NaN gives 0. A bool is `x != 0` (so NaN is true) and counts as 0 or 1. Raises
    `InputError` for an unknown name.
    """
    target = to_numpy(dtype)
    source = x.dtype
    if source == target:
        return x
    with np.errstate(all="ignore"):
        if target.kind == "b":
            return np.asarray(x != 0)
        if source.kind == "b":
            return x.astype(np.int8).astype(target)
        if target.kind in "iu":
            return _to_integer(x, target, rounding)
        return _to_float(x, target)


def _to_integer(x: Array, target: np.dtype[Any], rounding: Literal["even", "zero"]) -> Array:
    bounds = np.iinfo(target)
    if x.dtype.kind in "iu":
        return np.clip(x.astype(np.int64), bounds.min, bounds.max).astype(target)
    wide = x.astype(_F64)
    wide = np.rint(wide) if rounding == "even" else np.trunc(wide)
    wide = np.where(np.isnan(wide), 0.0, wide)
    # 2**63 - 1 is no f64 and 2**63 no int64, so the top is chosen, not converted.
    result = np.where(wide >= float(bounds.max), 0.0, np.maximum(wide, float(bounds.min)))
    return np.where(wide >= float(bounds.max), bounds.max, result.astype(np.int64)).astype(target)


def _to_float(x: Array, target: np.dtype[Any]) -> Array:
    if target != BFLOAT16:
        # numpy rounds f64 to f16 once; integers that f32 cannot hold are beyond f16 anyway.
        return x.astype(target)
    if x.dtype.kind in "iu":
        x = _integer_to_odd_f64(x)
    if x.dtype == _F64:
        x = _f64_to_odd_f32(x)
    return x.astype(_F32).astype(target)


def _integer_to_odd_f64(x: Array) -> Array:
    """Integers as f64 with the bits that do not fit kept as a sticky last bit (round to odd)."""
    wide = x.astype(np.int64)
    sticky = (wide >> _STICKY_BITS) | ((wide & ((1 << _STICKY_BITS) - 1)) != 0)
    scaled = sticky.astype(_F64) * float(1 << _STICKY_BITS)
    large = (wide >= _I64_EXACT) | (wide <= -_I64_EXACT)
    return np.where(large, scaled, wide.astype(_F64))


def _f64_to_odd_f32(x: Array) -> Array:
    """f64 as f32 rounded to odd, so that a second rounding to bf16 equals one rounding from f64."""
    near = np.asarray(x, dtype=_F32)
    wide = near.astype(_F64)
    truncated = np.where(np.abs(wide) > np.abs(x), np.nextafter(near, _F32.type(0)), near)
    odd = (truncated.view(np.uint32) | 1).view(_F32)
    return np.where((wide != x) & np.isfinite(x), odd, near)
