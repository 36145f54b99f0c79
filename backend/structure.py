"""The shape of a flat program: which words a loop holds, and whether one record is well formed.

Loops, branches and the `end` word are the only records whose meaning is where they stand, so
encoder, decoder, assembler and emulator share what is said about them here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..dialects.core.errors import ProgramError
from ..dialects.npu_isa.instructions.branches import Redirection
from ..dialects.npu_isa.instructions.scalar import End, Loop
from ..dialects.npu_isa.record import Addr, Operand, Record, Reg
from ..dialects.npu_isa.spec import REGISTERS, Field, bind

F32_END = 3.4028235677973366e38
"""The first number that rounds to infinity as f32."""
MAX_DEPTH = REGISTERS
"""Loops within loops: each keeps its counter in a register of its own."""


def record_fault(record: Record, *, physical: bool = True) -> str | None:
    """What is wrong with one record by itself, or None: the number of its operands, the range of
    each, and what its instruction says about them together.  `physical` as in `Field.check`."""
    spec, operands = record
    if len(operands) != len(spec.fields):
        return f"{len(operands)} operands where {spec.mnemonic} has {len(spec.fields)} fields"
    for field, value in zip(spec.fields, operands, strict=True):
        fault = field.check(value, physical=physical) or _float_fault(field, value)
        if fault:
            return fault
    return spec.constraint(bind(spec, known_values(record)))


def _float_fault(field: Field, value: Operand) -> str | None:
    """A finite number that 32 bits would make infinite."""
    if field.kind != "f32" or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    if abs(value) < F32_END:
        return None
    return f"{field.name} = {value} is beyond the numbers of f32"


def known_values(record: Record) -> list[int | float | str | None]:
    """Operands in field order as far as the record alone tells them.

    An address without a register is its offset, a register to write its number; what is read from
    a register is None.
    """
    values: list[int | float | str | None] = []
    for field, value in zip(record.spec.fields, record.operands, strict=True):
        if isinstance(value, Reg):
            values.append(int(value) if field.kind == "out" else None)
        elif isinstance(value, Addr):
            values.append(value.offset if value.reg is None else None)
        else:
            values.append(value)
    return values


def body_words(record: Record) -> int:
    """Words after `record` that belong to it: those of a loop's body, 0 for anything else."""
    if record.spec is not Loop:
        return 0
    body = record.operand("body")
    assert isinstance(body, int)
    return body


def branch_target(records: Sequence[Record], index: int) -> int:
    """The word that the branch at `index` goes to."""
    offset = records[index].operand("offset")
    assert isinstance(offset, int)
    return index + offset


def items(records: Sequence[Record], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The records of one block as (index, index after it); a loop spans its whole body."""
    index = start
    while index < stop:
        following = index + 1 + body_words(records[index])
        yield index, following
        index = following


def structure_fault(records: Sequence[Record]) -> tuple[int, str] | None:
    """The first word that stands in a wrong place and why, or None.

    A kernel ends with its only `end`; a loop's body lies within the block the loop stands in, and
    loops nest at most `MAX_DEPTH` deep.  A branch stays in its block: it goes to a record of it, or
    to the end of a loop's body.
    """
    last = len(records) - 1
    if last < 0:
        return 0, "a kernel needs at least an `end`"
    if records[last].spec is not End:
        return last, "a kernel must close with `end`"
    ends: list[int] = []
    for index, record in enumerate(records):
        while ends and index >= ends[-1]:
            ends.pop()
        if record.spec is End and index != last:
            return index, f"`end` stands before the last word, {last}"
        if record.spec is Loop:
            stop = index + 1 + body_words(record)
            limit = ends[-1] if ends else last
            if stop > limit:
                return index, f"the body of the loop reaches word {stop}, its block only {limit}"
            ends.append(stop)
            if len(ends) > MAX_DEPTH:
                return index, f"loops nest {len(ends)} deep, {MAX_DEPTH} is the most"
    if any(issubclass(record.spec, Redirection) for record in records):
        return _branch_fault(records, 0, len(records))
    return None


def _branch_fault(records: Sequence[Record], start: int, stop: int) -> tuple[int, str] | None:
    """The first branch of a block, or of the loops in it, that leaves its block."""
    places = [index for index, _ in items(records, start, stop)]
    # The kernel's own block ends with `end`, which is not to be passed.
    targets = {*places, *([stop] if stop < len(records) else [])}
    for index, following in items(records, start, stop):
        if issubclass(records[index].spec, Redirection):
            target = branch_target(records, index)
            if target not in targets:
                return index, f"the branch goes to word {target}, which is not of the same body"
        elif following > index + 1:
            fault = _branch_fault(records, index + 1, following)
            if fault:
                return fault
    return None


def check_records(records: Sequence[Record], *, where: str, physical: bool = True) -> None:
    """Raise ProgramError for the first record or loop that is not well formed.

    `where` names the kernel; the error adds the word's index and mnemonic.
    """
    for index, record in enumerate(records):
        fault = record_fault(record, physical=physical)
        if fault:
            raise word_error(fault, where, index, record.spec.mnemonic)
    misplaced = structure_fault(records)
    if misplaced:
        index, fault = misplaced
        name = records[index].spec.mnemonic if records else "nothing"
        raise word_error(fault, where, index, name)


def word_error(fault: str, where: str, index: int, mnemonic: str | None = None) -> ProgramError:
    """The error for one word of a kernel; `where` names the kernel."""
    name = f" ({mnemonic})" if mnemonic else ""
    return ProgramError(
        f"word {index}{name} of {where} is not a valid instruction",
        where=f"{where}, byte {index * 32} of its code",
        why=fault,
    )
