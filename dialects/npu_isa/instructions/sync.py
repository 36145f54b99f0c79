"""Order between pipes: flags and barriers.  They have no effect on values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...target.costs import RESIDENT, Cycles, Traffic
from ..spec import PIPES, Field, Instruction, Operands, layout

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

EVENT_BITS = 3
"""Bits of an event id; a machine may have fewer ids than they can name."""


def _drain(*pipes: str) -> tuple[str, ...]:
    """The feature that the pipe of the drain of results belongs to, if it is among `pipes`."""
    return ("fixpipe",) if "FIX" in pipes else ()


class SetFlag(Instruction):
    """Set flag (src, dst, id) once everything issued to `src` before has completed.

    Queued on `src`.  Setting a flag that is set is an error.  In program order a set comes before
    the wait it answers.
    """

    opcode = 0x020
    mnemonic = "set_flag"
    pipe = "S"
    restates = "set_flag(src, dst, id): one bit per pair of pipes and id, 4 or 8 ids."
    fields = layout(
        Field("src", "imm", 4, enum=PIPES),
        Field("dst", "imm", 4, enum=PIPES),
        Field("id", "ri", EVENT_BITS),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """The pipe of the drain of results."""
        return _drain(o.src, o.dst)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """A pipe does not signal itself."""
        return "src and dst are the same pipe" if o.src == o.dst else None

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Nothing to values."""
        del core, o

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Cycles on `src`."""
        del o, traffic
        return Cycles(machine.sync.set_flag, 0)


class WaitFlag(Instruction):
    """Hold `dst` until flag (src, dst, id) is set, and clear it.  Queued on `dst`."""

    opcode = 0x021
    mnemonic = "wait_flag"
    pipe = "S"
    restates = "wait_flag(src, dst, id): blocks the destination pipe and clears the bit."
    fields = SetFlag.fields

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """The pipe of the drain of results."""
        return SetFlag.features(o)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """A pipe does not signal itself."""
        return SetFlag.constraint(o)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Nothing to values."""
        del core, o

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Cycles on `dst` once the flag is set."""
        del o, traffic
        return Cycles(machine.sync.wait_flag, 0)


class Barrier(Instruction):
    """Let `pipe` (or every pipe, and the issuing thread, for `ALL`) finish what was issued before
    anything issued after it starts."""

    opcode = 0x022
    mnemonic = "barrier"
    pipe = "S"
    restates = "pipe_barrier(pipe or ALL); not defined for the scalar pipe alone."
    fields = layout(Field("pipe", "imm", 4, enum=("V", "M", "MTE1", "MTE2", "MTE3", "ALL", "FIX")))

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """The pipe of the drain of results."""
        return _drain(o.pipe)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Nothing to values."""
        del core, o

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Cycles once everything has drained."""
        del o, traffic
        return Cycles(machine.sync.barrier, 0)
