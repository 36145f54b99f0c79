"""When everything that was issued happens: L2 first, in program order, then each core by itself."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ...dialects.core.errors import NpucError
from ...dialects.core.kernels.host import host_function
from ...dialects.npu_isa.instructions.cross_core import CrossSync
from ...dialects.target.costs import Traffic, host_call, nanoseconds
from ...dialects.target.l2 import L2
from ...dialects.target.machine import Machine
from ...dialects.target.timeline import ALL, SCALAR, RecordingTimeline, Timeline
from ..program import HostTask, Kernel
from .issue import Effect, Issued, Kind, moved_bytes
from .locate import located
from .meeting import Signals
from .result import NO_WORK, TaskResult, Work
from .trace import Recorder

_SCALAR, _WORK, _TRANSFER = Kind.SCALAR, Kind.WORK, Kind.TRANSFER
_SET, _WAIT, _CROSS = Kind.SET, Kind.WAIT, Kind.CROSS


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a core stands: which of how many, in which kernel, with whose signals."""

    kernel: Kernel
    core: int
    cores: int
    signals: Signals


@dataclass(frozen=True, slots=True)
class _Core:
    """One core's part of a task."""

    cycles: int
    busy: dict[str, int]


class Clock:
    """Time of one run: starts when the host hands the program over, with a cold L2.

    `recorder`, if there is one, is told what each pipe did when.
    """

    def __init__(self, machine: Machine, recorder: Recorder | None = None) -> None:
        self.machine = machine
        self.now = nanoseconds(machine, machine.launch.host)
        """Cycles from the start of the run to the end of the last task."""
        self._recorder = recorder
        self._l2 = L2(machine)

    def task(self, kernel: Kernel, logs: Sequence[Sequence[Issued]]) -> TaskResult:
        """Account for a task on `len(logs)` cores, each with what it issued, in order."""
        start = self.now
        begin = start + nanoseconds(self.machine, self.machine.launch.task)
        missed = self._settle(logs)
        kept = [0] * len(logs)
        if self._recorder is not None:
            kept = self._recorder.begin(kernel.name, [len(log) for log in logs])
        signals = Signals()
        walks = [
            self._core(
                _Place(kernel, core, len(logs), signals),
                log,
                [Traffic(len(logs), size) for size in missed[core]],
                begin,
                kept[core],
            )
            for core, log in enumerate(logs)
        ]
        cores = _in_turns(walks)
        self.now = begin + max(core.cycles for core in cores)
        return TaskResult(
            kernel=kernel.name,
            start=start,
            cycles=self.now - start,
            core_cycles=tuple(core.cycles for core in cores),
            busy=tuple(core.busy for core in cores),
            work=_work(logs, sum(map(sum, missed))),
        )

    def host_task(self, task: HostTask) -> TaskResult:
        """Account for a function of the host engine; the cores wait."""
        start = self.now
        arguments = [(tensor.dtype, tensor.shape) for tensor in task.args]
        traffic = sum(tensor.nbytes for tensor in (*task.args, task.result))
        running = host_call(host_function(task.function).operations(arguments), traffic)
        self.now = start + nanoseconds(self.machine, self.machine.launch.task) + running
        if self._recorder is not None:
            self._recorder.skip()
        return TaskResult(
            kernel=f"host {task.function}",
            start=start,
            cycles=self.now - start,
            core_cycles=(running,),
            busy=(),
            work=NO_WORK,
        )

    def _settle(self, logs: Sequence[Sequence[Issued]]) -> list[list[int]]:
        """For each GM transfer of each core, the bytes L2 and DRAM exchange because of it.

        L2 sees the first transfer of every core, then the second of every core, and so on.  The
        cores of such a round share its bytes equally: when all load the same, whoever comes first
        fetches it, and all wait for it.
        """
        transfers = [[issued.gm for issued in log if issued.kind is _TRANSFER] for log in logs]
        missed: list[list[int]] = [[] for _ in logs]
        for turn in range(max(map(len, transfers))):
            cores = [core for core, own in enumerate(transfers) if turn < len(own)]
            size = sum(self._access(transfers[core][turn]) for core in cores)
            for place, core in enumerate(cores):
                missed[core].append((size + place) // len(cores))
        return missed

    def _access(self, effects: tuple[Effect, ...]) -> int:
        """Let L2 see one transfer; bytes between it and DRAM."""
        missed = 0
        for mode, (_, start, row_bytes, rows, stride) in effects:
            missed += self._l2.access(start, row_bytes, rows, stride, write=mode == "w")
        return missed

    def _core(
        self,
        place: _Place,
        log: Sequence[Issued],
        traffic: Sequence[Traffic],
        begin: int,
        kept: int,
    ) -> Generator[None, None, _Core]:
        """One core's time; `traffic` is that of its transfers, in order, and `kept` the number of
        instructions to record.  Yields when it waits for another core."""
        recording = RecordingTimeline(self.machine, start=begin) if kept else None
        timeline = recording or Timeline(self.machine, start=begin)
        misses = iter(traffic)
        issued = log[0]
        try:
            if recording is not None:
                for recording.number in range(kept):
                    issued = log[recording.number]
                    if issued.kind is _CROSS:
                        yield from self._cross(recording, issued, place)
                    else:
                        self._advance(recording, issued, misses)
                recording.stop()
            for issued in islice(log, kept, None):
                if issued.kind is _CROSS:
                    yield from self._cross(timeline, issued, place)
                else:
                    self._advance(timeline, issued, misses)
            end = timeline.finish()
        except NpucError as error:
            if error.where:
                raise
            raise located(error, place.kernel, issued.word, place.core) from error
        if recording is not None and self._recorder is not None:
            self._recorder.add(place.core, recording.spans, log)
        return _Core(end - begin, timeline.busy())

    def _cross(self, timeline: Timeline, issued: Issued, place: _Place) -> Iterator[None]:
        """Give the timeline an instruction that orders cores; yields until its signals are set."""
        spec, o, machine = issued.spec, issued.operands, self.machine
        assert issubclass(spec, CrossSync)
        if spec.drains:
            timeline.barrier(ALL)
        given = spec.signals(o, place.core, place.cores, machine)
        if given:
            at = timeline.cross_set(issued.pipe) + spec.delay(machine)
            place.signals.post(given, at, sys.maxsize)
        wanted = spec.awaits(o, place.core, place.cores, machine)
        while place.signals.missing(wanted):
            yield
        if wanted:
            timeline.cross_wait(issued.pipe, max(place.signals.take(wanted)))

    def _advance(self, timeline: Timeline, issued: Issued, traffic: Iterator[Traffic]) -> None:
        """Give one instruction to the timeline."""
        kind = issued.kind
        if kind is _SCALAR:
            timeline.scalar(issued.cycles.busy)
        elif kind is _WORK or kind is _TRANSFER:
            cycles = issued.cycles
            if kind is _TRANSFER:
                cycles = issued.spec.cycles(issued.operands, self.machine, next(traffic))
            if issued.pipe == SCALAR:
                timeline.scalar(cycles.busy + cycles.tail)
            else:
                timeline.issue(issued.pipe, cycles.busy, cycles.tail)
        elif kind is _SET:
            timeline.set_flag(issued.operands.src, issued.operands.dst, issued.operands.id)
        elif kind is _WAIT:
            timeline.wait_flag(issued.operands.src, issued.operands.dst, issued.operands.id)
        else:
            timeline.barrier(issued.operands.pipe)


def _in_turns(walks: Sequence[Generator[None, None, _Core]]) -> list[_Core]:
    """Let each go on until it waits, again and again until all are through; what they give."""
    found: dict[int, _Core] = {}
    while len(found) < len(walks):
        for number, walk in enumerate(walks):
            if number in found:
                continue
            try:
                next(walk)
            except StopIteration as through:
                found[number] = through.value
    return [found[number] for number in range(len(walks))]


def _work(logs: Sequence[Sequence[Issued]], missed: int) -> Work:
    """Totals of a task; an instruction issued many times is looked at once."""
    counts = Counter(id(issued) for log in logs for issued in log)
    distinct = {id(issued): issued for log in logs for issued in log}
    macs = 0
    moved: Counter[str] = Counter()
    for key, issued in distinct.items():
        times = counts[key]
        if issued.pipe == "M" and issued.kind is Kind.WORK:
            o = issued.operands
            macs += o.m * o.k * o.n * times
        else:
            for path, size in moved_bytes(issued):
                moved[path] += size * times
    return Work(counts.total(), macs, dict(sorted(moved.items())), missed)
