"""Vector instructions that reduce lanes: of a whole repeat, of each block, of each pair.

The results of a repeat are packed; those of the next follow `dst_rep_stride` times as far away as
one repeat's results take (of all its lanes, active or not).  Lanes that are not active do not
count, and a block or pair without active lanes gives no result.  16-bit floats are summed in f32
and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.kernels import reduce
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic, ceil_div
from ..effects import DEFINED, UNDEFINED, Access, Effects, Footprint, UndefinedUse
from ..memory import Array, Memory
from ..spec import Field, Instruction, Operands, layout
from .lanes import REPEAT_BYTES, Flags, at_repeat, footprints, meets, read, undefined
from .lanewise import FLOATS, address, check_mask, counts, dtype_field, lanes, strides

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

_BYTE = np.dtype(np.uint8)
_FIELDS = (
    Field("dst", "addr", space="ub"),
    address("src0"),
    dtype_field(FLOATS),
    *counts(),
    *strides("src0"),
    Field("dst_rep_stride", "imm", 12, unit="results of a repeat", min=1, default=1, bias=1),
)


class Reduction(Instruction):
    """Base: a result for each group of so many neighbouring lanes."""

    pipe = "V"
    group: ClassVar[costs.VectorClass]
    kernel: ClassVar[Callable[[Array], Array]]
    """Reduces the last axis."""
    fields = layout(*_FIELDS)

    @classmethod
    def lanes_of_result(cls, o: Operands) -> int:
        """Neighbouring lanes that give one result; all of a repeat here."""
        return REPEAT_BYTES // itemsize(o.dtype)

    @classmethod
    def result_bytes(cls, o: Operands) -> int:
        """Bytes of one result."""
        return itemsize(o.dtype)

    @classmethod
    def reduce(cls, o: Operands, values: Array) -> Array:
        """The results of groups of lanes, [..., lanes] to bytes [..., result_bytes]."""
        return _bytes(cls.kernel(values).astype(to_numpy(o.dtype), copy=False))

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element type."""
        return check_mask(o.mask, o.dtype)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes read; their results written."""
        del machine
        source = footprints(lanes(o, "src0", o.dtype), o.repeat, o.mask)
        size, step = cls._row(o)
        row = (size * o.repeat, 1, 0) if size == step else (size, o.repeat, step)
        written = Footprint("ub", 0, *row)
        return (*(Access("src0", "r", shape) for shape in source), Access("dst", "w", written))

    @classmethod
    def _row(cls, o: Operands) -> tuple[int, int]:
        """Bytes of one repeat's results, and from them to the next."""
        group, size = cls.lanes_of_result(o), cls.result_bytes(o)
        every = REPEAT_BYTES // itemsize(o.dtype) // group * size
        return ceil_div(o.mask, group) * size, every * o.dst_rep_stride

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Reduce all repeats at once, or one by one where a result may land on a later source."""
        repeat, mask = o.repeat, o.mask
        if repeat <= 0:
            return
        source = lanes(o, "src0", o.dtype)
        size, step = cls._row(o)
        target = core.ub.view(o.dst, (repeat, size), (step, 1), _BYTE)
        end = o.dst + (repeat - 1) * step + size
        if meets(o.dst, end, source, repeat, mask):
            for r in range(repeat):
                target[r] = cls._results(o, read(core.ub, at_repeat(source, r), 1, mask))[0]
        else:
            target[...] = cls._results(o, read(core.ub, source, repeat, mask))

    @classmethod
    def _results(cls, o: Operands, values: Array) -> Array:
        """Lanes [repeat, mask] to bytes [repeat, bytes]."""
        group = cls.lanes_of_result(o)
        whole, rest = divmod(values.shape[1], group)
        parts: list[Array] = []
        if whole:
            shape = (len(values), whole, group)
            parts.append(cls.reduce(o, values[:, : whole * group].reshape(shape)))
        if rest:
            parts.append(cls.reduce(o, values[:, None, whole * group :]))
        return np.concatenate(parts, 1).reshape(len(values), -1)

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """The reduction of lanes that all lack a value lacks one; it is wrong that only some do."""
        del core, effects
        if o.repeat <= 0:
            return None
        missing = undefined(shadow.ub, lanes(o, "src0", o.dtype), o.repeat, o.mask)
        starts = list(range(0, o.mask, cls.lanes_of_result(o)))
        some: Flags = np.logical_or.reduceat(missing, starts, 1)
        every: Flags = np.logical_and.reduceat(missing, starts, 1)
        cls._mark(shadow.ub, o, some)
        partly: Flags = some & ~every
        if not partly.any():
            return None
        repeat, result = np.argwhere(partly)[0].tolist()
        start = starts[int(result)]
        lane = start + int(missing[repeat, start:].argmax())
        others = "it" if len(starts) == 1 else "those it is reduced with"
        why = f"lane {lane} of repeat {repeat} has no value, others of {others} have"
        return UndefinedUse("ub", why)

    @classmethod
    def _mark(cls, shadow: Memory, o: Operands, missing: Flags) -> None:
        """Mark results, [repeat, results], in a shadow."""
        size, step = cls._row(o)
        bits = np.where(missing, np.uint8(UNDEFINED), np.uint8(DEFINED))
        row = np.repeat(bits, cls.result_bytes(o), 1)
        shadow.view(o.dst, (o.repeat, size), (step, 1), _BYTE)[...] = row

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Slope of the instruction's group."""
        del traffic
        return costs.vector(machine, cls.group, itemsize(o.dtype), o.repeat)


