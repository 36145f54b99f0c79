"""Reductions of repeats, blocks and pairs, with and without indices, in plain Python."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.npu_isa.effects import UNDEFINED
from npuc.dialects.npu_isa.instructions import MNEMONICS
from scalar_values import NUMPY, array, edges, larger, narrow, smaller

TYPES = ("f32", "f16")


def total(values: list[float]) -> float:
    """A sum that no order changes: of infinities, NaN, and numbers that add up exactly."""
    if all(map(math.isfinite, values)):
        return float(sum(map(Fraction, values)))
    return sum(v for v in values if not math.isfinite(v))


def fold(two: Callable[[float, float], float]) -> Callable[[list[float]], float]:
    def many(values: list[float]) -> float:
        result = values[0]
        for value in values[1:]:
            result = two(result, value)
        return result

    return many


KERNELS = {
    "vcadd": (256, total), "vcmax": (256, fold(larger)), "vcmin": (256, fold(smaller)),
    "vcgadd": (32, total), "vcgmax": (32, fold(larger)), "vcgmin": (32, fold(smaller)),
    "vcpadd": (2, total),
}  # fmt: skip
"""Bytes of a group (2 lanes for pairs), and its reduction."""


def rows_for(mnemonic: str, dtype: str, repeat: int) -> list[list[float]]:
    """Lanes of each repeat: small integers for sums with a NaN or infinity now and then, any edge
    value for the others."""
    lanes = 256 // np.dtype(NUMPY[dtype]).itemsize
    if "add" not in mnemonic:
        values = edges(dtype)
        return [
            [values[(r * 37 + i * 5) % len(values)] for i in range(lanes)] for r in range(repeat)
        ]
    rows = [[float((r * 7 + i * 5) % 23 - 11) for i in range(lanes)] for r in range(repeat)]
    rows[1][3], rows[2][5], rows[2][6], rows[3][0] = math.nan, math.inf, -math.inf, -math.inf
    return rows


@pytest.mark.parametrize("mask", [128, 64, 40, 33, 1])
@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mnemonic", KERNELS)
def test_values(mnemonic: str, dtype: str, stride: int, mask: int) -> None:
    numpy = np.dtype(NUMPY[dtype])
    lanes, repeat = 256 // numpy.itemsize, 5
    mask = min(mask, lanes)
    size, kernel = KERNELS[mnemonic]
    group = size if size == 2 else size // numpy.itemsize
    rows = rows_for(mnemonic, dtype, repeat)
    core = BareCore()
    core.put("ub", 8192, array([v for row in rows for v in row], dtype))
    fields: dict[str, float | str] = {"dtype": dtype, "mask": mask, "repeat": repeat}
    execute(core, mnemonic, dst=0, src0=8192, dst_rep_stride=stride, **fields)
    found = core.get("ub", 0, (repeat, stride * lanes // group), numpy)
    for r, row in enumerate(rows):
        groups = [row[at : min(at + group, mask)] for at in range(0, mask, group)]
        expected = [narrow(kernel(values), dtype) for values in groups]
        np.testing.assert_array_equal(found[r, : len(groups)], array(expected, dtype))
        assert not found[r, len(groups) :].any()


ORDERS = ("value", "value_index", "index_value", "index")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mask", [64, 9])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mnemonic", ["vcmax", "vcmin"])
def test_where_the_extreme_is(mnemonic: str, dtype: str, mask: int, order: str) -> None:
    rows = rows_for(mnemonic, dtype, 6)
    rows[1] = [1.0] * len(rows[1])
    rows[2] = [0.0, -0.0] * (len(rows[2]) // 2)
    rows[3] = [math.inf if mnemonic == "vcmin" else -math.inf] * len(rows[3])
    core = BareCore()
    core.put("ub", 8192, array([v for row in rows for v in row], dtype))
    fields: dict[str, float | str] = {"dtype": dtype, "mask": mask, "repeat": 6, "order": order}
    execute(core, mnemonic, dst=64, src0=8192, **fields)
    numpy = np.dtype(NUMPY[dtype])
    unsigned = np.dtype(np.uint32) if order == "index" else np.dtype(f"u{numpy.itemsize}")
    width = 2 if "_" in order else 1
    found = core.get("ub", 64, (6, width), unsigned)
    for r, row in enumerate(rows):
        at = first_extreme(row[:mask], mnemonic == "vcmax")
        wanted: dict[str, Any] = {"value": array([row[at]], dtype).view(numpy)[0], "index": at}
        for part, got in zip(order.split("_"), found[r], strict=True):
            seen = np.array(got, unsigned).view(numpy) if part == "value" else got
            np.testing.assert_array_equal(seen, wanted[part])
    assert not core.get("ub", 64 + found.nbytes, (16,), np.uint8).any()


def first_extreme(values: list[float], largest: bool) -> int:
    best = 0
    for at, value in enumerate(values):
        if math.isnan(values[best]):
            break
        if math.isnan(value) or (value > values[best] if largest else value < values[best]):
            best = at
    return best


def test_results_that_land_on_a_later_source() -> None:
    core = BareCore()
    core.put("ub", 0, np.ones(128, np.float32))
    execute(core, "vcgadd", dst=256, src0=0, dtype="f32", mask=64, repeat=2)
    # The first repeat leaves 8 eights in the first block of the second.
    assert core.get("ub", 256, (16,), np.float32).tolist() == [*[8.0] * 8, 64.0, *[8.0] * 7]


def test_groups_that_lack_values() -> None:
    """All of a block, and then one lane of another."""
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[32:64] = UNDEFINED
    spec = MNEMONICS["vcgmax"]
    bound = operands(spec, dst=4096, src0=0, dtype="f32", mask=20, repeat=1)
    assert spec.follow(shadow, core, bound, ()) is None
    assert (shadow.get("ub", 4096, (4,), np.uint32) != 0).tolist() == [False, True, False, False]
    shadow.ub.data[68:72] = UNDEFINED
    fault = spec.follow(shadow, core, bound, ())
    assert fault is not None
    assert fault.why == "lane 17 of repeat 0 has no value, others of those it is reduced with have"
    assert (shadow.get("ub", 4096, (4,), np.uint32) != 0).tolist() == [False, True, True, False]


def test_an_index_of_lanes_without_values_lacks_one() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[256:512] = UNDEFINED
    spec = MNEMONICS["vcmax"]
    bound = operands(spec, dst=4096, src0=0, dtype="f16", mask=128, repeat=2, order="value_index")
    assert spec.follow(shadow, core, bound, ()) is None
    assert (shadow.get("ub", 4096, (4,), np.uint16) != 0).tolist() == [False, False, True, True]


@pytest.mark.parametrize("dtype", TYPES)
def test_blocks_are_filled_with_any_bits(dtype: str) -> None:
    values = (edges(dtype) * 2)[:64]
    core = BareCore()
    core.put("ub", 0, array(values, dtype))
    execute(core, "vbrcb", dst=4096, src0=0, dtype=dtype, repeat=8)
    numpy = np.dtype(NUMPY[dtype])
    found = core.get("ub", 4096, (64, 32 // numpy.itemsize), np.dtype(f"u{numpy.itemsize}"))
    source = core.get("ub", 0, (64,), found.dtype)
    for row, value in zip(found, source, strict=True):
        assert set(row.tolist()) == {int(value)}
