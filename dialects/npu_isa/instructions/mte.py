"""Moves between GM and a core: to L1 and UB on MTE2, from UB on MTE3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import itemsize
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import BITS, CUBE_DTYPES

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

MAX_BURSTS = 4095
MAX_BURST_BYTES = (1 << 21) - 1

_BLOCK = np.dtype((np.void, BLOCK))
_ZERO_BLOCK = np.void(bytes(BLOCK))


def _round_up(value: int, step: int) -> int:
    return ceil_div(value, step) * step


class Nd2NzGmL1(Instruction):
    """Load a row-major matrix of `rows` x `cols` from GM into L1 as fractals.

    Rows start `src_stride` bytes apart in GM.  In L1, element (i, j) lies in block column `j / C0`,
    row `i`; block columns are `dst_c0_stride` rows of 32 bytes apart.  The rows up to a multiple of
    16 and the columns up to a multiple of C0 are filled with zeros.
    """

    opcode = 0x040
    mnemonic = "nd2nz_gm_l1"
    pipe = "MTE2"
    feature = "nd2nz"
    restates = (
        "DataCopy with Nd2NzParams, GM to L1, ndNum = 1: nValue (rows) <= 16384, dValue (cols) "
        "<= 65535, dstNzC0Stride in 32-byte units, dstNzNStride = 1."
    )
    fields = layout(
        Field("dst", "addr", space="l1", align=BLOCK),
        Field("src", "addr", space="gm"),
        Field("dtype", "imm", 4, enum=CUBE_DTYPES),
        Field("rows", "ri", 15, max=16384),
        Field("cols", "ri", 16),
        Field("src_stride", "imm", 32, unit="bytes"),
        Field("dst_c0_stride", "imm", 16, unit="rows of 32 bytes", min=1),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Block columns do not overlap."""
        if o.rows is None or o.cols is None or _round_up(o.rows, FRACTAL) <= o.dst_c0_stride:
            return None
        if o.cols * itemsize(o.dtype) <= BLOCK:
            return None
        return f"dst_c0_stride = {o.dst_c0_stride} is less than rows = {o.rows} padded to 16"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Rows of GM read; whole padded block columns of L1 written."""
        del machine
        size = o.cols * itemsize(o.dtype)
        padded = _round_up(o.rows, FRACTAL) * BLOCK
        stride = o.dst_c0_stride * BLOCK
        return (
            Access("src", "r", Footprint("gm", 0, size, o.rows, o.src_stride)),
            Access("dst", "w", Footprint("l1", 0, padded, ceil_div(size, BLOCK), stride)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy whole blocks and the ragged last block column, over zeros where padding shows."""
        rows, cols = o.rows, o.cols
        if rows <= 0 or cols <= 0:
            return
        size = itemsize(o.dtype)
        whole, rest = divmod(cols * size, BLOCK)
        column = o.dst_c0_stride * BLOCK
        if rest or rows % FRACTAL:
            padded = (ceil_div(cols * size, BLOCK), _round_up(rows, FRACTAL))
            core.l1.view(o.dst, padded, (column, BLOCK), _BLOCK)[...] = _ZERO_BLOCK
        if whole:
            source = core.gm.view(o.src, (rows, whole), (o.src_stride, BLOCK), _BLOCK)
            core.l1.view(o.dst, (rows, whole), (BLOCK, column), _BLOCK)[...] = source
        if rest:
            last, bits = (rows, rest // size), BITS[size]
            source = core.gm.view(o.src + whole * BLOCK, last, (o.src_stride, size), bits)
            core.l1.view(o.dst + whole * column, last, (BLOCK, size), bits)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; rows off the burst boundary cost the path's factor."""
        run = (o.rows, o.cols * itemsize(o.dtype), o.src_stride)
        aligned = costs.is_aligned(machine, o.src, *run)
        return costs.gm_move(machine, "gm_l1", *run, aligned=aligned, traffic=traffic)


class MovGmUb(Instruction):
    """Load `nburst` runs of `len` bytes from GM, `src_stride` bytes apart, into UB, `dst_stride`
    blocks of 32 bytes apart.

    The last block of each run is filled up with zeros.
    """

    opcode = 0x041
    mnemonic = "mov_gm_ub"
    pipe = "MTE2"
    restates = (
        "DataCopyPad GM to UB: blockCount <= 4095, blockLen < 2 MiB bytes, source gap in bytes, "
        "destination gap in 32-byte blocks, right padding with zeros."
    )
    fields = layout(
        Field("dst", "addr", space="ub", align=BLOCK),
        Field("src", "addr", space="gm"),
        Field("nburst", "ri", 12, max=MAX_BURSTS, default=1),
        Field("len", "ri", 21, unit="bytes", max=MAX_BURST_BYTES),
        Field("src_stride", "imm", 32, unit="bytes", default=0),
        Field("dst_stride", "imm", 16, unit="32 bytes", default=0),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Runs that are not whole blocks need padded copies."""
        return _pad_features(o)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in UB do not overlap."""
        return _overlap(o, "dst_stride")

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of GM read; whole blocks of UB written."""
        del machine
        blocks = _round_up(o.len, BLOCK)
        stride = o.dst_stride * BLOCK
        return (
            Access("src", "r", Footprint("gm", 0, o.len, o.nburst, o.src_stride)),
            Access("dst", "w", Footprint("ub", 0, blocks, o.nburst, stride)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy the runs; zero the rest of each last block."""
        count, size = o.nburst, o.len
        if count <= 0 or size <= 0:
            return
        stride = o.dst_stride * BLOCK
        if size % BLOCK:
            last = size - size % BLOCK
            core.ub.view(o.dst + last, (count,), (stride,), _BLOCK)[...] = _ZERO_BLOCK
        run = np.dtype((np.void, size))
        source = core.gm.view(o.src, (count,), (o.src_stride,), run)
        core.ub.view(o.dst, (count,), (stride,), run)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; runs off the burst boundary cost the path's factor."""
        run = (o.nburst, o.len, o.src_stride)
        aligned = costs.is_aligned(machine, o.src, *run)
        return costs.gm_move(machine, "gm_ub", *run, aligned=aligned, traffic=traffic)


class MovUbGm(Instruction):
    """Store `nburst` runs of `len` bytes from UB, `src_stride` blocks of 32 bytes apart, to GM,
    `dst_stride` bytes apart.  Exactly `len` bytes of each run are written."""

    opcode = 0x070
    mnemonic = "mov_ub_gm"
    pipe = "MTE3"
    restates = (
        "DataCopyPad UB to GM: blockCount <= 4095, blockLen < 2 MiB bytes, source gap in 32-byte "
        "blocks, destination gap in bytes."
    )
    fields = layout(
        Field("dst", "addr", space="gm"),
        Field("src", "addr", space="ub", align=BLOCK),
        Field("nburst", "ri", 12, max=MAX_BURSTS, default=1),
        Field("len", "ri", 21, unit="bytes", max=MAX_BURST_BYTES),
        Field("dst_stride", "imm", 32, unit="bytes", default=0),
        Field("src_stride", "imm", 16, unit="32 bytes", default=0),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Runs that are not whole blocks need padded copies."""
        return _pad_features(o)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in GM do not overlap."""
        if o.nburst is None or o.len is None or o.nburst <= 1 or o.len <= o.dst_stride:
            return None
        return f"dst_stride = {o.dst_stride} bytes is less than len = {o.len}"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of UB read, runs of GM written."""
        del machine
        stride = o.src_stride * BLOCK
        return (
            Access("src", "r", Footprint("ub", 0, o.len, o.nburst, stride)),
            Access("dst", "w", Footprint("gm", 0, o.len, o.nburst, o.dst_stride)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy the runs."""
        count, size = o.nburst, o.len
        if count <= 0 or size <= 0:
            return
        run = np.dtype((np.void, size))
        source = core.ub.view(o.src, (count,), (o.src_stride * BLOCK,), run)
        core.gm.view(o.dst, (count,), (o.dst_stride,), run)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; runs off the burst boundary cost the path's factor."""
        run = (o.nburst, o.len, o.dst_stride)
        aligned = costs.is_aligned(machine, o.dst, *run)
        return costs.gm_move(machine, "ub_gm", *run, aligned=aligned, traffic=traffic)


def _pad_features(o: Operands) -> tuple[str, ...]:
    return ("pad_copy",) if o.len is None or o.len % BLOCK else ()


def _overlap(o: Operands, stride: str) -> str | None:
    """What is wrong when runs in UB, `stride` blocks apart, overlap."""
    step = getattr(o, stride)
    if o.nburst is None or o.len is None or o.nburst <= 1 or o.len <= step * BLOCK:
        return None
    return f"{stride} = {step} blocks of 32 bytes is less than len = {o.len} bytes"
