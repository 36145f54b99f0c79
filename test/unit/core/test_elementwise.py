"""Elementwise kernels: exact element types, one rounding, NaN that passes through."""

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import ExecutionError
from npuc.dialects.core.kernels import elementwise as ew

FLOATS = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
BINARY = (ew.add, ew.sub, ew.mul, ew.div, ew.maximum, ew.minimum, ew.power)
UNARY = (ew.exp, ew.ln, ew.sqrt, ew.rsqrt, ew.rec, ew.absolute, ew.neg, ew.relu, ew.tanh, ew.erf)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kernel", BINARY)
def test_binary_keeps_its_type_and_computes_in_f32(
    kernel: Callable[[Array, Array], Array], dtype: np.dtype[np.generic]
) -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(0.1, 4, (8, 16)).astype(dtype)
    b = rng.uniform(0.1, 4, (16,)).astype(dtype)
    got = kernel(a, b)
    assert got.dtype == dtype
    assert got.shape == (8, 16)
    wide = kernel(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    assert np.array_equal(got.view(np.uint8), wide.view(np.uint8))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kernel", UNARY)
def test_unary_keeps_its_type_and_computes_in_f32(
    kernel: Callable[[Array], Array], dtype: np.dtype[np.generic]
) -> None:
    x = np.random.default_rng(0).uniform(0.1, 4, (8, 16)).astype(dtype)
    got = kernel(x)
    assert got.dtype == dtype
    assert np.array_equal(got, kernel(x.astype(np.float32)).astype(dtype))


@pytest.mark.parametrize("kernel", [*BINARY, *UNARY])
def test_nan_passes_through_and_nothing_warns(kernel: Callable[..., Array]) -> None:
    for dtype in FLOATS:
        largest = {"float32": 3.4e38, "float16": 65504.0, "bfloat16": 3.3e38}[dtype.name]
        x = np.array([np.nan, np.inf, -np.inf, 0.0, -1.0, largest]).astype(dtype)
        got = kernel(x, x[::-1]) if kernel in BINARY else kernel(x)
        if kernel is not ew.power:
            assert np.isnan(got.astype(np.float32)[0])


def test_maximum_and_minimum_give_nan_from_either_side() -> None:
    one, nan = np.ones(2, np.float16), np.full(2, np.nan, np.float16)
    for kernel in (ew.maximum, ew.minimum):
        assert np.isnan(kernel(one, nan)).all()
        assert np.isnan(kernel(nan, one)).all()


def test_zeros_and_infinities() -> None:
    zero = np.array([0.0, -0.0], np.float32)
    assert np.signbit(ew.neg(zero)).tolist() == [True, False]
    assert ew.rec(zero).tolist() == [np.inf, -np.inf]
    assert ew.ln(zero).tolist() == [-np.inf, -np.inf]
    assert ew.relu(np.array([-1.0, 2.0], np.float32)).tolist() == [0.0, 2.0]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_integers_wrap_and_divide_towards_zero(dtype: type[np.signedinteger]) -> None:
    top = np.array([np.iinfo(dtype).max], dtype)
    one = np.ones(1, dtype)
    assert ew.add(top, one)[0] == np.iinfo(dtype).min
    a, b = np.array([7, -7, 7, -7], dtype), np.array([2, 2, -2, -2], dtype)
    assert ew.div(a, b).tolist() == [3, -3, -3, 3]
    assert ew.rem(a, b).tolist() == [1, -1, 1, -1]
    assert ew.floor_div(a, b).tolist() == [3, -4, -4, 3]
    assert ew.ceil_div(a, b).tolist() == [4, -3, -3, 4]
    assert ew.div(a, b).dtype == dtype


@pytest.mark.parametrize("kernel", [ew.div, ew.rem, ew.floor_div, ew.ceil_div])
def test_integer_division_by_zero_is_an_error(kernel: Callable[[Array, Array], Array]) -> None:
    with pytest.raises(ExecutionError, match="division by zero"):
        kernel(np.array([1, 2], np.int32), np.array([1, 0], np.int32))


def test_erf_is_accurate() -> None:
    x = np.concatenate([np.linspace(-7, 7, 20001), [1e-30, 0.0, -0.0, np.inf, -np.inf]])
    exact = np.array([math.erf(v) for v in x])
    assert np.max(np.abs(ew.erf(x) - exact)) < 1e-14
    single = ew.erf(x.astype(np.float32))
    reference = np.array([math.erf(float(v)) for v in x.astype(np.float32)]).astype(np.float32)
    assert np.max(np.abs(single - reference) / np.spacing(np.abs(reference))) <= 2
    assert np.signbit(ew.erf(np.array(-0.0, np.float32)))
    assert ew.erf(np.array(0.5, np.float32)).dtype == np.float32
