"""Comparisons into bits and selection by bits, lane by lane in plain Python."""

import math
import operator

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.npu_isa.effects import UNDEFINED
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from scalar_values import FORMATS, NUMPY, array, edges

PREDICATES = {
    "lt": operator.lt,
    "gt": operator.gt,
    "eq": operator.eq,
    "le": operator.le,
    "ge": operator.ge,
    "ne": operator.ne,
}
TYPES = ("f32", "f16", "i32", "i16")


def lanes_of(dtype: str) -> int:
    return 256 // np.dtype(NUMPY[dtype]).itemsize


def bit(packed: Array, lane: int) -> int:
    return int(packed[lane // 8]) >> lane % 8 & 1


def pairs(dtype: str, repeat: int) -> tuple[list[float], list[float]]:
    """Two rows in which edge values meet each other, for so many repeats."""
    values = edges(dtype)
    if dtype in FORMATS:
        values = [0.0, -0.0, math.inf, -math.inf, math.nan, *values]
    count = repeat * lanes_of(dtype)
    left = [values[i % len(values)] for i in range(count)]
    right = [values[(i + i // len(values)) % len(values)] for i in range(count)]
    return left, right


@pytest.mark.parametrize("mask", [128, 64, 13])
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("dtype", TYPES)
def test_comparisons(dtype: str, predicate: str, mask: int) -> None:
    lanes = lanes_of(dtype)
    mask, repeat = min(mask, lanes), 9
    left, right = pairs(dtype, repeat)
    core = BareCore()
    core.ub.data[16384:16640] = 0xFF
    core.put("ub", 0, array(left, dtype))
    core.put("ub", 8192, array(right, dtype))
    fields: dict[str, float | str] = {"dtype": dtype, "mask": mask, "repeat": repeat}
    execute(core, "vcmp", dst=16384, src0=0, src1=8192, compare=predicate, **fields)
    found = core.get("ub", 16384, (repeat, lanes // 8), np.uint8)
    for r in range(repeat):
        for i in range(lanes):
            at = r * lanes + i
            holds = i < mask and PREDICATES[predicate](left[at], right[at])
            assert bit(found[r], i) == holds, (left[at], right[at])
    assert (core.get("ub", 16384 + repeat * lanes // 8, (16,), np.uint8) == 0xFF).all()


@pytest.mark.parametrize("scalar", [0.0, -1.5, math.inf, math.nan, 2.0001])
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_comparisons_with_a_scalar(dtype: str, predicate: str, scalar: float) -> None:
    core = BareCore()
    values, _ = pairs(dtype, 2)
    core.put("ub", 0, array(values, dtype))
    rounded = float(array([scalar], dtype)[0])
    lanes = lanes_of(dtype)
    execute(
        core, "vcmps", dst=4096, src0=0, scalar=scalar, dtype=dtype, mask=lanes, repeat=2,
        compare=predicate,
    )  # fmt: skip
    found = core.get("ub", 4096, (2 * lanes // 8,), np.uint8)
    for lane, value in enumerate(values):
        assert bit(found, lane) == PREDICATES[predicate](value, rounded), value


def test_bits_that_land_on_a_later_source() -> None:
    """The bits of the first repeat are lanes 0 and 1 of the second."""
    core = BareCore()
    core.put("ub", 0, np.full(128, 1.0, np.float32))
    execute(
        core, "vcmps", dst=256, src0=0, scalar=1.0, dtype="f32", mask=64, repeat=2, compare="eq"
    )
    assert core.get("ub", 256, (2,), np.uint64).tolist() == [2**64 - 1, 2**64 - 4]


SELECTED = ("f32", "f16", "bf16", "i32", "i16")


@pytest.mark.parametrize("mode", ["each", "same", "scalar"])
@pytest.mark.parametrize("dtype", SELECTED)
def test_selections(dtype: str, mode: str) -> None:
    core, numpy = BareCore(), np.dtype(NUMPY[dtype])
    lanes, mask, repeat = lanes_of(dtype), lanes_of(dtype) - 5, 3
    core.ub.data[:] = np.random.default_rng(3).integers(0, 256, core.ub.data.size, np.uint8)
    unsigned = np.dtype(f"u{numpy.itemsize}")
    a, b, old = (core.get("ub", start, (repeat, lanes), unsigned) for start in (0, 4096, 8192))
    bits = core.get("ub", 12288, (repeat, lanes // 8), np.uint8)
    fields: dict[str, float | str] = {"dtype": dtype, "mask": mask, "repeat": repeat}
    if mode == "scalar":
        execute(core, "vsels", dst=8192, src0=0, select=12288, scalar=-3.3, **fields)
        b[:] = array([-3.3], dtype).view(unsigned)[0]
    else:
        execute(core, "vsel", dst=8192, src0=0, src1=4096, select=12288, repeat_bits=mode, **fields)
    found = core.get("ub", 8192, (repeat, lanes), unsigned)
    for r in range(repeat):
        of = bits[0 if mode == "same" else r]
        for i in range(lanes):
            chosen = a[r, i] if bit(of, i) else b[r, i]
            assert found[r, i] == (chosen if i < mask else old[r, i])


def test_selection_onto_its_own_bits() -> None:
    """Zeros of the first repeat clear the bits of the second."""
    core = BareCore()
    core.put("ub", 1024, np.full(128, 2.0, np.float32))
    core.put("ub", 0, np.full(4, 0xFF, np.uint64))
    execute(
        core, "vsels", dst=0, src0=512, select=0, scalar=1.0, dtype="f32", mask=64, repeat=2,
        dst_rep_stride=32,
    )  # fmt: skip
    assert (core.get("ub", 0, (64,), np.float32) == [*[0.0] * 8, *[1.0] * 56]).all()
    assert (core.get("ub", 1024, (64,), np.float32) == 1.0).all()


def test_the_shadow_of_a_bit_is_a_bit() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[20:24] = UNDEFINED
    spec = MNEMONICS["vcmp"]
    bound = operands(spec, dst=4096, src0=0, src1=512, dtype="f32", mask=64, repeat=1, compare="lt")
    assert spec.follow(shadow, core, bound, ()) is None
    assert shadow.get("ub", 4096, (8,), np.uint8).tolist() == [1 << 5, 0, 0, 0, 0, 0, 0, 0]


def test_what_is_not_selected_may_lack_a_value() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[0:12] = UNDEFINED
    shadow.ub.data[512 + 8 : 512 + 16] = UNDEFINED
    shadow.put("ub", 4096, np.array([1 << 4], np.uint8))
    core.put("ub", 4096, np.array([0b1010], np.uint8))
    spec = MNEMONICS["vsel"]
    bound = operands(spec, dst=1024, src0=0, src1=512, select=4096, dtype="f32", mask=6, repeat=1)
    assert spec.follow(shadow, core, bound, ()) is None
    undefined = shadow.get("ub", 1024, (6,), np.uint32) != 0
    # Lane 1 of src0, lane 2 of src1 are chosen without a value; lane 4 by a bit without one.
    assert undefined.tolist() == [False, True, True, False, True, False]


def test_features() -> None:
    fields: dict[str, float | str] = {"dst": 0, "src0": 0, "mask": 1, "repeat": 1}
    spec = MNEMONICS["vcmp"]
    for dtype, features in (("f16", ()), ("i16", ("compare_integers",))):
        bound = operands(spec, src1=0, compare="eq", dtype=dtype, **fields)
        assert spec.features(bound) == features
    spec = MNEMONICS["vsel"]
    for mode, features in (("each", ("select_ub",)), ("same", ())):
        bound = operands(spec, src1=0, select=0, repeat_bits=mode, dtype="f16", **fields)
        assert spec.features(bound) == features
