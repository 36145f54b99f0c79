"""Vector instructions against a lane by lane account of what they do."""

from collections.abc import Callable

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.kernels import elementwise, reduce
from npuc.dialects.core.kernels.cast import cast
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": elementwise.add,
    "vsub": elementwise.sub,
    "vmul": elementwise.mul,
    "vdiv": elementwise.div,
    "vmax": elementwise.maximum,
    "vmin": elementwise.minimum,
}
IMMEDIATE = {
    "vadds": elementwise.add,
    "vmuls": elementwise.mul,
    "vmaxs": elementwise.maximum,
    "vmins": elementwise.minimum,
}
UNARY: dict[str, Callable[[Array], Array]] = {
    "vexp": elementwise.exp,
    "vln": elementwise.ln,
    "vsqrt": elementwise.sqrt,
    "vrsqrt": elementwise.rsqrt,
    "vrec": elementwise.rec,
    "vabs": elementwise.absolute,
    "vrelu": elementwise.relu,
}
STRIDES = [(1, 8), (1, 5), (1, 0), (0, 1), (2, 16), (3, 1)]


def fill(core: BareCore, dtype: str, seed: int = 0) -> None:
    """Fill UB with moderate numbers of a type."""
    numpy = to_numpy(dtype)
    count = core.ub.data.size // numpy.itemsize
    values = np.random.default_rng(seed).uniform(-8, 8, count)
    core.put("ub", 0, cast(values, dtype))


