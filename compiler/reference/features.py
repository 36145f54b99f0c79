"""Which machine features an instruction needs, found by asking it about many operands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from ...dialects.npu_isa.spec import Field, Instruction, bind

Value = int | float | str | None


class Needs(NamedTuple):
    """Features that any operands need; those of one choice, by field and name; and those that other
    operands decide about."""

    always: tuple[str, ...]
    chosen: dict[tuple[str, str], tuple[str, ...]]
    other: tuple[str, ...]


def needs(spec: type[Instruction]) -> Needs:
    """What `spec` needs, over all choices of its enums and, for the rest, operands that are small,
    large, usual or not known."""
    found = [(values, frozenset(features)) for values, features in _asked(spec)]
    always = frozenset(() if spec.feature is None else (spec.feature,))
    chosen: dict[tuple[str, str], tuple[str, ...]] = {}
    common = frozenset[str].intersection(*(features for _, features in found))
    for index, field in enumerate(spec.fields):
        for name in field.enum or ():
            sets = [features for values, features in found if values[index] == name]
            own = frozenset[str].intersection(*sets) - common if sets else frozenset[str]()
            if own:
                chosen[field.name, name] = tuple(sorted(own))
    named = always.union(*chosen.values())
    every = frozenset[str]().union(*(features for _, features in found))
    return Needs(tuple(sorted(always)), chosen, tuple(sorted(every - named)))


def _asked(spec: type[Instruction]) -> Iterator[tuple[tuple[Value, ...], tuple[str, ...]]]:
    """Operands and the features they need; of operands that contradict each other only if there are
    no others."""
    contradictory: list[tuple[tuple[Value, ...], tuple[str, ...]]] = []
    some = False
    for how in ("unknown", "usual", "low", "high"):
        for values in product(*(_candidates(field, how) for field in spec.fields)):
            operands = bind(spec, values)
            answer = values, spec.features(operands)
            if spec.constraint(operands) is None:
                some = True
                yield answer
            else:
                contradictory.append(answer)
    if not some:
        yield from contradictory


def _candidates(field: Field, how: str) -> tuple[Value, ...]:
    """Values of a field: every name of an enum, otherwise one."""
    if field.enum is not None:
        return field.enum
    if field.kind == "f32":
        return (1.0,)
    if how == "unknown" and field.takes_register:
        return (None,)
    if field.kind in ("addr", "in", "out"):
        return (0,)
    if isinstance(field.default, int) and how in ("unknown", "usual"):
        return (field.default,)
    return (field.high if how == "high" else field.low,)
