"""What there is to know about a program file. Nothing here needs xDSL."""

from __future__ import annotations

import json
import os
from typing import Any

from ..backend.container import load
from ..backend.program import IO, HostTask, Program, Task
from .tables import align, count_of, size_of

ENGINES = ("cube", "vector", "host")


def engine_nodes(program: Program) -> dict[str, list[str]]:
    """The nodes of the model by the engine that computes them."""
    nodes: dict[str, list[str]] = {engine: [] for engine in ENGINES}
    for node, engine in program.source_engines.items():
        nodes[engine].append(node)
    return nodes


def program_as_json(path: str) -> str:
    """One object in one line; docs/commands.md says what the keys mean. Errors as `load`."""
    program = load(path)
    entry = program.entry()
    document: dict[str, Any] = {
        "kind": "program",
        "model": path,
        "bytes": os.stat(path).st_size,
        "target": program.machine.name,
        "validation": program.machine.validation,
        "compiler": program.compiler,
        "inputs": [_port(io) for io in entry.inputs],
        "outputs": [_port(io) for io in entry.outputs],
        "kernels": len(program.kernels),
        "instructions": _instructions(program),
        "launches": _launches(program),
        "host_calls": _host_calls(program),
        "gm_bytes": program.gm_bytes,
        "constant_bytes": _constant_bytes(program),
        "modelled_features": list(program.modelled),
        "engine_nodes": engine_nodes(program),
    }
    return json.dumps(document)


def _port(io: IO) -> dict[str, Any]:
    return {"name": io.name, "dtype": io.dtype, "shape": list(io.shape)}


def _instructions(program: Program) -> int:
    return sum(len(kernel.records) for kernel in program.kernels.values())


def _launches(program: Program) -> int:
    return sum(isinstance(task, Task) for entry in program.entries for task in entry.tasks)


def _host_calls(program: Program) -> int:
    return sum(isinstance(task, HostTask) for entry in program.entries for task in entry.tasks)


def _constant_bytes(program: Program) -> int:
    return sum(constant.data.nbytes for constant in program.constants)


def program_as_text(path: str) -> str:
    """The report for a person; errors as `load`."""
    program = load(path)
    entry = program.entry()
    ports = [
        (kind, io.name, f"{io.dtype}[{','.join(map(str, io.shape))}]")
        for kind, group in (("input", entry.inputs), ("output", entry.outputs))
        for io in group
    ]
    machine, constants = program.machine, _constant_bytes(program)
    figures = [
        ("program", f"{path}, {size_of(os.stat(path).st_size)}"),
        ("compiled by", program.compiler or "unknown"),
        ("target", f"{machine.name} ({machine.validation})"),
        ("memory", f"{size_of(program.gm_bytes)} of GM, {size_of(constants)} of it constants"),
        ("work", f"{count_of(_launches(program), 'launch')} of {len(program.kernels)} kernels"),
        ("nodes", ", ".join(f"{len(n)} {engine}" for engine, n in engine_nodes(program).items())),
        ("modelled", ", ".join(program.modelled) or "nothing"),
    ]
    kernels = [
        (kernel.name, kernel.engine, f"{len(kernel.records):,}", ", ".join(kernel.nodes))
        for kernel in program.kernels.values()
    ]
    calls = [
        (f"host {task.function}", "host", "-", task.node or "")
        for entry in program.entries
        for task in entry.tasks
        if isinstance(task, HostTask)
    ]
    blocks = [
        align(figures),
        align(ports),
        align([("kernel", "engine", "instructions", "nodes"), *kernels, *calls], right=(2,)),
    ]
    return "\n\n".join("\n".join(lines) for lines in blocks)
