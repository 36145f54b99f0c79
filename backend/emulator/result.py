"""What a run of a program gives: values, cycles, and where the cycles went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...dialects.target import costs
from ...dialects.target.machine import Machine
from .checks.report import CheckReport
from .trace import Trace


@dataclass(frozen=True, slots=True)
class Work:
    """What instructions did: how many there were, multiply-adds of the matrix unit, bytes moved by
    path (`gm_ub`, `l1_l0a`, ...), and bytes that went between L2 and DRAM."""

    instructions: int
    macs: int
    moved: Mapping[str, int]
    missed: int

    def __add__(self, other: Work) -> Work:
        """Both together."""
        moved = dict(self.moved)
        for path, size in other.moved.items():
            moved[path] = moved.get(path, 0) + size
        return Work(
            self.instructions + other.instructions,
            self.macs + other.macs,
            moved,
            self.missed + other.missed,
        )


NO_WORK = Work(0, 0, {}, 0)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task: `start` and `cycles` of the run it took, the launch included.

    `core_cycles` is the time of each core from its first instruction until all its pipes are done,
    `busy` the cycles each pipe worked, by core. A function of the host engine has the name
    `host FUNCTION`, its time in `core_cycles` and no core in `busy`.
    """

    kernel: str
    start: int
    cycles: int
    core_cycles: tuple[int, ...]
    busy: tuple[Mapping[str, int], ...]
    work: Work

    def utilisation(self, pipe: str) -> float:
        """Share of the task in which `pipe` worked, over its cores; 0..1."""
        total = self.cycles * len(self.busy)
        return sum(core[pipe] for core in self.busy) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class KernelStats:
    """All tasks of one kernel together."""

    kernel: str
    launches: int
    cycles: int
    work: Work


@dataclass(frozen=True, slots=True)
class Result:
    """Outputs by name, and the time of the whole run on `machine`; L2 was cold at its start.

    `cycles` counts handing the program over, launching each task, and each task's slowest core.
    `trace` is empty unless it was asked for, `report` when the checks were off or found nothing.
    """

    machine: Machine
    outputs: Mapping[str, npt.NDArray[Any]]
    cycles: int
    tasks: tuple[TaskResult, ...]
    trace: Trace
    report: CheckReport

    @property
    def time_us(self) -> float:
        """Duration in microseconds."""
        return costs.microseconds(self.machine, self.cycles)

    @property
    def work(self) -> Work:
        """What all tasks did."""
        return sum((task.work for task in self.tasks), NO_WORK)

    @property
    def kernels(self) -> tuple[KernelStats, ...]:
        """Tasks by kernel, in order of first launch."""
        totals: dict[str, KernelStats] = {}
        for task in self.tasks:
            before = totals.get(task.kernel, KernelStats(task.kernel, 0, 0, NO_WORK))
            totals[task.kernel] = KernelStats(
                task.kernel,
                before.launches + 1,
                before.cycles + task.cycles,
                before.work + task.work,
            )
        return tuple(totals.values())
