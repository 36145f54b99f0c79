"""Bytes never written: which they are, and where they reach a result.

Every memory has a shadow (see `npu_isa.effects`); instructions say what they do to it.  Those that
only move bits are executed on the shadow itself, so that they carry undefinedness along, and
padding they write is defined.  Elementwise work makes a result lane undefined when a source lane
is.  A reduction of lanes that are all undefined is undefined; it is an error when only some are, as
it is for any other use and for a store to GM.
"""

from __future__ import annotations

from ....dialects.core.errors import UndefinedReadError
from ....dialects.npu_isa.effects import UNDEFINED
from ....dialects.npu_isa.memory import Core, Memory
from ....dialects.target.machine import Machine
from ..issue import Issued


class ShadowCore:
    """The shadow of a core, with that of GM, which cores share; instructions that move bits execute
    on it."""

    def __init__(self, machine: Machine, gm: Memory) -> None:
        self.gm = gm
        self.l1 = Memory("l1", machine.size("l1"), UNDEFINED)
        self.l0a = Memory("l0a", machine.size("l0a"), UNDEFINED)
        self.l0b = Memory("l0b", machine.size("l0b"), UNDEFINED)
        self.l0c = Memory("l0c", machine.size("l0c"), UNDEFINED)
        self.ub = Memory("ub", machine.size("ub"), UNDEFINED)
        self.bt = Memory("bt", machine.size("bt"), UNDEFINED)
        self.fb = Memory("fb", machine.size("fb"), UNDEFINED)
        self.regs: list[int] = []
        self.core_id = 0
        self.core_count = 1

    def start(self) -> None:
        """A kernel finds nothing defined on chip."""
        for memory in (self.l1, self.l0a, self.l0b, self.l0c, self.ub, self.bt, self.fb):
            memory.data.fill(UNDEFINED)


def undefined_use(shadow: ShadowCore, core: Core, issued: Issued) -> UndefinedReadError | None:
    """Apply to the shadow what `core` is about to do; the error it makes, if any."""
    found = issued.spec.follow(shadow, core, issued.operands, issued.effects)
    if found is None:
        return None
    return UndefinedReadError(
        f"bytes of {found.space} that were never written are used",
        why=found.why,
        hint="fill the padding of a reduced axis with its neutral element, or load it",
    )
