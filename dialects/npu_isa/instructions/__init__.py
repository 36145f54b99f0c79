"""Every instruction of the machine, one class each.

Importing this package fills the tables of `spec`.
"""

from ..spec import Instruction, by_mnemonic, by_opcode
from . import cube, drain, load2d, mte, rows, scalar, sync, vector

MODULES = (scalar, sync, mte, load2d, cube, drain, vector, rows)
"""The modules that define instructions, in the order of the ISA manual."""

OPCODES: dict[int, type[Instruction]] = by_opcode()
"""Instruction of each opcode, in opcode order."""

MNEMONICS: dict[str, type[Instruction]] = by_mnemonic()
"""Instruction of each mnemonic, in opcode order."""

__all__ = ["MNEMONICS", "MODULES", "OPCODES"]
