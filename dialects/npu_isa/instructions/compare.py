"""Vector instructions that compare into bits, and select by such bits.

The result for a repeat is one bit a lane: those of 64 lanes of 32-bit elements in 8 bytes, of 128
lanes of 16-bit elements in 16 bytes, lane i in bit i % 8 of byte i / 8.  Those of a repeat follow
those of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize
from ...core.kernels.compare import COMPARISONS, Flags, pack_bits, select, unpack_bits
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic
from ..effects import Access, Effects, Footprint, UndefinedUse
from ..memory import Array, Memory
from ..spec import Field, Instruction, Operands, layout
from .lanes import (
    REPEAT_BYTES,
    Lanes,
    at_repeat,
    footprints,
    mark,
    meets,
    read,
    undefined,
    write,
)
from .lanewise import (
    LIMITS,
    NUMBERS,
    Lanewise,
    address,
    check_mask,
    counts,
    dtype_field,
    lanes,
    scalar_of,
    strides,
)
from .masks import Part

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

_PREDICATE = Field("compare", "imm", 3, enum=tuple(COMPARISONS))
_BYTE = np.dtype(np.uint8)
_ALL_TYPES = (*NUMBERS, "bf16")


def _bit_bytes(o: Operands) -> int:
    """Bytes that hold the bits of one repeat."""
    return REPEAT_BYTES // itemsize(o.dtype) // 8


def _bits_at(memory: Memory, start: int, repeat: int, o: Operands) -> Array:
    """The bits of `repeat` repeats, uint8[repeat, bytes], writable."""
    size = _bit_bytes(o)
    return memory.view(start, (repeat, size), (size, 1), _BYTE)


class Comparison(Instruction):
    """Base: a bit for each lane of the sources; bits of lanes that are not active are 0."""

    pipe = "V"
    sources: ClassVar[tuple[str, ...]]
    group: ClassVar[costs.VectorClass]

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Integers are not published for every comparison."""
        return (*super().features(o), *(("compare_integers",) if o.dtype[0] == "i" else ()))

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element type."""
        return check_mask(o.mask, o.dtype)

    @classmethod
    def right(cls, o: Operands, values: list[Array]) -> Array:
        """What the first source is compared with, which broadcasts to it."""
        del o
        return values[1]

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes read; the bits of all lanes written."""
        del machine
        reads = [
            Access(name, "r", shape)
            for name in cls.sources
            for shape in footprints(lanes(o, name, o.dtype), o.repeat, o.mask)
        ]
        return (*reads, Access("dst", "w", Footprint("ub", 0, o.repeat * _bit_bytes(o))))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Compare all repeats at once, or one by one where bits may land on a later source."""
        repeat, size = o.repeat, _bit_bytes(o)
        if repeat <= 0:
            return
        sources = [lanes(o, name, o.dtype) for name in cls.sources]
        target = _bits_at(core.ub, o.dst, repeat, o)
        if any(meets(o.dst, o.dst + repeat * size, s, repeat, o.mask) for s in sources):
            for r in range(repeat):
                target[r] = cls._bits(core.ub, o, [at_repeat(s, r) for s in sources], 1)[0]
        else:
            target[...] = cls._bits(core.ub, o, sources, repeat)

    @classmethod
    def _bits(cls, ub: Memory, o: Operands, sources: list[Lanes], repeat: int) -> Array:
        values = [read(ub, source, repeat, o.mask) for source in sources]
        return _packed(o, COMPARISONS[o.compare](values[0], cls.right(o, values)))

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """The shadow of a bit is a bit: a bit lacks a value when a lane it comes from does."""
        del core, effects
        if o.repeat <= 0:
            return None
        missing = np.zeros((o.repeat, o.mask), np.bool_)
        for name in cls.sources:
            missing |= undefined(shadow.ub, lanes(o, name, o.dtype), o.repeat, o.mask)
        _bits_at(shadow.ub, o.dst, o.repeat, o)[...] = _packed(o, missing)
        return None

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Slope of the instruction's group."""
        del traffic
        return costs.vector(machine, cls.group, itemsize(o.dtype), o.repeat)


def _packed(o: Operands, flags: Flags) -> Array:
    """Flags of the active lanes [repeat, mask] as the bits of all lanes, [repeat, bytes]."""
    every = np.zeros((len(flags), _bit_bytes(o) * 8), np.bool_)
    every[:, : o.mask] = flags
    return pack_bits(every)


class VCmp(Comparison):
    """A bit for each lane: whether `src0 compare src1`; with NaN only `ne` holds."""

    opcode = 0x170
    mnemonic = "vcmp"
    restates = (
        "Compare into a tensor of bits: f16, f32 by LT, GT, EQ, LE, GE, NE, and s32 by EQ on 910B; "
        + LIMITS
    )
    sources = ("src0", "src1")
    group = "compare"
    fields = layout(
        address("dst"),
        address("src0"),
        address("src1"),
        dtype_field(NUMBERS),
        *counts(),
        *strides("src0", "src1"),
        _PREDICATE,
    )


