"""A kernel made ready to run: its records turned once into a tree of calls that all cores share.

A record whose operands hold no register is resolved when the tree is built.  Any other is resolved
at its dispatch, when its registers are read, and what was resolved is kept by the values of the
registers, so that the next iteration with the same values, and every other core, finds it.  Base
addresses in GM are left out of that key, because they hardly ever repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

from ...dialects.npu_isa.instructions.scalar import Loop
from ...dialects.npu_isa.record import Addr, Record, Reg
from ...dialects.target.machine import Machine
from ..program import Kernel
from ..structure import items
from .core import CoreState
from .issue import Issued, Resolver

KEPT = 1024
"""Register values for which one record keeps what it resolved; beyond, it resolves again."""

Step: TypeAlias = Callable[[CoreState], None]


class Code:
    """The steps of one kernel on one machine.  Safe to run on several cores at a time."""

    def __init__(self, kernel: Kernel, machine: Machine) -> None:
        self.kernel = kernel
        self.machine = machine
        self.registers = 1 + max(map(_highest_register, kernel.records), default=0)
        """Registers the kernel names: their highest number and one."""
        self._root = self._block(0, len(kernel.records))

    def run(self, core: CoreState) -> None:
        """Execute the kernel on `core`, whose registers hold the arguments."""
        for step in self._root:
            step(core)

    def _block(self, start: int, stop: int) -> tuple[Step, ...]:
        records = self.kernel.records
        return tuple(
            self._loop(index, following) if records[index].spec is Loop else self._step(index)
            for index, following in items(records, start, stop)
        )

    def _step(self, word: int) -> Step:
        """One record: log what is issued, then execute it."""
        resolver = Resolver(self.kernel, word, self.machine)
        execute = resolver.spec.execute
        if resolver.is_scalar:
            return _scalar(resolver, execute)
        if not resolver.registers and resolver.gm_register is None:
            return _static(resolver.whole(()), execute)
        lookup = _moving(resolver) if resolver.gm_register is not None else _kept(resolver)

        def step(core: CoreState) -> None:
            issued = lookup(core.regs)
            core.log(issued)
            execute(core, issued.operands)

        return step

    def _loop(self, word: int, stop: int) -> Step:
        """A loop: the test is logged once an iteration and once more to leave."""
        iv, count, _ = self.kernel.records[word].operands
        assert isinstance(iv, Reg)
        assert isinstance(count, int)
        test = Resolver(self.kernel, word, self.machine).scalar()
        body = self._block(word + 1, stop)
        words = stop - word
        from_register = isinstance(count, Reg)
        iv_number, count_number = int(iv), int(count)

        def loop(core: CoreState) -> None:
            log = core.log
            for iteration in range(core.regs[count_number] if from_register else count_number):
                core.spend(words)
                log(test)
                core.regs[iv_number] = iteration
                for step in body:
                    step(core)
            log(test)

        return loop


def _highest_register(record: Record) -> int:
    registers = [value.reg if isinstance(value, Addr) else value for value in record.operands]
    return max((int(value) for value in registers if isinstance(value, Reg)), default=0)


def _static(issued: Issued, execute: Callable[..., None]) -> Step:
    operands = issued.operands

    def step(core: CoreState) -> None:
        core.log(issued)
        execute(core, operands)

    return step


def _scalar(resolver: Resolver, execute: Callable[..., None]) -> Step:
    """Work of the issuing thread: only its time is logged, operands matter to nothing else."""
    issued = resolver.scalar()
    get = _getter(resolver.registers)
    operands_of = resolver.operands
    kept: dict[Any, Any] = {}

    def step(core: CoreState) -> None:
        core.log(issued)
        key = get(core.regs)
        operands = kept.get(key)
        if operands is None:
            operands = operands_of(key)
            if len(kept) < KEPT:
                kept[key] = operands
        execute(core, operands)

    return step


def _kept(resolver: Resolver) -> Callable[[list[int]], Issued]:
    """Resolved instructions by register values."""
    get = _getter(resolver.registers)
    whole = resolver.whole
    kept: dict[Any, Issued] = {}

    def lookup(regs: list[int]) -> Issued:
        key = get(regs)
        issued = kept.get(key)
        if issued is None:
            issued = whole(key)
            if len(kept) < KEPT:
                kept[key] = issued
        return issued

    return lookup


def _moving(resolver: Resolver) -> Callable[[list[int]], Issued]:
    """Transfers: everything but the GM address is kept by the values of the other registers."""
    get = _getter(resolver.registers)
    base = resolver.gm_register
    assert base is not None
    prepare, place = resolver.prepare, resolver.place
    kept: dict[Any, Any] = {}

    def lookup(regs: list[int]) -> Issued:
        key = get(regs)
        transfer = kept.get(key)
        if transfer is None:
            transfer = prepare(key)
            if len(kept) < KEPT:
                kept[key] = transfer
        return place(transfer, regs[base])

    return lookup


def _getter(registers: tuple[int, ...]) -> Callable[[list[int]], tuple[int, ...]]:
    """The values of `registers`, as a tuple also when there is one or none."""
    if len(registers) > 1:
        return itemgetter(*registers)
    if not registers:
        return lambda regs: ()
    number = registers[0]
    return lambda regs: (regs[number],)
