"""Integer products and products that start from biases, against sums of Python integers."""

from itertools import product

import numpy as np
import pytest

from bare_core import BareCore, execute
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.kernels.contract import matmul
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.target.machine import load
from packed import put_operand, take_result, up

SHAPES = [(16, 32, 16), (32, 64, 48), (5, 33, 7), (1, 16, 64), (17, 8, 20)]


def slow_product(a: Array, b: Array) -> list[list[int]]:
    """Exact, one multiplication at a time."""
    rows, columns = a.tolist(), b.T.tolist()
    return [[sum(x * y for x, y in zip(r, c, strict=True)) for c in columns] for r in rows]


def random_integers(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Any value of the type, the ends of its range among them."""
    bounds = np.iinfo(to_numpy(dtype))
    rng = np.random.default_rng(seed)
    values = rng.integers(bounds.min, bounds.max, shape, to_numpy(dtype), endpoint=True)
    ends = rng.random(shape) < 0.3
    return np.where(ends, np.where(values % 2, bounds.min, bounds.max), values).astype(values.dtype)


def multiply(core: BareCore, a: Array, b: Array, dtype: str, accumulate: int = 0) -> None:
    put_operand(core, "l0a", a)
    put_operand(core, "l0b", b.T)
    (m, k), n = a.shape, b.shape[1]
    sizes = {"m": m, "k": k, "n": n, "dtype": dtype}
    execute(core, "mmad", dst=1024, src0=0, src1=0, accumulate=accumulate, **sizes)


@pytest.mark.parametrize(("dtype", "shape"), list(product(("i8", "ui8"), SHAPES)))
def test_integers_are_exact(dtype: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = random_integers(dtype, (m, k), 1), random_integers("i8", (k, n), 2)
    core = BareCore()
    core.l0c.data[:] = 0xFF
    multiply(core, a, b, dtype)
    want = np.array(slow_product(a, b))
    found = take_result(core, m, n, np.int32)
    np.testing.assert_array_equal(found[:, :n], want)
    assert not found[:, n:].any()
    multiply(core, a, b, dtype, accumulate=1)
    np.testing.assert_array_equal(take_result(core, m, n, np.int32)[:, :n], 2 * want)


@pytest.mark.parametrize("dtype", ["i8", "ui8"])
@pytest.mark.parametrize("k", [511, 512, 513, 1024, 1025])
def test_the_largest_sums_are_exact(dtype: str, k: int) -> None:
    """Around the depth from which a float product of 24 bits would not be exact any more."""
    largest = np.iinfo(to_numpy(dtype))
    a = np.full((1, k), largest.max if dtype == "ui8" else largest.min, to_numpy(dtype))
    b = np.full((k, 1), -128, np.int8)
    a[0, -1], b[-1, 0] = 1, 1
    assert matmul(a, b)[0, 0] == slow_product(a, b)[0][0]


def test_sums_of_integers_wrap() -> None:
    core = BareCore()
    core.put("l0c", 1024, np.full((16, 16), (1 << 31) - 1, np.int32))
    multiply(core, np.ones((1, 1), np.int8), np.ones((1, 1), np.int8), "i8", accumulate=1)
    assert take_result(core, 1, 1, np.int32)[0, 0] == -(1 << 31)


@pytest.mark.parametrize("dtype", ["i8", "ui8", "f16", "bf16", "f32"])
@pytest.mark.parametrize("shape", [(16, 32, 16), (5, 33, 7), (17, 8, 20)])
def test_biases(dtype: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(3)
    whole = dtype in ("i8", "ui8")
    if whole:
        a, b = random_integers(dtype, (m, k), 1), random_integers("i8", (k, n), 2)
        bias: Array = random_integers("i32", (n,), 3)
    else:
        a = rng.standard_normal((m, k)).astype(to_numpy(dtype))
        b = rng.standard_normal((k, n)).astype(to_numpy(dtype))
        bias = rng.standard_normal(n).astype(np.float32)
    core = BareCore()
    core.bt.data[:] = 0xFF
    core.put("bt", 64, bias)
    put_operand(core, "l0a", a)
    put_operand(core, "l0b", b.T)
    sizes = {"m": m, "k": k, "n": n, "dtype": dtype}
    execute(core, "mmad_bias", dst=1024, src0=0, src1=0, bias=64, **sizes)
    found = take_result(core, m, n, bias.dtype)
    if whole:
        sums = [[x + y for x, y in zip(r, bias.tolist(), strict=True)] for r in slow_product(a, b)]
        want = np.array([[(x + (1 << 31)) % (1 << 32) - (1 << 31) for x in r] for r in sums])
    else:
        want = matmul(a, b) + bias
    np.testing.assert_array_equal(found[:, :n], want)
    assert not found[:, n:].any()


@pytest.mark.parametrize("zero", ["m", "k", "n"])
@pytest.mark.parametrize("mnemonic", ["mmad", "mmad_bias"])
def test_nothing_happens_without_extent(mnemonic: str, zero: str) -> None:
    core = BareCore()
    core.l0c.data[:] = 0xFF
    sizes = {"m": 16, "k": 16, "n": 16} | {zero: 0}
    extra = {"bias": 0} if mnemonic == "mmad_bias" else {"accumulate": 1}
    found = execute(core, mnemonic, dst=0, src0=0, src1=0, dtype="f16", **sizes, **extra)
    assert (core.l0c.data == 0xFF).all()
    assert MNEMONICS[mnemonic].footprints(found, load("tiny")) == ()


def test_integers_take_twice_the_depth_a_cycle() -> None:
    mmad, machine = MNEMONICS["mmad"], load("tiny")
    cycles = {
        dtype: mmad.cycles(mmad.Operands(0, 0, 0, dtype, 32, 128, 48, 0), machine)
        for dtype in ("i8", "f16", "f32")
    }
    setup, drain = machine.cube.setup, machine.cube.drain
    assert cycles["i8"] == (setup + 2 * 3 * 4, drain)
    assert cycles["f16"] == (setup + 2 * 3 * 8, drain)
    assert cycles["f32"] == (setup + 2 * 3 * 16 * 2, drain)


def test_features() -> None:
    mmad, bias = MNEMONICS["mmad"], MNEMONICS["mmad_bias"]
    assert mmad.features(mmad.Operands(0, 0, 0, "i8", 1, 1, 1, 0)) == ("cube_i8",)
    assert mmad.features(mmad.Operands(0, 0, 0, "f16", 1, 1, 1, 0)) == ()
    assert bias.features(bias.Operands(0, 0, 0, 0, "f32", 1, 1, 1)) == ("bias_table", "cube_f32")


def test_padding_does_not_matter() -> None:
    """Rows, columns and depth beyond the extents may hold anything."""
    core = BareCore()
    core.l0a.data[:] = 0x7F
    core.l0b.data[:] = 0x7F
    a, b = random_integers("i8", (3, 5), 1), random_integers("i8", (5, 2), 2)
    put_operand(core, "l0a", a, padding=77)
    put_operand(core, "l0b", b.T, padding=-77)
    sizes = {"m": 3, "k": 5, "n": 2, "dtype": "i8"}
    execute(core, "mmad", dst=1024, src0=0, src1=0, accumulate=0, **sizes)
    np.testing.assert_array_equal(take_result(core, 3, 2, np.int32)[:, :2], slow_product(a, b))
    assert up(3, 16) == 16
