"""Values of elementwise instructions at the edges of their types, one by one in plain Python."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from scalar_values import (
    FORMATS,
    INTEGERS,
    NUMPY,
    array,
    compute,
    convert,
    crossed,
    edges,
    larger,
    narrow,
    smaller,
    wrap,
)

PLACES = {"dst": 24576, "src0": 0, "src1": 8192}


def executed(mnemonic: str, dtype: str, rows: dict[str, Array], **fields: float | str) -> Array:
    """What an instruction leaves at `dst`, for rows of any length by the name of their operand."""
    core = BareCore()
    count = max(map(len, rows.values()))
    widest = max(itemsize(dtype), *(row.itemsize for row in rows.values()))
    lanes = 256 // widest
    spec = MNEMONICS[mnemonic]
    values: dict[str, float | str] = {"dtype": dtype, "mask": lanes, "repeat": -(-count // lanes)}
    for name, place in PLACES.items():
        if any(field.name == name for field in spec.fields):
            size = rows[name].itemsize if name in rows else itemsize(dtype)
            values |= {name: place, f"{name}_rep_stride": lanes * size // 32}
    for name, row in rows.items():
        core.put("ub", PLACES[name], row)
    execute(core, mnemonic, **values, **fields)
    return core.get("ub", PLACES["dst"], (count,), NUMPY[dtype])


def itemsize(dtype: str) -> int:
    return np.dtype(NUMPY[dtype]).itemsize


def check(found: Array, expected: list[Any], dtype: str, *, zeros: bool = True) -> None:
    """Equal values; NaN equals NaN, and zeros have the same sign when `zeros`."""
    wanted = array(expected, dtype)
    if dtype in INTEGERS:
        np.testing.assert_array_equal(found, wanted)
        return
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(found, wanted)
    if zeros:
        some = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found[some]), np.signbit(wanted[some]))


ARITHMETIC = {"vadd": "add", "vsub": "sub", "vmul": "mul", "vdiv": "div"}


@pytest.mark.parametrize(
    ("mnemonic", "dtype"),
    [(name, dtype) for name in ARITHMETIC for dtype in MNEMONICS[name].field("dtype").enum or ()],
)
def test_arithmetic(mnemonic: str, dtype: str) -> None:
    left, right = crossed(dtype)
    found = executed(mnemonic, dtype, {"src0": array(left, dtype), "src1": array(right, dtype)})
    expected = [
        compute(ARITHMETIC[mnemonic], a, b, dtype) for a, b in zip(left, right, strict=True)
    ]
    check(found, expected, dtype)


EXTREMES: dict[str, Callable[[float, float], float]] = {"vmax": larger, "vmin": smaller}


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i16"])
@pytest.mark.parametrize("mnemonic", EXTREMES)
def test_larger_and_smaller(mnemonic: str, dtype: str) -> None:
    left, right = crossed(dtype)
    found = executed(mnemonic, dtype, {"src0": array(left, dtype), "src1": array(right, dtype)})
    expected = [EXTREMES[mnemonic](a, b) for a, b in zip(left, right, strict=True)]
    check(found, expected, dtype, zeros=False)


SCALARS = (0.0, -0.0, 1.5, -3.0, 1e9, math.inf, math.nan)


@pytest.mark.parametrize("scalar", SCALARS, ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i16"])
def test_scalars(dtype: str, scalar: float) -> None:
    values = edges(dtype)
    rounded = array([scalar], "f32")[0]
    other = convert(float(rounded), dtype)
    row = {"src0": array(values, dtype)}
    for mnemonic, operation in (("vadds", "add"), ("vmuls", "mul")):
        expected = [compute(operation, v, other, dtype) for v in values]
        check(executed(mnemonic, dtype, row, scalar=scalar), expected, dtype)
    for mnemonic, extreme in (("vmaxs", larger), ("vmins", smaller)):
        expected = [extreme(v, other) for v in values]
        check(executed(mnemonic, dtype, row, scalar=scalar), expected, dtype, zeros=False)


def root(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


UNARY: dict[str, Callable[[float], float]] = {
    "vabs": lambda v: v if math.isnan(v) else math.copysign(v, 1.0),
    "vrelu": lambda v: larger(v, 0.0),
    # The square root of an f32 in f64 is rounded to f32 correctly: 53 bits are twice 24 and more.
    "vsqrt": root,
}


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("mnemonic", UNARY)
def test_one_source(mnemonic: str, dtype: str) -> None:
    values = edges(dtype)
    found = executed(mnemonic, dtype, {"src0": array(values, dtype)})
    expected = [narrow(narrow(UNARY[mnemonic](v), "f32"), dtype) for v in values]
    check(found, expected, dtype, zeros=mnemonic != "vrelu")


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_reciprocals(dtype: str) -> None:
    values = edges(dtype)
    found = executed("vrec", dtype, {"src0": array(values, dtype)})
    check(found, [compute("div", 1.0, v, dtype) for v in values], dtype)


@pytest.mark.parametrize(
    ("mnemonic", "points"),
    [
        ("vexp", {0.0: 1.0, -math.inf: 0.0, math.inf: math.inf, math.nan: math.nan}),
        ("vexp", {-0.0: 1.0, -200.0: 0.0, 200.0: math.inf}),
        ("vln", {1.0: 0.0, 0.0: -math.inf, -1.0: math.nan, math.inf: math.inf}),
        ("vln", {-0.0: -math.inf, math.nan: math.nan}),
        ("vrsqrt", {4.0: 0.5, 0.0: math.inf, -1.0: math.nan, math.inf: 0.0, math.nan: math.nan}),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_functions_at_their_ends(mnemonic: str, dtype: str, points: dict[float, float]) -> None:
    found = executed(mnemonic, dtype, {"src0": array(list(points), dtype)})
    check(found, list(points.values()), dtype)


@pytest.mark.parametrize("mnemonic", ["vand", "vor", "vnot"])
def test_logic(mnemonic: str) -> None:
    left, right = crossed("i16")
    rows = {"src0": array(left, "i16"), "src1": array(right, "i16")}
    if mnemonic == "vnot":
        check(executed("vnot", "i16", {"src0": rows["src0"]}), [-1 - a for a in left], "i16")
        return
    found = executed(mnemonic, "i16", rows)
    for at, (a, b) in enumerate(zip(left, right, strict=True)):
        for bit in range(16):
            one, two, got = (int(v) >> bit & 1 for v in (a, b, found[at]))
            assert got == (one and two if mnemonic == "vand" else one or two)


@pytest.mark.parametrize("dtype", ["i32", "i16"])
def test_shifts(dtype: str) -> None:
    values = edges(dtype)
    bits = 8 * itemsize(dtype)
    row = {"src0": array(values, dtype)}
    for shift in (0, 1, 7, bits - 1, bits):
        left = [wrap(v << shift, dtype) for v in values]
        check(executed("vshl", dtype, row, shift=shift), left, dtype)
        down = [v >> shift for v in values]
        check(executed("vshr", dtype, row, shift=shift), down, dtype)
        unsigned = [wrap((v % (1 << bits)) >> shift, dtype) for v in values]
        check(executed("vshr", dtype, row, shift=shift, logical=1), unsigned, dtype)
        nearest = [(v + (1 << shift >> 1)) >> shift for v in values]
        check(executed("vshr", dtype, row, shift=shift, nearest=1), nearest, dtype)


@pytest.mark.parametrize(
    ("mnemonic", "values", "fault"),
    [
        ("vshl", {"shift": 17}, "shift = 17 is more than the 16 bits of i16"),
        ("vshr", {"shift": 17}, "shift = 17 is more than the 16 bits of i16"),
        ("vshl", {"shift": None}, None),
        (
            "vshr",
            {"shift": 3, "logical": 1, "nearest": 1},
            "nearest = 1 is for signed elements, and logical = 1 takes them as unsigned",
        ),
    ],
)
def test_shifts_that_are_refused(mnemonic: str, values: dict[str, Any], fault: str | None) -> None:
    spec = MNEMONICS[mnemonic]
    bound = operands(spec, dst=0, src0=0, dtype="i16", mask=1, repeat=1, **{"shift": 0, **values})
    assert spec.constraint(bound) == fault


def multiply_add(a: float, b: float, c: float, dtype: str) -> float:
    """A product rounded to f32, then a sum rounded to f32, then the type."""
    return narrow(compute("add", compute("mul", a, b, "f32"), c, "f32"), dtype)


PAIRS = [("f32", "f32"), ("f16", "f16"), ("f16", "f32")]


@pytest.mark.parametrize(("source", "dtype"), PAIRS)
def test_multiply_and_add(source: str, dtype: str) -> None:
    a, b = crossed(source)
    c = (crossed(dtype, shift=3)[1] * 2)[: len(a)]
    a, b = a[: len(c)], b[: len(c)]
    rows = {"dst": array(c, dtype), "src0": array(a, source), "src1": array(b, source)}
    expected = [multiply_add(*row, dtype) for row in zip(a, b, c, strict=True)]
    check(executed("vmla", dtype, rows, src_dtype=source), expected, dtype)
    del rows["src1"]
    for scalar in (0.0, -1.5, 2.0**-12 + 1, math.inf):
        rounded = narrow(scalar, source)
        expected = [multiply_add(x, rounded, y, dtype) for x, y in zip(a, c, strict=True)]
        found = executed("vaxpy", dtype, rows, src_dtype=source, scalar=scalar)
        check(found, expected, dtype)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_multiply_the_destination(dtype: str) -> None:
    a, b = crossed(dtype)
    c = crossed(dtype, shift=3)[1]
    rows = {"dst": array(c, dtype), "src0": array(a, dtype), "src1": array(b, dtype)}
    expected = [multiply_add(x, z, y, dtype) for x, y, z in zip(a, b, c, strict=True)]
    check(executed("vmadd", dtype, rows), expected, dtype)
    relu = [larger(v, 0.0) for v in expected]
    check(executed("vmaddrelu", dtype, rows), relu, dtype, zeros=False)


@pytest.mark.parametrize("dtype", ["f32", "f16", "i16"])
@pytest.mark.parametrize(("mnemonic", "operation"), [("vaddrelu", "add"), ("vsubrelu", "sub")])
def test_operations_that_end_in_a_relu(mnemonic: str, operation: str, dtype: str) -> None:
    a, b = crossed(dtype)
    found = executed(mnemonic, dtype, {"src0": array(a, dtype), "src1": array(b, dtype)})
    if dtype == "i16":
        sign = 1 if operation == "add" else -1
        expected = [min(max(x + sign * y, 0), 32767) for x, y in zip(a, b, strict=True)]
    else:
        pairs = zip(a, b, strict=True)
        expected = [larger(compute(operation, x, y, dtype), 0.0) for x, y in pairs]
    check(found, expected, dtype, zeros=False)


@pytest.mark.parametrize("dtype", list(FORMATS)[:2])
def test_leaky_relus(dtype: str) -> None:
    a, b = crossed(dtype)
    found = executed("vprelu", dtype, {"src0": array(a, dtype), "src1": array(b, dtype)})
    expected = [compute("mul", x, y, dtype) if x < 0 else x for x, y in zip(a, b, strict=True)]
    check(found, expected, dtype)
    for slope in (0.0, 0.01, -2.0, math.nan):
        rounded = narrow(narrow(slope, "f32"), dtype)
        expected = [compute("mul", x, rounded, dtype) if x < 0 else x for x in a]
        check(executed("vlrelu", dtype, {"src0": array(a, dtype)}, scalar=slope), expected, dtype)


def test_wider_sources_are_refused() -> None:
    spec = MNEMONICS["vmla"]
    bound = operands(spec, dst=0, src0=0, src1=0, dtype="f16", src_dtype="f32", mask=1, repeat=1)
    wanted = "sources of f32 are wider than the destination of f16"
    assert spec.constraint(bound) == wanted
