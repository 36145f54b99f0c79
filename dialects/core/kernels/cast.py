"""Conversion between element types: one rounding, saturating integers, NaN to zero."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..dtypes import BFLOAT16, Array, to_numpy
from ..errors import InputError

Rounding = Literal["even", "zero", "floor", "ceil", "away", "odd"]
"""To nearest with ties to even; towards zero, minus or plus infinity; to nearest with ties away
from zero; to the neighbour with an odd last bit unless exact."""
Overflow = Literal["integers", "all", "none"]
"""What saturates: integers alone, floats as well (NaN gives 0), or nothing (integers wrap)."""

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I64_EXACT = 1 << 53
_STICKY_BITS = 11
_MAGNITUDES = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def cast(
    x: Array, dtype: str, rounding: Rounding = "even", saturate: Overflow = "integers"
) -> Array:
    """Convert `x` (any shape, any npuc element type) to the element type named `dtype`.

    Values are rounded exactly once, by `rounding`.  Integers saturate at the bounds of the target
    unless `saturate` is "none", which keeps the low bits; NaN gives 0, and so does an infinity that
    does not saturate.  Floats overflow to infinity unless `saturate` is "all", which gives the
    largest finite value, also for infinities, and 0 for NaN.  Equal types are not converted.  A
    bool is `x != 0` (so NaN is true) and counts as 0 or 1.  Raises `InputError` for an unknown
    name and for floats that become integers by "odd".
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
            return _to_integer(x, target, rounding, saturate != "none")
        result = _to_float(x, target)
        if rounding != "even":
            result = _redirect(x, result, rounding)
        return saturated(result) if saturate == "all" else result


def round_to_integer(x: Array, rounding: Rounding) -> Array:
    """Floats rounded to integers, as floats of the same type; zeros, infinities and NaN stay.

    "away" is exact for every float, also for the largest below a half.  Raises `InputError` for
    "odd", which only goes between floats.
    """
    with np.errstate(all="ignore"):
        match rounding:
            case "even":
                return np.rint(x)
            case "zero":
                return np.trunc(x)
            case "floor":
                return np.floor(x)
            case "ceil":
                return np.ceil(x)
            case "odd":
                raise InputError("no rounding to odd integers is defined")
            case "away":
                cut = np.trunc(x)
                half = x.dtype.type(0.5)
                return np.where(np.abs(x - cut) >= half, cut + np.copysign(1, x), cut)


def saturated(x: Array) -> Array:
    """Floats with infinities at the largest finite values and NaN at 0."""
    bits = _MAGNITUDES[x.dtype.itemsize]
    infinity = np.asarray(np.inf, x.dtype).view(bits)
    largest = (infinity - bits.type(1)).astype(bits).view(x.dtype)
    limited = np.where(np.isinf(x), np.copysign(largest, x), x)
    return np.where(np.isnan(x), x.dtype.type(0), limited)


def _to_integer(x: Array, target: np.dtype[Any], rounding: Rounding, saturate: bool) -> Array:
    bounds = np.iinfo(target)
    if x.dtype.kind in "iu":
        wide = x.astype(np.int64)
        return (np.clip(wide, bounds.min, bounds.max) if saturate else wide).astype(target)
    wide = round_to_integer(x.astype(_F64), rounding)
    if not saturate:
        wrapped = np.fmod(np.where(np.isfinite(wide), wide, 0.0), float(1 << bounds.bits))
        return wrapped.astype(np.int64).astype(target)
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


def _redirect(x: Array, near: Array, rounding: Rounding) -> Array:
    """`near` is `x` rounded to nearest, ties to even: round it as told instead.

    Floats of one sign are in the order of their bits, so the neighbours of a magnitude are one up
    and one down, infinity included.
    """
    exact = np.abs(_integer_to_odd_f64(x) if x.dtype.kind in "iu" else x.astype(_F64))
    bits = _MAGNITUDES[near.dtype.itemsize]
    one = bits.type(1)
    codes = np.abs(near).view(bits)
    codes = np.where(codes.view(near.dtype).astype(_F64) > exact, codes - one, codes)
    below = codes.view(near.dtype).astype(_F64)
    inexact = below < exact
    negative = np.signbit(near)
    match rounding:
        case "floor":
            up = inexact & negative
        case "ceil":
            up = inexact & ~negative
        case "odd":
            up = inexact & (codes & one == 0)
        case "away":
            above = (codes + one).view(near.dtype).astype(_F64)
            up = inexact & (exact - below >= above - exact)
            # Beyond the largest finite value the distance to infinity says nothing.
            up = np.where(np.isinf(above), np.isinf(near.astype(_F64)) & inexact, up)
        case _:
            up = np.zeros_like(inexact)
    result = np.where(up, codes + one, codes).view(near.dtype)
    return np.where(np.isnan(exact), near, np.copysign(result, near))


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
