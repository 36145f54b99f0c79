"""Every supported operator, over opsets and shapes, against onnxruntime."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from npuc.compiler.frontends.onnx.support import SUPPORTED
from npuc.dialects.core.dtypes import BFLOAT16
from onnx_models import check, model, node, random, reference, run, tensor

OPSETS = (7, 9, 11, 13, 17, 21)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (3, 4)), ((3, 4), (4,)), ((5, 1, 4), (3, 1)), ((), (2, 3)), ((1,), (2, 1, 3))],
    ids=str,
)
def test_binary(op: str, opset: int, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(op, opset, random(1, *left), random(2, *right))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float64"])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_binary_element_types(op: str, dtype: str) -> None:
    divisor = random(2, 4, 5, dtype=dtype)
    divisor[divisor == 0] = 3
    check(op, 14, random(1, 4, 5, dtype=dtype), divisor, precision="f16")


@pytest.mark.parametrize("opset", OPSETS)
def test_relu(opset: int) -> None:
    special = np.array([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan], np.float32)
    check("Relu", opset, special)


def test_relu_of_integers() -> None:
    check("Relu", 14, random(3, 20, dtype="int32"))


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((6, 1, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4,)),
        ((1, 1), (1, 1)),
    ],
    ids=str,
)
def test_matmul(opset: int, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check("MatMul", opset, random(1, *left), random(2, *right))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_matmul_element_types(dtype: str) -> None:
    check("MatMul", 13, random(1, 5, 8, dtype=dtype), random(2, 8, 3, dtype=dtype), precision="f16")


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [(3, 5), (5,), (3, 1), (1,), ()], ids=str)
def test_gemm(opset: int, trans_a: int, trans_b: int, bias: tuple[int, ...]) -> None:
    a, b = random(1, *((4, 3) if trans_a else (3, 4))), random(2, *((5, 4) if trans_b else (4, 5)))
    c = random(3, *bias)
    check("Gemm", opset, a, b, c, transA=trans_a, transB=trans_b, alpha=0.3, beta=-1.7)


def test_gemm_without_c() -> None:
    check("Gemm", 11, random(1, 3, 4), random(2, 4, 5), alpha=2.0)


@pytest.mark.parametrize("opset", [7, 11, 13])
def test_gemm_with_an_infinite_scale(opset: int) -> None:
    check("Gemm", opset, random(1, 3, 4), random(2, 4, 5), random(3, 5), alpha=float("inf"))


SOFTMAX_AXES = [
    *((opset, axis) for opset in OPSETS for axis in (None, 0, 1, 2, 3)),
    *((opset, axis) for opset in (11, 13, 17, 21) for axis in (-1, -2, -4)),
]


@pytest.mark.parametrize(("opset", "axis"), SOFTMAX_AXES)
def test_softmax(opset: int, axis: int | None) -> None:
    check("Softmax", opset, random(1, 2, 3, 4, 5) * 30, axis=axis)


@pytest.mark.parametrize("opset", [7, 13])
def test_softmax_of_a_vector(opset: int) -> None:
    check("Softmax", opset, random(1, 9), axis=0)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize(
    "shape", [(6, 4), (24,), (2, 3, 2, 2), (-1,), (0, -1), (0, 0, 0), (3, -1, 2), (1, 24)], ids=str
)
def test_reshape(opset: int, shape: tuple[int, ...]) -> None:
    wanted = np.array(shape, np.int64)
    check("Reshape", opset, random(1, 2, 3, 4), constants={"shape": wanted})


def test_reshape_to_a_scalar() -> None:
    check("Reshape", 13, random(1, 1, 1), constants={"shape": np.array([], np.int64)})


def test_reshape_where_zero_is_zero() -> None:
    wanted = np.array([5, 0], np.int64)
    check("Reshape", 14, random(1, 0, 3), constants={"shape": wanted}, allowzero=1)


FLATTEN_AXES = [
    *((opset, axis) for opset in OPSETS for axis in (None, 0, 1, 2, 3)),
    *((opset, axis) for opset in (11, 13, 17, 21) for axis in (-1, -3)),
]


@pytest.mark.parametrize(("opset", "axis"), FLATTEN_AXES)
def test_flatten(opset: int, axis: int | None) -> None:
    check("Flatten", opset, random(1, 2, 3, 4), axis=axis)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("perm", [None, (0, 2, 1), (2, 0, 1)], ids=str)
def test_transpose(opset: int, perm: tuple[int, ...] | None) -> None:
    check("Transpose", opset, random(1, 2, 3, 4), perm=perm)


CASTS = {1: "float32", 10: "float16", 11: "float64", 3: "int8", 6: "int32", 7: "int64", 9: "bool"}


@pytest.mark.parametrize("opset", [7, 9, 13, 19])
@pytest.mark.parametrize("source", list(CASTS.values()))
@pytest.mark.parametrize("target", list(CASTS))
def test_cast(opset: int, source: str, target: int) -> None:
    values = np.array([-3.7, -1.0, -0.5, 0.0, 0.5, 1.5, 2.5, 100.25])
    check("Cast", opset, values.astype(source), to=target)


def test_cast_to_bf16() -> None:
    values = random(1, 50)
    source = model([node("Cast", ["x"], ["y"], to=16)], {"x": values}, ["y"], opset=19)
    expected = cast(Any, ReferenceEvaluator(source)).run(None, {"x": values})
    (got,) = run(source, {"x": values})
    assert got.dtype == BFLOAT16
    np.testing.assert_array_equal(got.astype(np.float32), expected[0].astype(np.float32))


@pytest.mark.parametrize("opset", OPSETS)
def test_identity(opset: int) -> None:
    check("Identity", opset, random(1, 2, 3))


@pytest.mark.parametrize("opset", OPSETS)
def test_dropout(opset: int) -> None:
    check("Dropout", opset, random(1, 2, 3), ratio=0.3 if opset < 12 else None)


def test_dropout_with_a_constant_training_mode() -> None:
    constants = {"ratio": np.array(0.5, np.float32), "training": np.array(False)}
    check("Dropout", 13, random(1, 2, 3), constants=constants)


CONSTANTS: list[tuple[int, str, Any]] = [
    *((opset, "value", np.arange(6, dtype=np.float32).reshape(2, 3)) for opset in OPSETS),
    *((opset, "value", np.array([-1, 7], np.int64)) for opset in OPSETS),
    *((opset, "value_float", 1.5) for opset in (12, 17, 21)),
    *((opset, "value_floats", [1.5, -2.0]) for opset in (12, 17, 21)),
    *((opset, "value_int", 7) for opset in (12, 17, 21)),
    *((opset, "value_ints", [3, -4]) for opset in (12, 17, 21)),
]


@pytest.mark.parametrize(("opset", "attribute", "value"), CONSTANTS)
def test_constant(opset: int, attribute: str, value: Any) -> None:
    held = tensor(value, "") if attribute == "value" else value
    source = model([node("Constant", [], ["y"], **{attribute: held})], {}, ["y"], opset=opset)
    (got,), (expected,) = run(source, {}), reference(source, {})
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_every_supported_operator_is_tested() -> None:
    folder = Path(__file__).parent
    files = [folder / f"test_{name}.py" for name in ("operators", "windows", "old_forms")]
    text = "".join(path.read_text() for path in files)
    missing = [op for op in SUPPORTED if f'"{op}"' not in text]
    assert not missing
