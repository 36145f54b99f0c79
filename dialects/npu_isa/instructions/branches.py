"""Branches: which word runs next.  A kernel's structure is loops, and branches within one body."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...target.costs import RESIDENT, Cycles, Traffic
from ..spec import Field, Operands, layout
from .scalar import IMMEDIATE, Control

if TYPE_CHECKING:
    from ...target.machine import Machine

CONDITIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
"""Comparisons of signed numbers, in the order of their codes."""
OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le"}
"""What holds exactly when the condition does not."""

_OFFSET = Field("offset", "imm", 17, unit="words", min=-(1 << 16))


class Redirection(Control):
    """Base of the branches.  The next word is `offset` words from this one, in the same body: a
    word of it outside the loops in it, or the end of the body."""

    @classmethod
    def taken(cls, o: Operands) -> bool:
        """Whether the branch is taken."""
        del o
        return True

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Scalar cycles of one test and branch, taken or not."""
        del o, traffic
        return Cycles(machine.scalar.branch, 0)


class Jump(Redirection):
    """Go on with the word `offset` words from this one."""

    opcode = 0x018
    mnemonic = "jump"
    restates = "Scalar JUMP to an address relative to the program counter."
    fields = layout(_OFFSET)


class Branch(Redirection):
    """Go on with the word `offset` words from this one if `lhs` compares to `rhs` as `cond` says,
    signed; with the next word otherwise."""

    opcode = 0x019
    mnemonic = "branch"
    restates = "Scalar compare and conditional JUMP, relative to the program counter."
    fields = layout(
        Field("cond", "imm", 3, enum=tuple(CONDITIONS)),
        Field("lhs", "ri", IMMEDIATE, min=-(1 << (IMMEDIATE - 1))),
        Field("rhs", "ri", IMMEDIATE, min=-(1 << (IMMEDIATE - 1))),
        _OFFSET,
    )

    @classmethod
    def taken(cls, o: Operands) -> bool:
        """Whether the comparison holds."""
        return CONDITIONS[o.cond](o.lhs, o.rhs)
