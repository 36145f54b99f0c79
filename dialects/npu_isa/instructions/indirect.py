"""Vector instructions that find elements or blocks of UB by offsets that lie in UB.

Offsets are unsigned 32-bit numbers of bytes, one after the other: those of a repeat follow those of
the one before.  The published forms check them against the tensor they point into; here `src_bytes`
or `dst_bytes` is its size, and an offset beyond it is an error, as is one that is not a multiple
of what it finds.  All of the tensor counts as touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.dtypes import itemsize
from ...core.errors import BoundsError, InternalError
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..effects import DEFINED, Access, Effects, Footprint, UndefinedUse
from ..memory import Array, Memory
from ..spec import Field, Instruction, Operands, layout
from .lanes import (
    BLOCKS,
    REPEAT_BYTES,
    UNSIGNED,
    Flags,
    Lanes,
    at_repeat,
    footprints,
    meets,
    read,
    write,
)
from .lanewise import NUMBERS, address, check_mask, counts, dtype_field

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

_OFFSET = np.dtype(np.uint32)
_BLOCK = np.dtype("V32")
_TYPES = (*NUMBERS, "bf16")
Numbers = npt.NDArray[np.int64]


def _region(name: str) -> Field:
    """Bytes of the tensor at the address called `name`."""
    return Field(f"{name}_bytes", "ri", 24, unit="bytes")


class Indirect(Instruction):
    """Base: moves one thing for each offset, between a region and lanes that lie in order."""

    pipe = "V"
    region: ClassVar[str]
    """The operand that offsets point into; the other one, `ordered`, is lanes."""
    ordered: ClassVar[str]

    @classmethod
    def lanes(cls, o: Operands) -> Lanes:
        """The operand whose lanes lie in order, of the things that move."""
        raise InternalError(f"{cls.__name__} does not say where its lanes are", why=repr(o))

    @classmethod
    def per_repeat(cls, o: Operands) -> tuple[int, int]:
        """Things moved by a repeat, and offsets from those of one repeat to those of the next."""
        raise InternalError(f"{cls.__name__} does not say how much it moves", why=repr(o))

    @classmethod
    def size(cls, o: Operands) -> int:
        """Bytes of a thing."""
        raise InternalError(f"{cls.__name__} does not say what it moves", why=repr(o))

    @classmethod
    def move(cls, ub: Memory, o: Operands, place: Lanes, found: Numbers) -> None:
        """Move things between `place` and the region, where their numbers are `found`."""
        raise InternalError(f"{cls.__name__} does not move", why=repr((ub, o, place, found)))

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Offsets, lanes, and the whole region; what of it is not written is kept, which counts as
        reading it."""
        del machine
        count, step = cls.per_repeat(o)
        offsets = Footprint("ub", 0, count * _OFFSET.itemsize, o.repeat, step * _OFFSET.itemsize)
        region = Footprint("ub", 0, getattr(o, f"{cls.region}_bytes") if o.repeat else 0)
        scatters = cls.region == "dst"
        return (
            Access("offsets", "r", offsets),
            Access(cls.region, "r", region),
            *((Access(cls.region, "w", region),) if scatters else ()),
            *(
                Access(cls.ordered, "r" if scatters else "w", shape)
                for shape in cls._ordered_footprints(o)
            ),
        )

    @classmethod
    def _ordered_footprints(cls, o: Operands) -> tuple[Footprint, ...]:
        return footprints(cls.lanes(o), o.repeat, cls.per_repeat(o)[0])

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Move everything at once, or repeat by repeat where one may see what another wrote."""
        repeat = o.repeat
        if repeat <= 0:
            return
        place = cls.lanes(o)
        start, length = getattr(o, cls.region), getattr(o, f"{cls.region}_bytes")
        count, step = cls.per_repeat(o)
        end = o.offsets + ((repeat - 1) * step + count) * _OFFSET.itemsize
        targets = meets(o.offsets, end, place, repeat, count)
        if cls.region == "dst":
            targets = o.offsets < start + length and start < end
        if targets or meets(start, start + length, place, repeat, count) or _folded(place, count):
            for r in range(repeat):
                found = cls._numbers(core.ub, o, r, 1)
                cls.move(core.ub, o, at_repeat(place, r), found)
        else:
            cls.move(core.ub, o, place, cls._numbers(core.ub, o, 0, repeat))

    @classmethod
    def _numbers(cls, ub: Memory, o: Operands, first: int, repeat: int) -> Numbers:
        """Numbers of the things asked for, int64[repeat, count].  Raises BoundsError for one that
        is not in the region or not on a boundary."""
        offsets = cls._offsets(ub, o, first, repeat).astype(np.int64)
        size, length = cls.size(o), getattr(o, f"{cls.region}_bytes")
        wrong: Flags = (offsets % size != 0) | (offsets + size > length)
        if wrong.any():
            r, lane = np.argwhere(wrong)[0].tolist()
            offset = int(offsets[r, lane])
            misaligned = offset % size != 0
            why = (
                f"is not a multiple of {size} bytes" if misaligned else f"is beyond {length} bytes"
            )
            raise BoundsError(
                f"an offset of {cls.mnemonic} points to nothing",
                why=f"offset {offset} of lane {lane} of repeat {first + r} {why}",
                hint="check how the offsets are computed, in bytes from the address",
            )
        return offsets // size

    @classmethod
    def _offsets(cls, memory: Memory, o: Operands, first: int, repeat: int) -> Array:
        """Offsets uint32[repeat, count], or their shadow."""
        count, step = cls.per_repeat(o)
        start = o.offsets + first * step * _OFFSET.itemsize
        strides = (step * _OFFSET.itemsize, _OFFSET.itemsize)
        return memory.view(start, (repeat, count), strides, _OFFSET)

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """What is moved takes its shadow along.  Offsets without a value are an error."""
        if o.repeat <= 0:
            return None
        missing = cls._offsets(shadow.ub, o, 0, o.repeat) != DEFINED
        if missing.any():
            for mode, shape in effects:
                if mode == "w":
                    _defined(shadow.ub, shape)
            repeat, lane = np.argwhere(missing)[0].tolist()
            return UndefinedUse("ub", f"the offset of lane {lane} of repeat {repeat} has no value")
        cls.move(shadow.ub, o, cls.lanes(o), cls._numbers(core.ub, o, 0, o.repeat))
        return None


def _folded(place: Lanes, count: int) -> bool:
    """Whether repeats lie upon each other."""
    return abs(place.rep_stride) * BLOCK < place.span(count)


def _defined(shadow: Memory, shape: Footprint) -> None:
    rows = max(shape.rows, 0)
    view = shadow.view(shape.start, (rows, shape.row_bytes), (shape.stride, 1), UNSIGNED[1])
    view[...] = DEFINED


class Elements(Indirect):
    """Base: of single elements, one for each active lane."""

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element type."""
        return check_mask(o.mask, o.dtype)

    @classmethod
    def lanes(cls, o: Operands) -> Lanes:
        """Lanes of a repeat follow each other."""
        name = cls.ordered
        stride = getattr(o, f"{name}_rep_stride")
        return Lanes(UNSIGNED[cls.size(o)], getattr(o, name), 1, stride)

    @classmethod
    def size(cls, o: Operands) -> int:
        """An element's."""
        return itemsize(o.dtype)

    @classmethod
    def per_repeat(cls, o: Operands) -> tuple[int, int]:
        """Active lanes; offsets leave room for all lanes."""
        return o.mask, REPEAT_BYTES // itemsize(o.dtype)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Measured for gathers; taken to be the same for scatters."""
        del traffic
        return costs.vector(machine, "gather", itemsize(o.dtype), o.repeat)


