"""Vector instructions that sort and merge records.

A record has 8 bytes: a score (f32, or f16 and two bytes that are reserved) and, in its upper four,
an index, any 32 bits.  Larger scores come first, of equal scores the one that came first; NaN
comes before all numbers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.errors import ExecutionError
from ...core.kernels.sort import Indices, descending, is_descending
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic
from ..effects import DEFINED, Access, Effects, Footprint, UndefinedUse
from ..memory import Array, Memory
from ..spec import Field, Instruction, Operands, layout
from .lanes import UNSIGNED, Flags
from .lanewise import FLOATS, address, counts, dtype_field

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

RECORD = 8
"""Bytes of a record."""
SORTED = 32
"""Records a repeat of `vsort32` sorts."""
_RECORD = np.dtype(np.uint64)
_INDEX = UNSIGNED[4]
LISTS = ("src0", "src1", "src2", "src3")
_MERGED = 4095
"""Most records of a list."""


class VSort32(Instruction):
    """Each repeat sorts 32 scores at `src0` with their indices at `src1` into 32 records at `dst`;
    those of a repeat follow those of the one before.  The reserved bytes of an f16 record are 0.
    """

    opcode = 0x190
    mnemonic = "vsort32"
    pipe = "V"
    feature = "vector_sort"
    restates = "Sort32: f16 and f32 scores, u32 indices, 32 of them a repeat, repeat <= 255."
    fields = layout(
        address("dst"), address("src0"), address("src1"), dtype_field(FLOATS), counts()[1]
    )

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Scores and indices read, records written."""
        del machine
        count = SORTED * o.repeat
        return (
            Access("src0", "r", Footprint("ub", 0, count * itemsize(o.dtype))),
            Access("src1", "r", Footprint("ub", 0, count * _INDEX.itemsize)),
            Access("dst", "w", Footprint("ub", 0, count * RECORD)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Sort all repeats at once, or one by one where records may land on later scores."""
        repeat = o.repeat
        if repeat <= 0:
            return
        end = o.dst + repeat * SORTED * RECORD
        sizes = {o.src0: itemsize(o.dtype), o.src1: _INDEX.itemsize}
        meets = any(o.dst < s + repeat * SORTED * n and s < end for s, n in sizes.items())
        for first in range(repeat) if meets else (0,):
            some = 1 if meets else repeat
            order = descending(cls._scores(core.ub, o, first, some).view(to_numpy(o.dtype)))
            cls._store(core.ub, o, first, some, order)

    @classmethod
    def _scores(cls, memory: Memory, o: Operands, first: int, repeat: int) -> Array:
        """Bits of the scores, [repeat, 32]."""
        bits = UNSIGNED[itemsize(o.dtype)]
        start = o.src0 + first * SORTED * bits.itemsize
        return memory.flat(start, repeat * SORTED, bits).reshape(repeat, SORTED)

    @classmethod
    def _store(cls, memory: Memory, o: Operands, first: int, repeat: int, order: Indices) -> None:
        """Records of `memory` in an order for each repeat."""
        start = o.src1 + first * SORTED * _INDEX.itemsize
        indices = memory.flat(start, repeat * SORTED, _INDEX).reshape(repeat, SORTED)
        scores = cls._scores(memory, o, first, repeat)
        records = np.empty((repeat, SORTED, 2), _INDEX)
        records[..., 0] = np.take_along_axis(scores, order, 1)
        records[..., 1] = np.take_along_axis(indices, order, 1)
        target = memory.flat(o.dst + first * SORTED * RECORD, records.size, _INDEX)
        target[...] = records.ravel()

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """Records take their shadow along.  Scores that all lack a value are in some order; it is
        wrong that only some do."""
        del effects
        if o.repeat <= 0:
            return None
        missing = cls._scores(shadow.ub, o, 0, o.repeat) != DEFINED
        order = descending(cls._scores(core.ub, o, 0, o.repeat).view(to_numpy(o.dtype)))
        cls._store(shadow.ub, o, 0, o.repeat, order)
        return _partly(missing, "score {lane} of repeat {repeat} has no value, others of it have")

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """By repeats."""
        del traffic
        return costs.vector(machine, "sort", itemsize(o.dtype), o.repeat)


def _partly(missing: Flags, why: str) -> UndefinedUse | None:
    """The first repeat in which some but not all lack a value."""
    some: Flags = np.logical_or.reduce(missing, 1)
    every: Flags = np.logical_and.reduce(missing, 1)
    partly = some & ~every
    if not partly.any():
        return None
    repeat = int(partly.argmax())
    return UndefinedUse("ub", why.format(lane=int(missing[repeat].argmax()), repeat=repeat))


class _Merge(NamedTuple):
    """Records to merge, uint64[repeat, records], list after list, and how many each list has."""

    records: Array
    lengths: tuple[int, ...]

    def scores(self, dtype: str) -> Array:
        """The scores of the records."""
        bits = UNSIGNED[itemsize(dtype)]
        low = np.ascontiguousarray(self.records).view(bits)
        return low[:, :: RECORD // bits.itemsize].view(to_numpy(dtype))


class VMrgSort4(Instruction):
    """Merge up to four lists of records, each in order, into one in order; of equal scores those of
    the earlier list come first.

    `length0` to `length3` are the records of the lists, 0 for a list that is not there.  With
    `suspend` = 1 it stops when one of the lists is used up.  `merged` is how many records were
    taken from each list, list i in bits 16i to 16i + 15; the scalar thread may read it once it has
    waited for this instruction.  With `repeat` > 1 the four lists are equally long and follow each
    other, as do the lists of the repeats.
    """

    opcode = 0x191
    mnemonic = "vmrgsort4"
    pipe = "V"
    feature = "vector_sort"
    restates = (
        "MrgSort: f16 and f32 scores, 2 to 4 lists (validBit by their lengths) of 0..4095 records, "
        "ifExhaustedSuspension, repeatTimes <= 255 for four equal lists that follow each other; "
        "the counts are those of GetMrgSortResult."
    )
    fields = layout(
        Field("merged", "out"),
        address("dst"),
        *(Field(name, "addr", space="ub", align=RECORD) for name in LISTS),
        dtype_field(FLOATS),
        *(Field(f"length{i}", "ri", 12, unit="records", max=_MERGED, default=0) for i in range(4)),
        Field("repeat", "ri", 8, min=1, max=255, default=1, bias=1),
        Field("suspend", "imm", 1, default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """More than one repeat wants four equal lists that follow each other, to the end."""
        lengths = _lengths(o)
        if o.repeat is None or o.repeat <= 1 or any(length is None for length in lengths):
            return None
        if len(set(lengths)) > 1:
            told = ", ".join(map(str, lengths))
            return f"lists of {told} records, and repeat = {o.repeat} wants equal ones"
        if o.suspend:
            return f"suspend = 1 goes with repeat = 1, not {o.repeat}"
        starts = [getattr(o, name) for name in LISTS]
        gaps = {b - a for a, b in pairwise(starts) if None not in (a, b)}
        if gaps - {lengths[0] * RECORD}:
            size = lengths[0] * RECORD
            return f"with repeat = {o.repeat} lists follow each other, {size} bytes apart"
        return None

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Lists read.  Room for all records counts as written, and as read where it is not certain
        to be."""
        del machine
        lengths = _lengths(o)
        every = sum(lengths) * RECORD
        reads = [
            Access(name, "r", Footprint("ub", 0, length * RECORD, o.repeat, every))
            for name, length in zip(LISTS, lengths, strict=True)
        ]
        room = Footprint("ub", 0, every * o.repeat)
        kept = (Access("dst", "r", room),) if o.suspend else ()
        return (*reads, *kept, Access("dst", "w", room))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Merge all repeats at once, or one by one where records may land on later lists."""
        lengths = _lengths(o)
        taken = [0] * len(LISTS)
        total = sum(lengths) * RECORD
        if total:
            meets = o.dst < o.src0 + o.repeat * total and o.src0 < o.dst + o.repeat * total
            for first in range(o.repeat) if meets else (0,):
                merge = _lists(core.ub, o, first, 1 if meets else o.repeat)
                order = cls._order(o, merge)
                taken = _store_merged(core.ub, o, first, merge, order)
        core.regs[o.merged] = sum(count << 16 * i for i, count in enumerate(taken))

    @classmethod
    def _order(cls, o: Operands, merge: _Merge) -> Indices:
        """The order of the records of each repeat, as many as are taken.  Raises ExecutionError for
        a list that is not in order."""
        scores = merge.scores(o.dtype)
        ends = np.cumsum(merge.lengths)
        for name, end, length in zip(LISTS, ends.tolist(), merge.lengths, strict=True):
            if not is_descending(scores[:, end - length : end]):
                raise ExecutionError(
                    f"{cls.mnemonic} merges a list that is not sorted",
                    why=f"the scores of {name} do not fall",
                    hint="sort each list first, in falling order",
                )
        order = descending(scores)
        if not o.suspend:
            return order
        # A list is used up at its last record; lists that are not there do not count.
        last = [int(np.flatnonzero(order[0] == end - 1)[0]) for end in _last(merge.lengths)]
        return order[:, : min(last) + 1]

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """Records take their shadow along.  Scores that all lack a value are in some order; it is
        wrong that only some do."""
        del effects
        if not sum(_lengths(o)):
            return None
        values, shadows = _lists(core.ub, o, 0, o.repeat), _lists(shadow.ub, o, 0, o.repeat)
        missing = shadows.scores(o.dtype).view(UNSIGNED[itemsize(o.dtype)]) != DEFINED
        wrong = _partly(missing, "score {lane} of merge {repeat} has no value, others of it have")
        some_order = wrong is not None or bool(missing.any())
        order = descending(values.scores(o.dtype)) if some_order else cls._order(o, values)
        _store_merged(shadow.ub, o, 0, shadows, order)
        return wrong

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """By groups of 32 records."""
        del traffic
        groups = costs.ceil_div(sum(_lengths(o)), SORTED) * o.repeat
        return costs.vector(machine, "merge", itemsize(o.dtype), groups)


def _lengths(o: Operands) -> tuple[Any, ...]:
    """Records of each list; an unknown length is None."""
    return (o.length0, o.length1, o.length2, o.length3)


def _last(lengths: tuple[int, ...]) -> list[int]:
    """The end of each list that is there, counted in records of all."""
    ends = np.cumsum(lengths).tolist()
    return [end for end, length in zip(ends, lengths, strict=True) if length]


def _lists(memory: Memory, o: Operands, first: int, repeat: int) -> _Merge:
    """A copy of the lists of `repeat` repeats."""
    lengths = _lengths(o)
    step = sum(lengths) * RECORD
    parts = [
        memory.view(getattr(o, name) + first * step, (repeat, n), (step, RECORD), _RECORD)
        for name, n in zip(LISTS, lengths, strict=True)
        if n
    ]
    return _Merge(np.concatenate(parts, 1), lengths)


def _store_merged(
    memory: Memory, o: Operands, first: int, merge: _Merge, order: Indices
) -> list[int]:
    """Store records in their order; how many of each list they are, in the last repeat."""
    start = o.dst + first * sum(merge.lengths) * RECORD
    merged = np.take_along_axis(merge.records, order, 1)
    memory.flat(start, merged.size, _RECORD)[...] = merged.ravel()
    found = order[-1]
    below = [int(np.count_nonzero(found < end)) for end in np.cumsum(merge.lengths).tolist()]
    return [here - before for before, here in pairwise([0, *below])]
