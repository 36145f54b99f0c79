"""What one emulated core has: memories, registers, and the list of what it issued."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...dialects.core.errors import ExecutionError
from ...dialects.npu_isa.memory import Memory
from ...dialects.target.machine import Machine
from ..program import Task

if TYPE_CHECKING:
    from .code import Issued


class CoreState:
    """A core on which kernels run one after the other; `log` gets each instruction before it runs.

    Only GM is shared with other cores.  On-chip memories keep their bytes between runs, which a
    program has no right to use.
    """

    __slots__ = (
        "budget", "core_count", "core_id", "gm", "issued", "l0a", "l0b", "l0c", "l1", "log",
        "regs", "ub",
    )  # fmt: skip

    def __init__(self, machine: Machine, gm: Memory) -> None:
        self.gm = gm
        self.l1 = Memory("l1", machine.size("l1"))
        self.l0a = Memory("l0a", machine.size("l0a"))
        self.l0b = Memory("l0b", machine.size("l0b"))
        self.l0c = Memory("l0c", machine.size("l0c"))
        self.ub = Memory("ub", machine.size("ub"))
        self.regs: list[int] = []
        self.core_id = 0
        self.core_count = 1
        self.budget = 0
        self.issued: list[Issued] = []
        self.log: Callable[[Issued], None] = self.issued.append

    def start(self, core_id: int, task: Task, registers: int, budget: int) -> None:
        """Begin the kernel of `task` as core `core_id`, its arguments in the first registers; it
        may issue `budget` instructions in loops."""
        self.core_id, self.core_count = core_id, task.grid
        self.regs = [*task.args, *([0] * (registers - len(task.args)))]
        self.budget = budget
        self.issued = []
        self.log = self.issued.append

    def spend(self, words: int) -> None:
        """Take the words of one iteration off the budget; ExecutionError when it is used up."""
        self.budget -= words
        if self.budget < 0:
            raise ExecutionError(
                "the program does not come to an end",
                why="it has used up its budget of instructions in loops",
                hint="check the trip counts, or give the emulator a larger budget",
            )
