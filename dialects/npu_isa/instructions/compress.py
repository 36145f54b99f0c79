"""The vector instruction that keeps the elements a mask picks, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import itemsize
from ...core.kernels.compare import unpack_bits
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic, ceil_div
from ..effects import Access, Effects, Footprint, UndefinedUse
from ..memory import Array, Memory
from ..spec import Field, Instruction, Operands, layout
from .lanes import UNSIGNED, Flags, at_repeat, footprints, meets, plain, read
from .lanewise import NUMBERS, address, check_mask, counts, dtype_field, lanes, strides

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

_PATTERNS = {"even": (2, 0), "odd": (2, 1), "first": (4, 0), "second": (4, 1)} | {
    "third": (4, 2), "fourth": (4, 3), "all": (1, 0),
}  # fmt: skip
"""Period and phase of the published patterns 1 to 7."""


class VReduceV2(Instruction):
    """The active lanes of `src0` that `pattern` picks, packed from `dst` on, over all repeats.

    `even` and `odd` pick every second lane, `first` to `fourth` one of every four, `all` all.
    With `bits` lane i of repeat r is picked when bit i % 8 of byte i / 8 at `src1` +
    r * src1_rep_stride * 32 is 1.  `count` is how many were picked; the scalar thread may read it
    once it has waited for this instruction.
    """

    opcode = 0x188
    mnemonic = "vreducev2"
    pipe = "V"
    feature = "vector_compress"
    restates = (
        "GatherMask (vreducev2): 16- and 32-bit elements, src1Pattern as a tensor of bits or 1 to "
        "7, reduceMode with a mask of lanes, rsvdCnt as a register, repeat <= 255."
    )
    fields = layout(
        Field("count", "out"),
        address("dst"),
        address("src0"),
        address("src1"),
        Field("pattern", "imm", 3, enum=("bits", *_PATTERNS)),
        dtype_field((*NUMBERS, "bf16")),
        *counts(),
        *strides("src0"),
        Field("src1_rep_stride", "imm", 16, unit="32 bytes", default=1),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element type."""
        return check_mask(o.mask, o.dtype)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes and their bits read.  Room for all of them counts as written, and as read
        because what is not written is kept."""
        del machine
        source = footprints(lanes(o, "src0", o.dtype), o.repeat, o.mask)
        room = Footprint("ub", 0, o.repeat * o.mask * itemsize(o.dtype))
        accesses = [Access("src0", "r", shape) for shape in source]
        if o.pattern == "bits":
            step = o.src1_rep_stride * 32
            rows = o.repeat if step else min(o.repeat, 1)
            bits = Footprint("ub", 0, ceil_div(o.mask, 8), rows, step)
            accesses.append(Access("src1", "r", bits))
        return (*accesses, Access("dst", "r", room), Access("dst", "w", room))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Compress all repeats at once, or one by one where a result may land on what a later one
        reads."""
        core.regs[o.count] = cls._compress(core.ub, core.ub, o) if o.repeat > 0 else 0

    @classmethod
    def _compress(cls, ub: Memory, memory: Memory, o: Operands) -> int:
        """Move in `memory` what the bits in `ub` pick; how many elements."""
        repeat, size = o.repeat, itemsize(o.dtype)
        source = plain(lanes(o, "src0", o.dtype))
        end = o.dst + repeat * o.mask * size
        bits = o.src1 + (repeat - 1) * o.src1_rep_stride * 32 + ceil_div(o.mask, 8)
        over_bits = o.pattern == "bits" and o.src1 < end and o.dst < bits
        if repeat > 1 and (over_bits or meets(o.dst, end, source, repeat, o.mask)):
            parts = [(at_repeat(source, r), r, 1) for r in range(repeat)]
        else:
            parts = [(source, 0, repeat)]
        done = 0
        for lanes_of_part, first, some in parts:
            picked = read(memory, lanes_of_part, some, o.mask)[cls._flags(ub, o, first, some)]
            memory.flat(o.dst + done * size, len(picked), source.dtype)[...] = picked
            done += len(picked)
        return done

    @classmethod
    def _flags(cls, ub: Memory, o: Operands, first: int, repeat: int) -> Flags:
        """Which active lanes are picked, bool[repeat, mask]."""
        if o.pattern == "bits":
            return unpack_bits(cls._bits(ub, o, first, repeat), o.mask)
        period, phase = _PATTERNS[o.pattern]
        flags = np.zeros((repeat, o.mask), np.bool_)
        flags[:, phase::period] = True
        return flags

    @classmethod
    def _bits(cls, memory: Memory, o: Operands, first: int, repeat: int) -> Array:
        step = o.src1_rep_stride * 32
        shape = (repeat, ceil_div(o.mask, 8))
        return memory.view(o.src1 + first * step, shape, (step, 1), UNSIGNED[1])

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """What is kept takes its shadow along.  Bits without a value are an error."""
        del effects
        if o.repeat <= 0:
            return None
        cls._compress(core.ub, shadow.ub, o)
        if o.pattern != "bits":
            return None
        missing = unpack_bits(cls._bits(shadow.ub, o, 0, o.repeat), o.mask)
        if not missing.any():
            return None
        repeat, lane = np.argwhere(missing)[0].tolist()
        return UndefinedUse("ub", f"the bit of lane {lane} of repeat {repeat} has no value")

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """By repeats."""
        del traffic
        return costs.vector(machine, "compress", itemsize(o.dtype), o.repeat)
