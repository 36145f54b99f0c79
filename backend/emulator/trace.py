"""When each instruction of a run ran, kept on request: what is recorded, and how much of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...dialects.target.timeline import Span
from .issue import Issued

TRACE_LIMIT = 500_000
"""Instructions of a run whose times are kept: as a timeline some 100 MB."""


class Event(NamedTuple):
    """A stretch of one pipe's time on one core, in cycles from the start of the run.

    `issued` is the instruction; of a stretch of the scalar thread, the first one.
    """

    task: int
    core: int
    span: Span
    issued: Issued

    @property
    def label(self) -> str:
        """Mnemonic and index of the word in its kernel."""
        return f"{self.issued.spec.mnemonic} @{self.issued.word}"


class Coverage(NamedTuple):
    """How many instructions a core issued in a task, and how many of them, the first, events are
    about."""

    issued: int
    recorded: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What was recorded of a run: events by task, core and, for each pipe, time.

    `coverage` is by task and core; a function of the host engine has no cores.
    """

    events: tuple[Event, ...]
    coverage: tuple[tuple[Coverage, ...], ...]


NO_TRACE = Trace((), ())


class Recorder:
    """Says what of a run is recorded, and keeps it.

    `limit` instructions are shared out among the kernels as they are first launched: each gets an
    equal part of what is left, and what it does not use is for those after it.  The first launch
    that does not fit is recorded as far as the part goes, the same number of instructions of each
    core; a later launch is recorded in full or not at all.
    """

    def __init__(self, kernels: Collection[str], limit: int) -> None:
        self._new = set(kernels)
        self._left = limit
        self._events: list[Event] = []
        self._coverage: list[tuple[Coverage, ...]] = []

    @property
    def trace(self) -> Trace:
        """What was recorded so far."""
        return Trace(tuple(self._events), tuple(self._coverage))

    def begin(self, kernel: str, sizes: Sequence[int]) -> list[int]:
        """A task begins whose cores issue so many instructions; how many of each to record."""
        total, first = sum(sizes), kernel in self._new
        part = self._left // (len(self._new) + (not first))
        self._new.discard(kernel)
        if total <= part:
            kept = list(sizes)
        else:
            kept = [min(size, part // len(sizes)) if first else 0 for size in sizes]
        self._left -= sum(kept)
        self._coverage.append(tuple(map(Coverage, sizes, kept)))
        return kept

    def skip(self) -> None:
        """A task without instructions: a function of the host engine."""
        self._coverage.append(())

    def add(self, core: int, spans: Sequence[Span], log: Sequence[Issued]) -> None:
        """Keep what one core did in the task that began last."""
        task = len(self._coverage) - 1
        self._events += [Event(task, core, span, log[span.first]) for span in spans]
