"""What one emulated core has: memories, registers, and the list of what it issued."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...dialects.core.errors import ExecutionError, InternalError
from ...dialects.npu_isa.memory import Memory
from ...dialects.target.machine import Machine
from ..program import Task

if TYPE_CHECKING:
    from .code import Issued


def _nobody(issued: Issued) -> None:
    raise InternalError("a core that runs alone meets others", why=issued.spec.mnemonic)


class CoreState:
    """A core on which kernels run one after the other; `log` gets each instruction before it runs.

    Only GM is shared with other cores.  On-chip memories keep their bytes between runs, which a
    program has no right to use.
    """

    __slots__ = (
        "allowed", "bt", "budget", "core_count", "core_id", "fb", "gm", "issued", "l0a", "l0b",
        "l0c", "l1", "log", "meet", "regs", "ub",
    )  # fmt: skip

    def __init__(self, machine: Machine, gm: Memory) -> None:
        self.gm = gm
        self.l1 = Memory("l1", machine.size("l1"))
        self.l0a = Memory("l0a", machine.size("l0a"))
        self.l0b = Memory("l0b", machine.size("l0b"))
        self.l0c = Memory("l0c", machine.size("l0c"))
        self.ub = Memory("ub", machine.size("ub"))
        self.bt = Memory("bt", machine.size("bt"))
        self.fb = Memory("fb", machine.size("fb"))
        self.regs: list[int] = []
        self.core_id = 0
        self.core_count = 1
        self.budget = self.allowed = 0
        self.issued: list[Issued] = []
        self.log: Callable[[Issued], None] = self.issued.append
        self.meet: Callable[[Issued], None] = _nobody
        """Carries out an instruction that orders cores."""

    def start(self, core_id: int, task: Task, registers: int, budget: int) -> None:
        """Begin the kernel of `task` as core `core_id`, its arguments in the first registers; it
        may issue `budget` instructions in loops."""
        self.core_id, self.core_count = core_id, task.grid
        self.regs = [*task.args, *([0] * (registers - len(task.args)))]
        self.budget = self.allowed = budget
        self.issued = []
        self.log = self.issued.append

    def check_budget(self, trips: int, work: int) -> None:
        """Raise ExecutionError when a loop of `trips` iterations, each of at least `work`
        instructions, cannot end within the budget."""
        if trips * work > self.budget:
            raise _endless(
                f"the loop has {trips:,} iterations of {work:,} instructions or more, and "
                f"{max(self.budget, 0):,} of its budget of {self.allowed:,} are left"
            )

    def spend(self, words: int) -> None:
        """Take the words of one iteration off the budget; ExecutionError when it is used up."""
        self.budget -= words
        if self.budget < 0:
            raise _endless(f"it has used up its budget of {self.allowed:,} instructions in loops")


def _endless(why: str) -> ExecutionError:
    return ExecutionError(
        "the program does not come to an end within its budget",
        why=why,
        hint="check the counts of the loops, or allow more: `npuc run --budget N`, or `budget` of "
        "Emulator",
    )
