"""Stores to GM that combine what they store with what is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...core.kernels.elementwise import Binary, add, maximum, minimum
from ..memory import Array
from ..spec import Field

ATOMICS = ("none", "add", "max", "min")
"""How a store combines, in the order of their codes."""
ATOMIC_DTYPES = ("f32", "f16", "bf16", "i32", "i16", "i8")
"""Element types of atomic stores, in the order of their codes."""
ATOMIC = Field("atomic", "imm", 2, enum=ATOMICS, default="none")

Update: TypeAlias = Callable[[Array, Array], None]
"""Puts values into the place they are stored at, both of one shape and type."""

_COMBINED: dict[str, Binary] = {"add": add, "max": maximum, "min": minimum}


def replace(target: Array, values: Array) -> None:
    """A plain store."""
    target[...] = values


def update_of(atomic: str) -> Update:
    """How a store with this mode puts its values: 16-bit floats are combined in f32 and rounded
    once, integer sums wrap, NaN wins."""
    combine = _COMBINED.get(atomic)
    if combine is None:
        return replace

    def update(target: Array, values: Array) -> None:
        target[...] = combine(target, values)

    return update


def atomic_features(atomic: str, dtype: str) -> tuple[str, ...]:
    """Features a store with this mode and element type needs."""
    if atomic == "none":
        return ()
    return (f"atomic_{dtype}",) if atomic == "add" else (f"atomic_{dtype}", "atomic_minmax")


def atomic_kind(atomic: str, dtype: str) -> str | None:
    """What tells stores that may meet in any order from others: their mode and type."""
    return None if atomic == "none" else f"{atomic} {dtype}"
