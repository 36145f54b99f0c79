"""Lanes that are active: by bits, and by a count over all repeats."""

from typing import Any

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.npu_isa.effects import UNDEFINED
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.target.machine import load
from scalar_values import NUMPY

VADD = MNEMONICS["vadd"]
LOW, HIGH = 0x8000_0000_F0F0_0005, 0x1234_5678_9ABC_DEF1


def signed(bits: int) -> int:
    """A register's value that has these 64 bits."""
    return bits - (1 << 64) if bits >> 63 else bits


@pytest.mark.parametrize("mask", [128, 100, 64, 40])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i16"])
def test_bits(dtype: str, mask: int) -> None:
    numpy = np.dtype(NUMPY[dtype])
    lanes = 256 // numpy.itemsize
    mask = min(mask, lanes)
    core = BareCore()
    core.put("ub", 0, (np.arange(lanes * 3) % 100).astype(numpy))
    core.put("ub", 4096, np.full(lanes * 3, 7, numpy))
    fields: dict[str, Any] = {"lanes_low": signed(LOW), "lanes_high": signed(HIGH)}
    execute(core, "vadds", dst=4096, src0=0, scalar=1.0, dtype=dtype, mask=mask, repeat=3, **fields)
    found = core.get("ub", 4096, (3, lanes), numpy)
    for r in range(3):
        for lane in range(lanes):
            bit = (LOW | HIGH << 64) >> lane & 1
            wanted = (r * lanes + lane) % 100 + 1 if bit and lane < mask else 7
            assert found[r, lane] == wanted


@pytest.mark.parametrize("count", [0, 1, 64, 100, 128, 300])
@pytest.mark.parametrize("strides", [(1, 8), (1, 10), (2, 17)])
def test_counts(strides: tuple[int, int], count: int) -> None:
    """As full repeats and a rest, whatever `mask` and `repeat` say."""
    counted, alone = BareCore(), BareCore()
    fields: dict[str, Any] = {"dtype": "f32", "src0_blk_stride": strides[0]}
    fields |= {"src0_rep_stride": strides[1], "dst_rep_stride": 9}
    for core in (counted, alone):
        core.put("ub", 0, np.arange(2048, dtype=np.float32))
    places = {"dst": 16384, "src0": 0}
    execute(
        counted,
        "vadds",
        scalar=0.5,
        mask=1,
        repeat=0,
        count_mode=1,
        count=count,
        **places,
        **fields,
    )
    whole, rest = divmod(count, 64)
    for first, repeat, mask in ((0, whole, 64), (whole, 1, rest)):
        if repeat and mask:
            here = {"dst": 16384 + first * 9 * 32, "src0": first * strides[1] * 32}
            execute(alone, "vadds", scalar=0.5, mask=mask, repeat=repeat, **here, **fields)
    np.testing.assert_array_equal(counted.ub.data, alone.ub.data)
    assert (counted.get("ub", 16384, (1,), np.float32)[0] != 0) == (count > 0)


def test_a_counted_repeat_sees_what_an_earlier_one_wrote() -> None:
    core = BareCore()
    core.put("ub", 0, np.arange(64, dtype=np.float32))
    fields: dict[str, Any] = {"dtype": "f32", "mask": 1, "repeat": 0}
    execute(core, "vadds", dst=256, src0=0, scalar=1.0, count_mode=1, count=130, **fields)
    found = core.get("ub", 256, (130,), np.float32).tolist()
    assert found == [*range(1, 65), *range(2, 66), 3, 4]


def bound(**values: Any) -> Any:
    base: dict[str, Any] = {"dst": 0, "src0": 1024, "src1": 2048, "dtype": "f32", "mask": 64}
    return operands(VADD, **{**base, "repeat": 2, **values})


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"count": 3}, "count = 3 goes with count_mode = 1"),
        ({"count": None}, None),
        ({"count_mode": 1, "count": 3}, None),
        ({"count_mode": 1, "lanes_low": 3}, "lanes_low and lanes_high go with count_mode = 0"),
        ({"lanes_high": 3}, None),
    ],
)
def test_masks_that_are_refused(values: dict[str, Any], fault: str | None) -> None:
    assert VADD.constraint(bound(**values)) == fault


def test_bits_do_not_reach_the_upper_lanes_of_bytes() -> None:
    spec = MNEMONICS["vcopy"]
    values: dict[str, Any] = {"dst": 0, "src0": 0, "dtype": "i8", "repeat": 1, "lanes_low": 1}
    assert spec.constraint(operands(spec, mask=128, **values)) is None
    wanted = "lanes_low and lanes_high mask 128 lanes, and mask = 129"
    assert spec.constraint(operands(spec, mask=129, **values)) == wanted


def test_what_is_touched() -> None:
    machine = load("tiny")
    assert VADD.writes(bound(), machine) == (("ub", 0, 512, 1, 0),)
    assert ("ub", 0, 512, 1, 0) not in VADD.reads(bound(), machine)
    assert ("ub", 0, 512, 1, 0) in VADD.reads(bound(lanes_low=None), machine)
    counted = bound(count_mode=1, count=70)
    assert VADD.writes(counted, machine) == (("ub", 0, 256, 1, 0), ("ub", 256, 24, 1, 256))


def test_shadows_of_lanes_that_are_not_active_stay() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[0:8] = UNDEFINED
    shadow.ub.data[1024:1028] = UNDEFINED
    shadow.ub.data[1024 + 12 : 1024 + 16] = UNDEFINED
    assert VADD.follow(shadow, core, bound(lanes_low=0b1110, mask=5), ()) is None
    missing = shadow.get("ub", 0, (5,), np.uint32) != 0
    assert missing.tolist() == [True, False, False, True, False]
    shadow.ub.data[2048 + 256 + 20] = UNDEFINED
    assert VADD.follow(shadow, core, bound(count_mode=1, count=70), ()) is None
    missing = shadow.get("ub", 256, (7,), np.uint32) != 0
    assert missing.tolist() == [False, False, False, False, False, True, False]


def test_counter_mode_costs_more() -> None:
    machine = load("tiny")
    counted = bound(count_mode=1, count=640, repeat=0)
    assert VADD.cycles(bound(repeat=10), machine).busy + 16 == VADD.cycles(counted, machine).busy


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i32", "i16"])
@pytest.mark.parametrize("value", [0, -1, 0x3C003C00, -(2**63) + 0x7F81_4455])
def test_bits_of_a_register_in_every_lane(dtype: str, value: int) -> None:
    core, size = BareCore(), np.dtype(NUMPY[dtype]).itemsize
    execute(core, "vdupr", dst=64, value=value, dtype=dtype, mask=9, repeat=2, dst_rep_stride=2)
    found = core.get("ub", 64, (2, 64 // size), np.dtype(f"u{size}"))
    assert (found[:, :9] == value % (1 << 8 * size)).all()
    assert not found[:, 9 : 32 // size].any()