class VGather(Elements):
    """In each active lane, `dst` = the element at `src` + the lane's offset."""

    opcode = 0x180
    mnemonic = "vgather"
    feature = "vector_gather"
    restates = (
        "Gather: 16- and 32-bit elements, repeat <= 255, destination repeat stride in 32-byte "
        "units; srcBaseAddr is part of `src`."
    )
    region = "src"
    ordered = "dst"
    fields = layout(
        address("dst"),
        address("src"),
        address("offsets"),
        _region("src"),
        dtype_field(_TYPES),
        *counts(),
        Field("dst_rep_stride", "imm", 16, unit="32 bytes", default=BLOCKS),
    )

    @classmethod
    def move(cls, ub: Memory, o: Operands, place: Lanes, found: Numbers) -> None:
        """Take the elements."""
        source = ub.flat(o.src, o.src_bytes // place.dtype.itemsize, place.dtype)
        write(ub, place, len(found), o.mask, source[found])


class VScatter(Elements):
    """The element at `dst` + the lane's offset = `src`, for each active lane; where offsets are
    equal, the last lane counts."""

    opcode = 0x182
    mnemonic = "vscatter"
    feature = "vector_scatter"
    restates = (
        "Scatter: 16- and 32-bit elements, repeat <= 255, source repeat stride in 32-byte units; "
        "dstBaseAddr is part of `dst`."
    )
    region = "dst"
    ordered = "src"
    fields = layout(
        address("dst"),
        address("src"),
        address("offsets"),
        _region("dst"),
        dtype_field(_TYPES),
        *counts(),
        Field("src_rep_stride", "imm", 16, unit="32 bytes", default=BLOCKS),
    )

    @classmethod
    def move(cls, ub: Memory, o: Operands, place: Lanes, found: Numbers) -> None:
        """Put the elements, in the order of their lanes."""
        target = ub.flat(o.dst, o.dst_bytes // place.dtype.itemsize, place.dtype)
        target[found.ravel()] = read(ub, place, len(found), o.mask).ravel()


class VGatherB(Indirect):
    """Each block of `dst`, 8 a repeat, = the block at `src` + the block's offset."""

    opcode = 0x181
    mnemonic = "vgatherb"
    feature = "vector_gather_block"
    restates = (
        "Gatherb: 8 blocks of 32 bytes a repeat, repeat <= 255, destination strides in 32-byte "
        "units."
    )
    region = "src"
    ordered = "dst"
    fields = layout(
        address("dst"),
        address("src"),
        address("offsets"),
        _region("src"),
        counts()[1],
        Field("dst_blk_stride", "imm", 16, unit="32 bytes", min=1, default=1, bias=1),
        Field("dst_rep_stride", "imm", 16, unit="32 bytes", default=BLOCKS),
    )

    @classmethod
    def lanes(cls, o: Operands) -> Lanes:
        """Whole blocks."""
        return Lanes(_BLOCK, o.dst, o.dst_blk_stride, o.dst_rep_stride)

    @classmethod
    def size(cls, o: Operands) -> int:
        """A block's."""
        del o
        return BLOCK

    @classmethod
    def per_repeat(cls, o: Operands) -> tuple[int, int]:
        """8 blocks."""
        del o
        return BLOCKS, BLOCKS

    @classmethod
    def move(cls, ub: Memory, o: Operands, place: Lanes, found: Numbers) -> None:
        """Take the blocks."""
        source = ub.flat(o.src, o.src_bytes // BLOCK, _BLOCK)
        write(ub, place, len(found), BLOCKS, source[found])

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """By repeats."""
        del traffic
        return costs.vector(machine, "gather_block", BLOCK, o.repeat)
