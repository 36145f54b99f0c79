"""What an explanation is told as: one JSON object for programs, tables for people."""

from __future__ import annotations

import json
from typing import Any

from ..dialects.npu_isa.effects import SPACES
from ..dialects.target.machine import Machine
from .explain import BufferInfo, Explanation, KernelInfo
from .report import bound, launch_share
from .tables import align, count_of, printable, size_of


def explanation_as_json(explanation: Explanation) -> str:
    """One object in one line; docs/profiling.md says what the keys mean."""
    observation = explanation.observation
    result = observation.result
    document: dict[str, Any] = {
        "model": observation.request.model,
        "node": explanation.node,
        "target": result.machine.name,
        "validation": result.machine.validation,
        "precision": observation.precision,
        "cycles": result.cycles,
        "time_us": result.time_us,
        "bound": bound(result),
        "launch_share": launch_share(result),
        "kernels": [_kernel(explanation, kernel) for kernel in explanation.kernels],
        "warnings": list(observation.lowered.warnings),
    }
    return json.dumps(document, allow_nan=False)


def _kernel(explanation: Explanation, kernel: KernelInfo) -> dict[str, Any]:
    row, schedule = kernel.profile, kernel.schedule
    found: dict[str, Any] = {
        "kernel": row.kernel,
        "engine": kernel.engine,
        "nodes": list(row.nodes),
        "operators": kernel.operators,
        "launches": row.launches,
        "cores": row.cores,
        "tiles": list(schedule.tile_sizes) if schedule else None,
        "steps": list(schedule.step_sizes) if schedule else None,
        "reason": schedule.reason.data if schedule else None,
        "fusion_stopped": kernel.stopped,
        "predicted_cycles": kernel.predicted,
        "emulated_cycles": kernel.emulated,
        "share": row.cycles / explanation.observation.result.cycles,
        "bound": row.bound,
        "busiest_pipe": row.busiest if row.cores else None,
        "busiest_load": row.load if row.cores else None,
        "multiply_adds": row.work.macs,
        "gm_read_bytes": kernel.read,
        "gm_written_bytes": kernel.written,
        "l2_missed_bytes": row.work.missed,
    }
    if explanation.node is not None:
        found["buffers"] = [buffer._asdict() for buffer in kernel.buffers]
        found["instructions"] = dict(kernel.instructions)
    return found


def explanation_as_text(explanation: Explanation) -> str:
    """The kernels in a table, then the decisions for each; for one node all there is to know."""
    observation = explanation.observation
    result = observation.result
    blocks = [
        f"{printable(observation.request.model)} on {result.machine.name} "
        f"({observation.precision}): {result.cycles:,} cycles, {result.time_us:,.2f} us "
        f"({result.machine.validation})\n"
        f"bound by {bound(result)}; launching takes {launch_share(result):.1%}",
    ]
    if explanation.kernels:
        blocks.append("\n".join(_overview(explanation)))
        blocks += [
            "\n".join(_decisions(kernel, explanation, result.machine))
            for kernel in explanation.kernels
        ]
    else:
        blocks.append(_no_kernel(explanation))
    return "\n\n".join(blocks)


def _no_kernel(explanation: Explanation) -> str:
    operator = explanation.observation.lowered.operators.get(explanation.node or "", "")
    return (
        f"no kernel computes {printable(explanation.node or 'anything')}"
        f"{f' ({operator})' if operator else ''}: it is a constant, another shape of the same "
        "bytes, or has been folded into its neighbours"
    )


def _overview(explanation: Explanation) -> list[str]:
    """A row a kernel, in order; cycles are without launching, bytes of all launches."""
    cycles = explanation.observation.result.cycles
    table = [
        (
            "kernel", "engine", "launches", "cores", "predicted", "emulated", "share", "bound",
            "busiest", "GM read", "written", "L2 misses", "nodes",
        )
    ]  # fmt: skip
    for kernel in explanation.kernels:
        row = kernel.profile
        table.append(
            (
                row.kernel,
                kernel.engine,
                str(row.launches),
                str(row.cores or "-"),
                "-" if kernel.predicted is None else f"{kernel.predicted:,}",
                f"{kernel.emulated:,}",
                f"{row.cycles / cycles:.1%}",
                row.bound,
                f"{row.busiest} {row.load:.0%}" if row.cores else "-",
                size_of(kernel.read) if row.cores else "-",
                size_of(kernel.written) if row.cores else "-",
                size_of(row.work.missed) if row.cores else "-",
                ", ".join(row.nodes) or "-",
            )
        )
    return align(table, right=(2, 3, 4, 5, 6, 9, 10, 11))


def _decisions(kernel: KernelInfo, explanation: Explanation, machine: Machine) -> list[str]:
    """What was decided for one kernel, and, if it was asked for, what it is made of."""
    row, schedule = kernel.profile, kernel.schedule
    operators = f" ({kernel.operators})" if kernel.operators else ""
    lines = [
        f"{row.kernel}: {printable(', '.join(row.nodes)) or 'no node of the model'}{operators}"
    ]
    facts: list[tuple[str, str]] = []
    if schedule is not None:
        facts.append(("tiles", _sizes(schedule.tile_sizes)))
        if schedule.step_sizes != schedule.tile_sizes:
            facts.append(("steps", _sizes(schedule.step_sizes)))
        facts.append(("cores", f"{schedule.cores.data} of {machine.core.count}"))
        facts.append(("reason", schedule.reason.data or "none given"))
    if kernel.stopped is not None:
        facts.append(("fusion stopped", kernel.stopped))
    lines += [f"  {line}" for line in align(facts)] if facts else ["  runs on the host engine"]
    if explanation.node is not None and row.cores:
        lines += _contents(kernel, machine)
    return lines


def _sizes(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes)) or "one element"


def _contents(kernel: KernelInfo, machine: Machine) -> list[str]:
    """The buffers of a kernel by memory, and its instructions by pipe."""
    used = {buffer.space for buffer in kernel.buffers}
    spaces = [space for space in SPACES if space in used]
    use = [("memory", "used", "", "of")]
    for space in spaces:
        end = max(buffer.end for buffer in kernel.buffers if buffer.space == space)
        room = machine.size(space)
        use.append((space, size_of(end), f"{end / room:.0%}", size_of(room)))
    buffers = [("buffer", "slots", "address", "bytes a slot", "type", "node")]
    buffers += [_buffer(b) for space in spaces for b in kernel.buffers if b.space == space]
    code = [("pipe", "words", "instructions")]
    for pipe, counts in kernel.instructions.items():
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        code.append((pipe, str(sum(counts.values())), told))
    total = sum(sum(counts.values()) for counts in kernel.instructions.values())
    issued = f"{count_of(total, 'word')} of code, {kernel.profile.work.instructions:,} issued"
    tables = [align(use, right=(1, 2, 3)), align(buffers, right=(1, 2, 3)), align(code, right=(1,))]
    return ["", *(f"  {line}".rstrip() for table in tables for line in (*table, "")), f"  {issued}"]


def _buffer(buffer: BufferInfo) -> tuple[str, ...]:
    return (
        buffer.space,
        str(buffer.depth),
        f"{buffer.address:,}",
        f"{buffer.nbytes:,}",
        buffer.type,
        buffer.node or "-",
    )
