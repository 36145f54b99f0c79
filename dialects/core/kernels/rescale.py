"""What happens to accumulators on their way out of the matrix unit: scale, clamp, round."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ..dtypes import Array
from .cast import cast
from .elementwise import mul, relu

Clamp = Literal["none", "relu", "leaky", "prelu"]
"""Nothing, max(x, 0), or x times a slope where x is negative: one slope, or one a channel."""

_F32 = np.dtype(np.float32)
_DROPPED = np.uint32((1 << 13) - 1)


class Rescaling(NamedTuple):
    """How accumulators become results; arrays broadcast against the accumulators.

    `scale` is None for no scaling.  `offset` is added to integer results that were scaled, `slope`
    belongs to the clamps that have one.
    """

    dtype: str
    scale: Array | None = None
    offset: Array | int = 0
    clamp: Clamp = "none"
    slope: Array | float = 0.0


def kept_scale(scale: Array) -> Array:
    """f32 scales without the low 13 bits of their mantissa, which the hardware does not keep."""
    bits = np.ascontiguousarray(scale, _F32).view(np.uint32)
    return (bits & ~_DROPPED).view(_F32)


def rescale(x: Array, how: Rescaling) -> Array:
    """Accumulators (f32 or i32, any shape) as results of type `how.dtype`.

    With a scale: x as f32 times the scale in f32, each rounded once; then the clamp, in f32; then
    to f16, the largest finite number instead of an infinity, or to the nearest integer (ties to
    even, NaN to 0), the offset added and saturated.  Without: the clamp and one conversion; types
    that are equal stay as they are.
    """
    if how.scale is None:
        return cast(_clamped(x, how), how.dtype)
    scaled = _clamped(mul(x.astype(_F32), kept_scale(how.scale)), how)
    if how.dtype == "f16":
        return cast(scaled, "f16", saturate="all")
    return cast(cast(scaled, "i32").astype(np.int64) + how.offset, how.dtype)


def _clamped(x: Array, how: Rescaling) -> Array:
    if how.clamp == "none":
        return x
    if how.clamp == "relu":
        return relu(x)
    with np.errstate(all="ignore"):
        return np.where(x < 0, x * np.asarray(how.slope, _F32), x)
