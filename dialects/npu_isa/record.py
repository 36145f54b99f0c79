"""A program as plain data: a list of records, one an instruction word.

A loop is one `loop` record followed by the records of its body; the record's `body` operand is the
number of those records.  Registers keep their values across iterations, so a value carried around
the loop is simply a register that the body writes.  An `end` record closes a kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .spec import Instruction


class Reg(int):
    """Number of a scalar register: 0..63 when physical, unbounded when virtual."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"r{int(self)}"


class Addr(NamedTuple):
    """An address operand: the value of `reg` (0 without one) plus `offset` bytes."""

    reg: Reg | None
    offset: int


Operand: TypeAlias = Reg | Addr | int | float | str
"""What a record holds for one field; see the table of kinds in `spec`."""


class Record(NamedTuple):
    """One instruction: its specification and one operand a field, in field order."""

    spec: type[Instruction]
    operands: tuple[Operand, ...]

    def operand(self, name: str) -> Operand:
        """The operand in the field called `name`."""
        for field, value in zip(self.spec.fields, self.operands, strict=True):
            if field.name == name:
                return value
        raise KeyError(f"{self.spec.mnemonic} has no field {name}")