def _bytes(values: Array) -> Array:
    """Any elements [...] as their bytes, uint8[..., itemsize]."""
    return np.ascontiguousarray(values)[..., None].view(_BYTE)


class VCAdd(Reduction):
    """Each repeat's sum; f16 is summed in f32 and rounded once."""

    opcode = 0x150
    mnemonic = "vcadd"
    restates = "WholeReduceSum: f16, f32; repeat <= 255, destination stride in elements."
    group = "reduce_add"
    kernel = staticmethod(reduce.reduce_add)


class Extreme(Reduction):
    """Base: the largest or smallest lane of a repeat, and where it is.

    `order` says what is left for each repeat: the `value`, the value and its `index` in the
    repeat, each as wide as an element, in either order, or the index alone in 32 bits.  Of equal
    lanes the first counts, and NaN is the extreme of any lanes it is among.
    """

    group = "reduce_max"
    find: ClassVar[Callable[[Array], Array]]
    """Index of the extreme over the last axis."""
    fields = layout(
        *_FIELDS,
        Field(
            "order",
            "imm",
            2,
            enum=("value", "value_index", "index_value", "index"),
            default="value",
        ),
    )

    @classmethod
    def result_bytes(cls, o: Operands) -> int:
        """One or two elements, or a 32-bit index."""
        if o.order == "index":
            return 4
        return itemsize(o.dtype) * (1 if o.order == "value" else 2)

    @classmethod
    def reduce(cls, o: Operands, values: Array) -> Array:
        """Value, index, or both."""
        if o.order == "value":
            return super().reduce(o, values)
        index = cls.find(values)
        if o.order == "index":
            return _bytes(index.astype(np.uint32))
        unsigned = np.dtype(f"u{itemsize(o.dtype)}")
        both = (super().reduce(o, values), _bytes(index.astype(unsigned)))
        return np.concatenate(both if o.order == "value_index" else both[::-1], -1)


class VCMax(Extreme):
    """Each repeat's largest lane, or where it is; NaN if one is NaN."""

    opcode = 0x151
    mnemonic = "vcmax"
    restates = (
        "WholeReduceMax in every ReduceOrder: f16, f32; repeat <= 255, destination stride in "
        "results."
    )
    kernel = staticmethod(reduce.reduce_max)
    find = staticmethod(reduce.index_of_max)


class VCMin(Extreme):
    """Each repeat's smallest lane, or where it is; NaN if one is NaN."""

    opcode = 0x152
    mnemonic = "vcmin"
    restates = (
        "WholeReduceMin in every ReduceOrder: f16, f32; repeat <= 255, destination stride in "
        "results."
    )
    kernel = staticmethod(reduce.reduce_min)
    find = staticmethod(reduce.index_of_min)


class BlockReduction(Reduction):
    """Base: a result for each block of 32 bytes, 8 a repeat."""

    group = "block_reduce"

    @classmethod
    def lanes_of_result(cls, o: Operands) -> int:
        """Those of a block."""
        return BLOCK // itemsize(o.dtype)


class VCGAdd(BlockReduction):
    """The sum of each block; f16 is summed in f32 and rounded once."""

    opcode = 0x153
    mnemonic = "vcgadd"
    restates = "BlockReduceSum: f16, f32; repeat <= 255, destination stride in 8 elements."
    kernel = staticmethod(reduce.reduce_add)


class VCGMax(BlockReduction):
    """The largest lane of each block; NaN if one is NaN."""

    opcode = 0x154
    mnemonic = "vcgmax"
    restates = "BlockReduceMax: f16, f32; repeat <= 255, destination stride in 8 elements."
    kernel = staticmethod(reduce.reduce_max)


class VCGMin(BlockReduction):
    """The smallest lane of each block; NaN if one is NaN."""

    opcode = 0x155
    mnemonic = "vcgmin"
    restates = "BlockReduceMin: f16, f32; repeat <= 255, destination stride in 8 elements."
    kernel = staticmethod(reduce.reduce_min)


class VCPAdd(Reduction):
    """The sum of lanes 2i and 2i + 1, for each i; a last lane without its pair is itself."""

    opcode = 0x156
    mnemonic = "vcpadd"
    restates = "PairReduceSum: f16, f32; repeat <= 255, destination stride in 128 bytes."
    group = "single"
    kernel = staticmethod(reduce.reduce_add)

    @classmethod
    def lanes_of_result(cls, o: Operands) -> int:
        """Two."""
        del o
        return 2
