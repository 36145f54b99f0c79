"""Moves of runs of whole blocks of 32 bytes: between GM, L1 and UB."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..effects import Space
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .bursts import BURSTS, block_stride, byte_stride, gm_cycles

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core, Memory

_BLOCKS = Field("len", "ri", 16, unit="32 bytes")


class BlockMove(Instruction):
    """Base of the moves; a stride in GM counts bytes, one on chip blocks."""

    source: ClassVar[Space]
    target: ClassVar[Space]
    path: ClassVar[Literal["gm_l1", "l1_gm", "ub_l1", "l1_ub"]]

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in the target do not overlap."""
        if o.nburst is None or o.len is None or o.nburst <= 1:
            return None
        if o.len * BLOCK <= cls._strides(o)[1]:
            return None
        unit = "bytes" if cls.target == "gm" else "blocks"
        return f"dst_stride = {o.dst_stride} {unit} is less than len = {o.len} blocks of 32 bytes"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs read, runs written."""
        del machine
        size, away = o.len * BLOCK, cls._strides(o)
        return (
            Access("src", "r", Footprint(cls.source, 0, size, o.nburst, away[0])),
            Access("dst", "w", Footprint(cls.target, 0, size, o.nburst, away[1])),
        )

    @classmethod
    def _strides(cls, o: Operands) -> tuple[int, int]:
        """Bytes from run to run, in the source and in the target."""
        return (
            o.src_stride * (1 if cls.source == "gm" else BLOCK),
            o.dst_stride * (1 if cls.target == "gm" else BLOCK),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy the runs."""
        if o.nburst <= 0 or o.len <= 0:
            return
        run, away = np.dtype((np.void, o.len * BLOCK)), cls._strides(o)
        source: Memory = getattr(core, cls.source)
        target: Memory = getattr(core, cls.target)
        read = source.view(o.src, (o.nburst,), (away[0],), run)
        target.view(o.dst, (o.nburst,), (away[1],), run)[...] = read

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Bytes at the path's rate; in GM, runs off the burst boundary cost the path's factor."""
        size = o.len * BLOCK
        if cls.path == "gm_l1":
            run = (o.nburst, size, o.src_stride)
            return gm_cycles(machine, cls.path, o.src, run, traffic)
        if cls.path == "l1_gm":
            run = (o.nburst, size, o.dst_stride)
            return gm_cycles(machine, cls.path, o.dst, run, traffic)
        return costs.local_move(machine, cls.path, o.nburst * size)


class MovGmL1(BlockMove):
    """Load `nburst` runs of `len` blocks of 32 bytes from GM, `src_stride` bytes apart, into L1,
    `dst_stride` blocks apart."""

    opcode = 0x042
    mnemonic = "mov_gm_l1"
    pipe = "MTE2"
    moves = True
    source, target, path = "gm", "l1", "gm_l1"
    restates = (
        "DataCopy GM to A1/B1 with DataCopyParams: blockCount <= 4095, blockLen and gaps in "
        "32-byte blocks; here any distance in GM."
    )
    fields = layout(
        Field("dst", "addr", space="l1", align=BLOCK),
        Field("src", "addr", space="gm"),
        BURSTS,
        _BLOCKS,
        byte_stride("src_stride"),
        block_stride("dst_stride"),
    )


class MovL1Gm(BlockMove):
    """Store `nburst` runs of `len` blocks of 32 bytes from L1, `src_stride` blocks apart, to GM,
    `dst_stride` bytes apart."""

    opcode = 0x071
    mnemonic = "mov_l1_gm"
    pipe = "MTE3"
    feature = "l1_gm"
    source, target, path = "l1", "gm", "l1_gm"
    restates = (
        "DataCopy A1/B1 to GM with DataCopyParams: blockCount <= 4095, blockLen and gaps in "
        "32-byte blocks; here any distance in GM."
    )
    fields = layout(
        Field("dst", "addr", space="gm"),
        Field("src", "addr", space="l1", align=BLOCK),
        BURSTS,
        _BLOCKS,
        byte_stride("dst_stride"),
        block_stride("src_stride"),
    )


class MovUbL1(BlockMove):
    """Move `nburst` runs of `len` blocks of 32 bytes from UB to L1; strides in blocks."""

    opcode = 0x072
    mnemonic = "mov_ub_l1"
    pipe = "MTE3"
    moves = True
    feature = "ub_l1"
    source, target, path = "ub", "l1", "ub_l1"
    restates = (
        "DataCopy VECOUT to A1/B1 with DataCopyParams (coupled cores): blockCount <= 4095, "
        "blockLen and gaps in 32-byte blocks."
    )
    fields = layout(
        Field("dst", "addr", space="l1", align=BLOCK),
        Field("src", "addr", space="ub", align=BLOCK),
        BURSTS,
        _BLOCKS,
        block_stride("dst_stride"),
        block_stride("src_stride"),
    )


class MovL1Ub(BlockMove):
    """Move `nburst` runs of `len` blocks of 32 bytes from L1 to UB; strides in blocks."""

    opcode = 0x064
    mnemonic = "mov_l1_ub"
    pipe = "MTE1"
    moves = True
    feature = "l1_ub"
    source, target, path = "l1", "ub", "l1_ub"
    restates = (
        "DataCopy A1/B1 to VECIN with DataCopyParams (coupled cores): blockCount <= 4095, "
        "blockLen and gaps in 32-byte blocks."
    )
    fields = layout(
        Field("dst", "addr", space="ub", align=BLOCK),
        Field("src", "addr", space="l1", align=BLOCK),
        BURSTS,
        _BLOCKS,
        block_stride("dst_stride"),
        block_stride("src_stride"),
    )
