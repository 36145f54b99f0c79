"""The cores of a run: which kernel runs on which, one after the other or in host threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Self

import numpy as np

from ...dialects.core.errors import NpucError
from ...dialects.npu_isa.memory import Memory
from ...dialects.target.machine import Machine
from ..program import Task
from .checks.monitor import Monitor
from .code import Code
from .core import CoreState
from .issue import Issued
from .locate import located


class Cores:
    """Runs the cores of tasks on `threads` host threads that share one GM.

    There are as many sets of on-chip memories as threads; a core takes one that is free.  As a
    context manager it ends its threads.
    """

    def __init__(self, machine: Machine, gm: Memory, threads: int, budget: int) -> None:
        self._free: SimpleQueue[CoreState] = SimpleQueue()
        for _ in range(threads):
            self._free.put(CoreState(machine, gm))
        self._budget = budget
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

        def one(core_id: int) -> list[Issued]:
            core = self._free.get()
            core.start(core_id, task, code.registers, self._budget)
            try:
                return _run(code, core, monitor)
            finally:
                self._free.put(core)

        cores = range(task.grid)
        if self._pool is None or task.grid == 1:
            return [one(core_id) for core_id in cores]
        return list(self._pool.map(one, cores))


def _run(code: Code, core: CoreState, monitor: Monitor | None) -> list[Issued]:
    if monitor is not None:
        monitor.start_core(code.kernel, core.core_id)
        core.log = monitor.watch(core.issued)
    try:
        # Overflow and NaN are values like others on the machine.
        with np.errstate(all="ignore"):
            code.run(core)
    except NpucError as error:
        if error.where:
            raise
        raise located(error, code.kernel, core.issued[-1].word, core.core_id) from error
    if monitor is not None:
        monitor.finish_core()
    return core.issued
