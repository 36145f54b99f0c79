"""Integer expressions that are affine over symbols of known range.

The symbols are what a kernel's registers are made of: loop iteration numbers, `count mod depth` of
a rotating buffer, kernel arguments, and whatever else is not affine (an opaque symbol).  Each knows
the loops its value depends on, so that a difference of two expressions can be taken either at one
moment or at two different moments (`difference`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

UNBOUNDED = 1 << 62
"""Stands for infinity in a range: larger than any address, count or size."""


class Interval(NamedTuple):
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    def clamp(self, low: int, high: int) -> Interval:
        """The part between `low` and `high`; at least one of the two bounds when disjoint."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))


@dataclass(frozen=True, slots=True)
class Modulo:
    """`count mod depth`: which slot of a rotating buffer is in use."""

    count: Affine
    depth: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown integer; two symbols are the same value at one moment when their names are equal.

    `loops` are the numbers of the loops whose iteration the value depends on; `modulo` says what
    it is when it is the slot of a rotating buffer.
    """

    name: tuple[Hashable, ...]
    range: Interval = field(compare=False)
    loops: frozenset[int] = field(compare=False, default=frozenset())
    modulo: Modulo | None = field(compare=False, default=None)


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(coefficient * symbol)`, coefficients not 0."""

    constant: int
    terms: frozenset[tuple[Symbol, int]] = frozenset()

    @staticmethod
    def of(symbol: Symbol) -> Affine:
        """The symbol itself."""
        return Affine(0, frozenset({(symbol, 1)}))

    @property
    def is_constant(self) -> bool:
        """Whether the value is known."""
        return not self.terms

    @property
    def loops(self) -> frozenset[int]:
        """Loops the value depends on."""
        return frozenset(loop for symbol, _ in self.terms for loop in symbol.loops)

    @property
    def range(self) -> Interval:
        """Bounds of the value."""
        low = high = self.constant
        for symbol, coefficient in self.terms:
            ends = (coefficient * symbol.range.low, coefficient * symbol.range.high)
            low, high = low + min(ends), high + max(ends)
        return Interval(low, high)

    def coefficient(self, symbol: Symbol) -> int:
        """The factor of `symbol`, 0 if it does not occur."""
        return next((c for s, c in self.terms if s == symbol), 0)

    def __add__(self, other: Affine) -> Affine:
        return _sum(self.constant + other.constant, [*self.terms, *other.terms])

    def __sub__(self, other: Affine) -> Affine:
        return self + other.scaled(-1)

    def scaled(self, factor: int) -> Affine:
        """The value times a constant."""
        if factor == 0:
            return Affine(0)
        return Affine(self.constant * factor, frozenset((s, c * factor) for s, c in self.terms))

    def divisible_by(self, divisor: int) -> bool:
        """Whether every part is a multiple of `divisor`."""
        return self.constant % divisor == 0 and all(c % divisor == 0 for _, c in self.terms)

    def without(self, symbol: Symbol) -> Affine:
        """The rest beside one symbol."""
        return Affine(self.constant, frozenset(t for t in self.terms if t[0] != symbol))


def _sum(constant: int, terms: Iterable[tuple[Symbol, int]]) -> Affine:
    total: dict[Symbol, int] = {}
    for symbol, coefficient in terms:
        total[symbol] = total.get(symbol, 0) + coefficient
    return Affine(constant, frozenset((s, c) for s, c in total.items() if c))


def difference(left: Affine, right: Affine, shared: Callable[[Symbol], bool]) -> Interval:
    """Bounds of `left - right`, where only the symbols that `shared` accepts have one value in
    both; every other symbol of the left is independent of that of the right."""
    low = high = left.constant - right.constant
    common: list[tuple[Symbol, int]] = []
    for side, sign in ((left, 1), (right, -1)):
        for symbol, coefficient in side.terms:
            if shared(symbol):
                common.append((symbol, sign * coefficient))
                continue
            ends = (sign * coefficient * symbol.range.low, sign * coefficient * symbol.range.high)
            low, high = low + min(ends), high + max(ends)
    rest = _sum(0, common).range
    return Interval(low + rest.low, high + rest.high)
