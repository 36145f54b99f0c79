"""The header of a container: everything about a program that is not code or constants, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..dialects.core.dtypes import NAMES
from ..dialects.core.errors import InputError, ProgramError
from ..dialects.target import machine as machines
from ..dialects.target.machine import Machine
from .decoder import decode
from .encoder import Words
from .fields import Value
from .program import (
    IO,
    MAX_RANK,
    Buffer,
    Bytes,
    Constant,
    Engine,
    Entry,
    HostTask,
    Kernel,
    Program,
    Task,
)

ALIGNMENT = 64
"""Bytes; where sections start in the file, and constants in their section."""
NO_NODE = 0
"""In a source map, the words of no particular node; node i of the kernel's list is i + 1."""


class Layout(NamedTuple):
    """Where the constants lie in their section, in its order, and the bytes of the section."""

    constants: tuple[tuple[Constant, int], ...]
    nbytes: int


def write_header(program: Program, layout: Layout) -> bytes:
    """The canonical JSON of a program: sorted keys, no spaces, ASCII."""
    machine = program.machine
    own = None if machines.is_builtin(machine) else dict(machine.description)
    header: dict[str, Any] = {
        "machine": {"name": machine.name, "digest": machine.digest, "description": own},
        "entries": [_entry_json(entry) for entry in program.entries],
        "kernels": [_kernel_json(program.kernels[name]) for name in sorted(program.kernels)],
        "gm": {
            "bytes": program.gm_bytes,
            "buffers": [
                {"name": buffer.name, "address": buffer.address, "bytes": buffer.nbytes}
                for buffer in program.buffers
            ],
        },
        "constants": [
            {
                "name": constant.name,
                "address": constant.address,
                "bytes": constant.data.nbytes,
                "offset": offset,
            }
            for constant, offset in layout.constants
        ],
        "modelled": sorted(program.modelled),
        "source_engines": dict(program.source_engines),
        "npuc": program.compiler,
    }
    return _canonical(header)


def _canonical(header: object) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "inputs": [_io_json(tensor) for tensor in entry.inputs],
        "outputs": [_io_json(tensor) for tensor in entry.outputs],
        "tasks": [_task_json(task) for task in entry.tasks],
    }


def _task_json(task: Task | HostTask) -> dict[str, Any]:
    if isinstance(task, Task):
        return {"kernel": task.kernel, "grid": task.grid, "args": list(task.args)}
    return {
        "host": task.function,
        "args": [_io_json(tensor) for tensor in task.args],
        "result": _io_json(task.result),
        "node": task.node or "",
    }


def _io_json(tensor: IO) -> dict[str, Any]:
    return {
        "name": tensor.name,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "address": tensor.address,
        "bytes": tensor.nbytes,
    }


def _kernel_json(kernel: Kernel) -> dict[str, Any]:
    """A kernel without its code; the source map as runs of words of one node."""
    nodes = list(dict.fromkeys((*kernel.nodes, *kernel.source_map.values())))
    numbers = {node: index + 1 for index, node in enumerate(nodes)}
    runs: list[list[int]] = []
    for word in range(len(kernel.records)):
        node = kernel.source_map.get(word)
        number = NO_NODE if node is None else numbers[node]
        if number != (runs[-1][1] if runs else NO_NODE):
            runs.append([word, number])
    return {
        "name": kernel.name,
        "engine": kernel.engine,
        "words": len(kernel.records),
        "nodes": nodes,
        "own_nodes": len(kernel.nodes),
        "source_map": runs,
    }


def read_header(text: bytes, codes: Sequence[Words], constants: Bytes, *, where: str) -> Program:
    """The program whose header is `text`, with the code of each kernel and the constant bytes.

    Raises ProgramError, at a path below `where`, for what is missing, of the wrong type or does not
    agree with the other sections.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "the header of the program is not JSON"
        raise ProgramError(what, where=where, why=str(error)) from error
    root = Value(document, where)
    gm = root.get("gm")
    return Program(
        machine=_read_machine(root.get("machine")),
        entries=tuple(_read_entry(entry) for entry in root.get("entries").items()),
        kernels=_read_kernels(root.get("kernels"), codes),
        gm_bytes=gm.get("bytes").integer(),
        constants=_read_constants(root.get("constants"), constants),
        buffers=tuple(_read_buffer(buffer) for buffer in gm.get("buffers").items()),
        modelled=root.get("modelled").texts(),
        source_engines={
            node: engine.text() for node, engine in root.get("source_engines").members().items()
        },
        compiler=root.get("npuc").text(),
    )


def _read_machine(value: Value) -> Machine:
    """The machine of the header's digest: its own description, or the built-in of that name."""
    name, digest = value.get("name").text(), value.get("digest").text()
    own = value.get("description")
    try:
        if own.value is None:
            machine = machines.load(name) if name in machines.builtin_names() else None
        else:
            machine = machines.from_description(
                {key: member.value for key, member in own.members().items()}, own.path
            )
    except InputError as error:
        what = "the machine of the program is not valid"
        raise ProgramError(what, where=own.path, why=str(error)) from error
    if machine is None:
        raise value.get("name").fault("one of " + ", ".join(machines.builtin_names()))
    if machine.digest != digest:
        raise ProgramError(
            f"the program was compiled for another description of {name}",
            where=value.path,
            why=f"it says digest {digest}, here {name} has {machine.digest}",
            hint="compile the model again, or use the npuc that compiled it",
        )
    return machine


