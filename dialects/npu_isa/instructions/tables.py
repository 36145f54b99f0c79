"""Moves from L1 into the tables beside the matrix unit: biases, and parameters of its drain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..spec import Access, Field, Footprint, Instruction, Operands, layout

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

UNIT = 64
"""Bytes of the tables that move at least."""


class MovL1Bt(Instruction):
    """Load `nburst` runs of `len` units of 64 bytes into the table of biases.

    Runs are `src_stride` blocks of 32 bytes apart in L1 and `dst_stride` units apart in the table.
    With dtype `f16` half as many bytes of L1 are read, as f16, and become f32; with `b32` numbers
    of 4 bytes are copied.
    """

    opcode = 0x063
    mnemonic = "mov_l1_bt"
    pipe = "MTE1"
    feature = "bias_table"
    restates = (
        "DataCopy C1 to C2: blockCount <= 4095, blockLen in 64-byte units, f32 and i32 kept, f16 "
        "converted to f32."
    )
    fields = layout(
        Field("dst", "addr", 16, space="bt", align=UNIT),
        Field("src", "addr", space="l1", align=BLOCK),
        Field("dtype", "imm", 2, enum=("b32", "f16")),
        Field("nburst", "ri", 12, max=4095, default=1),
        Field("len", "ri", 16, unit="64 bytes"),
        Field("src_stride", "imm", 16, unit="32 bytes", default=0),
        Field("dst_stride", "imm", 16, unit="64 bytes", default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in the table do not overlap."""
        return _overlap(o)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of L1 read, runs of the table written."""
        del machine
        size = o.len * UNIT
        read = size // 2 if o.dtype == "f16" else size
        return (
            Access("src", "r", Footprint("l1", 0, read, o.nburst, o.src_stride * BLOCK)),
            Access("dst", "w", Footprint("bt", 0, size, o.nburst, o.dst_stride * UNIT)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy or widen the runs."""
        if o.nburst <= 0 or o.len <= 0:
            return
        count = o.len * UNIT // 4
        kind = np.dtype(np.float16 if o.dtype == "f16" else np.uint32)
        wide = np.dtype(np.float32 if o.dtype == "f16" else np.uint32)
        shape = (o.nburst, count)
        source = core.l1.view(o.src, shape, (o.src_stride * BLOCK, kind.itemsize), kind)
        core.bt.view(o.dst, shape, (o.dst_stride * UNIT, 4), wide)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Bytes of the table at the path's rate."""
        del traffic
        return costs.local_move(machine, "l1_bt", o.nburst * o.len * UNIT)


class MovL1Fb(Instruction):
    """Load `nburst` runs of `len` units of 64 bytes into the parameters of the drain.

    Runs are `src_stride` blocks of 32 bytes apart in L1 and `dst_stride` units apart in the buffer.
    """

    opcode = 0x093
    mnemonic = "mov_l1_fb"
    pipe = "FIX"
    moves = True
    feature = "fixpipe"
    restates = (
        "DataCopy C1 to C2PIPE2GM (FB0 and FB1, here one buffer of 2 KiB and what follows): "
        "blockCount <= 4095; its blockLen is in 128-byte units."
    )
    fields = layout(
        Field("dst", "addr", 13, space="fb", align=UNIT),
        Field("src", "addr", space="l1", align=BLOCK),
        Field("nburst", "ri", 12, max=4095, default=1),
        Field("len", "ri", 16, unit="64 bytes"),
        Field("src_stride", "imm", 16, unit="32 bytes", default=0),
        Field("dst_stride", "imm", 16, unit="64 bytes", default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in the buffer do not overlap."""
        return _overlap(o)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of L1 read, runs of the buffer written."""
        del machine
        size = o.len * UNIT
        return (
            Access("src", "r", Footprint("l1", 0, size, o.nburst, o.src_stride * BLOCK)),
            Access("dst", "w", Footprint("fb", 0, size, o.nburst, o.dst_stride * UNIT)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy the runs."""
        if o.nburst <= 0 or o.len <= 0:
            return
        run = np.dtype((np.void, o.len * UNIT))
        source = core.l1.view(o.src, (o.nburst,), (o.src_stride * BLOCK,), run)
        core.fb.view(o.dst, (o.nburst,), (o.dst_stride * UNIT,), run)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Bytes at the path's rate."""
        del traffic
        return costs.local_move(machine, "l1_fb", o.nburst * o.len * UNIT)


def _overlap(o: Operands) -> str | None:
    if o.nburst is None or o.len is None or o.nburst <= 1 or o.len <= o.dst_stride:
        return None
    return f"dst_stride = {o.dst_stride} is less than len = {o.len}, both in units of 64 bytes"
