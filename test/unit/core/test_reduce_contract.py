"""Reductions, softmax and matrix products."""

import ml_dtypes
import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import InputError
from npuc.dialects.core.kernels.contract import matmul, mmad
from npuc.dialects.core.kernels.reduce import REDUCTIONS, Combiner, neutral, reduce_add, softmax

HALVES = (np.float16, ml_dtypes.bfloat16)


@pytest.mark.parametrize("combiner", ["add", "max", "min", "mul"])
@pytest.mark.parametrize("dtype", [np.float32, *HALVES, np.int8, np.uint8, np.int32])
def test_reduction_over_the_last_axis(combiner: Combiner, dtype: type[np.generic]) -> None:
    x = np.random.default_rng(1).integers(0, 3, (3, 4, 5)).astype(dtype)
    got = REDUCTIONS[combiner](x)
    wide = {"add": np.sum, "max": np.max, "min": np.min, "mul": np.prod}[combiner]
    assert got.dtype == dtype
    assert got.astype(np.float64).tolist() == wide(x.astype(np.float64), axis=-1).tolist()
    empty = REDUCTIONS[combiner](x[..., :0])
    assert empty.shape == (3, 4)
    assert np.all(empty == neutral(combiner, np.dtype(dtype)))


def test_half_sums_are_rounded_once() -> None:
    # In f16 every addend after 2048 would be lost one by one.
    x = np.concatenate([[2048], np.ones(100)]).astype(np.float16)
    assert reduce_add(x) == np.float16(2148)


def test_a_sum_does_not_depend_on_memory_layout() -> None:
    x = np.random.default_rng(2).standard_normal((64, 1000)).astype(np.float32)
    assert np.array_equal(reduce_add(x), reduce_add(np.asfortranarray(x)))
    assert np.array_equal(reduce_add(x[:, ::2]), reduce_add(x[:, ::2].copy()))


def test_nan_reaches_the_maximum() -> None:
    x = np.array([[1, np.nan, 2]], np.float32)
    assert np.isnan(REDUCTIONS["max"](x)).all()
    assert np.isnan(REDUCTIONS["min"](x)).all()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", [np.float32, *HALVES])
def test_softmax(axis: int, dtype: type[np.generic]) -> None:
    x = (np.random.default_rng(3).standard_normal((4, 6)) * 50).astype(dtype)
    wide = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis, keepdims=True))
    expected = wide / wide.sum(axis, keepdims=True)
    got = softmax(x, axis)
    assert got.dtype == dtype
    limit = 1e-6 if dtype == np.float32 else 4e-3
    assert np.max(np.abs(got.astype(np.float64) - expected)) < limit


def test_softmax_of_no_axis_is_refused() -> None:
    with pytest.raises(InputError, match="softmax over axis 2"):
        softmax(np.zeros((2, 3), np.float32), 2)


def test_softmax_of_large_and_infinite_values() -> None:
    assert softmax(np.array([1e38, 1e38], np.float32)).tolist() == [0.5, 0.5]
    assert softmax(np.array([-np.inf, 0], np.float32)).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.float32, *HALVES])
def test_float_products_are_f32(dtype: type[np.generic]) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((2, 1, 5, 7), (3, 7, 4)))
    got = matmul(a, b)
    assert got.dtype == np.float32
    assert got.shape == (2, 3, 5, 4)
    wide = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert np.max(np.abs(got - wide)) < 1e-5
    assert np.array_equal(got[1, 2], matmul(a[1, 0], b[2]))


def test_a_product_does_not_depend_on_memory_layout() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((33, 129), (129, 65)))
    expected = matmul(a, b)
    assert np.array_equal(expected, matmul(np.asfortranarray(a), np.asfortranarray(b)))


@pytest.mark.parametrize(
    ("left", "right", "k"), [("int8", "int8", 1024), ("int8", "int8", 1025), ("uint8", "int8", 600)]
)
def test_integer_products_are_exact(left: str, right: str, k: int) -> None:
    a = np.full((2, k), np.iinfo(left).max, left)
    b = np.full((k, 2), np.iinfo(right).min, right)
    a[1] = np.iinfo(left).min
    got = matmul(a, b)
    assert got.dtype == np.int32
    assert np.array_equal(got, a.astype(np.int64) @ b.astype(np.int64))


def test_integer_products_wrap_at_32_bits() -> None:
    a = np.full((1, 3), 2**30, np.int32)
    expected = (a.astype(np.int64) @ a.T.astype(np.int64)).astype(np.int32)
    assert np.array_equal(matmul(a, a.T), expected)


def test_mmad_adds_one_product() -> None:
    rng = np.random.default_rng(6)
    a, b = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    accumulator: Array = rng.standard_normal((16, 16)).astype(np.float32)
    before = accumulator.copy()
    assert np.array_equal(mmad(accumulator, a, b, True), accumulator + matmul(a, b))
    assert np.array_equal(accumulator, before)
    accumulator[:] = np.nan
    assert np.array_equal(mmad(accumulator, a, b, False), matmul(a, b))
