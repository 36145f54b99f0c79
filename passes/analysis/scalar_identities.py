"""The simplest form of one scalar instruction.

| instruction | becomes |
|---|---|
| all operands known | the number, if an immediate can hold it |
| `x + 0`, `x - 0`, `x * 1`, `x / 1`, `min(x, x)`, `max(x, x)`, a move of `x` | `x` |
| `x * 0`, `x - x`, `x rem 1`, `x rem -1` | 0 |
| `x - c` | `x + -c` |
| `(x + c) + d` | `x + (c + d)` |
| `c + x`, `c * x`, `min(c, x)`, `max(c, x)` | the number last |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from xdsl.ir import SSAValue

from ...dialects.npu_isa.instructions.scalar import (
    SAdd,
    Scalar,
    ScalarBinary,
    SDiv,
    SMax,
    SMin,
    SMov,
    SMul,
    SRem,
    SSub,
    wrap,
)
from ...dialects.npu_isa.spec import Instruction

Number: TypeAlias = SSAValue | int
"""A register, or a number that is known."""

COMMUTATIVE: tuple[type[Instruction], ...] = (SAdd, SMul, SMin, SMax)
"""Instructions whose operands may change places."""

_NEUTRAL: dict[type[Instruction], int] = {SAdd: 0, SSub: 0, SMul: 1, SDiv: 1}
_IDEMPOTENT = (SMin, SMax)


class Constant(NamedTuple):
    """The result is this number."""

    value: int


class Copy(NamedTuple):
    """The result is this register."""

    value: SSAValue


class Simplest(NamedTuple):
    """The result is that of this instruction."""

    spec: type[Scalar]
    operands: tuple[Number, ...]


class Sum(NamedTuple):
    """A register plus a number."""

    base: SSAValue
    number: int

    @staticmethod
    def of(spec: type[Instruction], operands: tuple[Number, ...]) -> Sum | None:
        """What an instruction computes, if it is a sum in simplest form."""
        if spec is not SAdd or isinstance(operands[0], int) or not isinstance(operands[1], int):
            return None
        return Sum(operands[0], operands[1])


def simplify(
    spec: type[Scalar], operands: tuple[Number, ...], sums: Mapping[SSAValue, Sum]
) -> Constant | Copy | Simplest:
    """The simplest form of `spec` on `operands`; `sums` says which registers are sums.

    Never changes what happens: a division by zero stays.
    """
    if spec is SMov:
        return _plain(operands[0])
    if not issubclass(spec, ScalarBinary):
        return Simplest(spec, operands)
    lhs, rhs = operands
    if spec in COMMUTATIVE and isinstance(lhs, int) and not isinstance(rhs, int):
        lhs, rhs = rhs, lhs
    if isinstance(rhs, int):
        return _by_number(spec, lhs, rhs, sums)
    if lhs is rhs:
        if spec in _IDEMPOTENT:
            return _plain(lhs)
        if spec is SSub:
            return Constant(0)
    return Simplest(spec, (lhs, rhs))


def _plain(value: Number) -> Constant | Copy:
    return Constant(value) if isinstance(value, int) else Copy(value)


def _by_number(
    spec: type[ScalarBinary], lhs: Number, rhs: int, sums: Mapping[SSAValue, Sum]
) -> Constant | Copy | Simplest:
    """An instruction whose right operand is known."""
    if isinstance(lhs, int):
        return _known(spec, lhs, rhs)
    if _NEUTRAL.get(spec) == rhs:
        return Copy(lhs)
    if (spec is SMul and rhs == 0) or (spec is SRem and rhs in (1, -1)):
        return Constant(0)
    if spec is SSub and _is_immediate(-rhs):
        spec, rhs = SAdd, -rhs
    total = sums.get(lhs)
    if spec is SAdd and total is not None and _is_immediate(total.number + rhs):
        lhs, rhs = total.base, total.number + rhs
    return Copy(lhs) if spec is SAdd and rhs == 0 else Simplest(spec, (lhs, rhs))


def _known(spec: type[ScalarBinary], lhs: int, rhs: int) -> Constant | Simplest:
    """An instruction whose operands are known: its result, if a move can hold that."""
    if spec in (SDiv, SRem) and rhs == 0:
        return Simplest(spec, (lhs, rhs))
    value = wrap(spec.value(lhs, rhs))
    return Constant(value) if _is_immediate(value) else Simplest(spec, (lhs, rhs))


def _is_immediate(value: int) -> bool:
    return SMov.field("src").check(value) is None
