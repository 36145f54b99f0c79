"""Runs a program: exact values, honest cycles, and on request every check."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy.typing as npt

from ...dialects.core.kernels.host import host_function
from ...dialects.npu_isa.spec import Footprint
from ..program import Entry, HostTask, Kernel, Program, Task
from .blas import single_threaded_blas
from .checks.bounds import Bounds
from .checks.monitor import Monitor
from .checks.report import CheckReport
from .clock import Clock
from .code import Code
from .cores import Cores
from .image import GmImage, check_inputs
from .interleave import PROGRAM_ORDER, seed_of
from .issue import Issued
from .locate import located
from .result import Result, TaskResult
from .thread import ThreadCode
from .trace import NO_TRACE, TRACE_LIMIT, Recorder

BUDGET = 10_000_000
"""Instructions in loops that a core may issue in a task: hundreds of times what a large layer has,
and less than half a minute of scalar work on a common host."""

Arrays = Mapping[str, npt.NDArray[Any]]


class _Run(NamedTuple):
    """What the tasks of one run share."""

    image: GmImage
    cores: Cores
    clock: Clock
    monitor: Monitor | None
    chance: Random | None
    """What decides about the order, unless that is program order."""


class Emulator:
    """A machine with a program loaded; `run` may be called from several threads at a time.

    - `checks`: look for bytes outside their memory, undefined bytes, misused flags and races.  The
      first finding is raised; with `collect`, those that a run can go on after are gathered in the
      result.
    - `race_check`: with `checks`, also flags and races; false for programs that have no flags yet.
    - `trace`: record when each instruction ran, of at most `trace_limit` of them.
    - `threads`: host threads for the cores of a task; by default one a host processor, one with
      checks.  BLAS uses one thread during a run.
    - `budget`: instructions in loops a core may issue in a task, so that every program ends.
    - `schedule`: `program` runs each core in program order, an instruction taking effect when it is
      issued; `random:SEED` in some other order that flags and barriers allow (see `interleave`).
      A correct program gives the same either way.  Checks follow program order, so that with them
      a program runs twice.

    When an instruction would have run is worked out afterwards, whatever the schedule.  GM not
    written by anyone holds zeros.
    """

    def __init__(
        self,
        program: Program,
        *,
        checks: bool = False,
        race_check: bool = True,
        collect: bool = False,
        trace: bool = False,
        trace_limit: int = TRACE_LIMIT,
        threads: int | None = None,
        budget: int = BUDGET,
        schedule: str = PROGRAM_ORDER,
    ) -> None:
        self._seed = seed_of(schedule)
        program.check(physical=False)
        self.program = program
        self._checks = checks
        self._races = race_check
        self._collect = collect
        self._trace_limit = trace_limit if trace else None
        self._threads = 1 if checks else threads or os.cpu_count() or 1
        self._budget = budget
        self._code: dict[str, Code] = {}
        self._words: dict[str, ThreadCode] = {}
        self._bounds = Bounds(program)
        self._images: list[GmImage] = []
        self._lock = threading.Lock()

    def run(self, inputs: Arrays, entry: str | None = None) -> Result:
        """Run an entry (by default the first) on inputs by name, of exactly its shapes and dtypes.

        Raises InputError for inputs that do not fit, and ExecutionError, naming the instruction,
        when the program does what no program may do.
        """
        called = self.program.entry(entry)
        check_inputs(called, inputs)
        report = CheckReport(collect=self._collect)
        recorder = None
        if self._trace_limit is not None:
            names = {task.kernel for task in called.tasks if isinstance(task, Task)}
            recorder = Recorder(names, self._trace_limit)
        monitor = None
        if self._checks:
            monitor = Monitor(self.program, called, races=self._races, report=report)
            if self._seed is not None:
                self._run(called, inputs, Clock(self.program.machine), monitor, None)
                monitor = None
        clock = Clock(self.program.machine, recorder)
        tasks, outputs = self._run(called, inputs, clock, monitor, self._seed)
        return Result(
            machine=self.program.machine,
            outputs=outputs,
            cycles=clock.now,
            tasks=tasks,
            trace=NO_TRACE if recorder is None else recorder.trace,
            report=report,
        )

    def _run(
        self,
        called: Entry,
        inputs: Arrays,
        clock: Clock,
        monitor: Monitor | None,
        seed: int | None,
    ) -> tuple[tuple[TaskResult, ...], dict[str, npt.NDArray[Any]]]:
        """Run all tasks, in program order or by a seed; what they did, and the outputs."""
        image = self._take_image()
        for tensor in called.inputs:
            image.store(tensor, inputs[tensor.name])
        threads = Cores(self.program.machine, image.memory, self._threads, self._budget)
        with single_threaded_blas(), threads as cores:
            run = _Run(image, cores, clock, monitor, None if seed is None else Random(seed))
            tasks = tuple(
                self._task(task, run) if isinstance(task, Task) else self._host_task(task, run)
                for task in called.tasks
            )
        outputs = {tensor.name: image.fetch(tensor) for tensor in called.outputs}
        image.clear()
        with self._lock:
            # Only after a run that went well: what a wrong one wrote is not known.
            self._images.append(image)
        return tasks, outputs

    def _task(self, task: Task, run: _Run) -> TaskResult:
        """Values first, core by core or in threads; then the time of all cores together."""
        kernel = self.program.kernels[task.kernel]
        code = self._code_of(kernel)
        if run.chance is None:
            logs = run.cores.run(code, task, run.monitor)
        else:
            logs = run.cores.run_interleaved(self._words_of(code), task, run.chance)
        if run.monitor is not None:
            run.monitor.finish_task()
        self._note_stores(kernel, logs, run.image)
        return run.clock.task(kernel, logs)

    def _host_task(self, task: HostTask, run: _Run) -> TaskResult:
        """A function of the host engine on whole tensors, between launches."""
        if run.monitor is not None:
            run.monitor.host_task(task)
        result = task.result
        span = Footprint("gm", result.address, result.nbytes)
        if fault := self._bounds.constant_hit(span):
            raise fault
        arrays = [run.image.fetch(tensor) for tensor in task.args]
        run.image.store(result, host_function(task.function).function(*arrays))
        return run.clock.host_task(task)

    def _note_stores(
        self, kernel: Kernel, logs: Sequence[Sequence[Issued]], image: GmImage
    ) -> None:
        """Tell the image what was written.  Constants stay from run to run, so none may be."""
        for core, log in enumerate(logs):
            for issued in log:
                for mode, shape in issued.gm:
                    if mode == "r":
                        continue
                    fault = self._bounds.constant_hit(shape)
                    if fault:
                        raise located(fault, kernel, issued.word, core)
                    image.written.append((shape.start, shape.end))

    def _code_of(self, kernel: Kernel) -> Code:
        with self._lock:
            code = self._code.get(kernel.name)
            if code is None:
                code = self._code[kernel.name] = Code(kernel, self.program.machine)
            return code

    def _words_of(self, code: Code) -> ThreadCode:
        with self._lock:
            words = self._words.get(code.kernel.name)
            if words is None:
                words = self._words[code.kernel.name] = ThreadCode(code)
            return words

    def _take_image(self) -> GmImage:
        with self._lock:
            if self._images:
                return self._images.pop()
        return GmImage(self.program)
