"""The drains of the matrix unit's results into UB, through the vector pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import is_float, itemsize
from ...core.kernels.rescale import Rescaling, rescale
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import MAX_EXTENT, ROW_BYTES
from .results import (
    OFFSET_BITS,
    WORD_BYTES,
    block_footprints,
    parameters,
    put_blocks,
    source_footprint,
    take,
)

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Array, Core

RESULT_DTYPES = ("f32", "f16", "i32")
SCALED_DTYPES = ("f16", "i8", "ui8")

_ADDRESSES = (
    Field("dst", "addr", space="ub", align=BLOCK),
    Field("src", "addr", space="l0c", align=ROW_BYTES),
)
_SIZES = (
    Field("m", "ri", 12, max=MAX_EXTENT),
    Field("n", "ri", 12, max=MAX_EXTENT),
    Field("src_stride", "imm", 16, unit="rows", default=0),
    Field("dst_stride", "imm", 16, unit="rows", min=1),
    Field("relu", "imm", 1, default=0),
)


class Drain(Instruction):
    """Base of the moves of an m x n result from L0C to UB."""

    pipe = "V"

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Block columns in UB do not overlap."""
        if o.m is None or o.n is None or o.n <= _width(o) or o.m <= o.dst_stride:
            return None
        return f"dst_stride = {o.dst_stride} rows is less than m = {o.m}"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """m rows of each block column on both sides."""
        del machine
        size, width = itemsize(o.dtype), _width(o)
        columns = ceil_div(o.n, FRACTAL) * FRACTAL
        away = o.dst_stride * width * size
        written = block_footprints("ub", o.m, columns, width, size, away)
        return (
            Access("src", "r", source_footprint(o)),
            *(Access("dst", "w", shape) for shape in written),
        )

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Accumulator bytes at the path's rate."""
        del traffic
        return costs.local_move(machine, "l0c_ub", ceil_div(o.n, FRACTAL) * o.m * ROW_BYTES)


class MovL0cUb(Drain):
    """Move an m x n result from L0C to UB, converting and optionally clamping at 0 on the way.

    Both sides hold `[ceil(n / 16)][rows][16]`; block columns are `src_stride` and `dst_stride` rows
    apart.  A `src_stride` of 0 means packed as `mmad` leaves it: m padded to 16.  Rows beyond m do
    not move; the last block column moves whole.  With dtype `i32` L0C holds i32, otherwise f32.
    """

    opcode = 0x100
    mnemonic = "mov_l0c_ub"
    restates = (
        "DataCopy CO1 to CO2 with DataCopyEnhancedParams (L0C to UB through the vector pipe): f32 "
        "kept or converted to f16, i32 kept, optional relu."
    )
    fields = layout(*_ADDRESSES, Field("dtype", "imm", 4, enum=RESULT_DTYPES), *_SIZES)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Convert after the clamp."""
        if o.m <= 0 or o.n <= 0:
            return
        source = take(core.l0c, o, "f32" if is_float(o.dtype) else "i32")
        _store(core, o, rescale(source, Rescaling(o.dtype, clamp="relu" if o.relu else "none")))


class DeqL0cUb(Drain):
    """Move an m x n i32 result from L0C to UB, scaled to f16 or to 8-bit integers.

    L0C holds `[ceil(n / 16)][rows][16]`, UB the same for f16 and `[ceil(n / 32)][rows][32]` for
    8-bit results, of which the last block column may be half used; strides as for `mov_l0c_ub`.
    A result is x as f32 times `scale`, whose low 13 bits do not count; then clamped at 0 with
    `relu`; then as f16, saturated, or rounded to nearest, `offset` added and saturated.
    """

    opcode = 0x101
    mnemonic = "deq_l0c_ub"
    feature = "l0c_ub_deq"
    restates = (
        "DataCopy CO1 to CO2 with DataCopyEnhancedParams, deqScale DEQ or DEQ8 (sidStoreMode 2: "
        "16-column results side by side), optional relu."
    )
    fields = layout(
        *_ADDRESSES,
        Field("dtype", "imm", 4, enum=SCALED_DTYPES),
        *_SIZES,
        Field("scale", "f32"),
        Field("offset", "imm", OFFSET_BITS, min=-(1 << (OFFSET_BITS - 1)), default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Only integers have an offset."""
        if o.dtype == "f16" and o.offset:
            return f"offset = {o.offset} goes with 8-bit results, not with f16"
        return super().constraint(o)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Scale, clamp, round."""
        if o.m <= 0 or o.n <= 0:
            return
        _scaled(core, o, np.array(o.scale, np.float32), o.offset)


class VDeqL0cUb(Drain):
    """Move an m x n i32 result from L0C to UB, scaled by a factor of each column.

    As `deq_l0c_ub`, with scale and offset of column j in word j at `params`, one word for each
    column of the 16-column blocks moved: bits 0..31 the scale as f32, bits 37..45 the offset,
    signed; the other bits are ignored.
    """

    opcode = 0x102
    mnemonic = "vdeq_l0c_ub"
    feature = "l0c_ub_deq"
    restates = (
        "DataCopy CO1 to CO2 with DataCopyEnhancedParams, deqScale VDEQ or VDEQ8 (sidStoreMode 2), "
        "deqTensorAddr in UB, optional relu."
    )
    fields = layout(
        *_ADDRESSES,
        Field("dtype", "imm", 4, enum=SCALED_DTYPES),
        *_SIZES,
        Field("params", "addr", space="ub", align=BLOCK),
    )

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """As every drain, and the parameters."""
        size = _channels(o) * WORD_BYTES if o.m else 0
        words = Access("params", "r", Footprint("ub", 0, size))
        return (*super().footprints(o, machine), words)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Scale, clamp, round."""
        if o.m <= 0 or o.n <= 0:
            return
        scale, offset = parameters(core.ub, o.params, _channels(o))
        _scaled(core, o, scale, 0 if o.dtype == "f16" else offset)


def _width(o: Operands) -> int:
    """Columns of a block in UB."""
    return max(FRACTAL, BLOCK // itemsize(o.dtype))


def _channels(o: Operands) -> int:
    """Columns that move."""
    return ceil_div(o.n, FRACTAL) * FRACTAL


def _scaled(core: Core, o: Operands, scale: Array, offset: Array | int) -> None:
    how = Rescaling(o.dtype, scale, offset, "relu" if o.relu else "none")
    _store(core, o, rescale(take(core.l0c, o, "i32"), how))


def _store(core: Core, o: Operands, blocks: Array) -> None:
    width = _width(o)
    put_blocks(core.ub, o.dst, blocks, width, o.dst_stride * width * blocks.itemsize)
