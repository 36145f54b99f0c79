"""Graph ops: what `evaluate`, `infer` and `cost` say where frameworks do not decide it for us."""

import re
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.core.attributes import tensor_of, typed
from npuc.dialects.core.dtypes import BFLOAT16, Array, from_numpy, to_numpy
from npuc.dialects.core.ops import Cost, NpucOp
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.graph.contraction import GemmOp, MatMulOp
from npuc.dialects.graph.dialect import DIALECT
from npuc.dialects.graph.elementwise import AddOp, ReluOp
from npuc.dialects.graph.movement import CastOp, ReshapeOp, TransposeOp
from npuc.dialects.graph.normalization import SoftmaxOp

OPERATIONS = [op for op in DIALECT.operations if issubclass(op, NpucOp)]


def value(dtype: str, *shape: int) -> SSAValue:
    """A value of a tensor type."""
    return test.TestOp(result_types=[tensor_of(dtype, shape)]).results[0]


def example(op: type[Operation]) -> NpucOp:
    """The op in the example of its docstring."""
    found = re.search(r"```mlir\n(.*?)```", op.__doc__ or "", re.DOTALL)
    assert found, f"{op.__name__} has no example"
    module = parse_module(make_context(), found[1])
    verify(module)
    (inner,) = [inner for inner in module.walk() if isinstance(inner, op)]
    assert isinstance(inner, NpucOp)
    return inner


def arguments(op: NpucOp) -> list[Array]:
    """Random values for the operands."""
    rng = np.random.default_rng(1)
    kinds = [typed(operand.type) for operand in op.operands]  # pyright: ignore[reportArgumentType]
    return [rng.standard_normal(shape).astype(to_numpy(dtype)) for dtype, shape in kinds]


def test_every_operation_is_an_npuc_op() -> None:
    assert len(OPERATIONS) == len([*DIALECT.operations])


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_evaluate_gives_what_infer_says(op: type[NpucOp]) -> None:
    made = example(op)
    results = made.evaluate(*arguments(made))
    types = [tensor_of(from_numpy(result.dtype), result.shape) for result in results]
    assert types == list(made.infer()) == [result.type for result in made.results]


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_every_operation_has_a_cost(op: type[NpucOp]) -> None:
    cost = example(op).cost()
    assert cost.bytes_read > 0
    assert cost.bytes_written > 0


class TestContractions:
    def test_f16_factors_are_summed_in_f32(self) -> None:
        op = MatMulOp(value("f16", 1, 4096), value("f16", 4096, 1), out="f32")
        ones = np.ones((1, 4096), np.float16)
        (got,) = op.evaluate(ones, ones.T * np.float16(1.0009765625))
        assert got.dtype == np.float32
        assert got[0, 0] == 4100.0  # an f16 sum would stop at 2048

    def test_a_sum_is_rounded_once(self) -> None:
        op = MatMulOp(value("f16", 1, 2), value("f16", 2, 1))
        (got,) = op.evaluate(np.array([[2048, 1]], np.float16), np.ones((2, 1), np.float16))
        assert got.dtype == np.float16
        assert got[0, 0] == 2048

    def test_the_constant_of_a_gemm_is_added_before_rounding(self) -> None:
        op = GemmOp(value("f16", 1, 1), value("f16", 1, 1), value("f16", 1), beta=0.5)
        (got,) = op.evaluate(*(np.full(shape, x, np.float16) for shape, x in GEMM_VALUES))
        assert got[0, 0] == np.float16(2049.5)

    def test_bf16_rounds_to_itself(self) -> None:
        op = MatMulOp(value("bf16", 1, 1), value("bf16", 1, 1))
        (got,) = op.evaluate(np.full((1, 1), 3, BFLOAT16), np.full((1, 1), 1 / 3, BFLOAT16))
        assert got.dtype == BFLOAT16

    def test_costs(self) -> None:
        assert MatMulOp(value("f16", 8, 2, 3), value("f16", 3, 5), "f32").cost() == Cost(
            flops=2 * 3 * 8 * 2 * 5, bytes_read=2 * (8 * 2 * 3 + 3 * 5), bytes_written=4 * 8 * 2 * 5
        )
        a, b, c = value("f32", 3, 2), value("f32", 3, 5), value("f32", 5)
        assert GemmOp(a, b, trans_a=True).cost().flops == 2 * 3 * 10
        assert GemmOp(a, b, c, alpha=2.0, beta=3.0, trans_a=True).cost().flops == (2 * 3 + 3) * 10


GEMM_VALUES = [((1, 1), 2048), ((1, 1), 1), ((1,), 3)]


def test_softmax_accumulates_in_f32() -> None:
    op = SoftmaxOp(value("f16", 1, 4096), 1)
    (got,) = op.evaluate(np.zeros((1, 4096), np.float16))
    np.testing.assert_array_equal(got, np.full((1, 4096), 1 / 4096, np.float16))


def test_relu_keeps_nan() -> None:
    (got,) = ReluOp(value("f32", 2)).evaluate(np.array([np.nan, -1.0], np.float32))
    assert np.isnan(got[0])
    assert got[1] == 0


@pytest.mark.parametrize(
    ("source", "target", "given", "expected"),
    [
        ("f32", "i32", [-1.9, 2.5, 3e9, np.nan], [-1, 2, 2**31 - 1, 0]),
        ("f32", "ui8", [-3.0, 256.0, 255.9, 1.0], [0, 255, 255, 1]),
        ("f32", "f16", [2049.0, 1e6, -0.0, 1.0], [2048, np.inf, 0, 1]),
        ("i32", "i8", [127, 128, -129, 0], [127, 127, -128, 0]),
        ("f32", "bool", [0.0, -0.0, 0.1, np.nan], [False, False, True, True]),
    ],
)
def test_cast(source: str, target: str, given: list[Any], expected: list[Any]) -> None:
    (got,) = CastOp(value(source, 4), target).evaluate(np.array(given, to_numpy(source)))
    np.testing.assert_array_equal(got, np.array(expected, to_numpy(target)))


class TestRecipes:
    def test_movement_and_casts_are_steps(self) -> None:
        x = value("f32", 2, 3)
        assert ReshapeOp(x, (6,)).recipe_step() == ("reshape", (6,))
        assert TransposeOp(x, (1, 0)).recipe_step() == ("transpose", (1, 0))
        assert CastOp(x, "f16").recipe_step() == ("cast", "f16")

    def test_arithmetic_and_truncation_are_not(self) -> None:
        x = value("f32", 2, 3)
        assert ReluOp(x).recipe_step() is None
        assert CastOp(x, "i32").recipe_step() is None


def test_constructors_refuse_what_does_not_fit() -> None:
    with pytest.raises(VerifyException, match="do not broadcast: 3 meets 4"):
        AddOp(value("f32", 3), value("f32", 4))
    with pytest.raises(VerifyException, match="factors must be matrices"):
        GemmOp(value("f32", 3), value("f32", 3, 3))


def test_the_scales_of_a_gemm_are_f32() -> None:
    text = """
    %a = "test.op"() : () -> tensor<2x2xf32>
    %b = graph.gemm %a, %a alpha 2.0 : f64 : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    """
    module = parse_module(make_context(), text)
    with pytest.raises(Exception, match="alpha and beta must be f32"):
        verify(module)
