"""What is known of a kernel's registers, and from it the bytes that every instruction may touch.

One walk in program order gives each register an affine expression (`affine.Affine`) over loop
iterations, kernel arguments and opaque symbols:

* sums, differences and products with a constant stay affine;
* the remainder of a count that is not negative by a constant is a `Modulo` symbol;
* anything else is an opaque symbol with a range, named by what computes it, so that the same
  computation gives the same symbol;
* a loop that runs once is always in iteration 0; a carried register is opaque.

The bytes an instruction touches are those of its `footprints`, with the upper bound of every count
that is in a register: by their contract a superset.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from ...dialects.npu_isa.conditional import IfOp
from ...dialects.npu_isa.instructions.scalar import quotient, remainder
from ...dialects.npu_isa.ops import InstrOp
from ...dialects.npu_isa.spec import Operands
from ...dialects.npu_isa.structure import KernelOp, LoopOp, instructions_of
from ...dialects.target.machine import Machine
from .affine import UNBOUNDED, Affine, Interval, Modulo, Symbol
from .dependences import ARGUMENT, STEP, Loop, MemoryAccess, Statement

_ANYTHING = Interval(-UNBOUNDED, UNBOUNDED)
_FROM_ZERO = Interval(0, UNBOUNDED)


@dataclass(slots=True)
class KernelModel:
    """A kernel as the synchronisation sees it."""

    statements: list[Statement] = field(default_factory=list[Statement])
    """Instructions and loops in program order."""
    loops: list[Loop] = field(default_factory=list[Loop])
    accesses: list[MemoryAccess] = field(default_factory=list[MemoryAccess])
    """Memory accesses in program order."""
    values: dict[SSAValue, Affine] = field(default_factory=dict[SSAValue, Affine])
    """What is known of each register."""


def model_kernel(kernel: KernelOp, machine: Machine) -> KernelModel:
    """Number the kernel's statements, evaluate its registers, collect its accesses."""
    builder = _Builder(machine)
    for argument in kernel.body.block.args:
        symbol = Symbol((ARGUMENT, argument.index), _FROM_ZERO)
        builder.model.values[argument] = Affine.of(symbol)
    builder.block(kernel.body.block, None)
    return builder.model


class _Builder:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.model = KernelModel()
        self._position = 0
        self._unknown = 0

    def block(self, block: Block, loop: Loop | None) -> None:
        """Walk a body."""
        for op in block.ops:
            statement = Statement(op, loop, self._position, self._position)
            self._position += STEP
            self.model.statements.append(statement)
            if isinstance(op, LoopOp):
                self._loop(op, statement)
            elif isinstance(op, InstrOp):
                if op.results:
                    self.model.values[op.results[0]] = self._value(op, loop)
                self.model.accesses += self._accesses(op, statement)
            elif isinstance(op, IfOp):
                self._branch(op, loop)
            statement.end = self._position - STEP

    def known(self, value: SSAValue | int) -> Affine:
        """The expression of a register or immediate."""
        return Affine(value) if isinstance(value, int) else self.model.values[value]

    def _loop(self, op: LoopOp, statement: Statement) -> None:
        count = self.known(op.count)
        trips = max(count.constant, 0) if count.is_constant else None
        number = len(self.model.loops)
        last = max(count.range.high - 1, 0)
        symbol = Symbol(("iteration", number), Interval(0, last), frozenset({number}))
        loop = Loop(number, statement.loop, statement, trips, symbol)
        self.model.loops.append(loop)
        inside = loop.around
        self.model.values[op.iteration] = Affine(0) if trips == 1 else Affine.of(symbol)
        for argument in op.iter_args:
            name = ("carried", number, argument.index)
            self.model.values[argument] = Affine.of(Symbol(name, _ANYTHING, inside))
        self.block(op.body.block, loop)
        for result in op.results:
            name = ("result", number, result.index)
            self.model.values[result] = Affine.of(Symbol(name, _ANYTHING, inside - {number}))
        # The end of the loop is a position of its own, after its last statement.
        self._position += STEP

    def _branch(self, op: IfOp, loop: Loop | None) -> None:
        """The registers of both bodies, which hold scalar work only; results may be anything."""
        for inner in (inner for body in op.bodies for inner in instructions_of(body)):
            for result in inner.results:
                self.model.values[result] = self._anything(loop)
        for result in op.results:
            self.model.values[result] = self._anything(loop)

    def _anything(self, loop: Loop | None) -> Affine:
        """A value of its own of which nothing is known."""
        self._unknown += 1
        inside = frozenset[int]() if loop is None else loop.around
        return Affine.of(Symbol(("unknown", self._unknown), _ANYTHING, inside))

    def _value(self, op: InstrOp, loop: Loop | None) -> Affine:
        if any(isinstance(value, tuple) for value in op.values):
            return self._anything(loop)
        operands = [self.known(v) for v in op.values if isinstance(v, SSAValue | int)]
        rule = _RULES.get(op.spec.mnemonic)
        if rule is not None:
            return rule(operands)
        if not operands:
            return Affine.of(Symbol((op.spec.mnemonic,), _FROM_ZERO))
        return opaque(op.spec.mnemonic, operands, _ANYTHING)

    def _accesses(self, op: InstrOp, statement: Statement) -> list[MemoryAccess]:
        spans: dict[tuple[str, bool], tuple[str, int, int]] = {}
        for access in op.spec.footprints(self._bounds(op), self.machine):
            key = (access.field, access.mode == "w")
            space, start, end = access.shape.space, access.shape.start, access.shape.end
            if start == end:
                continue
            if key in spans:
                start, end = min(start, spans[key][1]), max(end, spans[key][2])
            spans[key] = (space, start, end)
        found: list[MemoryAccess] = []
        for (name, writes), (space, start, end) in spans.items():
            base = self._address(op, name) + Affine(start)
            found.append(MemoryAccess(statement, op.spec.pipe, space, writes, base, end - start))
        return found

    def _address(self, op: InstrOp, name: str) -> Affine:
        address = op.field(name)
        assert isinstance(address, tuple)
        register, offset = address
        return (Affine(0) if register is None else self.known(register)) + Affine(offset)

    def _bounds(self, op: InstrOp) -> Operands:
        """The operands with the largest value each count can have."""
        values: list[int | float | str | None] = [None] if op.results else []
        for spec_field, value in op.items():
            if isinstance(value, SSAValue):
                bound = self.known(value).range.high
                values.append(min(max(bound, spec_field.low), spec_field.high))
            elif isinstance(value, tuple):
                values.append(0)
            else:
                values.append(value)
        return op.spec.Operands(*values)


