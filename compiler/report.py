"""What a run is told as: one JSON object for programs, a table for people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ..backend.emulator.result import Result
from ..backend.program import Program
from ..dialects.core.tolerance import Comparison
from ..dialects.target.timeline import pipes_of
from .program_info import engine_nodes
from .request import Outcome
from .tables import align, bar, count_of, printable

_MEMORY_PIPES = ("MTE1", "MTE2", "MTE3")
_MOSTLY = 0.5


def pipe_busy(result: Result) -> dict[str, float]:
    """For each pipe the share of the run in which it worked, averaged over the cores in use."""
    if not result.cycles:
        return dict.fromkeys(pipes_of(result.machine), 0.0)
    return {
        pipe: sum(task.utilisation(pipe) * task.cycles for task in result.tasks) / result.cycles
        for pipe in pipes_of(result.machine)
    }


def cube_utilization(result: Result) -> float:
    """Multiply-adds done, as a share of what all cores could do in f16 in the time of the run."""
    machine = result.machine
    peak = machine.peak_flops / 2 * result.time_us * 1e-6
    return result.work.macs / peak if peak else 0.0


def launch_share(result: Result) -> float:
    """Share of the run in which no kernel runs: handing the program over and launching tasks."""
    running = sum(max(task.core_cycles) for task in result.tasks)
    return 1 - running / result.cycles if result.cycles else 0.0


def bound(result: Result) -> str:
    """What limits the run: `launch`, `cube`, `vector`, `memory` or `latency`.

    `launch` if that takes at least half of the time; else whatever works for at least half of the
    time that is left; else `latency`, as everything waits for something most of the time.
    """
    launch, busy = launch_share(result), pipe_busy(result)
    if launch >= _MOSTLY:
        return "launch"
    shares = {
        "cube": busy["M"],
        "vector": busy["V"],
        "memory": max(busy[pipe] for pipe in _MEMORY_PIPES),
    }
    name = max(shares, key=lambda key: shares[key])
    return name if shares[name] >= _MOSTLY * (1 - launch) else "latency"


def as_json(outcome: Outcome) -> str:
    """One object in one line; figures that a level does not have are null."""
    result, program = outcome.result, outcome.program
    document: dict[str, Any] = {
        "ok": outcome.ok,
        "model": outcome.request.model,
        "level": outcome.request.level,
        "precision": outcome.precision,
        "max_abs_err": _worst(outcome.comparisons, "max_abs"),
        "max_rel_err": _worst(outcome.comparisons, "max_rel"),
        "outputs": {name: _comparison(c) for name, c in outcome.comparisons.items()},
        "target": program.machine.name if program else None,
        "validation": program.machine.validation if program else None,
        "cycles": result.cycles if result else None,
        "time_us": result.time_us if result else None,
        "cube_utilization": cube_utilization(result) if result else None,
        "pipe_busy": pipe_busy(result) if result else None,
        "bound": bound(result) if result else None,
        "compile_cpu_s": outcome.compile_cpu_s,
        "emulate_cpu_s": outcome.emulate_cpu_s,
        "engine_nodes": engine_nodes(program) if program else None,
        "modelled_features": list(program.modelled) if program else None,
        "warnings": list(outcome.warnings),
    }
    return json.dumps(document, allow_nan=False)


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "ok": comparison.ok,
        "max_abs_err": _finite(comparison.max_abs),
        "max_rel_err": _finite(comparison.max_rel),
        "limit": comparison.limit,
        "why": comparison.why,
    }


def _worst(comparisons: Mapping[str, Comparison], which: str) -> float | None:
    """The largest error, None where nothing was compared or there is no number for it."""
    errors = [float(getattr(comparison, which)) for comparison in comparisons.values()]
    return _finite(max(errors)) if errors else None


def _finite(error: float) -> float | None:
    """JSON has no infinity: patterns of NaN that differ have no error, only a reason."""
    return error if math.isfinite(error) else None


def as_text(outcome: Outcome) -> Text:
    """The report for a person: aligned columns, never cut."""
    blocks = [Text("\n".join(_outputs(outcome)))]
    if outcome.result is not None and outcome.program is not None:
        figures = _figures(outcome, outcome.result, outcome.program)
        blocks += [Text("\n".join(lines)) for lines in (_pipes(outcome.result), figures)]
    return Text("\n\n").join([_headline(outcome), *blocks])


def _headline(outcome: Outcome) -> Text:
    verdict = ("ok", "bold green") if outcome.ok else ("FAILED", "bold red")
    if outcome.ok and not outcome.comparisons:
        verdict = ("done (nothing to compare with)", "bold")
    how = ", ".join(filter(None, (outcome.request.level, outcome.precision)))
    where = f" on {outcome.program.machine.name}" if outcome.program else ""
    return Text.assemble(f"{printable(outcome.request.model)}{where} ({how}): ", verdict)


def _outputs(outcome: Outcome) -> list[str]:
    rows: list[tuple[str, ...]] = [("output", "type", "max abs err", "max rel err", "limit", "")]
    for name, array in outcome.outputs.items():
        type_ = f"{array.dtype}{list(array.shape)}"
        comparison = outcome.comparisons.get(name)
        if comparison is None:
            rows.append((name, type_, "-", "-", "-", "not compared"))
            continue
        found = (comparison.max_abs, comparison.max_rel, comparison.limit)
        rows.append((name, type_, *(f"{x:.3g}" for x in found), comparison.why or "ok"))
    return align(rows, right=(2, 3, 4))


def _pipes(result: Result) -> list[str]:
    rows = [(pipe, f"{share:.1%}", bar(share)) for pipe, share in pipe_busy(result).items()]
    return align([("pipe", "busy", ""), *rows], right=(1,))


def _figures(outcome: Outcome, result: Result, program: Program) -> list[str]:
    engines = engine_nodes(program)
    rows = {
        "cycles": f"{result.cycles:,}",
        "time": f"{result.time_us:,.2f} us ({program.machine.validation})",
        "bound by": f"{bound(result)} (launching takes {launch_share(result):.1%})",
        "cube": f"{cube_utilization(result):.2%} of the multiply-adds the chip could do in f16",
        "kernels": f"{len(program.kernels)} in {count_of(len(result.tasks), 'launch')}",
        "nodes": ", ".join(f"{len(nodes)} {engine}" for engine, nodes in engines.items()),
        "modelled": ", ".join(program.modelled) or "nothing",
        "compiled in": f"{outcome.compile_cpu_s:.2f} CPU s",
        "emulated in": f"{outcome.emulate_cpu_s:.2f} CPU s",
    }
    return align(list(rows.items()))
