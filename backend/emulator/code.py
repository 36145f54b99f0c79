"""A kernel made ready to run: its records turned once into a tree of calls that all cores share.

A record whose operands hold no register is resolved when the tree is built.  Any other is resolved
at its dispatch, when its registers are read, and what was resolved is kept by the values of the
registers, so that the next iteration with the same values, and every other core, finds it.  Base
addresses in GM are left out of that key, because they hardly ever repeat.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias, cast

from ...dialects.npu_isa.instructions.branches import Redirection
from ...dialects.npu_isa.instructions.cross_core import CrossSync
from ...dialects.npu_isa.instructions.scalar import Loop
from ...dialects.npu_isa.record import Addr, Record, Reg
from ...dialects.npu_isa.spec import bind
from ...dialects.target.machine import Machine
from ..program import Kernel
from ..structure import branch_target, items, known_values
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
        known = [(r.spec, bind(r.spec, known_values(r))) for r in kernel.records]
        self.is_joint = any(issubclass(spec, CrossSync) for spec, _ in known)
        """Whether its cores wait for each other."""
        self.is_ordered = any(spec.atomic(operands) is not None for spec, operands in known)
        """Whether the order of its cores may show in values: they combine what they store."""
        self.certain = certain_work(kernel.records)
        """By the word of each loop, what an iteration takes off the budget at least."""
        self._root = self._block(0, len(kernel.records))

    def run(self, core: CoreState) -> None:
        """Execute the kernel on `core`, whose registers hold the arguments."""
        for step in self._root:
            step(core)

    def _block(self, start: int, stop: int) -> tuple[Step, ...]:
        """The steps of a block; one that runs them as its branches say if it has any."""
        records = self.kernel.records
        places = [index for index, _ in items(records, start, stop)]
        steps: list[Callable[[CoreState], bool | None]] = []
        targets: dict[int, int] = {}
        for place, (index, following) in enumerate(items(records, start, stop)):
            spec = records[index].spec
            if issubclass(spec, Redirection):
                steps.append(self._branch(index, spec))
                targets[place] = bisect_left(places, branch_target(records, index))
            else:
                steps.append(self._loop(index, following) if spec is Loop else self._step(index))
        if not targets:
            return cast(tuple[Step, ...], tuple(steps))
        return (_branching(steps, targets, [*places, stop]),)

    def _branch(self, word: int, spec: type[Redirection]) -> Callable[[CoreState], bool]:
        """A branch: whether it is taken."""
        return branch_step(Resolver(self.kernel, word, self.machine), spec)

    def _step(self, word: int) -> Step:
        """One record: log what is issued, then execute it."""
        resolver = Resolver(self.kernel, word, self.machine)
        execute = resolver.spec.execute
        if resolver.is_scalar:
            return scalar_step(resolver)
        if issubclass(resolver.spec, CrossSync):
            return _cross(lookup_of(resolver))
        if is_static(resolver):
            return _static(resolver.whole(()), execute)
        lookup = lookup_of(resolver)

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
        words, work = stop - word, self.certain[word]
        from_register = isinstance(count, Reg)
        iv_number, count_number = int(iv), int(count)

        def loop(core: CoreState) -> None:
            log = core.log
            trips = core.regs[count_number] if from_register else count_number
            log(test)
            core.check_budget(trips, work)
            for iteration in range(trips):
                core.spend(words)
                core.regs[iv_number] = iteration
                for step in body:
                    step(core)
                log(test)

        return loop


def certain_work(records: Sequence[Record]) -> dict[int, int]:
    """By the word of each loop, the instructions of one iteration that are taken off the budget
    whatever happens: its own, and those of the loops in it that run a known number of times and
    that no branch may skip."""
    work: dict[int, int] = {}

    def loops(start: int, stop: int) -> int:
        """The certain work of the loops of a block."""
        total, is_certain = 0, True
        for word, following in items(records, start, stop):
            record = records[word]
            if issubclass(record.spec, Redirection):
                is_certain = False
            if record.spec is Loop:
                work[word] = following - word + loops(word + 1, following)
                count = record.operand("count")
                if is_certain and isinstance(count, int) and not isinstance(count, Reg):
                    total += max(count, 0) * work[word]
        return total

    loops(0, len(records))
    return work


def _branching(
    steps: Sequence[Callable[[CoreState], bool | None]],
    targets: dict[int, int],
    words: Sequence[int],
) -> Step:
    """Steps that run one after the other but where one of `targets` is taken; `words` says at which
    word each stands, and where the block ends.  Words run again are taken off the budget."""
    count = len(steps)

    def run(core: CoreState) -> None:
        place = 0
        while place < count:
            if not steps[place](core):
                place += 1
                continue
            target = targets[place]
            if target <= place:
                core.spend(words[place + 1] - words[target])
            place = target

    return run


def _highest_register(record: Record) -> int:
    registers = [value.reg if isinstance(value, Addr) else value for value in record.operands]
    return max((int(value) for value in registers if isinstance(value, Reg)), default=0)


def _static(issued: Issued, execute: Callable[..., None]) -> Step:
    operands = issued.operands

    def step(core: CoreState) -> None:
        core.log(issued)
        execute(core, operands)

    return step


def branch_step(resolver: Resolver, spec: type[Redirection]) -> Callable[[CoreState], bool]:
    """A branch: logs it, and says whether it is taken."""
    issued, get = resolver.scalar(), _getter(resolver.registers)

    def step(core: CoreState) -> bool:
        core.log(issued)
        return spec.taken(resolver.operands(get(core.regs)))

    return step


def scalar_step(resolver: Resolver) -> Step:
    """Work of the issuing thread: only its time is logged, operands matter to nothing else."""
    issued, execute = resolver.scalar(), resolver.spec.execute
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


def _cross(lookup: Callable[[list[int]], Issued]) -> Step:
    """Order between cores: logged when it is issued, then carried out with the others."""

    def step(core: CoreState) -> None:
        issued = lookup(core.regs)
        core.log(issued)
        core.meet(issued)

    return step


def is_static(resolver: Resolver) -> bool:
    """Whether what is issued is always the same."""
    return not resolver.registers and resolver.gm_register is None


def lookup_of(resolver: Resolver) -> Callable[[list[int]], Issued]:
    """What is issued, by the registers: of anything but scalar work."""
    if is_static(resolver):
        issued = resolver.whole(())
        return lambda regs: issued
    return _kept(resolver) if resolver.gm_register is None else _moving(resolver)


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
