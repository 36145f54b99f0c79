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
from typing import Literal, NamedTuple

from ..core.errors import DeadlockError, FlagError
from .machine import Machine

SCALAR = "S"
ALL = "ALL"
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")
"""Every pipe a machine may have."""
_DRAINS = ("fixpipe", "fixpipe_ub")


def pipes_of(machine: Machine) -> tuple[str, ...]:
    """The pipes of a machine; FIX is that of the drain some parts have."""
    drain = any(feature in machine.features for feature in _DRAINS)
    return PIPES if drain else PIPES[:-1]


SpanKind = Literal["work", "scalar", "set", "wait", "barrier"]


class Span(NamedTuple):
    """A stretch [start, end) of one pipe's time, that of so many `instructions`; those of a
    pipe never overlap.

    - `work`: the pipe worked, the result was complete at `done`.
    - `scalar`: the scalar thread worked without a pause, on its own or issuing.
    - `set`, `wait`: a flag was set at `done`, or waited for until then. Both have the number of
      their pair as `flag`. Setting is work for the scalar thread, and none for a pipe.
    - `barrier`: the pipe, or the scalar thread, waited for everything before it, or for other
      cores.

    `first` is the number of the first instruction in program order.
    """

    pipe: str
    kind: SpanKind
    start: int
    end: int
    done: int
    first: int
    instructions: int = 1
    flag: int | None = None


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

    Call the methods in program order.
    """

    def __init__(self, machine: Machine, *, start: int = 0) -> None:
        self._machine = machine
        self._now = start
        self._scalar_busy = 0
        self._pipes = {name: _Pipe(start) for name in pipes_of(machine) if name != SCALAR}
        self._flags: dict[tuple[str, str, int], int] = {}

    @property
    def now(self) -> int:
        """Time of the scalar thread."""
        return self._now

    def scalar(self, cycles: int) -> None:
        """The scalar thread works for so many cycles."""
        self._now += cycles
        self._scalar_busy += cycles

    def issue(self, pipe: str, busy: int, tail: int = 0) -> int:
        """Give `pipe` work that keeps it busy and is complete `tail` cycles later; its start."""
        clock = self._pipes[pipe]
        start = self._enqueue(clock)
        end = start + busy
        clock.free = end
        clock.busy += busy
        clock.done = max(clock.done, end + tail)
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

    def cross_set(self, pipe: str) -> int:
        """Set a flag of other cores once all earlier work of `pipe` is complete; when that is."""
        cost = self._machine.sync.set_flag
        if pipe == SCALAR:
            self.scalar(self._machine.scalar.step + cost)
            return self._now
        clock = self._pipes[pipe]
        clock.free = self._enqueue(clock) + cost
        clock.done = max(clock.done, clock.free)
        return clock.done

    def cross_wait(self, pipe: str, at: int) -> None:
        """Hold `pipe` until `at`, when the other cores have set what it waits for."""
        cost = self._machine.sync.wait_flag
        if pipe == SCALAR:
            self.scalar(self._machine.scalar.step)
            self._now = max(self._now, at) + cost
            return
        clock = self._pipes[pipe]
        clock.free = max(self._enqueue(clock), at) + cost
        clock.done = max(clock.done, clock.free)

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


class RecordingTimeline(Timeline):
    """A timeline that keeps what it was told about as `spans`, those of each pipe in order.

    Set `number` to that of the instruction before each call.
    """

    def __init__(self, machine: Machine, *, start: int = 0) -> None:
        super().__init__(machine, start=start)
        self.number = 0
        self.spans: list[Span] = []
        self._recording = True
        self._stretch: Span | None = None
        """Work of the scalar thread that may go on."""
        self._open: dict[tuple[str, str, int], int] = {}
        """Numbers of the flags that are set."""
        self._pairs = 0

    def stop(self) -> None:
        """Record no more; times go on."""
        self._end_stretch()
        self._recording = False

    def scalar(self, cycles: int) -> None:
        """As the base."""
        self._worked(cycles)
        super().scalar(cycles)

    def issue(self, pipe: str, busy: int, tail: int = 0) -> int:
        """As the base."""
        start = super().issue(pipe, busy, tail)
        self._record(pipe, "work", start, start + busy, start + busy + tail)
        return start

    def set_flag(self, src: str, dst: str, event: int) -> None:
        """As the base."""
        before = self._now
        if src == SCALAR:
            self._end_stretch()
        super().set_flag(src, dst, event)
        self._pairs += 1
        self._open[src, dst, event] = self._pairs
        at = self._flags[src, dst, event]
        if src == SCALAR:
            self._stretch = None  # what `scalar` has begun is the span of the set itself
            self._record(src, "set", before, at, at, self._pairs)
        else:
            free = self._pipes[src].free
            self._record(src, "set", free - self._machine.sync.set_flag, free, at, self._pairs)

    def wait_flag(self, src: str, dst: str, event: int) -> None:
        """As the base."""
        at = self._flags.get((src, dst, event), 0)
        super().wait_flag(src, dst, event)
        pair = self._open.pop((src, dst, event))
        cost = self._machine.sync.wait_flag
        if dst == SCALAR:
            start = self._now - cost if self._stretch is None else self._stretch.end
            self._end_stretch()
            self._record(dst, "wait", start, self._now, at, pair)
        else:
            clock = self._pipes[dst]
            self._record(dst, "wait", clock.starts[-1], clock.free, at, pair)

    def cross_wait(self, pipe: str, at: int) -> None:
        """As the base."""
        before = self._now
        super().cross_wait(pipe, at)
        if pipe == SCALAR:
            start = before if self._stretch is None else self._stretch.end
            self._end_stretch()
            self._record(SCALAR, "barrier", start, self._now, self._now)
        else:
            clock = self._pipes[pipe]
            self._record(pipe, "barrier", clock.starts[-1], clock.free, clock.free)

    def barrier(self, pipe: str) -> None:
        """As the base."""
        super().barrier(pipe)
        if pipe == ALL:
            start = self._now if self._stretch is None else self._stretch.end
            self._end_stretch()
            self._record(SCALAR, "barrier", start, self._now, self._now)
        else:
            clock = self._pipes[pipe]
            self._record(pipe, "barrier", clock.starts[-1], clock.free, clock.free)

    def finish(self) -> int:
        """As the base."""
        self._end_stretch()
        return super().finish()

    def _enqueue(self, clock: _Pipe) -> int:
        self._worked(self._machine.scalar.step)
        return super()._enqueue(clock)

    def _record(
        self, pipe: str, kind: SpanKind, start: int, end: int, done: int, flag: int | None = None
    ) -> None:
        if self._recording:
            self.spans.append(Span(pipe, kind, start, end, done, self.number, 1, flag))

    def _worked(self, cycles: int) -> None:
        """The scalar thread works from now on; what follows without a pause is one span."""
        if not self._recording:
            return
        now, last = self._now, self._stretch
        if last is not None and last.end == now:
            count = self.number - last.first + 1
            self._stretch = last._replace(end=now + cycles, done=now + cycles, instructions=count)
            return
        self._end_stretch()
        self._stretch = Span(SCALAR, "scalar", now, now + cycles, now + cycles, self.number)

    def _end_stretch(self) -> None:
        if self._stretch is not None:
            self.spans.append(self._stretch)
            self._stretch = None
