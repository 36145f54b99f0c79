"""Records to assembly text and back: `parse(print_records(x)) == x`.

One record a line, operands by name in any order, loops with an indented body in braces:

```
r2 = s_core_id
loop r3 in 4 {
  r4 = s_mul lhs = r3, rhs = 256
  mov_gm_ub dst = [128], src = [r0 + 64], nburst = 1, len = 256, src_stride = 0, dst_stride = 0
  vadd dst = [r4], src0 = [128], src1 = [r4 + 32], dtype = f32, mask = 64, repeat = 1
}
end
```

What an instruction writes stands before `=`; an operand at its field's default is left out; `//`
starts a comment.  Text has no labels and no body lengths: braces say both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..dialects.core.errors import ProgramError
from ..dialects.npu_isa.instructions import MNEMONICS
from ..dialects.npu_isa.instructions.scalar import Loop
from ..dialects.npu_isa.record import Addr, Operand, Record, Reg
from ..dialects.npu_isa.spec import Field, Instruction
from .structure import F32_END, body_words, check_records, record_fault

INDENT = "  "
_REGISTER = re.compile(r"r(\d{1,9})")
_ADDRESS = re.compile(r"\[\s*(?:r(\d{1,9})\s*(?:\+\s*(\d{1,12})\s*)?|(\d{1,12})\s*)\]")
_INTEGER = re.compile(r"-?\d{1,20}")
_LINE = re.compile(r"(?:r(\d{1,9})\s*=\s*)?([a-z_][a-z0-9_]*)(?:\s+(.*))?")
_LOOP = re.compile(r"loop\s+(r\d{1,9})\s+in\s+(r\d{1,9}|-?\d{1,20})\s*\{")


def print_records(records: Sequence[Record], notes: Mapping[int, str] | None = None) -> str:
    """Text of a kernel; `notes` (by word index) become comments on the lines they belong to."""
    lines: list[str] = []
    closing: list[int] = []
    for index, record in enumerate(records):
        while closing and closing[-1] == index:
            closing.pop()
            lines.append(INDENT * len(closing) + "}")
        note = (notes or {}).get(index)
        comment = f"  // {note.replace(chr(10), ' ')}" if note else ""
        lines.append(INDENT * len(closing) + print_record(record) + comment)
        if record.spec is Loop:
            closing.append(index + 1 + body_words(record))
    lines += [INDENT * depth + "}" for depth in reversed(range(len(closing)))]
    return "\n".join(lines) + "\n"


def print_record(record: Record) -> str:
    """One line of text without its indentation; a loop's ends in the brace that opens its body."""
    spec, operands = record
    if spec is Loop:
        iv, count, _ = operands
        return f"loop {iv!r} in {count!r} {{"
    written = ""
    named: list[str] = []
    for field, value in zip(spec.fields, operands, strict=True):
        if field.kind == "out":
            written = f"{value!r} = "
        elif field.default is None or value != field.default_operand:
            named.append(f"{field.name} = {_operand_text(field, value)}")
    return f"{written}{spec.mnemonic} {', '.join(named)}".rstrip()


def _operand_text(field: Field, value: Operand) -> str:
    if isinstance(value, Addr):
        if value.reg is None:
            return f"[{value.offset}]"
        return f"[{value.reg!r} + {value.offset}]" if value.offset else f"[{value.reg!r}]"
    if isinstance(value, str):
        return value
    # An f32 prints as the shortest text that reads back as the same f32.
    return str(np.float32(value)) if field.kind == "f32" else repr(value)


def parse(text: str, *, physical: bool = True) -> list[Record]:
    """Read a kernel; raises ProgramError with the line and what is wrong with it.

    With `physical` false, register numbers may exceed those of the machine.
    """
    records: list[Record] = []
    opened: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("//", 1)[0].strip()
        if not code:
            continue
        try:
            if code == "}":
                _close(records, opened)
                continue
            record = _parse_loop(code) if _is_loop(code) else _parse_line(code)
            fault = record_fault(record, physical=physical)
        except _TextError as error:
            fault, record = str(error), None
        if fault or record is None:
            raise ProgramError(
                f"line {number} of the assembly text is not a valid instruction",
                where=f"line {number}: {code}",
                why=fault,
            )
        if record.spec is Loop:
            opened.append(len(records))
        records.append(record)
    if opened:
        raise ProgramError("the assembly text ends inside a loop", why="a `}` is missing")
    check_records(records, where="the assembly text", physical=physical)
    return records


