"""The machines there are, as a table and in detail."""

from __future__ import annotations

import json
from typing import Any

from ..dialects.target.machine import (
    CONFIDENCES,
    FEATURES,
    Machine,
    builtin_names,
    load,
)
from ..dialects.target.machines import DEFAULT
from .tables import align, size_of

ON_CHIP = ("l1", "l0a", "l0b", "l0c", "ub")
"""The memories of a core."""
_KILO = 1024


def table_as_text() -> str:
    """A line a built-in machine; sizes of memories in KB, those on the left of L2 per core."""
    head = ("machine", "cores", "MHz", *(f"{name.upper()} KB" for name in ON_CHIP))
    rows: list[tuple[str, ...]] = [
        (*head, "L2 KB", "DRAM GB/s", "peak f16 TFLOP/s", "validation", "")
    ]
    for name in builtin_names():
        machine = load(name)
        sizes = [*(machine.size(space) for space in ON_CHIP), machine.l2.size]
        rows.append(
            (
                name,
                str(machine.core.count),
                str(machine.core.clock),
                *(f"{size / _KILO:g}" for size in sizes),
                str(machine.dram.bandwidth),
                f"{machine.peak_flops / 1e12:.1f}",
                machine.validation,
                "default" if name == DEFAULT else "",
            )
        )
    return "\n".join(align(rows, right=range(1, len(rows[0]) - 2)))


def table_as_json() -> str:
    """One object in one line: `machines`, a list of objects."""
    return json.dumps({"machines": [_summary(load(name)) for name in builtin_names()]})


def _summary(machine: Machine) -> dict[str, Any]:
    """What the table says, sizes in bytes."""
    return {
        "name": machine.name,
        "default": machine == load(DEFAULT),
        "validation": machine.validation,
        "cores": machine.core.count,
        "clock_mhz": machine.core.clock,
        "memory_bytes": {space: machine.size(space) for space in ("gm", *ON_CHIP)},
        "l2_bytes": machine.l2.size,
        "dram_gb_s": machine.dram.bandwidth,
        "peak_f16_tflop_s": machine.peak_flops / 1e12,
    }


def machine_as_text(name_or_path: str) -> str:
    """Every value with its unit, source and confidence, then features; `InputError` as `load`."""
    machine = load(name_or_path)
    facts = [
        (name, f"{fact.value:,}", fact.unit, fact.confidence, fact.source)
        for name, fact in machine.facts.items()
    ]
    features = [
        (name, *(machine.features.get(name) or ("absent", "")), words)
        for name, words in FEATURES.items()
    ]
    head = [
        ("machine", machine.name),
        ("validation", machine.validation),
        ("cores", f"{machine.core.count} at {machine.core.clock:,} MHz"),
        ("peak f16", f"{machine.peak_flops / 1e12:.1f} TFLOP/s"),
        ("memory", ", ".join(f"{s} {size_of(machine.size(s))}" for s in ("gm", *ON_CHIP))),
        ("confidence", "; ".join(f"{letter}: {words}" for letter, words in CONFIDENCES.items())),
    ]
    blocks = [
        align(head),
        align([("value", "", "unit", "confidence", "source"), *facts], right=(1,)),
        align([("feature", "state", "source", "what it is"), *features]),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)


def machine_as_json(name_or_path: str) -> str:
    """One object in one line: the summary, `values` and `features`; `InputError` as `load`."""
    machine = load(name_or_path)
    values = {name: fact._asdict() for name, fact in machine.facts.items()}
    features = {
        name: machine.features[name]._asdict() if name in machine.features else None
        for name in FEATURES
    }
    return json.dumps({**_summary(machine), "values": values, "features": features})
