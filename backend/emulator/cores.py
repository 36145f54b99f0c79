"""The cores of a run: which kernel runs on which, one after the other or in host threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from random import Random
from types import TracebackType
from typing import Self

import numpy as np

from ...dialects.core.errors import NpucError
from ...dialects.npu_isa.instructions.cross_core import CrossSync
from ...dialects.npu_isa.memory import Memory
from ...dialects.target.machine import Machine
from ..program import Task
from .checks.monitor import Monitor
from .code import Code
from .core import CoreState
from .interleave import run_interleaved
from .issue import Issued
from .locate import located
from .meeting import Meeting
from .thread import ThreadCode


class Cores:
    """Runs the cores of tasks on `threads` host threads that share one GM.

    There are as many sets of on-chip memories as threads; a core takes one that is free.  As a
    context manager it ends its threads.
    """

    def __init__(self, machine: Machine, gm: Memory, threads: int, budget: int) -> None:
        self._free: SimpleQueue[CoreState] = SimpleQueue()
        for _ in range(threads):
            self._free.put(CoreState(machine, gm))
        self._own: list[CoreState] = []
        """A set of memories for each core, where cores do not run one after the other."""
        self._machine, self._gm, self._budget = machine, gm, budget
        self._pool = ThreadPoolExecutor(threads, "npuc-core") if threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, code: Code, task: Task, monitor: Monitor | None) -> list[list[Issued]]:
        """What each core of a task issued, in order of cores; values are in GM afterwards."""

        if code.is_joint:
            return self._together(code, task, monitor)

        def one(core_id: int) -> list[Issued]:
            core = self._free.get()
            core.start(core_id, task, code.registers, self._budget)
            try:
                return _run(code, core, monitor)
            finally:
                self._free.put(core)

        cores = range(task.grid)
        if self._pool is None or task.grid == 1 or code.is_ordered:
            return [one(core_id) for core_id in cores]
        return list(self._pool.map(one, cores))

    def run_interleaved(self, words: ThreadCode, task: Task, chance: Random) -> list[list[Issued]]:
        """As `run`, in a legal order that `chance` decides (see `interleave`)."""
        code, cores = words.code, self._cores_of(task.grid)
        for core_id, core in enumerate(cores):
            core.start(core_id, task, code.registers, self._budget)
        one_by_one = code.is_ordered and not code.is_joint
        for group in [[core] for core in cores] if one_by_one else [cores]:
            run_interleaved(words, group, chance)
        return [core.issued for core in cores]

    def _cores_of(self, count: int) -> list[CoreState]:
        while len(self._own) < count:
            self._own.append(CoreState(self._machine, self._gm))
        return self._own[:count]

    def _together(self, code: Code, task: Task, monitor: Monitor | None) -> list[list[Issued]]:
        """Run cores that wait for each other: each has memories of its own, and they take turns."""
        meeting = Meeting(code.kernel, self._machine, task.grid)
        cores = self._cores_of(task.grid)
        for core_id, core in enumerate(cores):
            core.start(core_id, task, code.registers, self._budget)
            core.meet = _meet(meeting, core, monitor)
        meeting.run([partial(_run, code, core, monitor) for core in cores])
        return [core.issued for core in cores]


def _meet(meeting: Meeting, core: CoreState, monitor: Monitor | None) -> Callable[[Issued], None]:
    """How a core carries out what orders cores; the monitor learns of the order."""

    def meet(issued: Issued) -> None:
        spec, number = issued.spec, core.core_id
        assert issubclass(spec, CrossSync)
        message = None if monitor is None else monitor.message(number, issued)
        messages = meeting.meet(number, issued.word, spec, issued.operands, message)
        if monitor is not None:
            monitor.learn(number, issued, messages)

    return meet


def _run(code: Code, core: CoreState, monitor: Monitor | None) -> list[Issued]:
    if monitor is not None:
        monitor.start_core(code.kernel, core.core_id, joint=code.is_joint)
        core.log = monitor.watch(core)
    try:
        # Overflow and NaN are values like others on the machine.
        with np.errstate(all="ignore"):
            code.run(core)
    except NpucError as error:
        if error.where:
            raise
        raise located(error, code.kernel, core.issued[-1].word, core.core_id) from error
    if monitor is not None:
        monitor.finish_core(core.core_id)
    return core.issued
