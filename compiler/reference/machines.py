"""The page about machines: every value with its unit, source and confidence, and all features."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
from collections.abc import Sequence

from ...dialects.target.machine import (
    BUILTIN_FOLDER,
    CONFIDENCES,
    FEATURES,
    Machine,
    builtin_names,
    load,
)
from ...dialects.target.machines import DEFAULT
from ...dialects.target.units import NESTED, SECTIONS
from .markdown import code, prose, table

SHOWN_STATE = {"real": "real", "modelled": "modelled", None: ""}


def machines_page() -> str:
    """The built-in machines as Markdown."""
    machines = [load(name) for name in builtin_names()]
    parts = ["# Machines\n", _introduction(), _overview(machines), _features(machines)]
    parts += [_machine(machine) for machine in machines]
    return "\n".join(parts)


def _introduction() -> str:
    text = """
    A machine is a TOML file; `npuc targets NAME` shows one of them, and the option `--target` takes
    the path of your own. Each value has a unit, a source and a confidence:
    """
    letters = table(("confidence", "what it means"), tuple(CONFIDENCES.items()))
    return f"{prose(text)}\n{letters}"


def _overview(machines: Sequence[Machine]) -> str:
    rows = [
        (
            f"[{machine.name}](#{machine.name})" + (" (default)" if _is_default(machine) else ""),
            str(machine.core.count),
            f"{machine.core.clock:,}",
            f"{machine.peak_flops / 1e12:.1f}",
            f"{machine.dram.bandwidth:,}",
            machine.validation,
        )
        for machine in machines
    ]
    head = ("machine", "cores", "MHz", "peak f16 TFLOP/s", "DRAM GB/s", "how far to trust cycles")
    return "## Overview\n\n" + table(head, rows)


def _is_default(machine: Machine) -> bool:
    return machine.name == DEFAULT


def _features(machines: Sequence[Machine]) -> str:
    """Which machine has which feature; a feature it lacks is left empty."""
    rows = [
        (
            code(name),
            words,
            *(
                SHOWN_STATE[m.features[name].state if name in m.features else None]
                for m in machines
            ),
        )
        for name, words in FEATURES.items()
    ]
    text = prose("`real` on the part, or `modelled`: granted by the description; else absent.")
    head = ("feature", "what it is", *(machine.name for machine in machines))
    return f"## Features\n\n{text}\n{table(head, rows)}"


def _machine(machine: Machine) -> str:
    """Every value of a machine by section, then where its features come from."""
    trust = f"How far to trust its cycles: {machine.validation}. Digest `{machine.digest}`."
    parts = [f"## {machine.name}\n", prose(_opening_comment(machine.name)), prose(trust)]
    for name, section in SECTIONS.items():
        parts += [f"### {machine.name}: {name}\n", prose(section.__doc__ or "")]
        parts.append(_values(machine, name, section))
    rows = [
        (code(name), machine.features[name].state, machine.features[name].source)
        for name in FEATURES
        if name in machine.features
    ]
    parts.append(f"### {machine.name}: features\n")
    parts.append(table(("feature", "state", "source"), rows))
    return "\n".join(parts)


def _opening_comment(name: str) -> str:
    """What the description says before its first line: about the part, and what sources mean."""
    lines = (BUILTIN_FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    comment = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return "\n".join(line.removeprefix("#").strip() for line in comment)


def _values(machine: Machine, name: str, section: type) -> str:
    """The values of one section, then what its sections within are."""
    rows = [
        (code(dotted.removeprefix(f"{name}.")), f"{fact.value:,}", *fact[1:])
        for dotted, fact in machine.facts.items()
        if dotted.startswith(f"{name}.")
    ]
    head = ("value", "", "unit", "source", "confidence")
    types = {str(f.type).removesuffix(" | None") for f in dataclasses.fields(section)}
    inner = [
        prose(f"Each is {_lower(kind.__doc__)}")
        for type_name, kind in NESTED.items()
        if type_name in types
    ]
    return "\n".join([table(head, rows), *inner])


def _lower(text: str | None) -> str:
    words = inspect.cleandoc(text or "")
    return words[:1].lower() + words[1:]
