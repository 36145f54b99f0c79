"""Every instruction of the machine, one class each.

Importing this package fills the tables of `spec`.
"""

from ..registry import by_mnemonic, by_opcode
from ..spec import Instruction
from . import (
    bitwise,
    blocks,
    branches,
    bursts,
    compare,
    compress,
    convert,
    cross_core,
    cube,
    drain,
    fills,
    fixpipe,
    fused,
    indirect,
    load2d,
    load3d,
    mte,
    reductions,
    rows,
    scalar,
    scalar_logic,
    scalar_memory,
    sort,
    sync,
    tables,
    transpose,
    vector,
)

MODULES = (
    scalar,
    scalar_logic,
    scalar_memory,
    branches,
    sync,
    cross_core,
    mte,
    bursts,
    blocks,
    load2d,
    load3d,
    fills,
    cube,
    tables,
    drain,
    fixpipe,
    vector,
    fused,
    bitwise,
    convert,
    compare,
    reductions,
    rows,
    transpose,
    indirect,
    compress,
    sort,
)
"""The modules that define instructions, in the order of the ISA manual."""

OPCODES: dict[int, type[Instruction]] = by_opcode()
"""Instruction of each opcode, in opcode order."""

MNEMONICS: dict[str, type[Instruction]] = by_mnemonic()
"""Instruction of each mnemonic, in opcode order."""

__all__ = ["MNEMONICS", "MODULES", "OPCODES"]
