"""Sorting and merging of records, in plain Python."""

import math
import random
from functools import cmp_to_key
from typing import Any

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.errors import ExecutionError
from npuc.dialects.npu_isa.effects import UNDEFINED
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.target.machine import load
from scalar_values import array, edges

Record = tuple[float, int]
TYPES = ("f32", "f16")


def before(a: Record, b: Record) -> int:
    """Negative where `a` comes first: NaN, then the larger; 0 for equal scores."""
    first, second = a[0], b[0]
    if math.isnan(first) or math.isnan(second):
        return math.isnan(second) - math.isnan(first)
    return (first < second) - (first > second)


def in_order(records: list[Record]) -> list[Record]:
    """Python's sort keeps records of equal scores in their order."""
    return sorted(records, key=cmp_to_key(before))


def scores_for(dtype: str, count: int, seed: int) -> list[float]:
    """Edge values, each several times."""
    rng = random.Random(seed)
    return [rng.choice(edges(dtype)) for _ in range(count)]


def record_bytes(records: list[Record], dtype: str) -> bytes:
    """Eight bytes each: the score, zeros up to four bytes, the index."""
    result = b""
    for score, index in records:
        result += array([score], dtype).tobytes().ljust(4, b"\0") + index.to_bytes(4, "little")
    return result


def test_the_order_of_records() -> None:
    nan = math.nan
    some = [(1.0, 0), (-0.0, 1), (nan, 2), (0.0, 3), (math.inf, 4), (nan, 5), (-math.inf, 6)]
    assert [index for _, index in in_order(some)] == [2, 5, 4, 0, 1, 3, 6]


@pytest.mark.parametrize("repeat", [1, 5])
@pytest.mark.parametrize("dtype", TYPES)
def test_sort(dtype: str, repeat: int) -> None:
    core = BareCore()
    core.ub.data[:] = 0xAA
    scores = scores_for(dtype, 32 * repeat, repeat)
    # All bits of an index count, and they need not be in order.
    indices = [(i * 2654435761 + 7) % 2**32 for i in range(len(scores))]
    core.put("ub", 0, array(scores, dtype))
    core.put("ub", 4096, np.array(indices, np.uint32))
    execute(core, "vsort32", dst=8192, src0=0, src1=4096, dtype=dtype, repeat=repeat)
    records = list(zip(scores, indices, strict=True))
    expected = b"".join(
        record_bytes(in_order(records[32 * r : 32 * r + 32]), dtype) for r in range(repeat)
    )
    found = core.get("ub", 8192, (len(expected),), np.uint8).tobytes()
    assert found == expected
    assert core.ub.data[8192 + len(expected)] == 0xAA


def test_records_that_land_on_later_scores() -> None:
    core, alone = BareCore(), BareCore()
    scores = np.random.default_rng(0).permutation(64).astype(np.float32)
    for one in (core, alone):
        one.put("ub", 0, scores)
        one.put("ub", 4096, np.arange(64, dtype=np.uint32))
    execute(core, "vsort32", dst=0, src0=0, src1=4096, dtype="f32", repeat=2)
    for r in range(2):
        places = {"dst": 256 * r, "src0": 128 * r, "src1": 4096 + 128 * r}
        execute(alone, "vsort32", **places, dtype="f32", repeat=1)
    np.testing.assert_array_equal(core.ub.data, alone.ub.data)


LISTS = [(5, 3, 7, 2), (4, 0, 4, 0), (0, 0, 0, 9), (1, 1, 0, 0), (0, 0, 0, 0), (30, 30, 30, 30)]


def put_lists(core: BareCore, dtype: str, lengths: tuple[int, ...], seed: int) -> list[Any]:
    """Four sorted lists, 1024 bytes apart; the index of a record says where it is from."""
    lists: list[list[Record]] = []
    for number, length in enumerate(lengths):
        scores = scores_for(dtype, length, seed + number)
        records = in_order([(score, 0) for score in scores])
        lists.append([(score, number * 1000 + at) for at, (score, _) in enumerate(records)])
        data = np.frombuffer(record_bytes(lists[-1], dtype), np.uint8)
        core.put("ub", 1024 * number, data)
    return lists


