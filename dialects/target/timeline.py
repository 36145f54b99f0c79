"""When things happen on one core: in-order pipes, flags and barriers, in one pass over a program.

The scalar thread issues in program order.  Each pipe has a queue: work starts once it is issued and
the pipe's earlier work has left it; it keeps the pipe busy, and is complete some tail later, so
that work on one pipe overlaps its tails.  Pipes know nothing of each other but through flags and
barriers: a flag is set when everything its pipe was given before is complete.

Since each set comes before its wait in program order, every start time is a maximum over times
already known: no event queue is needed and the result is exact.  All times are cycles.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ..core.errors import DeadlockError, FlagError
from .machine import Machine

SCALAR = "S"
ALL = "ALL"
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3")


class Span(NamedTuple):
    """A stretch of one pipe's time: work in [start, end), complete at `done`."""

    pipe: str
    start: int
    end: int
    done: int
    label: str


class _Pipe:
    """Clock of one pipe."""

    __slots__ = ("busy", "done", "free", "starts")

    def __init__(self, start: int) -> None:
        self.free = start
        """When it can take its next work."""
        self.done = start
        """When everything given to it is complete."""
        self.busy = 0
        self.starts: deque[int] = deque()
        """When each entry of the queue leaves it."""


class Timeline:
    """Clocks of one core.

    Call the methods in program order.  `trace` collects a `Span` for each piece of work and each
    wait that waited.
    """

    def __init__(self, machine: Machine, *, start: int = 0, trace: bool = False) -> None:
        self._machine = machine
        self._now = start
        self._scalar_busy = 0
        self._pipes = {name: _Pipe(start) for name in PIPES if name != SCALAR}
        self._flags: dict[tuple[str, str, int], int] = {}
        self.trace: list[Span] | None = [] if trace else None

    @property
    def now(self) -> int:
        """Time of the scalar thread."""
        return self._now

    def scalar(self, cycles: int) -> None:
        """The scalar thread works for so many cycles."""
        self._now += cycles
        self._scalar_busy += cycles

    def issue(self, pipe: str, busy: int, tail: int = 0, label: str = "") -> int:
        """Give `pipe` work that keeps it busy and is complete `tail` cycles later; its start."""
        clock = self._pipes[pipe]
        start = self._enqueue(clock)
        end = start + busy
        clock.free = end
        clock.busy += busy
        done = end + tail
        clock.done = max(clock.done, done)
        if self.trace is not None:
            self.trace.append(Span(pipe, start, end, done, label))
        return start

    def set_flag(self, src: str, dst: str, event: int) -> None:
        """Set a flag once all earlier work of `src` is complete.  FlagError if already set."""
        key = (src, dst, event)
        if key in self._flags:
            raise FlagError(
                f"flag {event} from {src} to {dst} is set twice",
                why="the first set has not been waited for",
                hint="wait for it, or use another event id",
            )
        cost = self._machine.sync.set_flag
        if src == SCALAR:
            self.scalar(self._machine.scalar.step + cost)
            self._flags[key] = self._now
            return
        clock = self._pipes[src]
        start = self._enqueue(clock)
        clock.free = start + cost
        clock.done = max(clock.done, clock.free)
        self._flags[key] = clock.done

    def wait_flag(self, src: str, dst: str, event: int) -> None:
        """Hold `dst` until a flag is set, and clear it.  DeadlockError if nothing has set it."""
        at = self._flags.pop((src, dst, event), None)
        if at is None:
            raise DeadlockError(
                f"{dst} waits for flag {event} from {src}, which nothing sets before it",
                hint="set the flag earlier in the program",
            )
        cost = self._machine.sync.wait_flag
        if dst == SCALAR:
            self.scalar(self._machine.scalar.step)
            start = self._now
            self._now = max(start, at) + cost
        else:
            clock = self._pipes[dst]
            start = self._enqueue(clock)
            clock.free = max(start, at) + cost
            clock.done = max(clock.done, clock.free)
        if self.trace is not None and at > start:
            self.trace.append(Span(dst, start, at, at, f"wait for {src} {event}"))

    def barrier(self, pipe: str) -> None:
        """Let `pipe` finish what it was given before it takes more; `ALL` also holds the thread."""
        cost = self._machine.sync.barrier
        if pipe != ALL:
            clock = self._pipes[pipe]
            clock.free = max(self._enqueue(clock), clock.done) + cost
            clock.done = clock.free
            return
        self.scalar(self._machine.scalar.step)
        self._now = max(self._now, *(clock.done for clock in self._pipes.values())) + cost
        for clock in self._pipes.values():
            clock.free = clock.done = self._now

    def finish(self) -> int:
        """When the thread and every pipe are done.  FlagError if a flag is left set."""
        if self._flags:
            left = ", ".join(f"{event} from {src} to {dst}" for src, dst, event in self._flags)
            raise FlagError(
                f"flags are left set at the end: {left}",
                hint="wait for every flag that is set; a set flag breaks the next kernel",
            )
        return max(self._now, *(clock.done for clock in self._pipes.values()))

    def busy(self) -> dict[str, int]:
        """Cycles each pipe worked, waits and tails not counted."""
        return {SCALAR: self._scalar_busy} | {n: p.busy for n, p in self._pipes.items()}

    def _enqueue(self, clock: _Pipe) -> int:
        """Issue one entry to a queue, stalling the thread while it is full; when it can start."""
        queue = clock.starts
        step = self._machine.scalar.step
        self._now += step
        self._scalar_busy += step
        if len(queue) >= self._machine.core.queue:
            self._now = max(self._now, queue.popleft())
        start = max(clock.free, self._now)
        queue.append(start)
        return start