class VCmps(Comparison):
    """A bit for each lane: whether `src0 compare scalar`; with NaN only `ne` holds."""

    opcode = 0x171
    mnemonic = "vcmps"
    feature = "compare_scalar"
    restates = "CompareScalar: f16, f32 by LT, GT, EQ, LE, GE, NE; " + LIMITS
    sources = ("src0",)
    group = "single"
    fields = layout(
        address("dst"),
        address("src0"),
        Field("scalar", "f32"),
        dtype_field(NUMBERS),
        *counts(),
        *strides("src0"),
        _PREDICATE,
    )

    @classmethod
    def right(cls, o: Operands, values: list[Array]) -> Array:
        """The scalar, rounded to the element type."""
        del values
        return scalar_of(o)


class Selection(Lanewise):
    """Base: in each active lane the first source where its bit at `select` is 1, else the other."""

    group = "pair"
    maskable = False

    @classmethod
    def otherwise(cls, o: Operands, values: list[Array]) -> Array:
        """What the lanes whose bit is 0 get."""
        del o
        return values[1]

    @classmethod
    def bit_repeats(cls, o: Operands) -> int:
        """Repeats that have bits of their own."""
        return o.repeat

    @classmethod
    def flags(cls, memory: Memory, o: Operands, first: int, repeat: int) -> Flags:
        """The bits of the active lanes, [repeat, mask] or [1, mask]."""
        start = o.select + first * _bit_bytes(o)
        return unpack_bits(_bits_at(memory, start, repeat, o), o.mask)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes of every operand, and the bits."""
        bits = Footprint("ub", 0, cls.bit_repeats(o) * _bit_bytes(o))
        return (Access("select", "r", bits), *super().footprints(o, machine))

    @classmethod
    def in_order(cls, o: Operands, target: Lanes, sources: tuple[Lanes, ...], part: Part) -> bool:
        """Also where a result may land on later bits."""
        end = o.select + cls.bit_repeats(o) * _bit_bytes(o)
        return super().in_order(o, target, sources, part) or (
            o.repeat > 1 and meets(o.select, end, target, o.repeat, o.mask)
        )

    @classmethod
    def run(
        cls, core: Core, o: Operands, target: Lanes, sources: tuple[Lanes, ...], part: Part
    ) -> None:
        """Select in the repeats of `part`."""
        first, repeat, mask = part
        flags = cls.flags(core.ub, o, first, repeat)
        values = [read(core.ub, source, repeat, mask) for source in sources]
        write(core.ub, target, repeat, mask, select(flags, values[0], cls.otherwise(o, values)))

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """A lane lacks a value when its bit does, or the lane that is selected."""
        del effects
        if o.repeat <= 0:
            return None
        sources = [lanes(o, name, o.dtype) for name in cls.sources]
        missing = [undefined(shadow.ub, source, o.repeat, o.mask) for source in sources]
        missing.append(np.zeros((o.repeat, o.mask), np.bool_))
        chosen = np.where(cls.flags(core.ub, o, 0, o.repeat), missing[0], missing[1])
        chosen |= cls.flags(shadow.ub, o, 0, o.repeat)
        mark(shadow.ub, lanes(o, "dst", o.dtype), o.repeat, o.mask, chosen)
        return None


class VSel(Selection):
    """`dst = src0` where the lane's bit at `select` is 1, else `src1`.

    With `repeat_bits = each` a repeat has bits of its own, packed as comparisons leave them; with
    `same` every repeat takes those at `select`.
    """

    opcode = 0x172
    mnemonic = "vsel"
    restates = (
        "Select: modes VSEL_TENSOR_TENSOR_MODE (each) and VSEL_CMPMASK_SPR (same), 16- and 32-bit "
        "elements (published for f16 and f32); " + LIMITS
    )
    sources = ("src0", "src1")
    fields = layout(
        address("dst"),
        address("src0"),
        address("src1"),
        address("select"),
        dtype_field(_ALL_TYPES),
        *counts(),
        *strides("dst", "src0", "src1"),
        Field("repeat_bits", "imm", 1, enum=("each", "same"), default="each"),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Bits for each repeat come from UB."""
        return ("select_ub",) if o.repeat_bits == "each" else ()

    @classmethod
    def flags(cls, memory: Memory, o: Operands, first: int, repeat: int) -> Flags:
        """Those at `select` for all repeats, if the operands say so."""
        if o.repeat_bits == "same":
            first, repeat = 0, 1
        return super().flags(memory, o, first, repeat)

    @classmethod
    def bit_repeats(cls, o: Operands) -> int:
        """One, if the operands say so."""
        return min(o.repeat, 1) if o.repeat_bits == "same" else o.repeat


class VSels(Selection):
    """`dst = src0` where the lane's bit at `select` is 1, else `scalar`."""

    opcode = 0x173
    mnemonic = "vsels"
    feature = "select_ub"
    restates = (
        "Select: mode VSEL_TENSOR_SCALAR_MODE, 16- and 32-bit elements (published for f16 and f32);"
        " " + LIMITS
    )
    sources = ("src0",)
    fields = layout(
        address("dst"),
        address("src0"),
        address("select"),
        Field("scalar", "f32"),
        dtype_field(_ALL_TYPES),
        *counts(),
        *strides("dst", "src0"),
    )

    @classmethod
    def otherwise(cls, o: Operands, values: list[Array]) -> Array:
        """The scalar, rounded to the element type."""
        del values
        return scalar_of(o)
