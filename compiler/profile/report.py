"""What a profile is told as: one JSON object for programs, a table for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...backend.runtime.profile import KernelProfile
from ..report import bound, launch_share
from ..tables import align, count_of, printable
from .files import FILES, Profiled

TOP = 10
"""Kernels shown."""


def profile_as_json(profiled: Profiled) -> str:
    """One object in one line; docs/profiling.md says what the keys mean."""
    observation = profiled.observation
    result = observation.result
    coverage = [core for task in result.trace.coverage for core in task]
    document: dict[str, Any] = {
        "model": observation.request.model,
        "target": result.machine.name,
        "validation": result.machine.validation,
        "precision": observation.precision,
        "cycles": result.cycles,
        "time_us": result.time_us,
        "bound": bound(result),
        "launch_share": launch_share(result),
        "kernels": [_kernel(profiled, row) for row in observation.profile.kernels],
        "files": [str(Path(profiled.folder, name)) for name in FILES],
        "instructions": sum(core.issued for core in coverage),
        "instructions_in_trace": sum(core.recorded for core in coverage),
        "warnings": list(observation.lowered.warnings),
    }
    return json.dumps(document, allow_nan=False)


def _kernel(profiled: Profiled, row: KernelProfile) -> dict[str, Any]:
    return {
        "kernel": row.kernel,
        "nodes": list(row.nodes),
        "operators": profiled.observation.operators_of(row.nodes),
        "launches": row.launches,
        "cycles": row.cycles,
        "share": row.cycles / profiled.observation.result.cycles,
        "bound": row.bound,
        "busiest_pipe": row.busiest if row.cores else None,
        "busiest_load": row.load if row.cores else None,
    }


def profile_as_text(profiled: Profiled) -> str:
    """The kernels that took longest, and what was written where."""
    observation = profiled.observation
    result = observation.result
    rows = observation.profile.kernels
    table = [("kernel", "launches", "time us", "share", "bound", "busiest pipe", "nodes")]
    for row in rows[:TOP]:
        busiest = f"{row.busiest} {row.load:.0%}" if row.cores else "-"
        time = f"{row.cycles / result.machine.core.clock:,.2f}"
        share = f"{row.cycles / result.cycles:.1%}"
        nodes = ", ".join(row.nodes) or "-"
        table.append((row.kernel, str(row.launches), time, share, row.bound, busiest, nodes))
    lines = [
        f"{printable(observation.request.model)} on {result.machine.name} "
        f"({observation.precision}): {result.cycles:,} cycles, {result.time_us:,.2f} us "
        f"({result.machine.validation})",
        f"bound by {bound(result)}; launching takes {launch_share(result):.1%}",
        "",
        *align(table, right=(1, 2, 3)),
    ]
    if len(rows) > TOP:
        lines.append(f"and {count_of(len(rows) - TOP, 'kernel')} more")
    trace = Path(profiled.folder, "trace.json")
    lines += ["", f"wrote {', '.join(FILES)} to {printable(profiled.folder)}"]
    return "\n".join([*lines, f"open {printable(str(trace))} in ui.perfetto.dev"])


def left_out(profiled: Profiled) -> str | None:
    """One sentence on what the trace leaves out, if anything."""
    if not profiled.gaps:
        return None
    recorded = sum(gap.recorded for gap in profiled.gaps)
    total = sum(gap.instructions for gap in profiled.gaps)
    names = list(dict.fromkeys(gap.kernel for gap in profiled.gaps))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (
        f"the trace holds the first {recorded:,} of the {total:,} instructions of "
        f"{count_of(len(profiled.gaps), 'launch')} ({shown}), as all of them would make it too "
        "large; the tables are about all of them"
    )
