"""What upstream scalar ops mean, on Python ints, numpy scalars and arrays."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array, to_numpy
from npuc.dialects.core.errors import ExecutionError
from npuc.dialects.core.interpreter import evaluate_block
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.upstream import ELEMENTWISE
from npuc.dialects.core.verify import verify

# References in f64.
UNARY: dict[str, Callable[[Array], Array]] = {
    "math.exp": np.exp,
    "math.log": np.log,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.tanh": np.tanh,
    "math.erf": np.vectorize(math.erf),
    "math.absf": np.absolute,
    "arith.negf": np.negative,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "math.powf": np.power,
}
# For each op its results on the pairs of operands below.
INTEGER = {
    "arith.addi": (9, -9, -3, 1),
    "arith.subi": (5, -5, -11, 7),
    "arith.muli": (14, 14, -28, -12),
    "arith.divsi": (3, 3, -1, -1),
    "arith.remsi": (1, -1, -3, 1),
    "arith.floordivsi": (3, 3, -2, -2),
    "arith.ceildivsi": (4, 4, -1, -1),
    "arith.minsi": (2, -7, -7, -3),
    "arith.maxsi": (7, -2, 4, 4),
}
OPERANDS = ((7, 2), (-7, -2), (-7, 4), (4, -3))


def evaluate(line: str, types: str, *values: Any) -> Any:
    """The result of one op on values for %a, %b, ... of the types; the op ends with its type."""
    names = ", ".join(f"%{name}: {t}" for name, t in zip("abc", types.split(), strict=False))
    result = "i1" if "cmp" in line or line.endswith("true") else line.rpartition(" ")[2]
    header = f"^bb0({names}):\n" if names else ""
    text = f'%r = {line}\n "test.termop"(%r) : ({result}) -> ()'
    module = parse_module(make_context(), f'"test.op"() ({{\n{header} {text}\n}}) : () -> ()')
    verify(module)
    (op,) = module.ops
    return evaluate_block(op.regions[0].block, values)[0]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_floats(name: str, dtype: str) -> None:
    kind = to_numpy(dtype)
    array = np.array([[0.5, 1.0], [2.0, 0.25]]).astype(kind)
    got = evaluate(f"{name} %a : {dtype}", dtype, array)
    assert got.dtype == kind
    exact = UNARY[name](array.astype(np.float64))
    assert np.allclose(got.astype(np.float64), exact, rtol=1e-6 if dtype == "f32" else 1e-2)
    scalar = evaluate(f"{name} %a : {dtype}", dtype, array[0, 0])
    assert scalar.dtype == kind
    assert scalar == got[0, 0]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_floats(name: str, dtype: str) -> None:
    kind = to_numpy(dtype)
    a = np.array([[0.5, 1.0], [2.0, 3.0]]).astype(kind)
    b = np.array([2.0, 0.5]).astype(kind)
    got = evaluate(f"{name} %a, %b : {dtype}", f"{dtype} {dtype}", a, b)
    assert got.dtype == kind
    exact = BINARY[name](a.astype(np.float64), b.astype(np.float64))
    assert np.array_equal(got, exact.astype(kind))


@pytest.mark.parametrize("dtype", ["index", "i8", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER)
def test_integers(name: str, dtype: str) -> None:
    kind = np.dtype(np.int64) if dtype == "index" else to_numpy(dtype)
    a, b = (np.array(column).astype(kind) for column in zip(*OPERANDS, strict=True))
    got = evaluate(f"{name} %a, %b : {dtype}", f"{dtype} {dtype}", a, b)
    assert got.dtype == kind
    assert got.tolist() == list(INTEGER[name])
    for (x, y), want in zip(OPERANDS, INTEGER[name], strict=True):
        scalar = evaluate(f"{name} %a, %b : {dtype}", f"{dtype} {dtype}", x, y)
        assert scalar == want
        assert isinstance(scalar, int) is (dtype == "index")


def test_fixed_integers_wrap_and_index_does_not() -> None:
    assert evaluate("arith.addi %a, %b : i8", "i8 i8", 127, 1) == -128
    assert evaluate("arith.muli %a, %b : i32", "i32 i32", 2**30, 4) == 0
    assert evaluate("arith.muli %a, %b : index", "index index", 2**30, 4) == 2**32


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("eq", [0, 0, 1]),
        ("ne", [1, 1, 0]),
        ("slt", [1, 0, 0]),
        ("sle", [1, 0, 1]),
        ("sgt", [0, 1, 0]),
        ("sge", [0, 1, 1]),
        ("ult", [0, 1, 0]),
        ("ule", [0, 1, 1]),
        ("ugt", [1, 0, 0]),
        ("uge", [1, 0, 1]),
    ],
)
@pytest.mark.parametrize("dtype", ["index", "i8", "i32"])
def test_integer_comparisons(predicate: str, expected: list[int], dtype: str) -> None:
    pairs = [(-1, 2), (2, -1), (3, 3)]
    line = f"arith.cmpi {predicate}, %a, %b : {dtype}"
    kind = np.dtype(np.int64) if dtype == "index" else to_numpy(dtype)
    a, b = (np.array(column).astype(kind) for column in zip(*pairs, strict=True))
    assert evaluate(line, f"{dtype} {dtype}", a, b).tolist() == expected
    assert [evaluate(line, f"{dtype} {dtype}", x, y) for x, y in pairs] == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("false", [0, 0, 0, 0]),
        ("oeq", [0, 0, 1, 0]),
        ("ogt", [0, 1, 0, 0]),
        ("oge", [0, 1, 1, 0]),
        ("olt", [1, 0, 0, 0]),
        ("ole", [1, 0, 1, 0]),
        ("one", [1, 1, 0, 0]),
        ("ord", [1, 1, 1, 0]),
        ("ueq", [0, 0, 1, 1]),
        ("ugt", [0, 1, 0, 1]),
        ("uge", [0, 1, 1, 1]),
        ("ult", [1, 0, 0, 1]),
        ("ule", [1, 0, 1, 1]),
        ("une", [1, 1, 0, 1]),
        ("uno", [0, 0, 0, 1]),
        ("true", [1, 1, 1, 1]),
    ],
)
def test_float_comparisons(predicate: str, expected: list[int]) -> None:
    a = np.array([1.0, 2.0, 3.0, np.nan], np.float32)
    b = np.array([2.0, 1.0, 3.0, 1.0], np.float32)
    line = f"arith.cmpf {predicate}, %a, %b : f32"
    got = evaluate(line, "f32 f32", a, b)
    assert got.dtype == np.bool_
    assert got.tolist() == expected
    assert [bool(evaluate(line, "f32 f32", x, y)) for x, y in zip(a, b, strict=True)] == expected


@pytest.mark.parametrize(
    ("line", "type_", "value", "expected"),
    [
        ("arith.extf %a : f16 to f32", "f16", 1.5, 1.5),
        ("arith.truncf %a : f32 to f16", "f32", 1e6, np.inf),
        ("arith.truncf %a : f32 to bf16", "f32", 1.0 + 2**-9, 1.0),
        ("arith.sitofp %a : i8 to f32", "i8", -3, -3.0),
        ("arith.sitofp %a : i1 to f32", "i1", True, -1.0),
        ("arith.uitofp %a : i1 to f32", "i1", True, 1.0),
        ("arith.uitofp %a : i8 to f32", "i8", -1, 255.0),
        ("arith.fptosi %a : f32 to i8", "f32", -3.9, -3),
        ("arith.fptosi %a : f32 to i8", "f32", 1e9, 127),
        ("arith.fptosi %a : f32 to i32", "f32", math.nan, 0),
        ("arith.extsi %a : i8 to i32", "i8", -3, -3),
        ("arith.extsi %a : i1 to i32", "i1", True, -1),
        ("arith.extui %a : i8 to i32", "i8", -1, 255),
        ("arith.extui %a : i1 to i8", "i1", True, 1),
        ("arith.trunci %a : i32 to i8", "i32", 300, 44),
        ("arith.index_cast %a : index to i32", "index", 7, 7),
        ("arith.index_cast %a : i32 to index", "i32", -7, -7),
        ("math.absi %a : i32", "i32", -7, 7),
    ],
)
def test_conversions(line: str, type_: str, value: Any, expected: Any) -> None:
    target = line.rpartition(" ")[2]
    scalar = evaluate(line, type_, value)
    assert scalar == expected
    source = np.dtype(np.int64) if type_ == "index" else to_numpy(type_.replace("i1", "bool"))
    array = evaluate(line, type_, np.array([value]).astype(source))
    assert array.tolist() == [expected]
    wanted = np.dtype(np.int64) if target == "index" else to_numpy(target)
    assert array.dtype == wanted
    assert isinstance(scalar, int) is (target == "index")


def test_selection() -> None:
    line = "arith.select %a, %b, %c : f32"
    b, c = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    got = evaluate(line, "i1 f32 f32", np.array([True, False]), b, c)
    assert got.tolist() == [1, 4]
    assert got.dtype == np.float32
    assert evaluate(line, "i1 f32 f32", np.bool_(False), b, c) is c


@pytest.mark.parametrize(
    ("name", "expected"), [("arith.andi", 8), ("arith.ori", 14), ("arith.xori", 6)]
)
def test_bits(name: str, expected: int) -> None:
    assert evaluate(f"{name} %a, %b : i32", "i32 i32", 12, 10) == expected
    assert evaluate(f"{name} %a, %b : index", "index index", 12, 10) == expected


@pytest.mark.parametrize(
    ("line", "expected", "kind"),
    [
        ("arith.constant -7 : index", -7, int),
        ("arith.constant -7 : i8", -7, np.int8),
        ("arith.constant true", True, np.bool_),
        ("arith.constant 0.1 : f16", np.float16(0.1), np.float16),
        ("arith.constant dense<[1, -2]> : tensor<2xi8>", [1, -2], np.ndarray),
        ("arith.constant dense<true> : tensor<2xi1>", [True, True], np.ndarray),
    ],
)
def test_constants(line: str, expected: Any, kind: type) -> None:
    got = evaluate(line, "")
    assert isinstance(got, kind)
    assert (got.tolist() if isinstance(got, np.ndarray) else got) == expected


def test_division_by_zero() -> None:
    for dtype in ("index", "i32"):
        with pytest.raises(ExecutionError, match="division by zero"):
            evaluate(f"arith.divsi %a, %b : {dtype}", f"{dtype} {dtype}", 1, 0)


def test_every_op_has_a_case_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in ELEMENTWISE if name not in source] == []
    assert [name for name in ELEMENTWISE if make_context().get_optional_op(name) is None] == []
