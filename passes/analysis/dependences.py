"""Which pairs of memory accesses of a kernel must keep their order, and how far apart they run.

The kernel is seen as a nest of loops over statements in program order (`Loop`, `Statement`), with
the byte ranges each statement may touch (`MemoryAccess`).  Pipes run side by side, each in order,
so only a pair on two pipes matters:

1. Take every pair of accesses to one memory from two pipes, at least one of them a write.
2. Let `B` be the innermost loop body (or the kernel) that holds both; `first` is the one that comes
   first in it.  Can they overlap in *one* execution of `B`?  Symbols that do not change inside `B`
   have one value in both addresses; all others are independent.
3. Can they overlap in *two* executions of `B`?  Then every symbol that depends on a loop is
   independent.  If both addresses are `slot * size + rest` with the same `slot = count mod depth`,
   the two rests and their bytes fit within one slot, and `count` grows by exactly 1 from each
   execution of `B` to the next, they overlap only in executions `depth`, `2 depth`, ... apart, or
   never where the rests are apart.  Otherwise they may overlap in consecutive ones: distance 1.

Two GM accesses conflict only if they go through the same kernel argument: arguments do not overlap
unless they are equal, and a kernel is not given the same buffer twice to write it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Operation

from .affine import Affine, Symbol, difference


@dataclass(eq=False, slots=True)
class Loop:
    """A loop of the kernel.  `trips` is its count when static."""

    number: int
    parent: Loop | None
    statement: Statement
    trips: int | None
    symbol: Symbol
    """The iteration, from 0."""
    enclosing: tuple[Loop, ...] = field(init=False)
    """This loop and those around it, innermost first."""
    around: frozenset[int] = field(init=False)
    """The numbers of `enclosing`."""

    def __post_init__(self) -> None:
        """Look up the chain of parents once."""
        self.enclosing = (self, *(self.parent.enclosing if self.parent else ()))
        self.around = frozenset(loop.number for loop in self.enclosing)

    def is_inside(self, other: Loop | None) -> bool:
        """Whether this is `other` or nested in it; everything is inside the kernel, None."""
        return other is None or other.number in self.around


STEP = 4
"""Distance of the positions of two statements."""


@dataclass(eq=False, slots=True)
class Statement:
    """An operation of the kernel: an instruction, or a loop with all it holds.

    `start` and `end` are positions in program order, multiples of STEP, equal for an instruction.
    In the gap between two statements, one behind the first is where flags are set, and one before
    the second where they are waited for.
    """

    op: Operation
    loop: Loop | None
    """The loop whose body holds it; None in the kernel's own body."""
    start: int
    end: int

    def within(self, loop: Loop | None) -> Statement:
        """The statement in the body of `loop` that is or holds this one."""
        statement = self
        while statement.loop is not loop:
            assert statement.loop is not None
            statement = statement.loop.statement
        return statement


@dataclass(eq=False, slots=True)
class MemoryAccess:
    """`size` bytes from `base` on that an instruction may read or write."""

    statement: Statement
    pipe: str
    space: str
    writes: bool
    base: Affine
    size: int

    @property
    def argument(self) -> Symbol | None:
        """The kernel argument a GM address starts from."""
        return next((s for s, c in self.base.terms if c == 1 and is_argument(s)), None)


class Dependence(NamedTuple):
    """`first` must be done before `second` starts, in every execution of the body of `loop`; and,
    if `distance` is not 0, `second` before `first` of the execution `distance` later.

    `slot` is the `count mod distance` both addresses rotate by when `distance` is above 1.
    """

    first: MemoryAccess
    second: MemoryAccess
    loop: Loop | None
    distance: int
    slot: Symbol | None


ARGUMENT = "argument"


def is_argument(symbol: Symbol) -> bool:
    """Whether the symbol is a kernel argument: its name is `(ARGUMENT, index)`."""
    return symbol.name[0] == ARGUMENT


def common_loop(left: Statement, right: Statement) -> Loop | None:
    """The innermost loop around both statements."""
    loop = left.loop
    while loop is not None and (right.loop is None or not right.loop.is_inside(loop)):
        loop = loop.parent
    return loop


def find_dependences(accesses: Sequence[MemoryAccess]) -> Iterator[Dependence]:
    """All dependences between different pipes, in program order of their first access."""
    ranges = [access.base.range for access in accesses]
    for i, first in enumerate(accesses):
        for j in range(i + 1, len(accesses)):
            second = accesses[j]
            if (
                first.pipe == second.pipe
                or first.space != second.space
                or not (first.writes or second.writes)
                or ranges[j].low >= ranges[i].high + first.size
                or ranges[i].low >= ranges[j].high + second.size
            ):
                continue
            found = _dependence(first, second)
            if found is not None:
                yield found


def _dependence(first: MemoryAccess, second: MemoryAccess) -> Dependence | None:
    """The dependence of two accesses in program order, or None if they never overlap."""
    loop = common_loop(first.statement, second.statement)
    fixed_argument = first.argument
    if first.space == "gm":
        if fixed_argument is None or second.argument is None:
            return Dependence(first, second, loop, int(loop is not None), None)
        if fixed_argument != second.argument:
            return None
    around = loop.around if loop is not None else frozenset[int]()
    same = _overlap(first, second, around)
    distance, slot = (0, None) if loop is None else _distance(first, second, loop)
    return Dependence(first, second, loop, distance, slot) if same or distance else None


def _overlap(first: MemoryAccess, second: MemoryAccess, fixed: frozenset[int]) -> bool:
    """Whether the ranges may overlap when only symbols of the loops `fixed` agree."""
    gap = difference(second.base, first.base, lambda symbol: symbol.loops <= fixed)
    return gap.low < first.size and gap.high > -second.size


def _distance(first: MemoryAccess, second: MemoryAccess, loop: Loop) -> tuple[int, Symbol | None]:
    """How far apart executions of the body of `loop` are in which the ranges overlap: 0 if there
    are none, 1 if nothing better is known, or the depth of the slot symbol that decides."""
    if not _overlap(first, second, frozenset()):
        return 0, None
    deciding: list[tuple[int, int, Symbol]] = []
    for symbol, size in first.base.terms:
        if second.base.coefficient(symbol) != size:
            continue
        left, right = first.base.without(symbol), second.base.without(symbol)
        gap = difference(right, left, lambda s: not s.loops)
        if gap.low + abs(size) < first.size or gap.high - abs(size) > -second.size:
            continue
        # From here on they overlap only where the symbol has the same value in both, if at all.
        if gap.low >= first.size or gap.high <= -second.size:
            return 0, None
        if symbol.modulo is not None and advances_by_one(symbol.modulo.count, loop):
            # Terms have no order: which symbol is taken must not depend on it.
            deciding.append((symbol.modulo.depth, symbol.modulo.count.constant, symbol))
    depth, _, slot = max(deciding, key=lambda found: found[:2], default=(1, 0, None))
    return depth, slot


def advances_by_one(count: Affine, loop: Loop) -> bool:
    """Whether `count` is 1 larger in each execution of the body of `loop` than in the one before,
    over the whole nest: the coefficient of a loop is the product of the trips inside it."""
    expected = 1
    rest = count
    for enclosing in loop.enclosing:
        if enclosing.trips != 1 and count.coefficient(enclosing.symbol) != expected:
            return False
        rest = rest.without(enclosing.symbol)
        if enclosing.parent is not None:
            if enclosing.trips is None:
                return False
            expected *= enclosing.trips
    return rest.is_constant