def opaque(mnemonic: str, operands: Sequence[Affine], bounds: Interval) -> Affine:
    """The value of a computation that is not affine, within `bounds`."""
    name: tuple[Hashable, ...] = (mnemonic, *operands)
    loops = frozenset(loop for operand in operands for loop in operand.loops)
    return Affine.of(Symbol(name, bounds, loops))


def _product(operands: Sequence[Affine]) -> Affine:
    left, right = operands
    if right.is_constant:
        return left.scaled(right.constant)
    if left.is_constant:
        return right.scaled(left.constant)
    ends = [a * b for a in left.range for b in right.range]
    return opaque("s_mul", operands, Interval(min(ends), max(ends)))


def _quotient(operands: Sequence[Affine]) -> Affine:
    left, right = operands
    if not right.is_constant or right.constant == 0:
        return opaque("s_div", operands, _ANYTHING)
    divisor = right.constant
    if left.divisible_by(divisor):
        parts = frozenset((s, quotient(c, divisor)) for s, c in left.terms)
        return Affine(quotient(left.constant, divisor), parts)
    ends = [quotient(end, divisor) for end in left.range]
    return opaque("s_div", operands, Interval(min(ends), max(ends)))


def _remainder(operands: Sequence[Affine]) -> Affine:
    left, right = operands
    if not right.is_constant or right.constant <= 0:
        return opaque("s_rem", operands, _ANYTHING)
    depth = right.constant
    if left.is_constant:
        return Affine(remainder(left.constant, depth))
    if left.range.low < 0:
        return opaque("s_rem", operands, Interval(1 - depth, depth - 1))
    if left.range.high < depth and not left.loops:
        return left
    # The slot of a loop that never wraps is still a slot: its flags rotate with it.
    name = ("modulo", left, depth)
    bounds = Interval(0, depth - 1)
    return Affine.of(Symbol(name, bounds, left.loops, Modulo(left, depth)))


def _smaller(operands: Sequence[Affine]) -> Affine:
    left, right = (operand.range for operand in operands)
    if left.high <= right.low:
        return operands[0]
    if right.high <= left.low:
        return operands[1]
    bounds = Interval(min(left.low, right.low), min(left.high, right.high))
    return opaque("s_min", operands, bounds)


def _larger(operands: Sequence[Affine]) -> Affine:
    left, right = (operand.range for operand in operands)
    if left.low >= right.high:
        return operands[0]
    if right.low >= left.high:
        return operands[1]
    bounds = Interval(max(left.low, right.low), max(left.high, right.high))
    return opaque("s_max", operands, bounds)


_RULES: dict[str, Callable[[Sequence[Affine]], Affine]] = {
    "s_mov": lambda operands: operands[0],
    "s_add": lambda operands: operands[0] + operands[1],
    "s_sub": lambda operands: operands[0] - operands[1],
    "s_mul": _product,
    "s_div": _quotient,
    "s_rem": _remainder,
    "s_min": _smaller,
    "s_max": _larger,
}
"""How a scalar instruction combines what is known of its operands."""
