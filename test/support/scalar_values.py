"""Single values of element types in plain Python, from the definitions of their formats.

Nothing here uses npuc or numpy's arithmetic: it is what the kernels are held against.  A value is
an int, a float (which holds every f32, f16 and bf16 exactly), infinite or NaN included.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

FORMATS = {"f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}
"""Bits of the significand, least and largest exponent."""
INTEGERS = {
    "i8": (-128, 127),
    "ui8": (0, 255),
    "i16": (-32768, 32767),
    "i32": (-(2**31), 2**31 - 1),
}
NUMPY: dict[str, Any] = {
    "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i32": np.int32,
}  # fmt: skip


def round_fraction(value: Fraction, rounding: str) -> int:
    """An exact value as an integer."""
    low = math.floor(value)
    rest = value - low
    if rest == 0:
        return low
    if rounding == "odd":
        return low if low % 2 else low + 1
    if rounding in ("floor", "ceil", "zero"):
        up = rounding == "ceil" or (rounding == "zero" and value < 0)
        return low + up
    if rest != Fraction(1, 2):
        return low + (rest > Fraction(1, 2))
    if rounding == "even":
        return low + low % 2
    return low + (value > 0)


def round_to_format(value: Fraction, dtype: str, rounding: str = "even") -> float:
    """An exact value other than 0 in a float format; infinite where rounding goes beyond it."""
    precision, least, largest = FORMATS[dtype]
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent = max(exponent - (abs(value) < Fraction(2) ** exponent), least)
    quantum = Fraction(2) ** (exponent - precision + 1)
    result = round_fraction(value / quantum, rounding) * quantum
    top = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** largest
    if abs(result) <= top:
        return math.copysign(float(result), value)
    # Beyond the largest: that of the format where the rounding goes inwards, else infinity.
    inwards = rounding in ("zero", "odd") or rounding == ("floor" if value > 0 else "ceil")
    return math.copysign(float(top) if inwards else math.inf, value)


def convert(value: float, target: str, rounding: str = "even", saturate: str = "integers") -> float:
    """`value`, an int or a float, in another element type."""
    if target in FORMATS:
        return _to_float(value, target, rounding, saturate)
    low, high = INTEGERS[target]
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value) or saturate == "none":
            return 0
        return high if value > 0 else low
    whole = round_fraction(Fraction(value), rounding)
    if saturate != "none":
        return max(low, min(high, whole))
    return (whole - low) % (high - low + 1) + low


def _to_float(value: float, target: str, rounding: str, saturate: str) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        result = value
    elif value == 0:
        result = float(value)
    else:
        result = round_to_format(Fraction(value), target, rounding)
    if saturate != "all" or math.isfinite(result):
        return result
    precision, _, largest = FORMATS[target]
    top = float((2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** largest)
    return 0.0 if math.isnan(result) else math.copysign(top, result)


def array(values: list[Any], dtype: str) -> np.ndarray[Any, Any]:
    """Values that the type holds exactly, as an array."""
    with np.errstate(all="ignore"):
        return np.array(values, np.float64 if dtype in FORMATS else np.int64).astype(NUMPY[dtype])


def edges(dtype: str) -> list[Any]:
    """Values of a type at which something changes: ends, ties, subnormals, zeros, NaN."""
    if dtype in INTEGERS:
        low, high = INTEGERS[dtype]
        some = {0, 1, 2, 3, 5, 126, 127, 128, 255, 256, 257, 2049, 2051, 65505, 65519, 65520, 65521}
        some |= {2**24 + 1, 2**24 + 2, 2**24 + 3, 2**30 + 64, 2**30 + 65}
        values = {low, low + 1, high - 1, high} | some | {-v for v in some}
        return sorted(v for v in values if low <= v <= high)
    precision, least, largest = FORMATS[dtype]
    tiny = 2.0 ** (least - precision + 1)
    step = 2.0 ** (1 - precision)
    positive = [0.0, tiny, 3 * tiny, 2.0**least - tiny, 2.0**least, (2 - step) * 2.0**largest]
    positive += [0.25, 0.5, 0.5 - 0.25 * step, 0.5 + step, 1.0, 1 + step, 1.5, 2.5, 3.5, 126.5]
    positive += [127.5, 128.0, 254.5, 255.5, 32767.0, 32768.0, 2.0**31, 2.0**33, math.inf]
    # Between neighbours of f16 and of bf16: a quarter, half and three quarters of their steps.
    for unit in (2.0**-10, 2.0**-7, 2.0**-24, 2.0**-133):
        base = 1.0 if unit > 2.0**-20 else 0.0
        positive += [base + n * unit for n in (0.25, 0.5, 0.75, 1.25, 1.5, 1.75)]
    positive += [65504.0, 65519.0, 65520.0, 65536.0, 1 + 2.0**-8 + step, 2.0**127]
    values = [
        v for v in positive if math.isinf(v) or v == 0 or v == round_to_format(Fraction(v), dtype)
    ]
    return [*values, *(-v for v in values), math.nan]


def wrap(value: int, dtype: str) -> int:
    """The low bits of an integer as a value of an integer type."""
    low, high = INTEGERS[dtype]
    return (value - low) % (high - low + 1) + low


def _exactly(operation: str, a: float, b: float) -> Fraction:
    left, right = Fraction(a), Fraction(b)
    match operation:
        case "add":
            return left + right
        case "sub":
            return left - right
        case "mul":
            return left * right
        case _:
            return left / right


def _in_ieee(operation: str, a: float, b: float) -> float:
    """Results that are zero, infinite or NaN, whose signs no exact value tells."""
    match operation:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case _:
            if b != 0:
                return a / b
            sign = math.copysign(1, a) * math.copysign(1, b)
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, sign)


def compute(operation: str, a: float, b: float, dtype: str) -> float:
    """add, sub, mul or div of two floats, rounded to f32 and then to the type; or, wrapping, of two
    integers."""
    if dtype in INTEGERS:
        return wrap(int(_exactly(operation, a, b)), dtype)
    special = not (math.isfinite(a) and math.isfinite(b)) or (operation == "div" and b == 0)
    exact = None if special else _exactly(operation, a, b)
    if not exact:
        return _in_ieee(operation, float(a), float(b))
    return narrow(round_to_format(exact, "f32"), dtype)


def narrow(value: float, dtype: str) -> float:
    """A float rounded to a narrower type."""
    return convert(float(value), dtype)


def larger(a: float, b: float) -> float:
    """The larger, NaN if either is; of two zeros any."""
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b)


def smaller(a: float, b: float) -> float:
    """The smaller, NaN if either is; of two zeros any."""
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b)


def crossed(dtype: str, shift: int = 0) -> tuple[list[Any], list[Any]]:
    """Two rows of equal length in which every edge value meets many others."""
    values = edges(dtype)
    count = len(values)
    left = [values[i % count] for i in range(4 * count)]
    right = [values[(7 * i + i // count + shift) % count] for i in range(4 * count)]
    return left, right
