"""Moves that turn rows into fractals or fractals into rows: GM to L1 on MTE2, UB to GM on MTE3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import itemsize
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import BITS, CUBE_DTYPES
from .results import block_footprints

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

MAX_BURSTS = 4095
ROW_DTYPES = ("f32", "f16", "bf16", "i32", "i8", "ui8")
"""Element types of results that are stored row by row."""
_BLOCK = np.dtype((np.void, BLOCK))
_ZERO_BLOCK = np.void(bytes(BLOCK))


def _round_up(value: int, step: int) -> int:
    return ceil_div(value, step) * step


class Nd2NzGmL1(Instruction):
    """Load `nd_num` row-major matrices of `rows` x `cols` from GM into L1 as fractals.

    Matrices start `src_nd_stride` bytes apart in GM, the rows of one `src_stride` bytes.  In L1,
    element (i, j) of a matrix lies in block column `j / C0`, row `i`; block columns are
    `dst_c0_stride` rows of 32 bytes apart, and each matrix starts `dst_nd_stride` rows after the
    one before.  The rows up to a multiple of 16, but not beyond a `dst_nd_stride` other than 0, and
    the columns up to a multiple of C0 are filled with zeros.
    """

    opcode = 0x040
    mnemonic = "nd2nz_gm_l1"
    pipe = "MTE2"
    moves = True
    feature = "nd2nz"
    restates = (
        "DataCopy with Nd2NzParams, GM to L1: ndNum <= 4095, nValue (rows) <= 16384, dValue (cols) "
        "<= 65535, srcNdMatrixStride, dstNzC0Stride and dstNzMatrixStride in 32-byte units, "
        "dstNzNStride = 1."
    )
    fields = layout(
        Field("dst", "addr", space="l1", align=BLOCK),
        Field("src", "addr", space="gm"),
        Field("dtype", "imm", 4, enum=CUBE_DTYPES),
        Field("rows", "ri", 15, max=16384),
        Field("cols", "ri", 16),
        Field("src_stride", "imm", 32, unit="bytes"),
        Field("dst_c0_stride", "imm", 16, unit="rows of 32 bytes", min=1),
        Field("nd_num", "ri", 12, min=1, max=MAX_BURSTS, default=1, bias=1),
        Field("src_nd_stride", "imm", 32, unit="bytes", default=0),
        Field("dst_nd_stride", "imm", 16, unit="rows of 32 bytes", default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Neither block columns nor matrices overlap in L1."""
        if o.rows is None or o.cols is None:
            return None
        height, columns = _height(o), ceil_div(o.cols * itemsize(o.dtype), BLOCK)
        if columns > 1 and height > o.dst_c0_stride:
            return f"dst_c0_stride = {o.dst_c0_stride} is less than rows = {o.rows} padded to 16"
        count = 1 if o.nd_num is None else o.nd_num
        if o.dst_nd_stride < o.rows and (count > 1 or o.dst_nd_stride):
            return f"dst_nd_stride = {o.dst_nd_stride} is less than rows = {o.rows}"
        all_rows = (count - 1) * o.dst_nd_stride + height
        one = (columns - 1) * o.dst_c0_stride + height
        if 1 in (count, columns) or all_rows <= o.dst_c0_stride or one <= o.dst_nd_stride:
            return None
        return (
            f"dst_c0_stride = {o.dst_c0_stride} is less than the {all_rows} rows of all "
            f"{count} matrices, and dst_nd_stride = {o.dst_nd_stride} less than the {one} of one"
        )

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Rows of GM read; whole padded block columns of L1 written."""
        del machine
        return (
            *(Access("src", "r", shape) for shape in _matrices_read(o)),
            *(Access("dst", "w", shape) for shape in _columns_written(o)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy whole blocks and the ragged last block column, over zeros where padding shows."""
        count, rows, cols = o.nd_num, o.rows, o.cols
        if rows <= 0 or cols <= 0:
            return
        size, height = itemsize(o.dtype), _height(o)
        whole, rest = divmod(cols * size, BLOCK)
        column, matrix = o.dst_c0_stride * BLOCK, o.dst_nd_stride * BLOCK
        away = o.src_nd_stride, o.src_stride
        if rest or rows != height:
            padded = (count, ceil_div(cols * size, BLOCK), height)
            core.l1.view(o.dst, padded, (matrix, column, BLOCK), _BLOCK)[...] = _ZERO_BLOCK
        if whole:
            shape = (count, rows, whole)
            source = core.gm.view(o.src, shape, (*away, BLOCK), _BLOCK)
            core.l1.view(o.dst, shape, (matrix, BLOCK, column), _BLOCK)[...] = source
        if rest:
            last, bits = (count, rows, rest // size), BITS[size]
            source = core.gm.view(o.src + whole * BLOCK, last, (*away, size), bits)
            place = o.dst + whole * column
            core.l1.view(place, last, (matrix, BLOCK, size), bits)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer of every row; rows off the burst boundary cost the path's factor."""
        shapes = _matrices_read(o)
        _, _, size, rows, stride = shapes[0]
        run = (rows * len(shapes), size, stride)
        aligned = costs.is_aligned(machine, o.src, *run)
        if len(shapes) > 1:
            aligned &= o.src_nd_stride % machine.dma.burst == 0
        return costs.gm_move(machine, "gm_l1", *run, aligned=aligned, traffic=traffic)


def _height(o: Operands) -> int:
    """Rows of a matrix in L1 with its padding."""
    height = _round_up(o.rows, FRACTAL)
    return min(height, o.dst_nd_stride) if o.dst_nd_stride else height


def _matrices_read(o: Operands) -> tuple[Footprint, ...]:
    """The bytes of all matrices in GM: one range where two strides can tell it, else one a
    matrix."""
    count, rows, size = o.nd_num, o.rows, o.cols * itemsize(o.dtype)
    if count <= 1 or o.src_nd_stride == rows * o.src_stride:
        return (Footprint("gm", 0, size, count * rows, o.src_stride),)
    if rows <= 1 or o.src_stride == size:
        return (Footprint("gm", 0, rows * size, count, o.src_nd_stride),)
    starts = range(0, count * o.src_nd_stride, o.src_nd_stride) if o.src_nd_stride else [0]
    return tuple(Footprint("gm", start, size, rows, o.src_stride) for start in starts)


def _columns_written(o: Operands) -> tuple[Footprint, ...]:
    """The padded block columns of all matrices in L1: one range where two strides can tell it, else
    one a matrix."""
    count, height, columns = o.nd_num, _height(o), ceil_div(o.cols * itemsize(o.dtype), BLOCK)
    column, matrix = o.dst_c0_stride * BLOCK, o.dst_nd_stride * BLOCK
    if count <= 1 or o.dst_nd_stride == height:
        return (Footprint("l1", 0, count * height * BLOCK, columns, column),)
    if columns <= 1:
        return (Footprint("l1", 0, columns * height * BLOCK, count, matrix),)
    starts = range(0, count * matrix, matrix) if matrix else [0]
    return tuple(Footprint("l1", start, height * BLOCK, columns, column) for start in starts)


class Nz2NdUbGm(Instruction):
    """Store a matrix of `rows` x `cols` from fractals in UB to a row-major one in GM.

    In UB element (i, j) lies in block column `j / 16` (`j / 32` for 1-byte elements), row i, as the
    drains leave it; block columns are `src_stride` rows apart.  In GM rows start `dst_stride` bytes
    apart.
    """

    opcode = 0x073
    mnemonic = "nz2nd_ub_gm"
    pipe = "MTE3"
    feature = "nz2nd"
    restates = (
        "DataCopy with Nz2NdParamsFull, CO2 to GM, ndNum = 1: nValue (rows) and dValue (cols) <= "
        "8192; srcNStride in fractals, here in rows; dstDStride in elements, here in bytes."
    )
    fields = layout(
        Field("dst", "addr", space="gm"),
        Field("src", "addr", space="ub", align=BLOCK),
        Field("dtype", "imm", 4, enum=ROW_DTYPES),
        Field("rows", "ri", 14, max=8192),
        Field("cols", "ri", 14, max=8192),
        Field("dst_stride", "imm", 32, unit="bytes"),
        Field("src_stride", "imm", 16, unit="rows", min=1),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Rows do not overlap in GM."""
        if o.rows is None or o.cols is None or o.rows <= 1:
            return None
        row = o.cols * itemsize(o.dtype)
        if o.dst_stride >= row:
            return None
        return f"dst_stride = {o.dst_stride} bytes is less than the {row} of a row"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """The columns in UB read, the rows in GM written."""
        del machine
        size, width = itemsize(o.dtype), _stored_width(o)
        away = o.src_stride * width * size
        blocks = block_footprints("ub", o.rows, o.cols, width, size, away)
        line = Footprint("gm", 0, o.cols * size, o.rows, o.dst_stride)
        return (*(Access("src", "r", shape) for shape in blocks), Access("dst", "w", line))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy whole block columns and the ragged last one."""
        if o.rows <= 0 or o.cols <= 0:
            return
        size, width = itemsize(o.dtype), _stored_width(o)
        row, column = width * size, o.src_stride * width * size
        whole, rest = divmod(o.cols, width)
        if whole:
            run, shape = np.dtype((np.void, row)), (o.rows, whole)
            source = core.ub.view(o.src, shape, (row, column), run)
            core.gm.view(o.dst, shape, (o.dst_stride, row), run)[...] = source
        if rest:
            run = np.dtype((np.void, rest * size))
            source = core.ub.view(o.src + whole * column, (o.rows,), (row,), run)
            core.gm.view(o.dst + whole * row, (o.rows,), (o.dst_stride,), run)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer of every row; rows off the burst boundary cost the path's factor."""
        run = (o.rows, o.cols * itemsize(o.dtype), o.dst_stride)
        aligned = costs.is_aligned(machine, o.dst, *run)
        return costs.gm_move(machine, "ub_gm", *run, aligned=aligned, traffic=traffic)


def _stored_width(o: Operands) -> int:
    """Columns of a block in UB."""
    return max(FRACTAL, BLOCK // itemsize(o.dtype))
