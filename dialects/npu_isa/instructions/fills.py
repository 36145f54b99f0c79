"""Fills of L1 and of the L0 memories with one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..effects import Effects, Space, UndefinedUse
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import BITS, FRACTAL_BYTES

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core, Memory

UNITS = ("b16", "b32")
"""Elements by their bits, in the order of their codes."""
MAX_COUNT = 32767


def _fields(space: Space, step: int) -> tuple[Field, ...]:
    unit = f"{step} bytes"
    return layout(
        Field("dst", "addr", space=space, align=step),
        Field("unit", "imm", 2, enum=UNITS),
        Field("value", "ri", 32, unit="bits of an element", wide=True),
        Field("repeat", "ri", 15, max=MAX_COUNT, default=1),
        Field("len", "ri", 15, unit=unit, max=MAX_COUNT),
        Field("dst_stride", "imm", 16, unit=unit, default=0),
    )


class Fill(Instruction):
    """Base of the fills of `repeat` runs of `len` units, `dst_stride` units apart.

    The run holds elements of `unit` with the low bits of `value`.
    """

    moves = True
    space: ClassVar[Space]
    step: ClassVar[int]
    """Bytes of a unit."""
    path: ClassVar[costs.GmPath | costs.LocalPath]
    """The path whose rate it fills at: a guess, nothing is published."""

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs do not overlap."""
        if o.repeat is None or o.len is None or o.repeat <= 1 or o.len <= o.dst_stride:
            return None
        return f"dst_stride = {o.dst_stride} is less than len = {o.len}, both in {cls.step} bytes"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs written."""
        del machine
        away = o.dst_stride * cls.step
        return (Access("dst", "w", Footprint(cls.space, 0, o.len * cls.step, o.repeat, away)),)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Fill the runs."""
        if o.repeat <= 0 or o.len <= 0:
            return
        size = 2 if o.unit == "b16" else 4
        memory: Memory = getattr(core, cls.space)
        shape = (o.repeat, o.len * cls.step // size)
        runs = memory.view(o.dst, shape, (o.dst_stride * cls.step, size), BITS[size])
        runs[...] = np.uint64(o.value & ((1 << 8 * size) - 1)).astype(BITS[size])

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """What it fills is defined, whatever the value."""
        return super().follow(shadow, core, o.changed(value=0), effects)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Bytes at the rate of the path into the memory."""
        del traffic
        return costs.fill(machine, cls.path, o.repeat * o.len * cls.step)


class FillL1(Fill):
    """Fill `repeat` runs of `len` blocks of 32 bytes of L1, `dst_stride` blocks apart, with
    elements of `unit` that have the low bits of `value`."""

    opcode = 0x043
    mnemonic = "fill_l1"
    pipe = "MTE2"
    feature = "fill_l1"
    space, step, path = "l1", BLOCK, "gm_l1"
    restates = (
        "Fill (InitConstValue) of A1/B1 with InitConstValueParams: repeatTimes, blockNum <= 32767, "
        "dstGap, 16- and 32-bit values."
    )
    fields = _fields("l1", BLOCK)


class FillL0A(Fill):
    """Fill `repeat` runs of `len` fractals of L0A, `dst_stride` fractals apart, with elements of
    `unit` that have the low bits of `value`."""

    opcode = 0x065
    mnemonic = "fill_l0a"
    pipe = "MTE1"
    feature = "fill_l0"
    space, step, path = "l0a", FRACTAL_BYTES, "l1_l0a"
    restates = "Fill (InitConstValue) of A2: as of A1, in units of 512 bytes."
    fields = _fields("l0a", FRACTAL_BYTES)


class FillL0B(Fill):
    """Fill `repeat` runs of `len` fractals of L0B, `dst_stride` fractals apart, with elements of
    `unit` that have the low bits of `value`."""

    opcode = 0x066
    mnemonic = "fill_l0b"
    pipe = "MTE1"
    feature = "fill_l0"
    space, step, path = "l0b", FRACTAL_BYTES, "l1_l0b"
    restates = "Fill (InitConstValue) of B2: as of A1, in units of 512 bytes."
    fields = _fields("l0b", FRACTAL_BYTES)
