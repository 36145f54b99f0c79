"""Records to 256-bit words, by columns: a numpy operation a field of an opcode, not one a word."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dialects.core.errors import InternalError
from ..dialects.npu_isa.record import Addr, Operand, Record, Reg
from ..dialects.npu_isa.spec import OPCODE_BITS, WORD_BITS, Field, Instruction
from .structure import check_records

LANE_BITS = 64
LANES = WORD_BITS // LANE_BITS

Words = npt.NDArray[np.uint64]
"""Code: uint64[n, 4], the least significant lane first."""


def encode(records: Sequence[Record], *, where: str = "the kernel") -> Words:
    """Encode a kernel of physical registers as uint64[n, 4].

    Raises ProgramError, naming the word, the field and its range, for what does not fit.
    """
    check_records(records, where=where)
    words = np.zeros((len(records), LANES), np.uint64)
    rows: dict[type[Instruction], list[int]] = {}
    for index, record in enumerate(records):
        rows.setdefault(record.spec, []).append(index)
    for spec, indices in rows.items():
        at = np.array(indices)
        _place(words, at, 0, OPCODE_BITS, [spec.opcode] * len(indices))
        columns = zip(*(records[index].operands for index in indices), strict=True)
        for field, column in zip(spec.fields, columns, strict=True):
            _place_field(words, at, field, column)
    return words


def _place_field(
    words: Words, rows: npt.NDArray[np.intp], field: Field, column: Sequence[Operand]
) -> None:
    split = [part_values(field, value) for value in column]
    for part, values in zip(field.parts, zip(*split, strict=True), strict=True):
        _place(words, rows, part.lo, part.width, values)


def part_values(field: Field, value: Operand) -> tuple[int, ...]:
    """The unsigned value of each of `field.parts` for an operand that `field.check` accepts."""
    if isinstance(value, Addr):
        register = 0 if value.reg is None else int(value.reg)
        if field.space == "gm":
            return register, value.offset
        return int(value.reg is not None), register, value.offset
    if isinstance(value, Reg):
        return (1, int(value)) if field.kind == "ri" else (int(value),)
    if isinstance(value, str):
        if field.enum is None:
            raise InternalError(f"{field.name} = {value!r} passed the check of its field")
        return (field.enum.index(value),)
    if field.kind == "f32":
        return (struct.unpack("<I", np.float32(value).tobytes())[0],)
    bits = (int(value) - field.bias) & ((1 << field.parts[-1].width) - 1)
    return (0, bits) if field.kind == "ri" else (bits,)


def _place(
    words: Words, rows: npt.NDArray[np.intp], lo: int, width: int, values: Sequence[int]
) -> None:
    """Or `values` into bits `lo..lo+width` of the given rows; a part may cross a lane."""
    column = np.array(values, np.uint64)
    lane, shift = divmod(lo, LANE_BITS)
    words[rows, lane] |= column << np.uint64(shift)
    if shift + width > LANE_BITS:
        words[rows, lane + 1] |= column >> np.uint64(LANE_BITS - shift)