class _TextError(Exception):
    """What is wrong with a line; `parse` adds where."""


def _is_loop(code: str) -> bool:
    return code.split(None, 1)[0] == Loop.mnemonic


def _close(records: list[Record], opened: list[int]) -> None:
    """Give the innermost open loop the body read so far."""
    if not opened:
        raise _TextError("`}` closes nothing")
    start = opened.pop()
    iv, count, _ = records[start].operands
    loop = Record(Loop, (iv, count, len(records) - start - 1))
    fault = record_fault(loop, physical=False)
    if fault:
        raise _TextError(fault)
    records[start] = loop


def _parse_loop(code: str) -> Record:
    match = _LOOP.fullmatch(code)
    if match is None:
        raise _TextError("a loop is written `loop rN in COUNT {`")
    iv, count = match.groups()
    return Record(Loop, (Reg(int(iv[1:])), _parse_number(count), 0))


def _parse_line(code: str) -> Record:
    match = _LINE.fullmatch(code)
    if match is None:
        raise _TextError("an instruction is written `mnemonic name = value, ...`")
    written, mnemonic, rest = match.groups()
    spec = MNEMONICS.get(mnemonic)
    if spec is None:
        raise _TextError(f"there is no instruction `{mnemonic}`")
    given = _named_operands(spec, rest or "")
    operands = [_take(spec, field, given, written) for field in spec.fields]
    if written and not any(field.kind == "out" for field in spec.fields):
        raise _TextError(f"{mnemonic} writes no register")
    return Record(spec, tuple(operands))


def _named_operands(spec: type[Instruction], rest: str) -> dict[str, str]:
    """Operand texts by name; unknown and repeated names are refused."""
    given: dict[str, str] = {}
    names = [field.name for field in spec.fields if field.kind != "out"]
    for piece in rest.split(",") if rest else []:
        name, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not value:
            raise _TextError(f"`{piece.strip()}` is not `name = value`")
        if name not in names:
            raise _TextError(f"{spec.mnemonic} has no operand {name}; it has {', '.join(names)}")
        if name in given:
            raise _TextError(f"{name} is given twice")
        given[name] = value
    return given


def _take(
    spec: type[Instruction], field: Field, given: dict[str, str], written: str | None
) -> Operand:
    if field.kind == "out":
        if written is None:
            raise _TextError(f"{spec.mnemonic} writes a register: `rN = {spec.mnemonic} ...`")
        return Reg(int(written))
    if field.name not in given:
        if field.default_operand is None:
            raise _TextError(f"{field.name} is missing")
        return field.default_operand
    return _parse_operand(field, given[field.name])


def _parse_operand(field: Field, text: str) -> Operand:
    """An operand by the form of its text; whether the field takes it is for the field to say."""
    if field.enum is not None:
        return text
    if field.kind == "f32":
        try:
            value = float(text)
        except ValueError:
            raise _TextError(f"{field.name} = {text} is not a number") from None
        return value if abs(value) >= F32_END else float(np.float32(value))
    if field.kind == "addr":
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise _TextError(f"{field.name} = {text} is not `[rN + offset]` or `[offset]`")
        register, offset, absolute = match.groups()
        if absolute is not None:
            return Addr(None, int(absolute))
        return Addr(Reg(int(register)), int(offset or 0))
    return _parse_number(text, field.name)


def _parse_number(text: str, name: str = "count") -> Operand:
    register = _REGISTER.fullmatch(text)
    if register:
        return Reg(int(register[1]))
    if not _INTEGER.fullmatch(text):
        raise _TextError(f"{name} = {text} is neither a register nor an integer")
    return int(text)
