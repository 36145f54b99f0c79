"""A core that is nothing but memories and registers, to execute single instructions on."""

from __future__ import annotations

from typing import Any

import numpy as np

from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array, Memory
from npuc.dialects.npu_isa.spec import Instruction, Operands

SIZES = {
    "gm": 1 << 16,
    "l1": 1 << 16,
    "l0a": 1 << 14,
    "l0b": 1 << 14,
    "l0c": 1 << 14,
    "ub": 1 << 15,
    "bt": 1 << 10,
    "fb": 7 << 10,
}


class BareCore:
    """Memories of `SIZES` bytes, all zero, and 64 registers."""

    def __init__(self, core_id: int = 0) -> None:
        self.gm = Memory("gm", SIZES["gm"])
        self.l1 = Memory("l1", SIZES["l1"])
        self.l0a = Memory("l0a", SIZES["l0a"])
        self.l0b = Memory("l0b", SIZES["l0b"])
        self.l0c = Memory("l0c", SIZES["l0c"])
        self.ub = Memory("ub", SIZES["ub"])
        self.bt = Memory("bt", SIZES["bt"])
        self.fb = Memory("fb", SIZES["fb"])
        self.regs = [0] * 64
        self.core_id = core_id
        self.core_count = 1

    def memory(self, name: str) -> Memory:
        """The memory called `name`."""
        memory = getattr(self, name)
        assert isinstance(memory, Memory)
        return memory

    def put(self, space: str, start: int, values: Array) -> None:
        """Store an array's bytes in row-major order."""
        self.memory(space).data[start : start + values.nbytes] = np.frombuffer(
            np.ascontiguousarray(values).tobytes(), np.uint8
        )

    def get(self, space: str, start: int, shape: tuple[int, ...], dtype: Any) -> Array:
        """A copy of an array stored in row-major order."""
        count = int(np.prod(shape))
        return self.memory(space).flat(start, count, np.dtype(dtype)).reshape(shape).copy()


def operands(spec: type[Instruction], **values: float | str) -> Operands:
    """Operands by name; fields left out take their default."""
    missing = [f.name for f in spec.fields if f.name not in values and f.default is None]
    assert not missing, missing
    assert not set(values) - {f.name for f in spec.fields}
    return spec.Operands(*(values.get(f.name, f.default) for f in spec.fields))


def execute(core: BareCore, mnemonic: str, **values: float | str) -> Operands:
    """Execute one instruction, operands by name; the operands."""
    spec = MNEMONICS[mnemonic]
    bound = operands(spec, **values)
    assert spec.constraint(bound) is None, spec.constraint(bound)
    spec.execute(core, bound)
    return bound
