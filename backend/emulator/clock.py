"""When everything that was issued happens: L2 first, in program order, then each core by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...dialects.core.errors import NpucError
from ...dialects.core.kernels.host import host_function
from ...dialects.target.costs import Traffic, host_call, nanoseconds
from ...dialects.target.l2 import L2
from ...dialects.target.machine import Machine
from ...dialects.target.timeline import Timeline
from ..program import HostTask, Kernel
from .issue import Effect, Issued, Kind
from .locate import located
from .result import NO_WORK, Event, TaskResult, Work

_SCALAR, _WORK, _TRANSFER = Kind.SCALAR, Kind.WORK, Kind.TRANSFER
_SET, _WAIT = Kind.SET, Kind.WAIT


@dataclass(frozen=True, slots=True)
class _Core:
    """One core's part of a task."""

    cycles: int
    busy: dict[str, int]
    events: list[Event]


class Clock:
    """Time of one run: starts when the host hands the program over, with a cold L2."""

    def __init__(self, machine: Machine, *, trace: bool) -> None:
        self.machine = machine
        self.now = nanoseconds(machine, machine.launch.host)
        """Cycles from the start of the run to the end of the last task."""
        self.events: list[Event] = []
        self._trace = trace
        self._l2 = L2(machine)
        self._tasks = 0

    def task(self, kernel: Kernel, logs: Sequence[Sequence[Issued]]) -> TaskResult:
        """Account for a task on `len(logs)` cores, each with what it issued, in order."""
        start = self.now
        begin = start + nanoseconds(self.machine, self.machine.launch.task)
        missed = self._settle(logs)
        cores = [
            self._core(
                kernel, core, log, [Traffic(len(logs), size) for size in missed[core]], begin
            )
            for core, log in enumerate(logs)
        ]
        self.now = begin + max(core.cycles for core in cores)
        self._tasks += 1
        for core in cores:
            self.events += core.events
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
        self._tasks += 1
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
        transfers = [[issued.gm for issued in log if issued.gm is not None] for log in logs]
        missed: list[list[int]] = [[] for _ in logs]
        for turn in range(max(map(len, transfers))):
            cores = [core for core, own in enumerate(transfers) if turn < len(own)]
            size = sum(self._access(transfers[core][turn]) for core in cores)
            for place, core in enumerate(cores):
                missed[core].append((size + place) // len(cores))
        return missed

    def _access(self, effect: Effect) -> int:
        """Let L2 see one transfer; bytes between it and DRAM."""
        _, start, row_bytes, rows, stride = effect.shape
        return self._l2.access(start, row_bytes, rows, stride, write=effect.mode == "w")

    def _core(
        self,
        kernel: Kernel,
        core: int,
        log: Sequence[Issued],
        traffic: Sequence[Traffic],
        begin: int,
    ) -> _Core:
        """One core's time; `traffic` is that of its transfers, in order."""
        timeline = Timeline(self.machine, start=begin, trace=self._trace)
        misses = iter(traffic)
        issued = log[0]
        try:
            for issued in log:
                self._advance(timeline, issued, misses)
            end = timeline.finish()
        except NpucError as error:
            if error.where:
                raise
            raise located(error, kernel, issued.word, core) from error
        events = [
            Event(self._tasks, core, span.pipe, span.start, span.end, span.done, span.label)
            for span in timeline.trace or ()
        ]
        return _Core(end - begin, timeline.busy(), events)

    def _advance(self, timeline: Timeline, issued: Issued, traffic: Iterator[Traffic]) -> None:
        """Give one instruction to the timeline."""
        kind = issued.kind
        if kind is _SCALAR:
            timeline.scalar(issued.cycles.busy)
        elif kind is _WORK or kind is _TRANSFER:
            cycles = issued.cycles
            if kind is _TRANSFER:
                cycles = issued.spec.cycles(issued.operands, self.machine, next(traffic))
            label = f"{issued.spec.mnemonic} @{issued.word}" if self._trace else ""
            timeline.issue(issued.pipe, cycles.busy, cycles.tail, label)
        elif kind is _SET:
            timeline.set_flag(issued.operands.src, issued.operands.dst, issued.operands.id)
        elif kind is _WAIT:
            timeline.wait_flag(issued.operands.src, issued.operands.dst, issued.operands.id)
        else:
            timeline.barrier(issued.operands.pipe)


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
            for path, size in _paths(issued):
                moved[path] += size * times
    return Work(counts.total(), macs, dict(sorted(moved.items())), missed)


def _paths(issued: Issued) -> list[tuple[str, int]]:
    """The paths between memories an instruction moves bytes on, and how many it reads for it."""
    targets = {effect.shape.space for effect in issued.effects if effect.mode == "w"}
    return [
        (f"{effect.shape.space}_{target}", effect.shape.bytes)
        for effect in issued.effects
        for target in targets
        if effect.mode == "r" and effect.shape.space != target
    ]
