"""The vector instruction that makes a block of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..effects import Access, Footprint
from ..spec import Field, Instruction, Operands, layout
from .lanes import BLOCKS, Lanes, footprints
from .lanewise import NUMBERS, address, counts, dtype_field

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core


class VBrcb(Instruction):
    """Fill one block with each element: repeat r takes elements 8r to 8r + 7 at `src0` and fills
    its 8 destination blocks, one with each."""

    opcode = 0x160
    mnemonic = "vbrcb"
    pipe = "V"
    moves = True
    feature = "brcb"
    restates = "Brcb: 16- and 32-bit elements, repeat <= 255, destination strides in 32-byte units."
    fields = layout(
        address("dst"),
        address("src0"),
        dtype_field(NUMBERS),
        counts()[1],
        Field("dst_blk_stride", "imm", 16, unit="32 bytes", min=1, default=1),
        Field("dst_rep_stride", "imm", 16, unit="32 bytes", default=BLOCKS),
    )

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """8 elements a repeat read, 8 blocks a repeat written."""
        del machine
        target = _blocks(o)
        written = footprints(target, o.repeat, BLOCKS * target.per_block)
        source = Footprint("ub", 0, o.repeat * BLOCKS * itemsize(o.dtype))
        return (Access("src0", "r", source), *(Access("dst", "w", shape) for shape in written))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Read every element, then fill every block."""
        if o.repeat <= 0:
            return
        target = _blocks(o)
        shape = (o.repeat, BLOCKS, 1)
        values = np.array(core.ub.flat(o.src0, o.repeat * BLOCKS, target.dtype)).reshape(shape)
        steps = (target.rep_stride * BLOCK, target.blk_stride * BLOCK, target.dtype.itemsize)
        view = core.ub.view(o.dst, (o.repeat, BLOCKS, target.per_block), steps, target.dtype)
        view[...] = values

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """One repeat a cycle, like other one-source work."""
        del traffic
        return costs.vector(machine, "single", itemsize(o.dtype), o.repeat)


def _blocks(o: Operands) -> Lanes:
    return Lanes(to_numpy(o.dtype), o.dst, o.dst_blk_stride, o.dst_rep_stride)
