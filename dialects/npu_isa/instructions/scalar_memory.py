"""Loads of registers from memory and stores of them, by the issuing thread itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.errors import BoundsError
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .scalar import IMMEDIATE

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Array, Core, Memory

SCALAR_DTYPES = ("i64", "i32", "i16", "i8", "ui8")
"""What a register is loaded from or stored as, in the order of their codes."""

_DTYPE = Field("dtype", "imm", 4, enum=SCALAR_DTYPES)
_WORDS = "One element of 1, 2, 4 or 8 bytes, aligned to its size, in program order."


class ScalarAccess(Instruction):
    """Base of the loads and stores.  The thread waits for each; caches are not modelled."""

    pipe = "S"
    space: ClassVar[Literal["gm", "ub"]]
    address: ClassVar[str]
    """The field that holds the address."""
    mode: ClassVar[Literal["r", "w"]]
    path: ClassVar[costs.GmPath | None] = None

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The address, where it is known, is a multiple of the element's size."""
        address, size = getattr(o, cls.address), itemsize(o.dtype)
        if address is None or address % size == 0:
            return None
        return f"{cls.address} = {address} is not a multiple of {size} bytes"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """The element."""
        del machine
        return (Access(cls.address, cls.mode, Footprint(cls.space, 0, itemsize(o.dtype))),)

    @classmethod
    def element(cls, core: Core, o: Operands) -> Array:
        """The element in memory, of one dimension; BoundsError when it is not aligned."""
        fault = cls.constraint(o)
        if fault:
            raise BoundsError(f"misaligned address of {cls.mnemonic}", why=fault)
        memory: Memory = getattr(core, cls.space)
        return memory.flat(getattr(o, cls.address), 1, to_numpy(o.dtype))

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """The thread waits until it is done."""
        del o
        return costs.scalar_access(machine, cls.path, traffic)


class Load(ScalarAccess):
    """Base of the loads."""

    address = "src"
    mode = "r"

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Read, and extend to 64 bits."""
        core.regs[o.dst] = int(cls.element(core, o)[0])


class Store(ScalarAccess):
    """Base of the stores."""

    address = "dst"
    mode = "w"

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Write the low bits."""
        target = cls.element(core, o)
        bits = 8 * target.itemsize
        target.view(f"u{target.itemsize}")[0] = np.uint64(o.value & ((1 << bits) - 1))


_VALUE = Field("value", "ri", IMMEDIATE, min=-(1 << (IMMEDIATE - 1)), wide=True)


class SLoadUb(Load):
    """`dst` = the element of `dtype` at `src` in UB, extended to 64 bits."""

    opcode = 0x01A
    mnemonic = "s_load_ub"
    space = "ub"
    restates = f"Scalar load from UB (LocalTensor.GetValue).  {_WORDS}"
    fields = layout(Field("dst", "out"), Field("src", "addr", space="ub"), _DTYPE)


class SStoreUb(Store):
    """Store the low bits of `value` as an element of `dtype` at `dst` in UB."""

    opcode = 0x01B
    mnemonic = "s_store_ub"
    space = "ub"
    restates = f"Scalar store to UB (LocalTensor.SetValue).  {_WORDS}"
    fields = layout(Field("dst", "addr", space="ub"), _VALUE, _DTYPE)


class SLoadGm(Load):
    """`dst` = the element of `dtype` at `src` in GM, extended to 64 bits."""

    opcode = 0x01C
    mnemonic = "s_load_gm"
    space = "gm"
    path = "gm_ub"
    restates = f"Scalar load from GM (GlobalTensor.GetValue), through the data cache.  {_WORDS}"
    fields = layout(Field("dst", "out"), Field("src", "addr", space="gm"), _DTYPE)


class SStoreGm(Store):
    """Store the low bits of `value` as an element of `dtype` at `dst` in GM."""

    opcode = 0x01D
    mnemonic = "s_store_gm"
    space = "gm"
    path = "ub_gm"
    restates = f"Scalar store to GM (GlobalTensor.SetValue) and DataCacheCleanAndInvalid.  {_WORDS}"
    fields = layout(Field("dst", "addr", space="gm"), _VALUE, _DTYPE)
