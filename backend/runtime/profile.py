"""Where the cycles of a run went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.npu_isa.spec import PIPES
from ...dialects.target.machine import Machine
from ..emulator.result import Result, TaskResult, Work
from ..program import HostTask, Program

SHOWN = 60
"""Characters of the nodes' names shown."""


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """All launches of one kernel.

    `cycles` include the launches, `pipes` is the share of them, 0..1, in which each pipe worked,
    averaged over cores, and `bound` the pipe that worked longest.
    """

    kernel: str
    nodes: tuple[str, ...]
    launches: int
    cycles: int
    pipes: dict[str, float]
    work: Work

    @property
    def bound(self) -> str:
        """The pipe that worked longest."""
        return max(self.pipes, key=lambda pipe: self.pipes[pipe])


@dataclass(frozen=True, slots=True)
class Profile:
    """A run by kernels, the longest first; its text is a table for people.

    `modelled` names features used that the real chip lacks; `machine.validation` says how far the
    cycles can be trusted.
    """

    machine: Machine
    cycles: int
    time_us: float
    kernels: tuple[KernelProfile, ...]
    modelled: tuple[str, ...]

    @staticmethod
    def of(program: Program, result: Result) -> Profile:
        """The profile of a run of `program`."""
        rows: list[KernelProfile] = []
        for stats in result.kernels:
            tasks = [task for task in result.tasks if task.kernel == stats.kernel]
            nodes = _nodes(program, stats.kernel)
            pipes = {pipe: _share(tasks, pipe) for pipe in PIPES}
            rows.append(
                KernelProfile(stats.kernel, nodes, stats.launches, stats.cycles, pipes, stats.work)
            )
        rows.sort(key=lambda row: -row.cycles)
        return Profile(result.machine, result.cycles, result.time_us, tuple(rows), program.modelled)

    def __str__(self) -> str:
        """A table: per kernel its share of the cycles, each pipe's load, work, and nodes."""
        lines = [
            f"{self.cycles} cycles, {self.time_us:.1f} us on {self.machine.name} "
            f"({self.machine.validation}), L2 cold at the start"
        ]
        if self.modelled:
            lines.append(f"features used that the real chip lacks: {', '.join(self.modelled)}")
        head = ["kernel", "launches", "cycles", "share", *PIPES, "MMACs", "DRAM KB", "nodes"]
        rows = [head, *(self._cells(row) for row in self.kernels)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:-1], strict=True)]
            lines.append("  ".join([*cells, row[-1]]).rstrip())
        return "\n".join(lines)

    def _cells(self, row: KernelProfile) -> list[str]:
        nodes = ", ".join(row.nodes)
        return [
            row.kernel,
            str(row.launches),
            str(row.cycles),
            f"{row.cycles / self.cycles:.0%}",
            *(f"{row.pipes[pipe]:.0%}" for pipe in PIPES),
            f"{row.work.macs / 1e6:.2f}",
            f"{row.work.missed / 1024:.0f}",
            nodes if len(nodes) <= SHOWN else nodes[: SHOWN - 3] + "...",
        ]


def _share(tasks: Sequence[TaskResult], pipe: str) -> float:
    """Share of the tasks' cycles in which `pipe` worked, averaged over their cores."""
    available = sum(task.cycles * len(task.busy) for task in tasks)
    worked = sum(core[pipe] for task in tasks for core in task.busy)
    return worked / available if available else 0.0


def _nodes(program: Program, name: str) -> tuple[str, ...]:
    """The nodes of the model that a kernel, or `host FUNCTION`, computes."""
    if name in program.kernels:
        return program.kernels[name].nodes
    tasks = (task for entry in program.entries for task in entry.tasks)
    calls = (t for t in tasks if isinstance(t, HostTask) and f"host {t.function}" == name)
    return tuple(task.node for task in calls if task.node)
