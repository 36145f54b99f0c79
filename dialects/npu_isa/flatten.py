"""From a kernel's ops to its flat list of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from ..core.errors import InternalError
from .conditional import IfOp
from .instructions.branches import OPPOSITE, Branch, Jump
from .instructions.scalar import Loop, SAdd, SMov, SSub
from .ops import InstrOp
from .record import Record, Reg
from .structure import KernelOp, LoopOp, YieldOp
from .types import RegType


class Flat(NamedTuple):
    """A kernel as records, and the op each record comes from (the loop for its moves)."""

    records: list[Record]
    ops: list[Operation]


def records(kernel: KernelOp) -> list[Record]:
    """The records of a kernel; see `flatten`."""
    return flatten(kernel).records


def flatten(kernel: KernelOp) -> Flat:
    """The records of a kernel, whether its registers are virtual or physical.

    Virtual registers are numbered in order of definition, so that argument i is register i.  A
    carried register keeps one number for its block argument and its result: moves set it before the
    loop and at the end of each iteration, unless the value is there already.
    """
    walker = _Walker()
    for argument in kernel.body.block.args:
        walker.number(argument)
    walker.block(kernel.body.block)
    return Flat(walker.records, walker.ops)


class _Walker:
    def __init__(self) -> None:
        self.records: list[Record] = []
        self.ops: list[Operation] = []
        self._numbers: dict[SSAValue, Reg] = {}
        self._next = 0

    def number(self, value: SSAValue) -> Reg:
        """The register of a value: its physical one, or the next number at its definition."""
        known = self._numbers.get(value)
        if known is not None:
            return known
        type_ = value.type
        physical = type_.physical if isinstance(type_, RegType) else None
        if physical is None:
            physical = self._next
            self._next += 1
        self._numbers[value] = Reg(physical)
        return self._numbers[value]

    def block(self, block: Block) -> None:
        """Emit the instructions of a block in order."""
        for op in block.ops:
            if isinstance(op, InstrOp):
                self._emit(op, Record(op.spec, op.record_operands(self.number)))
            elif isinstance(op, LoopOp):
                self._loop(op)
            elif isinstance(op, IfOp):
                self._branch(op)
            elif not isinstance(op, YieldOp):
                raise InternalError(f"{op.name} is no instruction")

    def _emit(self, op: Operation, record: Record) -> None:
        self.records.append(record)
        self.ops.append(op)

    def _loop(self, op: LoopOp) -> None:
        count = op.count
        trips = self.number(count) if isinstance(count, SSAValue) else count
        inits = [self.number(value) for value in op.inits]
        carried = [self.number(argument) for argument in op.iter_args]
        self._moves(op, list(zip(carried, inits, strict=True)))
        start = len(self.records)
        iteration = self.number(op.iteration)
        self._emit(op, Record(Loop, (iteration, trips, 0)))
        self.block(op.body.block)
        yielded = [self.number(value) for value in op.yielded]
        self._moves(op, list(zip(carried, yielded, strict=True)))
        body = len(self.records) - start - 1
        self.records[start] = Record(Loop, (iteration, trips, body))
        for result, register in zip(op.results, carried, strict=True):
            self._numbers[result] = register

    def _branch(self, op: IfOp) -> None:
        """A branch to the second body where the condition does not hold, the first body, a jump
        over the second one unless it is empty, the second body."""
        lhs, rhs = (self.number(v) if isinstance(v, SSAValue) else v for v in (op.lhs, op.rhs))
        results = [self.number(result) for result in op.results]
        then, otherwise = op.bodies
        start = len(self.records)
        opposite = OPPOSITE[op.condition.data]
        self._emit(op, Record(Branch, (opposite, lhs, rhs, 0)))
        self._body(op, then, results)
        jump = len(self.records)
        self._emit(op, Record(Jump, (0,)))
        self._body(op, otherwise, results)
        if len(self.records) == jump + 1:
            del self.records[jump], self.ops[jump]
            second = jump
        else:
            second = jump + 1
            self.records[jump] = Record(Jump, (len(self.records) - jump,))
        self.records[start] = Record(Branch, (opposite, lhs, rhs, second - start))

    def _body(self, op: IfOp, body: Block, results: Sequence[Reg]) -> None:
        self.block(body)
        yielded = [self.number(value) for value in op.yielded(body)]
        self._moves(op, list(zip(results, yielded, strict=True)))

    def _moves(self, op: Operation, pairs: Sequence[tuple[Reg, Reg]]) -> None:
        """Copy every (target, source) pair as if at once.

        A target that no pending pair reads is written first.  When only cycles are left, two
        registers are exchanged by adding and subtracting, which wraps back to the exact values.
        """
        pending: dict[Reg, Reg] = {t: s for t, s in pairs if t != s}
        while pending:
            sources = set(pending.values())
            free = [target for target in pending if target not in sources]
            for target in free:
                self._emit(op, Record(SMov, (target, pending.pop(target))))
            if free:
                continue
            target, source = next(iter(pending.items()))
            self._emit(op, Record(SAdd, (target, target, source)))
            self._emit(op, Record(SSub, (source, target, source)))
            self._emit(op, Record(SSub, (target, target, source)))
            del pending[target]
            # What was in `target` is now in `source`.
            pending = {t: source if s == target else s for t, s in pending.items()}
            pending = {t: s for t, s in pending.items() if t != s}