def lane(core: BareCore, operand: tuple[int, int, int], dtype: str, r: int, i: int) -> Array:
    """A view of one lane, as an array of one element."""
    start, block, repeat = operand
    numpy = to_numpy(dtype)
    b, within = divmod(i, 32 // numpy.itemsize)
    return core.ub.flat(start + (r * repeat + b * block) * 32 + within * numpy.itemsize, 1, numpy)


def with_strides(name: str, place: tuple[int, int, int]) -> dict[str, float | str]:
    return {name: place[0], f"{name}_blk_stride": place[1], f"{name}_rep_stride": place[2]}


def check_binary(
    mnemonic: str,
    dtype: str,
    places: tuple[tuple[int, int, int], ...],
    mask: int,
    repeat: int,
) -> None:
    core, expected = BareCore(), BareCore()
    fill(core, dtype)
    fill(expected, dtype)
    for r in range(repeat):
        sources = [
            [lane(expected, place, dtype, r, i).copy() for i in range(mask)] for place in places[1:]
        ]
        for i in range(mask):
            lane(expected, places[0], dtype, r, i)[:] = BINARY[mnemonic](*(s[i] for s in sources))
    values = {"dtype": dtype, "mask": mask, "repeat": repeat}
    for name, place in zip(("dst", "src0", "src1"), places, strict=True):
        values |= with_strides(name, place)
    execute(core, mnemonic, **values)
    np.testing.assert_array_equal(core.ub.data, expected.ub.data)


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i16"])
@pytest.mark.parametrize("mnemonic", BINARY)
def test_two_sources(mnemonic: str, dtype: str) -> None:
    if mnemonic == "vdiv" and dtype.startswith("i"):
        assert MNEMONICS["vdiv"].field("dtype").check(dtype) is not None
        return
    full = 256 // to_numpy(dtype).itemsize
    check_binary(mnemonic, dtype, ((0, 1, 8), (8192, 1, 8), (16384, 1, 8)), full, 7)


@pytest.mark.parametrize("strides", STRIDES)
@pytest.mark.parametrize("mask", [64, 63, 9, 8, 1])
def test_strides_and_masks(strides: tuple[int, int], mask: int) -> None:
    block, repeat = strides
    check_binary("vadd", "f32", ((0, 1, 8), (8192, *strides), (16384, 1, 8)), mask, 5)
    check_binary("vadd", "f32", ((0, 1, 8), (8192, 1, 8), (16384, *strides)), mask, 5)
    if block:
        check_binary("vadd", "f32", ((0, block, repeat), (8192, 1, 8), (16384, 1, 8)), mask, 5)


@pytest.mark.parametrize(
    "places",
    [
        ((0, 1, 0), (0, 1, 0), (8192, 1, 8)),  # a sum over the repeats
        ((256, 1, 8), (0, 1, 8), (8192, 1, 8)),  # each repeat reads what the one before wrote
        ((0, 1, 8), (256, 1, 8), (8192, 1, 8)),
        ((0, 1, 8), (0, 1, 8), (0, 1, 8)),
        ((0, 2, 4), (8192, 1, 8), (16384, 1, 8)),  # repeats of the result overlap
    ],
)
def test_repeats_happen_in_order(places: tuple[tuple[int, int, int], ...]) -> None:
    check_binary("vadd", "f32", places, 64, 6)
    check_binary("vmul", "f16", places, 100, 6)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("mnemonic", UNARY)
def test_one_source(mnemonic: str, dtype: str) -> None:
    core = BareCore()
    fill(core, dtype)
    numpy = to_numpy(dtype)
    lanes = 256 // numpy.itemsize
    source = core.get("ub", 4096, (3, lanes), numpy)
    execute(core, mnemonic, dst=0, src0=4096, dtype=dtype, mask=lanes, repeat=3)
    np.testing.assert_array_equal(core.get("ub", 0, (3, lanes), numpy), UNARY[mnemonic](source))


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i16"])
@pytest.mark.parametrize("mnemonic", IMMEDIATE)
def test_scalar_operand_is_rounded_to_the_type(mnemonic: str, dtype: str) -> None:
    core = BareCore()
    fill(core, dtype)
    numpy = to_numpy(dtype)
    source = core.get("ub", 4096, (10,), numpy)
    execute(core, mnemonic, dst=0, src0=4096, scalar=2.7001, dtype=dtype, mask=10, repeat=1)
    scalar = cast(np.array([2.7001], np.float32), dtype)
    found = core.get("ub", 0, (10,), numpy)
    np.testing.assert_array_equal(found, IMMEDIATE[mnemonic](source, scalar))


def test_fill_and_copy() -> None:
    core = BareCore()
    execute(core, "vdup", dst=0, scalar=-1.5, dtype="f16", mask=20, repeat=2, dst_rep_stride=2)
    values = core.get("ub", 0, (2, 32), np.float16)
    assert (values[0, :20] == -1.5).all()
    assert (values[1, :20] == -1.5).all()
    assert not values[1, 20:].any()
    execute(core, "vcopy", dst=1024, src0=0, dtype="i16", mask=20, repeat=1)
    np.testing.assert_array_equal(core.get("ub", 1024, (20,), np.float16), values[0, :20])


@pytest.mark.parametrize("target", ["f32", "f16", "bf16", "i32", "i16", "i8", "ui8"])
@pytest.mark.parametrize("source", ["f32", "f16", "bf16", "i32", "i16", "i8", "ui8"])
def test_conversion(source: str, target: str) -> None:
    core = BareCore()
    fill(core, source)
    before, after = to_numpy(source), to_numpy(target)
    lanes = 256 // max(before.itemsize, after.itemsize)
    values = core.get("ub", 8192, (4, lanes), before)
    execute(
        core,
        "vconv",
        dst=0,
        src0=8192,
        dtype=target,
        src_dtype=source,
        mask=lanes,
        repeat=4,
        dst_rep_stride=lanes * after.itemsize // 32,
        src0_rep_stride=lanes * before.itemsize // 32,
    )
    np.testing.assert_array_equal(core.get("ub", 0, (4, lanes), after), cast(values, target))


def test_conversion_to_integers_rounds_as_told() -> None:
    values = np.array([0.6, 1.5, 2.5, -0.6, -1.5, 3e9, -3e9, np.nan], np.float32)
    expected = {
        "even": [1, 2, 2, -1, -2, 2**31 - 1, -(2**31), 0],
        "zero": [0, 1, 2, 0, -1, 2**31 - 1, -(2**31), 0],
    }
    for rounding, integers in expected.items():
        core = BareCore()
        core.put("ub", 0, values)
        types = {"dtype": "i32", "src_dtype": "f32", "rounding": rounding}
        execute(core, "vconv", dst=64, src0=0, mask=8, repeat=1, **types)
        np.testing.assert_array_equal(core.get("ub", 64, (8,), np.int32), integers)


def test_conversion_in_place() -> None:
    core = BareCore()
    values = np.arange(256, dtype=np.float32)
    core.put("ub", 0, values)
    execute(
        core,
        "vconv",
        dst=0,
        src0=0,
        dtype="f16",
        src_dtype="f32",
        mask=64,
        repeat=4,
        dst_rep_stride=4,
    )
    np.testing.assert_array_equal(core.get("ub", 0, (256,), np.float16), values)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("mask", [64, 10, 1])
@pytest.mark.parametrize("strides", STRIDES)
def test_reductions(dtype: str, mask: int, strides: tuple[int, int]) -> None:
    kernels = {"vcadd": reduce.reduce_add, "vcmax": reduce.reduce_max, "vcmin": reduce.reduce_min}
    for mnemonic, kernel in kernels.items():
        core = BareCore()
        fill(core, dtype)
        place = (4096, *strides)
        source = np.array(
            [[lane(core, place, dtype, r, i)[0] for i in range(mask)] for r in range(5)],
            to_numpy(dtype),
        )
        source_fields = with_strides("src0", place)
        execute(core, mnemonic, dst=4, dtype=dtype, mask=mask, repeat=5, **source_fields)
        np.testing.assert_array_equal(core.get("ub", 4, (5,), to_numpy(dtype)), kernel(source))


def test_reduction_onto_its_own_source() -> None:
    core = BareCore()
    core.put("ub", 0, np.ones(64 * 3, np.float32))
    execute(core, "vcadd", dst=256, src0=0, dtype="f32", mask=64, repeat=3)
    # The first result lands on the first lane of the second repeat, and is summed with it.
    np.testing.assert_array_equal(core.get("ub", 256, (3,), np.float32), [64, 127, 64])


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_each_element_fills_a_block(dtype: str) -> None:
    core = BareCore()
    numpy = to_numpy(dtype)
    values = np.arange(16).astype(numpy)
    core.put("ub", 0, values)
    execute(
        core, "vbrcb", dst=1024, src0=0, dtype=dtype, repeat=2, dst_blk_stride=2, dst_rep_stride=16
    )
    found = core.get("ub", 1024, (16, 2, 32 // numpy.itemsize), numpy)
    np.testing.assert_array_equal(found[:, 0], np.repeat(values[:, None], found.shape[2], 1))
    assert not found[:, 1].any()


def test_nothing_repeated_is_nothing_done() -> None:
    core = BareCore()
    common: dict[str, float | str] = {"dtype": "f32", "repeat": 0, "dst": 1 << 20, "src0": 1 << 20}
    execute(core, "vabs", mask=1, **common)
    execute(core, "vcadd", mask=1, **common)
    execute(core, "vbrcb", **common)
    assert not core.ub.data.any()


@pytest.mark.parametrize(("dtype", "limit"), [("f32", 64), ("f16", 128)])
def test_more_lanes_than_a_repeat_holds_are_refused(dtype: str, limit: int) -> None:
    spec = MNEMONICS["vabs"]
    values: dict[str, float | str] = {"dst": 0, "src0": 0, "dtype": dtype, "repeat": 1}
    assert spec.constraint(operands(spec, mask=limit, **values)) is None
    wrong = spec.constraint(operands(spec, mask=limit + 1, **values))
    assert wrong == f"mask = {limit + 1} is outside 1..{limit} (lanes of {dtype})"
