"""Where the cycles of a run went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.target.machine import Machine
from ...dialects.target.timeline import pipes_of
from ..emulator.result import Result, TaskResult, Work
from ..program import HostTask, Program

SHOWN = 60
"""Characters of the nodes' names shown."""
MOSTLY = 0.5
"""Share of the time from which on what works is what limits."""


@dataclass(frozen=True, slots=True)
class KernelProfile:
    """All launches of one kernel, on at most `cores`; none for a function of the host engine.

    `cycles` include the launches, `running` only the slowest core of each.  `pipes` is the share of
    `cycles`, 0..1, in which each pipe worked, averaged over cores.
    """

    kernel: str
    nodes: tuple[str, ...]
    launches: int
    cores: int
    cycles: int
    running: int
    pipes: dict[str, float]
    work: Work

    @property
    def busiest(self) -> str:
        """The pipe that worked longest."""
        return max(self.pipes, key=lambda pipe: self.pipes[pipe])

    @property
    def load(self) -> float:
        """Share of the time without launches in which the busiest pipe worked, 0..1."""
        return self.pipes[self.busiest] * self.cycles / self.running if self.running else 0.0

    @property
    def bound(self) -> str:
        """The pipe that works for at least half of the time, `latency` if there is none, `host` for
        a function of the host engine."""
        if not self.cores:
            return "host"
        return self.busiest if self.load >= MOSTLY else "latency"


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
            pipes = {pipe: _share(tasks, pipe) for pipe in pipes_of(result.machine)}
            rows.append(
                KernelProfile(
                    kernel=stats.kernel,
                    nodes=nodes,
                    launches=stats.launches,
                    cores=max(len(task.busy) for task in tasks),
                    cycles=stats.cycles,
                    running=sum(max(task.core_cycles) for task in tasks),
                    pipes=pipes,
                    work=stats.work,
                )
            )
        rows.sort(key=lambda row: -row.cycles)
        return Profile(result.machine, result.cycles, result.time_us, tuple(rows), program.modelled)

    def __str__(self) -> str:
        """A table: per kernel its share of the cycles, each pipe's load, bound, work, and nodes."""
        lines = [
            f"{self.cycles} cycles, {self.time_us:.1f} us on {self.machine.name} "
            f"({self.machine.validation}), L2 cold at the start"
        ]
        if self.modelled:
            lines.append(f"features used that the real chip lacks: {', '.join(self.modelled)}")
        head = [
            "kernel",
            "launches",
            "cycles",
            "share",
            *pipes_of(self.machine),
            "bound",
            "MMACs",
            "DRAM KB",
            "nodes",
        ]
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
            *(f"{row.pipes[pipe]:.0%}" for pipe in pipes_of(self.machine)),
            row.bound,
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
