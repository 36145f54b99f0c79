"""Conversion between element types, against exact rational arithmetic."""

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.dialects.core.dtypes import NAMES, to_numpy
from npuc.dialects.core.errors import InputError
from npuc.dialects.core.kernels.cast import cast

EVERY_BF16 = np.arange(65536, dtype=np.uint16).view(ml_dtypes.bfloat16)
FINITE_BF16 = np.sort(EVERY_BF16[np.isfinite(EVERY_BF16.astype(np.float32))].astype(np.float64))


def nearest_bf16(value: Fraction) -> float:
    """The bf16 nearest to an exact value, ties to the even last bit, infinite if too large."""
    top = Fraction(float(FINITE_BF16[-1]))
    if abs(value) >= top + top / (2 * 255):  # half a step above the largest
        return float("inf") if value > 0 else float("-inf")
    at = int(np.searchsorted(FINITE_BF16, float(value)))
    near = FINITE_BF16[max(at - 2, 0) : at + 3]

    def distance(candidate: float) -> tuple[Fraction, int]:
        bits = int(np.array(candidate, ml_dtypes.bfloat16).view(np.uint16))
        return abs(Fraction(candidate) - value), bits & 1

    return min((float(x) for x in near), key=distance)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_f64_to_bf16_is_rounded_once(value: float) -> None:
    got = cast(np.array(value), "bf16")
    assert got.dtype == ml_dtypes.bfloat16
    assert float(got) == nearest_bf16(Fraction(value))


@pytest.mark.parametrize("sign", [1, -1])
def test_f64_just_above_a_tie_does_not_round_twice(sign: int) -> None:
    # 1 + 2**-8 is halfway between two bf16; f32 cannot hold what decides.
    value = sign * (1 + 2.0**-8 + 2.0**-40)
    assert float(cast(np.array(value), "bf16")) == sign * (1 + 2.0**-7)


@given(st.integers(-(2**63), 2**63 - 1))
def test_i64_to_bf16_is_rounded_once(value: int) -> None:
    got = cast(np.array(value, np.int64), "bf16")
    assert float(got) == nearest_bf16(Fraction(value))


@given(st.integers(-(2**31), 2**31 - 1))
def test_i32_to_f16_and_f32(value: int) -> None:
    array = np.array(value, np.int32)
    with np.errstate(over="ignore"):
        assert float(cast(array, "f16")) == float(np.float64(value).astype(np.float16))
        assert float(cast(array, "f32")) == float(np.float64(value).astype(np.float32))


def saturated(value: float, bounds: Any, rounding: str) -> int:
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return bounds.max if value > 0 else bounds.min
    whole = round(Fraction(value)) if rounding == "even" else int(value)
    return max(bounds.min, min(bounds.max, whole))


@pytest.mark.parametrize("rounding", ["even", "zero"])
@pytest.mark.parametrize("dtype", ["i8", "ui8", "i16", "i32", "i64"])
@given(value=st.one_of(st.floats(width=32), st.floats(-300, 300, width=32), st.just(2.5)))
def test_float_to_integer_saturates(value: float, dtype: str, rounding: Any) -> None:
    got = cast(np.array(value, np.float32), dtype, rounding)
    assert got.dtype == to_numpy(dtype)
    assert int(got) == saturated(value, np.iinfo(to_numpy(dtype)), rounding)


def test_half_floats_become_integers() -> None:
    for dtype in (np.float16, ml_dtypes.bfloat16):
        array = np.array([0.5, 1.5, -2.5, np.nan, np.inf], dtype)
        assert cast(array, "i8").tolist() == [0, 2, -2, 0, 127]


@pytest.mark.parametrize("target", ["i8", "ui8", "i16", "i32"])
@given(value=st.integers(-(2**63), 2**63 - 1))
def test_integers_saturate(value: int, target: str) -> None:
    bounds = np.iinfo(to_numpy(target))
    got = cast(np.array(value, np.int64), target)
    assert int(got) == max(bounds.min, min(bounds.max, value))


def test_bool_is_not_zero_and_counts_as_one() -> None:
    assert cast(np.array([0.0, -0.0, 0.5, np.nan], np.float32), "bool").tolist() == [0, 0, 1, 1]
    for name in NAMES:
        assert cast(np.array([True, False]), name).astype(np.float32).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_every_pair_keeps_small_numbers_and_shape(source: str, target: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(to_numpy(source))
    got = cast(array, target)
    assert got.shape == (2, 2)
    assert got.dtype == to_numpy(target)
    assert got.astype(np.float64).tolist() == [[0, 1], [1, 0]]


def test_special_floats_survive() -> None:
    array = np.array([np.inf, -np.inf, np.nan, -0.0, 1e300, 1e-300])
    for target in ("f32", "f16", "bf16"):
        got = cast(array, target).astype(np.float64)
        assert got[:2].tolist() == [np.inf, -np.inf]
        assert np.isnan(got[2])
        assert np.signbit(got[3])
        assert got[4] == np.inf
        assert got[5] == 0.0


def test_unknown_type_is_refused() -> None:
    with pytest.raises(InputError, match="`f8` is not an element type"):
        cast(np.zeros(3), "f8")
