"""Races in GM: between the pipes of one core, and between the cores of one task.

What a task did in GM is gathered as ranges and compared when it is over: the cores of a task have
no order among each other but what they waited for, and the pipes of a core only what their vector
clocks say.  Stores that combine in one step, all in the same way, may meet in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ....dialects.npu_isa.spec import Footprint
from ..issue import Effect
from .order import Known

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CHUNK = 1 << 20
"""Pairs compared at a time."""


class Touch(NamedTuple):
    """One access to GM: by which core, pipe and word, as which instruction of the pipe, and what
    the pipe had seen of the others."""

    effect: Effect
    core: int
    pipe: int
    word: int
    seen: tuple[int, ...]
    known: Known = {}  # noqa: RUF012 - never written
    """What the pipe knew of other cores."""
    atomic: str | None = None
    """How the store combines, if it does so in one step."""

    @property
    def number(self) -> int:
        """Which instruction of its pipe this is."""
        return self.seen[self.pipe]


class SharedConflict(NamedTuple):
    """Two accesses in no order; `earlier` is first in program order when one core made both."""

    earlier: Touch
    later: Touch
    address: int


def find_conflict(touches: list[Touch]) -> SharedConflict | None:
    """Two accesses of one task to the same byte, one a write, in no order, if there are any.

    `touches` come core by core, each core's in program order.
    """
    if len(touches) < 2:
        return None
    rows = _close_runs(touches)
    if rows is None:
        return None
    facts = _Facts(touches)
    for left, right in _overlapping(rows):
        found = np.flatnonzero(facts.unordered(rows.owner[left], rows.owner[right]))
        if len(found):
            pair = int(left[found[0]]), int(right[found[0]])
            first, second = sorted(int(rows.owner[row]) for row in pair)
            address = max(int(rows.start[row]) for row in pair)
            return SharedConflict(touches[first], touches[second], address)
    return None


class _Rows(NamedTuple):
    """Runs of bytes sorted by start: [start, end), the index of their access, whether it writes."""

    start: Numbers
    end: Numbers
    owner: Numbers
    writes: Flags


def _close_runs(touches: list[Touch]) -> _Rows | None:
    """The runs of all accesses that may conflict, going by their range as a whole: reads that meet
    a write, and writes that meet such a read or another write."""
    shapes = [touch.effect.shape for touch in touches]
    starts = np.array([shape.start for shape in shapes], np.int64)
    ends = np.array([shape.end for shape in shapes], np.int64)
    writes = np.array([touch.effect.mode == "w" for touch in touches])
    met = _met(starts, ends, starts[writes], ends[writes])
    reads = ~writes & (met > 0)
    close = reads | (writes & ((met > 1) | (_met(starts, ends, starts[reads], ends[reads]) > 0)))
    pieces = [_runs(shapes[index], index) for index in np.flatnonzero(close).tolist()]
    if not pieces:
        return None
    start, end, owner = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.argsort(start, kind="stable")
    return _Rows(start[order], end[order], owner[order], writes[owner[order]])


def _met(starts: Numbers, ends: Numbers, other_starts: Numbers, other_ends: Numbers) -> Numbers:
    """How many of the other ranges each range overlaps: those that start before its end, less
    those that end before its start."""
    begun = np.searchsorted(np.sort(other_starts), ends)
    return begun - np.searchsorted(np.sort(other_ends), starts, "right")


def _runs(shape: Footprint, owner: int) -> tuple[Numbers, Numbers, Numbers]:
    """Starts, ends and owner of the runs of one access; adjoining rows are one run."""
    rows, width = max(shape.rows, 0), shape.row_bytes
    if shape.stride == width:
        rows, width = min(rows, 1), rows * width
    if width <= 0:
        rows = 0
    start = shape.start + np.arange(rows, dtype=np.int64) * shape.stride
    return start, start + width, np.full(rows, owner, np.int64)


def _overlapping(rows: _Rows) -> Iterator[tuple[Numbers, Numbers]]:
    """Indices of every two runs that overlap, one of them a write, in chunks.

    Two runs overlap when the one that starts later (or comes later in the order) starts before the
    other ends.
    """
    after = np.arange(1, len(rows.start) + 1)
    ends = np.maximum(np.searchsorted(rows.start, rows.end), after)
    written = np.concatenate([[0], np.cumsum(rows.writes)])
    # A read only counts with the writes after it.
    useful = rows.writes | (written[ends] > written[after])
    counts = np.where(useful, ends - after, 0)
    totals = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        base = int(totals[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(totals, base + CHUNK, "right")), begin + 1)
        part = counts[begin:stop]
        left = np.repeat(np.arange(begin, stop), part)
        offset = np.arange(len(left)) - np.repeat(np.cumsum(part) - part, part)
        right = after[left] + offset
        either = rows.writes[left] | rows.writes[right]
        yield left[either], right[either]
        begin = stop


class _Facts:
    """What decides about a pair of accesses, as columns."""

    def __init__(self, touches: list[Touch]) -> None:
        self.core: Numbers = np.array([touch.core for touch in touches], np.int64)
        self.pipe: Numbers = np.array([touch.pipe for touch in touches], np.int64)
        self.number: Numbers = np.array([touch.number for touch in touches], np.int64)
        self.seen: Numbers = np.array([touch.seen for touch in touches], np.int64)
        kinds = {touch.atomic for touch in touches} - {None}
        numbers = {kind: number for number, kind in enumerate(sorted(map(str, kinds)))}
        self.atomic: Numbers = np.array([numbers.get(str(t.atomic), -1) for t in touches], np.int64)
        self.known = self._known(touches) if any(touch.known for touch in touches) else None

    def _known(self, touches: list[Touch]) -> Numbers:
        """int64[touch, core, pipe]: how many instructions of the pipe were known to be complete."""
        cores, pipes = int(self.core.max()) + 1, self.seen.shape[1]
        known: Numbers = np.zeros((len(touches), cores, pipes), np.int64)
        for row, touch in enumerate(touches):
            for core, clock in touch.known.items():
                if core < cores:
                    known[row, core] = clock
        return known

    def unordered(self, a: Numbers, b: Numbers) -> Flags:
        """Which pairs of accesses nothing orders."""
        earlier, later = np.minimum(a, b), np.maximum(a, b)
        same_core = self.core[earlier] == self.core[later]
        same_pipe = self.pipe[earlier] == self.pipe[later]
        pipe = self.pipe[earlier]
        known = self.seen[later, pipe] >= self.number[earlier]
        ordered = same_core & (same_pipe | known)
        if self.known is not None:
            ordered |= ~same_core & (self._knows(later, earlier) | self._knows(earlier, later))
        commute = (self.atomic[a] >= 0) & (self.atomic[a] == self.atomic[b])
        return ~ordered & ~commute & (earlier != later)

    def _knows(self, later: Numbers, earlier: Numbers) -> Flags:
        """Whether a touch knew that another, of another core, was complete."""
        assert self.known is not None
        seen = self.known[later, self.core[earlier], self.pipe[earlier]]
        return seen >= self.number[earlier]
