"""256-bit words to records, by columns per opcode; what the encoder would not write is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ..dialects.npu_isa.instructions import OPCODES
from ..dialects.npu_isa.record import Addr, Operand, Record, Reg
from ..dialects.npu_isa.spec import OPCODE_BITS, Field, Instruction, Part
from .encoder import LANE_BITS, LANES, Words
from .structure import check_records, word_error

Column = npt.NDArray[np.uint64]


def decode(words: Words, *, where: str = "the kernel") -> list[Record]:
    """Decode uint64[n, 4] into records; `encode(decode(words))` gives the same words.

    Raises ProgramError with the word's index and the reason: an unknown opcode, a value outside its
    field's range, bits set that the instruction does not use, a loop that does not nest.
    """
    opcodes = _extract(words, Part("opcode", 0, OPCODE_BITS))
    records: list[Record | None] = [None] * len(words)
    for opcode, spec in _specs(opcodes, where):
        rows = np.flatnonzero(opcodes == opcode)
        group = words[rows]
        _check_unused(spec, group, rows, where)
        columns = [_operands(field, group, rows, where) for field in spec.fields]
        operands: Iterable[tuple[Operand, ...]] = (
            zip(*columns, strict=True) if columns else [()] * len(rows)
        )
        for row, values in zip(rows.tolist(), operands, strict=True):
            records[row] = Record(spec, values)
    found = [record for record in records if record is not None]
    check_records(found, where=where)
    return found


def _specs(opcodes: Column, where: str) -> list[tuple[int, type[Instruction]]]:
    """The instruction of each opcode present."""
    present: list[int] = np.unique(opcodes).tolist()
    unknown = [opcode for opcode in present if opcode not in OPCODES]
    if unknown:
        first = int(np.flatnonzero(np.isin(opcodes, unknown))[0])
        raise word_error(f"opcode {int(opcodes[first]):#05x} is unknown", where, first)
    return [(opcode, OPCODES[opcode]) for opcode in present]


def _extract(words: Words, part: Part) -> Column:
    """The unsigned values of one run of bits."""
    lane, shift = divmod(part.lo, LANE_BITS)
    column = words[:, lane] >> np.uint64(shift)
    if shift + part.width > LANE_BITS:
        column = column | (words[:, lane + 1] << np.uint64(LANE_BITS - shift))
    return column & np.uint64((1 << part.width) - 1)


def _check_unused(
    spec: type[Instruction], words: Words, rows: npt.NDArray[np.intp], where: str
) -> None:
    """Bits that belong to no field are 0, so that one program has one encoding."""
    used = (1 << OPCODE_BITS) - 1
    for field in spec.fields:
        used |= ((1 << field.bits) - 1) << field.lo
    for lane in range(LANES):
        free = ~(used >> (lane * LANE_BITS)) & ((1 << LANE_BITS) - 1)
        stray = words[:, lane] & np.uint64(free)
        if stray.any():
            first = int(np.flatnonzero(stray)[0])
            bit = lane * LANE_BITS + (int(stray[first]) & -int(stray[first])).bit_length() - 1
            fault = f"bit {bit} is set, and {spec.mnemonic} does not use it"
            raise word_error(fault, where, int(rows[first]), spec.mnemonic)


def _operands(
    field: Field, words: Words, rows: npt.NDArray[np.intp], where: str
) -> Sequence[Operand]:
    """One field of every word of a group; ranges are checked with the records."""
    parts = [_extract(words, part) for part in field.parts]
    if field.kind in ("in", "out"):
        return [Reg(value) for value in parts[0].tolist()]
    if field.kind == "addr":
        return _addresses(field, parts, rows, where)
    if field.kind == "f32":
        floats: list[float] = parts[0].astype(np.uint32).view(np.float32).tolist()
        return floats
    if field.enum is not None:
        return _names(field, field.enum, parts[0], rows, where)
    values = _immediates(field, parts[-1])
    if field.kind == "imm":
        return values
    return [
        Reg(raw) if mode else value
        for mode, raw, value in zip(parts[0].tolist(), parts[1].tolist(), values, strict=True)
    ]


def _addresses(
    field: Field, parts: list[Column], rows: npt.NDArray[np.intp], where: str
) -> list[Operand]:
    registers, offsets = parts[-2].tolist(), parts[-1].tolist()
    if field.space == "gm":
        return [Addr(Reg(r), offset) for r, offset in zip(registers, offsets, strict=True)]
    modes = parts[0].tolist()
    for row, mode, register in zip(rows.tolist(), modes, registers, strict=True):
        if register and not mode:
            fault = f"{field.name} has a register number but is not relative to a register"
            raise word_error(fault, where, row)
    return [
        Addr(Reg(r) if mode else None, offset)
        for mode, r, offset in zip(modes, registers, offsets, strict=True)
    ]


def _names(
    field: Field, enum: tuple[str, ...], codes: Column, rows: npt.NDArray[np.intp], where: str
) -> list[Operand]:
    beyond = np.flatnonzero(codes >= np.uint64(len(enum)))
    if len(beyond):
        first = int(beyond[0])
        fault = f"{field.name} has code {int(codes[first])}, its codes end at {len(enum) - 1}"
        raise word_error(fault, where, int(rows[first]))
    return [enum[code] for code in codes.tolist()]


def _immediates(field: Field, column: Column) -> list[int]:
    """The immediates of a field: its bias added, two's complement where it may be negative."""
    values: list[int] = column.tolist()
    if field.low >= 0:
        return [value + field.bias for value in values] if field.bias else values
    width = field.parts[-1].width
    half = 1 << (width - 1)
    return [value - (1 << width if value >= half else 0) + field.bias for value in values]
