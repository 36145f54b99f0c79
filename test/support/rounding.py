"""Conversions of single numbers, written from their definitions with exact fractions."""

from fractions import Fraction
from functools import cache
from math import copysign, inf, isfinite, isnan, nan

import numpy as np

F32 = (24, -149, 127)
"""Bits of the significand, exponent of the last bit of the smallest numbers, largest exponent."""
F16 = (11, -24, 15)
BF16 = (8, -133, 127)
FORMATS = {"f32": F32, "f16": F16, "bf16": BF16}


@cache
def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def nearest(x: Fraction) -> int:
    """The nearest integer, the even one of two."""
    floor = x.numerator // x.denominator
    rest = x - floor
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and floor % 2 == 1)
    return floor + up


def rounded(x: float | Fraction, dtype: str) -> float:
    """A number as a float of type `dtype`, rounded once, to infinity when too large."""
    if isinstance(x, float) and not isfinite(x):
        return x
    exact = Fraction(x)
    if exact == 0:
        return copysign(0.0, x) if isinstance(x, float) else 0.0
    bits, lowest, highest = FORMATS[dtype]
    magnitude = abs(exact)
    # 2 ** (size - 1) <= magnitude < 2 ** (size + 1): one step away from the exponent at most.
    size = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent = max(size - bits, lowest)
    while magnitude >= _power(exponent + bits):
        exponent += 1
    found = nearest(magnitude / _power(exponent)) * _power(exponent)
    if found >= _power(highest + 1):
        return copysign(inf, exact)
    return copysign(float(found), exact)


def times(x: float, y: float, dtype: str = "f32") -> float:
    """The product of two floats, rounded once."""
    if not (isfinite(x) and isfinite(y)) or x == 0 or y == 0:
        if isnan(x) or isnan(y) or (0 in (abs(x), abs(y)) and not (isfinite(x) and isfinite(y))):
            return nan
        return x * y
    return rounded(Fraction(x) * Fraction(y), dtype)


def to_integer(x: float, low: int, high: int, offset: int = 0) -> int:
    """The nearest integer plus `offset`, saturated; 0 plus the offset for NaN."""
    if isnan(x):
        whole = 0
    elif not isfinite(x):
        whole = 1 << 40 if x > 0 else -(1 << 40)
    else:
        whole = nearest(Fraction(x))
    return min(max(whole + offset, low), high)


def without_low_bits(scale: float) -> float:
    """An f32 with the low 13 bits of its significand cleared."""
    bits = int(np.float32(scale).view(np.uint32)) & ~((1 << 13) - 1)
    return float(np.uint32(bits).view(np.float32))