def _read_entry(value: Value) -> Entry:
    return Entry(
        name=value.get("name").text(),
        inputs=tuple(_read_io(tensor) for tensor in value.get("inputs").items()),
        outputs=tuple(_read_io(tensor) for tensor in value.get("outputs").items()),
        tasks=tuple(_read_task(task) for task in value.get("tasks").items()),
    )


def _read_task(value: Value) -> Task | HostTask:
    if "host" not in value.members():
        args = value.get("args").integers()
        return Task(value.get("kernel").text(), value.get("grid").integer(), args)
    return HostTask(
        function=value.get("host").text(),
        args=tuple(_read_io(tensor) for tensor in value.get("args").items()),
        result=_read_io(value.get("result")),
        node=value.get("node").text() or None,
    )


def _read_io(value: Value) -> IO:
    extents = value.get("shape")
    if len(extents.items()) > MAX_RANK:
        raise extents.fault(f"at most {MAX_RANK} extents")
    tensor = IO(
        name=value.get("name").text(),
        dtype=value.get("dtype").choice(NAMES),
        shape=extents.integers(),
        address=value.get("address").integer(),
    )
    nbytes = value.get("bytes")
    if nbytes.integer() != tensor.nbytes:
        raise nbytes.fault(f"{tensor.nbytes}, the bytes of {tensor.dtype}{list(tensor.shape)}")
    return tensor


def _read_kernels(value: Value, codes: Sequence[Words]) -> Mapping[str, Kernel]:
    listed = value.items()
    if len(listed) != len(codes):
        raise value.fault(f"an array of {len(codes)} kernels, one for each code section")
    kernels: dict[str, Kernel] = {}
    for entry, words in zip(listed, codes, strict=True):
        name = entry.get("name").text()
        if kernels and name <= next(reversed(kernels)):
            raise entry.get("name").fault("a name after that of the kernel before")
        kernels[name] = _read_kernel(entry, name, words)
    return kernels


def _read_kernel(value: Value, name: str, words: Words) -> Kernel:
    count = value.get("words")
    if count.integer() != len(words):
        raise count.fault(f"{len(words)}, the words of its code section")
    nodes, own = value.get("nodes").texts(), value.get("own_nodes").integer()
    return Kernel(
        name=name,
        records=tuple(decode(words, where=f"kernel {name}")),
        engine=cast(Engine, value.get("engine").choice(("cube", "vector"))),
        nodes=nodes[:own],
        source_map=_read_source_map(value.get("source_map"), nodes, len(words)),
    )


def _read_source_map(value: Value, nodes: Sequence[str], words: int) -> dict[int, str]:
    mapped: dict[int, str] = {}
    node: str | None = None
    start = 0
    for run in (*value.items(), None):
        first, number = (words, NO_NODE) if run is None else _read_run(run)
        if not start <= first <= words or number > len(nodes):
            raise value.fault(f"rising words up to {words} with nodes up to {len(nodes)}")
        if node is not None:
            mapped.update(dict.fromkeys(range(start, first), node))
        start, node = first, nodes[number - 1] if number else None
    return mapped


def _read_run(value: Value) -> tuple[int, int]:
    pair = value.integers()
    if len(pair) != 2:
        raise value.fault("a word and the number of a node")
    return pair[0], pair[1]


def _read_constants(value: Value, section: Bytes) -> tuple[Constant, ...]:
    constants: list[Constant] = []
    offset = 0
    for entry in value.items():
        offset += -offset % ALIGNMENT
        if entry.get("offset").integer() != offset:
            raise entry.get("offset").fault(str(offset))
        end = offset + entry.get("bytes").integer()
        if end > len(section):
            raise entry.get("bytes").fault(f"at most {len(section) - offset}")
        name, address = entry.get("name").text(), entry.get("address").integer()
        constants.append(Constant(name, address, section[offset:end]))
        offset = end
    if offset != len(section):
        raise value.fault(f"constants that fill the {len(section)} bytes of their section")
    return tuple(constants)


def _read_buffer(value: Value) -> Buffer:
    return Buffer(
        value.get("name").text(), value.get("address").integer(), value.get("bytes").integer()
    )
