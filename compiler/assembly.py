"""The kernels of a module as assembly text, and back.

A line `.kernel` opens each kernel and says what is not in its code; `.node` says which node of the
model the following words work for, until the next one. The code is that of the assembler:

```
.kernel "main_0" arguments 3 engine cube nodes ["fc1", "relu"]
.node "fc1"
r3 = s_core_id
.node null
end
```
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp

from ..backend.assembler import parse, print_records
from ..backend.program import Engine, Kernel
from ..dialects.core.errors import InputError, ProgramError
from ..dialects.npu_isa.structure import KernelOp
from .emit import emit_kernel
from .lift_kernel import lift_kernel

_HEADER = re.compile(
    r"\.kernel\s+(?P<name>\"(?:[^\"\\]|\\.)*\")\s+arguments\s+(?P<arguments>\d{1,4})"
    r"\s+engine\s+(?P<engine>cube|vector)\s+nodes\s+(?P<nodes>\[.*\])"
)
_NODE = re.compile(r"\.node\s+(?P<node>\".*\"|null)")


def print_assembly(module: ModuleOp) -> str:
    """The text of all kernels of a module; `InputError` if it has none."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    if not kernels:
        raise InputError("the module has no kernel", hint="lower it to stage `npu_isa` first")
    return "\n".join(_print(emit_kernel(op), len(op.body.block.args)) for op in kernels)


def _print(kernel: Kernel, arguments: int) -> str:
    """One kernel: its header, then its code with a `.node` line wherever the node changes."""
    header = (
        f".kernel {json.dumps(kernel.name)} arguments {arguments} engine {kernel.engine}"
        f" nodes {json.dumps(kernel.nodes)}\n"
    )
    nodes = [kernel.source_map.get(word) for word in range(len(kernel.records))]
    lines: list[str] = []
    word, current = 0, None
    for line in print_records(kernel.records).splitlines():
        if line.strip() != "}":
            if nodes[word] != current:
                current = nodes[word]
                lines.append(f".node {json.dumps(current)}")
            word += 1
        lines.append(line)
    return header + "\n".join(lines) + "\n"


class _Section(NamedTuple):
    """The lines of one kernel; `first` is the number of its header."""

    header: re.Match[str]
    first: int
    lines: list[str]


def parse_assembly(text: str) -> ModuleOp:
    """The module of a text of kernels in physical registers.

    `ProgramError` with the line that is wrong.
    """
    kernels = [_kernel(section) for section in _sections(text)]
    if not kernels:
        raise ProgramError(
            "the assembly text has no kernel", hint='open one by `.kernel "name" ...`'
        )
    return ModuleOp(kernels)


def _sections(text: str) -> Iterator[_Section]:
    current: _Section | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.strip()
        if code.startswith(".kernel"):
            if current is not None:
                yield current
            header = _HEADER.fullmatch(code)
            if header is None:
                raise _wrong(
                    number,
                    line,
                    'a kernel opens with `.kernel "name" arguments N '
                    "engine cube|vector nodes [...]`",
                )
            current = _Section(header, number, [])
        elif current is not None:
            current.lines.append(line)
        elif code and not code.startswith("//"):
            raise _wrong(number, line, "it stands before the first `.kernel`")
    if current is not None:
        yield current


def _kernel(section: _Section) -> KernelOp:
    """The op of one kernel; lines keep their numbers in the errors of the assembler."""
    nodes: dict[int, str] = {}
    word, current = 0, cast(str | None, None)
    code: list[str] = [""] * section.first
    for offset, line in enumerate(section.lines, start=1):
        bare = line.strip()
        if bare.startswith(".node"):
            current = _node(section.first + offset, line)
            code.append("")
            continue
        code.append(line)
        if bare.split("//", 1)[0].strip() not in ("", "}"):
            if current is not None:
                nodes[word] = current
            word += 1
    header = section.header
    kernel = Kernel(
        name=_json(header["name"], section.first),
        records=tuple(parse("\n".join(code))),
        engine=cast(Engine, header["engine"]),
        nodes=tuple(_json(header["nodes"], section.first)),
        source_map=nodes,
    )
    return lift_kernel(kernel, int(header["arguments"]))


def _node(number: int, line: str) -> str | None:
    found = _NODE.fullmatch(line.strip())
    if found is None:
        raise _wrong(number, line, 'it must be `.node "name"` or `.node null`')
    return _json(found["node"], number)


def _json(text: str, number: int) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _wrong(number, text, str(error)) from error


def _wrong(number: int, line: str, why: str) -> ProgramError:
    return ProgramError(
        f"line {number} of the assembly text is wrong", where=f"line {number}: {line}", why=why
    )
