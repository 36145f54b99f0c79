"""Vector instructions that change the number of elements: reductions of a repeat and broadcasts.

They use `dst`, `src0`, `mask` and `repeat` as the elementwise instructions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.kernels import reduce
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..memory import Array
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .lanes import BLOCKS, Lanes, footprints, read
from .lanewise import FLOATS, NUMBERS, address, check_mask, counts, dtype_field, lanes, strides

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core


class Reduction(Instruction):
    """Base: one element for the active lanes of each repeat, packed from `dst` on."""

    pipe = "V"
    group: ClassVar[costs.VectorClass]
    kernel: ClassVar[Callable[[Array], Array]]
    fields = layout(
        Field("dst", "addr", space="ub"),
        address("src0"),
        dtype_field(FLOATS),
        *counts(),
        *strides("src0"),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element type."""
        return check_mask(o.mask, o.dtype)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes read; one element a repeat written."""
        del machine
        source = footprints(lanes(o, "src0", o.dtype), o.repeat, o.mask)
        result = Footprint("ub", 0, o.repeat * itemsize(o.dtype))
        return (*(Access("src0", "r", shape) for shape in source), Access("dst", "w", result))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Reduce all repeats at once, or one by one where a result may land on a later source."""
        dtype, repeat, mask = to_numpy(o.dtype), o.repeat, o.mask
        if repeat <= 0:
            return
        source = lanes(o, "src0", o.dtype)
        target = core.ub.flat(o.dst, repeat, dtype)
        if o.dst < source.end(repeat, mask) and source.address < o.dst + target.nbytes:
            for r in range(repeat):
                start = source.address + r * source.rep_stride * BLOCK
                one = read(core.ub, source._replace(address=start), 1, mask)
                target[r : r + 1] = cls.kernel(one)
        else:
            target[...] = cls.kernel(read(core.ub, source, repeat, mask))

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Slope of the instruction's group."""
        del traffic
        return costs.vector(machine, cls.group, itemsize(o.dtype), o.repeat)


class VCAdd(Reduction):
    """Each repeat's sum; f16 is summed in f32 and rounded once."""

    opcode = 0x150
    mnemonic = "vcadd"
    restates = "WholeReduceSum: f16, f32; repeat <= 255, destination repeat stride of one element."
    group = "reduce_add"
    kernel = staticmethod(reduce.reduce_add)


class VCMax(Reduction):
    """Each repeat's largest lane; NaN if one is NaN."""

    opcode = 0x151
    mnemonic = "vcmax"
    restates = "WholeReduceMax, ORDER_ONLY_VALUE: f16, f32; repeat <= 255."
    group = "reduce_max"
    kernel = staticmethod(reduce.reduce_max)


class VCMin(Reduction):
    """Each repeat's smallest lane; NaN if one is NaN."""

    opcode = 0x152
    mnemonic = "vcmin"
    restates = "WholeReduceMin, ORDER_ONLY_VALUE: f16, f32; repeat <= 255."
    group = "reduce_max"
    kernel = staticmethod(reduce.reduce_min)


class VBrcb(Instruction):
    """Fill one block with each element: repeat r takes elements 8r to 8r + 7 at `src0` and fills
    its 8 destination blocks, one with each."""

    opcode = 0x160
    mnemonic = "vbrcb"
    pipe = "V"
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