@pytest.mark.parametrize("suspend", [0, 1])
@pytest.mark.parametrize("lengths", LISTS, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_merge(dtype: str, lengths: tuple[int, ...], suspend: int) -> None:
    core = BareCore()
    lists = put_lists(core, dtype, lengths, suspend)
    merged: list[Record] = []
    left = [list(records) for records in lists]
    while any(left):
        heads = [records[0] for records in left if records]
        best = in_order(heads)[0]
        taken = next(records for records in left if records and records[0] is best)
        merged.append(taken.pop(0))
        if suspend and not taken:
            break
    fields: dict[str, Any] = {f"length{i}": length for i, length in enumerate(lengths)}
    fields |= {f"src{i}": 1024 * i for i in range(4)}
    execute(core, "vmrgsort4", merged=5, dst=8192, dtype=dtype, suspend=suspend, **fields)
    expected = record_bytes(merged, dtype)
    assert core.get("ub", 8192, (len(expected),), np.uint8).tobytes() == expected
    assert not core.get("ub", 8192 + len(expected), (64,), np.uint8).any()
    counts = [len(records) - len(rest) for records, rest in zip(lists, left, strict=True)]
    assert core.regs[5] == sum(count << 16 * i for i, count in enumerate(counts))


def test_merges_that_are_repeated() -> None:
    core, alone = BareCore(), BareCore()
    scores = -np.sort(-np.random.default_rng(2).normal(size=(12, 8)).astype(np.float32), axis=1)
    records = np.zeros((96, 2), np.uint32)
    records[:, 0], records[:, 1] = scores.ravel().view(np.uint32), np.arange(96)
    lengths = {f"length{i}": 8 for i in range(4)}
    for one in (core, alone):
        one.put("ub", 0, records)
    starts = {f"src{i}": 64 * i for i in range(4)}
    execute(core, "vmrgsort4", merged=5, dst=4096, dtype="f32", repeat=3, **starts, **lengths)
    for r in range(3):
        here = {name: start + 256 * r for name, start in starts.items()}
        execute(alone, "vmrgsort4", merged=5, dst=4096 + 256 * r, dtype="f32", **here, **lengths)
    np.testing.assert_array_equal(core.ub.data, alone.ub.data)
    assert core.regs[5] == alone.regs[5] == 0x0008000800080008


MERGE = MNEMONICS["vmrgsort4"]
BASE: dict[str, Any] = {
    "merged": 0, "dst": 8192, "src0": 0, "src1": 64, "src2": 128, "src3": 192, "dtype": "f32",
    "length0": 8, "length1": 8, "length2": 8, "length3": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"repeat": 2}, None),
        ({"repeat": 2, "suspend": 1}, "suspend = 1 goes with repeat = 1, not 2"),
        (
            {"repeat": 2, "length3": 7},
            "lists of 8, 8, 8, 7 records, and repeat = 2 wants equal ones",
        ),
        ({"repeat": 2, "length3": None}, None),
        ({"repeat": 2, "src2": 136}, "with repeat = 2 lists follow each other, 64 bytes apart"),
        ({"repeat": 2, "src2": None}, None),
    ],
)
def test_merges_that_are_refused(values: dict[str, Any], fault: str | None) -> None:
    assert MERGE.constraint(operands(MERGE, **{**BASE, **values})) == fault


def test_a_list_that_is_not_sorted() -> None:
    core = BareCore()
    core.put("ub", 64 + 8, np.ones(1, np.float32))
    with pytest.raises(ExecutionError, match="a list that is not sorted") as caught:
        MERGE.execute(core, operands(MERGE, **BASE))
    assert caught.value.why == "the scores of src1 do not fall"


def test_sorted_records_take_their_shadow_along() -> None:
    shadow, core = BareCore(), BareCore()
    core.put("ub", 0, np.arange(32, dtype=np.float32))
    shadow.ub.data[4096 + 4] = UNDEFINED
    spec = MNEMONICS["vsort32"]
    bound = operands(spec, dst=8192, src0=0, src1=4096, dtype="f32", repeat=1)
    assert spec.follow(shadow, core, bound, ()) is None
    missing = shadow.get("ub", 8192, (32, 2), np.uint32) != 0
    assert np.argwhere(missing).tolist() == [[30, 1]]
    shadow.ub.data[8] = UNDEFINED
    fault = spec.follow(shadow, core, bound, ())
    assert fault is not None
    assert fault.why == "score 2 of repeat 0 has no value, others of it have"


def test_merged_records_take_their_shadow_along() -> None:
    shadow, core = BareCore(), BareCore()
    put_lists(core, "f16", (2, 2, 0, 0), 3)
    core.put("ub", 0, np.frombuffer(record_bytes([(3.0, 0), (1.0, 1)], "f16"), np.uint8))
    core.put("ub", 1024, np.frombuffer(record_bytes([(4.0, 2), (2.0, 3)], "f16"), np.uint8))
    shadow.ub.data[4:8] = UNDEFINED
    fields: dict[str, Any] = {"length0": 2, "length1": 2}
    fields |= {f"src{i}": 1024 * i for i in range(4)}
    bound = operands(MERGE, merged=0, dst=8192, dtype="f16", **fields)
    assert MERGE.follow(shadow, core, bound, ()) is None
    missing = shadow.get("ub", 8192, (4, 2), np.uint32) != 0
    assert np.argwhere(missing).tolist() == [[1, 1]]
    shadow.ub.data[1024 + 8] = UNDEFINED
    fault = MERGE.follow(shadow, core, bound, ())
    assert fault is not None
    assert fault.why == "score 3 of merge 0 has no value, others of it have"


def test_cycles() -> None:
    machine = load("tiny")
    bound = operands(MNEMONICS["vsort32"], dst=0, src0=0, src1=0, dtype="f32", repeat=4)
    assert MNEMONICS["vsort32"].cycles(bound, machine).busy == 64
    assert MERGE.cycles(operands(MERGE, **BASE), machine).busy == 22
    longer = {**BASE, **{f"length{i}": 64 for i in range(4)}}
    assert MERGE.cycles(operands(MERGE, **longer), machine).busy == 128
