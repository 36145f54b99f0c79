"""Scalar arithmetic and control: what the issuing thread does itself."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from ...core.errors import ExecutionError
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic
from ..spec import Field, Instruction, Operands, layout

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

WORD = 64
"""Bits of a scalar register."""
IMMEDIATE = 32
"""Bits of a scalar immediate, which is signed."""


def wrap(value: int) -> int:
    """`value` as a signed 64-bit number, as a register holds it."""
    half = 1 << (WORD - 1)
    return (value + half) % (1 << WORD) - half


def quotient(lhs: int, rhs: int) -> int:
    """`lhs / rhs` truncated towards zero; ExecutionError when `rhs` is 0."""
    if rhs == 0:
        raise ExecutionError("division by zero in a scalar instruction", why=f"{lhs} / 0")
    magnitude = abs(lhs) // abs(rhs)
    return magnitude if (lhs < 0) == (rhs < 0) else -magnitude


def remainder(lhs: int, rhs: int) -> int:
    """What `quotient` leaves, with the sign of `lhs`; ExecutionError when `rhs` is 0."""
    return lhs - quotient(lhs, rhs) * rhs


def _number(name: str) -> Field:
    return Field(name, "ri", IMMEDIATE, min=-(1 << (IMMEDIATE - 1)))


class Scalar(Instruction):
    """Base of the instructions that only write one register."""

    pipe = "S"

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """One step of the scalar unit."""
        del o, traffic
        return costs.scalar(machine)


class SMov(Scalar):
    """`dst = src`."""

    opcode = 0x001
    mnemonic = "s_mov"
    restates = "Scalar MOV of a general register or immediate (64-bit registers)."
    fields = layout(Field("dst", "out"), _number("src"))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy."""
        core.regs[o.dst] = o.src


class SCoreId(Scalar):
    """`dst` = number of this core, from 0."""

    opcode = 0x009
    mnemonic = "s_core_id"
    restates = "Read of the block-index special register."
    fields = layout(Field("dst", "out"))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Read the core number."""
        core.regs[o.dst] = core.core_id


class ScalarBinary(Scalar):
    """Base of `dst = lhs op rhs` on signed 64-bit numbers; results wrap."""

    fields = layout(Field("dst", "out"), _number("lhs"), _number("rhs"))
    value: ClassVar[Callable[[int, int], int]]
    """Result for two operands, before wrapping; raises ExecutionError where it has none."""

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Compute and wrap."""
        core.regs[o.dst] = wrap(cls.value(o.lhs, o.rhs))


class SAdd(ScalarBinary):
    """`dst = lhs + rhs`."""

    opcode = 0x002
    mnemonic = "s_add"
    restates = "Scalar ADD (64-bit, wraps)."
    value = staticmethod(operator.add)


class SSub(ScalarBinary):
    """`dst = lhs - rhs`."""

    opcode = 0x003
    mnemonic = "s_sub"
    restates = "Scalar SUB (64-bit, wraps)."
    value = staticmethod(operator.sub)


class SMul(ScalarBinary):
    """`dst = lhs * rhs`."""

    opcode = 0x004
    mnemonic = "s_mul"
    restates = "Scalar MUL (64-bit, wraps)."
    value = staticmethod(operator.mul)


class SDiv(ScalarBinary):
    """`dst = lhs / rhs`, truncated towards zero."""

    opcode = 0x005
    mnemonic = "s_div"
    restates = "Scalar DIV (64-bit signed, truncates); division by zero stops the program."
    value = staticmethod(quotient)


class SRem(ScalarBinary):
    """`dst = lhs - (lhs / rhs) * rhs`: the remainder has the sign of `lhs`."""

    opcode = 0x006
    mnemonic = "s_rem"
    restates = "Scalar REM (64-bit signed); division by zero stops the program."
    value = staticmethod(remainder)


class SMin(ScalarBinary):
    """`dst = min(lhs, rhs)`, signed."""

    opcode = 0x007
    mnemonic = "s_min"
    restates = "Scalar MIN (64-bit signed)."
    value = staticmethod(min)


class SMax(ScalarBinary):
    """`dst = max(lhs, rhs)`, signed."""

    opcode = 0x008
    mnemonic = "s_max"
    restates = "Scalar MAX (64-bit signed)."
    value = staticmethod(max)


class Control(Instruction):
    """Base of the instructions that say what runs next; the executor carries them out."""

    pipe = "S"

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """No effect on values."""
        del core, o


class Loop(Control):
    """Run the next `body` words `count` times, with `iv` = 0, 1, ..., count - 1.

    A count of 0 or less runs nothing and leaves `iv` alone.  The body may read but not write `iv`.
    """

    opcode = 0x010
    mnemonic = "loop"
    restates = "Compare-and-branch at the end of a block; nesting is bounded by registers only."
    fields = layout(
        Field("iv", "out"),
        Field("count", "ri", IMMEDIATE, max=(1 << 31) - 1),
        Field("body", "imm", 16, unit="words"),
    )

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Scalar cycles of one test and branch: paid each iteration, and once more to leave."""
        del o, traffic
        return Cycles(machine.scalar.branch, 0)


class End(Control):
    """Last word of a kernel."""

    opcode = 0x011
    mnemonic = "end"
    restates = "Return from the kernel entry; the task is done when every pipe has drained."
    fields = ()

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """One step of the scalar unit."""
        del o, traffic
        return costs.scalar(machine)
