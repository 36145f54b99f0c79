"""The timeline of a run as a Chrome trace (JSON), which Perfetto and others show.

A process is the host or a core, a thread a pipe. Times are microseconds, on whole nanoseconds:
viewers cut the rest off, after which events could overlap, and drop those that do. The exact cycles
are in the arguments of each event.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, BinaryIO, NamedTuple

from ...backend.emulator.issue import Issued, moved_bytes
from ...backend.emulator.result import TaskResult
from ...backend.emulator.trace import Event
from ...backend.program import Kernel, Task
from ...dialects.target.timeline import pipes_of
from ..observation import Observation

HOST = 1
"""The process of the host; that of core i is i + 2."""
_LAUNCHES, _TASKS = 1, 2
_SHOWN = 160
"""Characters of operands shown."""

Json = dict[str, Any]


class Gap(NamedTuple):
    """A task of which only the first `recorded` of its `instructions` are in the trace."""

    task: int
    kernel: str
    recorded: int
    instructions: int


def gaps(observation: Observation) -> list[Gap]:
    """What the trace leaves out, as it would become too large."""
    found: list[Gap] = []
    tasks = zip(observation.result.tasks, observation.result.trace.coverage, strict=True)
    for number, (task, cores) in enumerate(tasks):
        issued = sum(core.issued for core in cores)
        recorded = sum(core.recorded for core in cores)
        if recorded < issued:
            found.append(Gap(number, task.kernel, recorded, issued))
    return found


def write_trace(observation: Observation, file: BinaryIO) -> None:
    """Write the trace event by event, so that it need not fit in memory as text."""
    head = json.dumps(_about(observation))
    file.write(f'{{"displayTimeUnit": "ns", "otherData": {head},\n"traceEvents": [\n'.encode())
    for number, event in enumerate(_Writer(observation).events()):
        file.write(f"{',' if number else ''}{json.dumps(event)}\n".encode())
    file.write(b"]}\n")


def _about(observation: Observation) -> Json:
    """What the trace is of, and what it leaves out."""
    result = observation.result
    return {
        "model": observation.request.model,
        "target": result.machine.name,
        "validation": result.machine.validation,
        "precision": observation.precision,
        "clock_mhz": result.machine.core.clock,
        "cycles": result.cycles,
        "left_out": [gap._asdict() for gap in gaps(observation)],
    }


class _Track:
    """One row of the timeline. Its events must come in order."""

    def __init__(self, process: int, thread: int, clock: int) -> None:
        self.process, self.thread = process, thread
        self._clock = clock
        self._free = 0

    def event(self, name: str, kind: str, start: int, end: int, args: Json) -> Json:
        """An event in cycles [start, end).

        It takes at least a nanosecond, which a cycle may be shorter than; the next one waits.
        """
        first = max(self._nanoseconds(start), self._free)
        self._free = max(self._nanoseconds(end), first + 1)
        return {
            "name": name,
            "cat": kind,
            "ph": "X",
            "pid": self.process,
            "tid": self.thread,
            "ts": microseconds(first),
            "dur": microseconds(self._free - first),
            "args": {**args, "start_cycle": start, "cycles": end - start},
        }

    def _nanoseconds(self, cycles: int) -> int:
        return (2000 * cycles + self._clock) // (2 * self._clock)


def microseconds(nanoseconds: int) -> float:
    """Microseconds that are still the same nanoseconds when a viewer cuts off their fraction."""
    time = nanoseconds / 1000
    return time if int(time * 1000) == nanoseconds else math.nextafter(time, math.inf)


class _Writer:
    """Turns what happened into events, one run only."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self._result = observation.result
        self._clock = observation.result.machine.core.clock
        cores = max((len(task.busy) for task in self._result.tasks), default=0)
        pipes = pipes_of(observation.result.machine)
        self._pipes = [
            {pipe: _Track(core + 2, place, self._clock) for place, pipe in enumerate(pipes, 1)}
            for core in range(cores)
        ]
        self._operands: dict[int, str] = {}
        self._flows = 0

    def events(self) -> Iterator[Json]:
        """All events, the names of processes and threads first."""
        yield from self._names()
        yield from self._host()
        recorded = groupby(self._result.trace.events, key=lambda event: (event.task, event.core))
        found = {key: list(events) for key, events in recorded}
        for number, cores in enumerate(self._result.trace.coverage):
            for core, coverage in enumerate(cores):
                events = found.get((number, core), ())
                yield from self._core(number, core, events)
                if coverage.recorded < coverage.issued:
                    yield self._gap(number, core, events)

    def _names(self) -> Iterator[Json]:
        tracks = {_LAUNCHES: "launches", _TASKS: "tasks"}
        yield from _name(HOST, "host", tracks)
        for core in range(len(self._pipes)):
            yield from _name(core + 2, f"core {core}", dict(enumerate(self._pipes[core], 1)))

    def _host(self) -> Iterator[Json]:
        """What the host does: handing the program over, and for each task its launch; and when
        each task ran."""
        launches, tasks = (_Track(HOST, track, self._clock) for track in (_LAUNCHES, _TASKS))
        before = self._result.tasks[0].start if self._result.tasks else self._result.cycles
        yield launches.event("hand the program over", "launch", 0, before, {})
        for number, task in enumerate(self._result.tasks):
            begin, end = begin_of(task), task.start + task.cycles
            nodes = self._observation.nodes_of_task(number)
            name = f"{task.kernel}: {', '.join(nodes)}" if nodes else task.kernel
            args: Json = {"task": number, "kernel": task.kernel}
            yield launches.event(f"launch {task.kernel}", "launch", task.start, begin, args)
            args |= {"nodes": list(nodes), "operators": self._observation.operators_of(nodes)}
            args |= {"cores": len(task.busy), "multiply_adds": task.work.macs}
            args |= {"bytes": dict(task.work.moved), "dram_bytes": task.work.missed}
            yield tasks.event(name, "task", begin, end, args)

    def _core(self, task: int, core: int, events: Iterable[Event]) -> Iterator[Json]:
        """What one core did in a task; an arrow from the set of each flag to its wait."""
        planned = self._observation.program.entry().tasks[task]
        assert isinstance(planned, Task)
        kernel = self._observation.program.kernels[planned.kernel]
        sets: dict[int, Json] = {}
        for event in events:
            span = event.span
            shown = self._event(event, kernel, self._pipes[core][span.pipe])
            yield shown
            if span.flag is None:
                continue
            if span.kind == "set":
                sets[span.flag] = shown
            else:
                yield from self._flow(sets.pop(span.flag), shown)

    def _event(self, event: Event, kernel: Kernel, track: _Track) -> Json:
        span, issued = event.span, event.issued
        args: Json = {"kernel": kernel.name, "word": issued.word}
        name = issued.spec.mnemonic
        if span.kind == "scalar":
            name, args["instructions"] = "scalar", span.instructions
        else:
            args |= {"operands": self._text(issued), "done_cycle": span.done}
            node = kernel.node_of(issued.word)
            if node is not None:
                args["node"] = node
            moved = sum(size for _, size in moved_bytes(issued))
            if moved:
                args["bytes"] = moved
        return track.event(name, span.kind, span.start, span.end, args)

    def _text(self, issued: Issued) -> str:
        """The operands but for those that have their default, as one line; kept by instruction."""
        text = self._operands.get(id(issued))
        if text is None:
            values = ((field, getattr(issued.operands, field.name)) for field in issued.spec.fields)
            told = [f"{f.name}={value}" for f, value in values if value != f.default]
            text = ", ".join(told)
            text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
            self._operands[id(issued)] = text
        return text

    def _flow(self, source: Json, target: Json) -> Iterator[Json]:
        self._flows += 1
        end = round((target["ts"] + target["dur"]) * 1000) - 1
        start = min(round(source["ts"] * 1000), end)
        arrow = {"name": "flag", "cat": "flag", "id": self._flows}
        yield {**arrow, "ph": "s", **_place(source), "ts": microseconds(start)}
        yield {**arrow, "ph": "f", "bp": "e", **_place(target), "ts": microseconds(end)}

    def _gap(self, number: int, core: int, events: Sequence[Event]) -> Json:
        """The time of a core that is not recorded, on the track of its scalar thread."""
        task = self._result.tasks[number]
        begin = begin_of(task)
        end = begin + task.core_cycles[core]
        seen = max((event.span.end for event in events if event.span.pipe == "S"), default=begin)
        issued, recorded = self._result.trace.coverage[number][core]
        args: Json = {"kernel": task.kernel, "instructions": issued - recorded}
        track = self._pipes[core]["S"]
        return track.event("not recorded", "left out", min(seen, end), end, args)


def begin_of(task: TaskResult) -> int:
    """The cycle in which a task begins to run, its launch done."""
    return task.start + task.cycles - max(task.core_cycles)


def _place(event: Json) -> Json:
    return {"pid": event["pid"], "tid": event["tid"]}


def _name(process: int, name: str, tracks: dict[int, str]) -> Iterator[Json]:
    """The name and the place of a process and its threads."""
    yield _about_process(process, "process_name", name=name)
    yield _about_process(process, "process_sort_index", sort_index=process)
    for thread, text in tracks.items():
        yield _about_process(process, "thread_name", thread, name=text)
        yield _about_process(process, "thread_sort_index", thread, sort_index=thread)


def _about_process(process: int, what: str, thread: int = 0, **args: object) -> Json:
    return {"name": what, "ph": "M", "pid": process, "tid": thread, "args": args}
