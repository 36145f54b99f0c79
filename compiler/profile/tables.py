"""The tables of a run as CSV, with the names of columns that users of Ascend's profiler know."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import BinaryIO, get_args

from ...backend.emulator.result import Result, TaskResult
from ...dialects.target.costs import GmPath, LocalPath, microseconds
from ..observation import Observation
from .trace import begin_of

UNITS = {
    "mac": "M", "vec": "V", "scalar": "S", "mte1": "MTE1", "mte2": "MTE2", "mte3": "MTE3",
    "fixpipe": "FIX",
}  # fmt: skip
"""What the columns call each pipe."""
MISSING = "N/A"
"""The cell for what a function of the host engine does not have."""

Row = Sequence[object]


def write_summary(observation: Observation, file: BinaryIO) -> None:
    """A row a launch: when it ran, on how many cores, and how busy their units were."""
    units = [f"{unit}_{what}" for unit in UNITS for what in ("time(us)", "ratio")]
    head = [
        "Op Name", "OP Type", "Task ID", "Task Type", "Task Start Time(us)", "Task Duration(us)",
        "Task Wait Time(us)", "Block Num", "aicore_time(us)", "total_cycles", *units,
        "memory_bound", "cube_utilization(%)", "Kernel",
    ]  # fmt: skip
    result = observation.result
    rows: list[Row] = []
    before = 0
    for number, task in enumerate(result.tasks):
        begin, end = begin_of(task), task.start + task.cycles
        times = [_us(result, cycles) for cycles in (begin, end - begin, begin - before)]
        before = end
        blocks = len(task.busy) or MISSING
        name, kind = op_name(observation, number), op_type(observation, number)
        engine = _cores(result, task) if task.busy else [MISSING] * (4 + 2 * len(UNITS))
        rows.append([name, kind, number, task_type(task), *times, blocks, *engine, task.kernel])
    _write(file, head, rows)


def write_statistic(observation: Observation, file: BinaryIO) -> None:
    """A row an operator type: how often it ran, how long, and its share of the time of all."""
    head = [
        "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
        "Max Time(us)", "Ratio(%)",
    ]  # fmt: skip
    durations: dict[tuple[str, str], list[int]] = {}
    for number, task in enumerate(observation.result.tasks):
        key = (op_type(observation, number), task_type(task))
        durations.setdefault(key, []).append(max(task.core_cycles))
    total = sum(map(sum, durations.values()))
    rows: list[Row] = []
    for (kind, core), cycles in sorted(durations.items(), key=lambda item: -sum(item[1])):
        figures = (sum(cycles), min(cycles), sum(cycles) / len(cycles), max(cycles))
        share = f"{100 * sum(cycles) / total:.3f}" if total else MISSING
        times = [f"{x / observation.result.machine.core.clock:.3f}" for x in figures]
        rows.append([kind, core, len(cycles), *times, share])
    _write(file, head, rows)


def write_memory(observation: Observation, file: BinaryIO) -> None:
    """A row a launch: how much it moved on each path, and between L2 and DRAM, in 1024 bytes."""
    tasks = observation.result.tasks
    described = observation.result.machine.paths
    known = [path for path in (*get_args(GmPath), *get_args(LocalPath)) if getattr(described, path)]
    others = {path for task in tasks for path in task.work.moved} - set(known)
    paths = [*known, *sorted(others)]
    head = ["Op Name", "Task ID", *map(_volume, paths), "main_memory_datas(KB)", "Kernel"]
    rows: list[Row] = []
    for number, task in enumerate(tasks):
        sizes = [*(task.work.moved.get(path, 0) for path in paths), task.work.missed]
        volumes = [f"{size / 1024:.3f}" for size in sizes] if task.busy else [MISSING] * len(sizes)
        rows.append([op_name(observation, number), number, *volumes, task.kernel])
    _write(file, head, rows)


def op_name(observation: Observation, number: int) -> str:
    """The nodes of the model a task computes, or else the name of its kernel."""
    nodes = observation.nodes_of_task(number)
    return "+".join(nodes) or observation.result.tasks[number].kernel


def op_type(observation: Observation, number: int) -> str:
    """The operators a task computes; for one that is of no node, the unit that does it."""
    operators = observation.operators_of(observation.nodes_of_task(number))
    kernel = observation.program.kernels.get(observation.result.tasks[number].kernel)
    return operators or (kernel.engine if kernel else "host")


def task_type(task: TaskResult) -> str:
    """What runs it."""
    return "AI_CORE" if task.busy else "AI_CPU"


def _cores(result: Result, task: TaskResult) -> list[object]:
    """The columns about the cores, averaged over them; a ratio is of the cycles they ran."""
    total = sum(task.core_cycles)
    busy = {unit: sum(core.get(pipe, 0) for core in task.busy) for unit, pipe in UNITS.items()}
    share = {unit: cycles / total if total else 0.0 for unit, cycles in busy.items()}
    scale = result.machine.core.clock * len(task.busy)
    units = [
        cell
        for unit, cycles in busy.items()
        for cell in (f"{cycles / scale:.3f}", f"{share[unit]:.4f}")
    ]
    computing = max(share["mac"], share["vec"])
    bound = f"{share['mte2'] / computing:.4f}" if computing else MISSING
    peak = result.machine.peak_flops / 2 * microseconds(result.machine, max(task.core_cycles))
    cube = 100 * task.work.macs * 1e6 / peak if peak else 0.0
    return [f"{total / scale:.3f}", total, *units, bound, f"{cube:.3f}"]


def _volume(path: str) -> str:
    source, target = path.split("_")
    return f"{source.upper()}_to_{target.upper()}_datas(KB)"


def _us(result: Result, cycles: int) -> str:
    return f"{microseconds(result.machine, cycles):.3f}"


def _write(file: BinaryIO, head: Row, rows: Iterable[Row]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    file.write(text.getvalue().encode())
