"""A kernel made ready to run: its records turned once into a tree of calls that all cores share.

A record whose operands hold no register is resolved when the tree is built.  Any other is resolved
at its dispatch, when its registers are read; what was resolved is kept by register values, so that
the next iteration with the same values, and every other core, finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from ...dialects.core.errors import ExecutionError
from ...dialects.npu_isa.instructions.scalar import Loop
from ...dialects.npu_isa.record import Addr, Operand, Record, Reg
from ...dialects.npu_isa.spec import PIPES, Access, Footprint, Instruction, Operands
from ...dialects.target.costs import Cycles
from ...dialects.target.machine import Machine
from ..program import Kernel
from ..structure import items
from .core import CoreState

KEPT = 4096
"""Register values for which one record keeps what it resolved; beyond, it resolves again."""

Step: TypeAlias = Callable[[CoreState], None]


class GmRange(NamedTuple):
    """Bytes of GM that one instruction reads (`r`) or writes (`w`)."""

    mode: Literal["r", "w"]
    shape: Footprint


class Issued(NamedTuple):
    """One instruction with its operands known: what executes, what the checks and the clock see.

    `word` is its index in the kernel and `pipe` the queue it waits in.  `cycles` is None for a
    transfer from or to GM, whose time depends on what L2 holds; `gm` lists its ranges.
    """

    word: int
    spec: type[Instruction]
    operands: Operands
    pipe: str
    cycles: Cycles | None
    gm: tuple[GmRange, ...]


class Code:
    """The steps of one kernel on one machine.  Safe to run on several cores at a time."""

    def __init__(self, kernel: Kernel, machine: Machine) -> None:
        self.kernel = kernel
        self.machine = machine
        self.registers = 1 + max(
            (
                int(value.reg if isinstance(value, Addr) else value)
                for record in kernel.records
                for value in record.operands
                if isinstance(value, Reg) or (isinstance(value, Addr) and value.reg is not None)
            ),
            default=0,
        )
        """Registers the kernel names: their highest number and one."""
        self._root = self._block(0, len(kernel.records))

    def run(self, core: CoreState) -> None:
        """Execute the kernel on `core`, whose registers hold the arguments."""
        for step in self._root:
            step(core)

    def _block(self, start: int, stop: int) -> tuple[Step, ...]:
        records = self.kernel.records
        return tuple(
            self._loop(index, following)
            if records[index].spec is Loop
            else self._step(index, records[index])
            for index, following in items(records, start, stop)
        )

    def _step(self, word: int, record: Record) -> Step:
        """One record: log what is issued, then execute it."""
        resolve, registers = self._resolver(word, record)
        execute = record.spec.execute
        if not registers:
            issued = resolve(())
            operands = issued.operands

            def static(core: CoreState) -> None:
                core.log(issued)
                execute(core, operands)

            return static
        known = _lookup(resolve, registers)

        def step(core: CoreState) -> None:
            issued = known(core.regs)
            core.log(issued)
            execute(core, issued.operands)

        return step

    def _loop(self, word: int, stop: int) -> Step:
        """A loop: the test is logged once an iteration and once to leave."""
        record = self.kernel.records[word]
        iv, count, _ = record.operands
        assert isinstance(iv, Reg)
        resolve, registers = self._resolver(word, record)
        known = _lookup(resolve, registers) if registers else None
        constant = resolve(()) if known is None else None
        body = self._block(word + 1, stop)
        words = stop - word
        number = int(iv)

        def loop(core: CoreState) -> None:
            issued = constant or known(core.regs)  # pyright: ignore[reportOptionalCall]
            log = core.log
            for iteration in range(issued.operands.count):
                core.spend(words)
                log(issued)
                core.regs[number] = iteration
                for step in body:
                    step(core)
            log(issued)

        return loop
