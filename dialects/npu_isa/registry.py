"""The tables of all instructions; a specification enters them when its class is created."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.errors import InternalError

if TYPE_CHECKING:
    from .spec import Instruction

_BY_OPCODE: dict[int, type[Instruction]] = {}
_BY_MNEMONIC: dict[str, type[Instruction]] = {}


def enter(spec: type[Instruction], opcode_bits: int, word_bits: int) -> None:
    """Check a finished specification and enter it; InternalError for what is wrong with it."""
    name = spec.mnemonic
    taken = _BY_OPCODE.get(spec.opcode) or _BY_MNEMONIC.get(name)
    if taken is not None:
        raise InternalError(
            f"{name} and {taken.mnemonic} share an opcode or a mnemonic",
            why=f"opcode {spec.opcode:#x}",
        )
    if not 0 <= spec.opcode < 1 << opcode_bits:
        raise InternalError(f"{name}: opcode {spec.opcode} needs more than {opcode_bits} bits")
    root = spec.__mro__[-2]
    for required in ("execute", "cycles"):
        if next(c for c in spec.__mro__ if required in c.__dict__) is root:
            raise InternalError(f"{name} does not define {required}")
    used = (1 << opcode_bits) - 1
    for field in spec.fields:
        mask = ((1 << field.bits) - 1) << field.lo
        if field.lo < 0 or used & mask:
            raise InternalError(f"{name}: field {field.name} overlaps another")
        used |= mask
    if used.bit_length() > word_bits:
        raise InternalError(f"{name} needs {used.bit_length()} bits of {word_bits}")
    if len({field.name for field in spec.fields}) != len(spec.fields):
        raise InternalError(f"{name} has two fields of one name")
    _BY_OPCODE[spec.opcode] = spec
    _BY_MNEMONIC[name] = spec


def by_opcode() -> dict[int, type[Instruction]]:
    """Every defined instruction by opcode; complete once `instructions` is imported."""
    return dict(sorted(_BY_OPCODE.items()))


def by_mnemonic() -> dict[str, type[Instruction]]:
    """Every defined instruction by mnemonic, in opcode order."""
    return {spec.mnemonic: spec for spec in by_opcode().values()}
