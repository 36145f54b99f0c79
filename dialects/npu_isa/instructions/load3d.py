"""Loads from L1 to L0A that lay out the windows of a convolution as rows of a matrix, on MTE1."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.dtypes import itemsize
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import CUBE_DTYPES, FRACTAL_BYTES, Extent, cube_features

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

_BLOCK = np.dtype((np.void, BLOCK))
_ZERO_BLOCK = np.void(bytes(BLOCK))
_KEPT = 512
"""Gathers kept: each takes 8 bytes a block of L0A it fills, 16 KiB for one that fills 64 KiB."""

_PADDING = -1
"""In a gather, a block that comes from nowhere."""

Indices = npt.NDArray[np.intp]


class Load3DL1L0A(Instruction):
    """Load `m` x `k` of the matrix whose rows are the windows of an image (im2col) into L0A.

    `src` points at the first element of the image in L1: `l1_h` x `l1_w` blocks of C0 channels,
    row by row, the next C0 channels `src_c0_stride` blocks of 32 bytes further on, at least as
    many as the image has.  With

        out_w = (l1_w + pad_left + pad_right - dilation_w * (filter_w - 1) - 1) // stride_w + 1

    row `oh * out_w + ow`, column `((c1 * filter_h + kh) * filter_w + kw) * C0 + c0` of the matrix
    is channel `c1 * C0 + c0` of the image at row `oh * stride_h + kh * dilation_h - pad_top`,
    column `ow * stride_w + kw * dilation_w - pad_left`, and zero where that lies outside the image
    or the row beyond the last window.

    Rows from `m_pos` and columns from `k_pos` (both counts of columns multiples of C0) are loaded,
    packed as `load2d_l1_l0a` packs `m` x `k`: whole fractals move, so that the rows after `m` up
    to a multiple of 16 are loaded too.
    """

    opcode = 0x062
    mnemonic = "load3d_l1_l0a"
    pipe = "MTE1"
    moves = True
    feature = "load3d"
    restates = (
        "LoadData with LoadData3DParamsV2, L1 to L0A: l1H, l1W <= 32767, padList <= 255, "
        "mStartPt, mExtension, kStartPt, kExtension (whole fractals), strides <= 63, filters and "
        "dilations <= 255, pad value 0.  Its channel blocks lie l1H * l1W blocks apart; any other "
        "distance is granted."
    )
    fields = layout(
        Field("dst", "addr", space="l0a", align=FRACTAL_BYTES),
        Field("src", "addr", space="l1", align=BLOCK),
        Field("dtype", "imm", 4, enum=CUBE_DTYPES),
        Field("l1_h", "ri", 15),
        Field("l1_w", "imm", 15, min=1),
        Field("m_pos", "ri", 12),
        Field("m", "ri", 12),
        Field("k_pos", "ri", 12),
        Field("k", "ri", 12),
        Field("stride_h", "imm", 6, min=1),
        Field("stride_w", "imm", 6, min=1),
        Field("filter_h", "imm", 8, min=1),
        Field("filter_w", "imm", 8, min=1),
        Field("dilation_h", "imm", 8, min=1),
        Field("dilation_w", "imm", 8, min=1),
        Field("pad_left", "imm", 8),
        Field("pad_right", "imm", 8),
        Field("pad_top", "ri", 8),
        Field("pad_bottom", "ri", 8),
        Field("src_c0_stride", "imm", 16, unit="rows of 32 bytes", min=1),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Channel blocks that do not follow each other, and what the element type needs."""
        dense = o.l1_h is not None and o.src_c0_stride == o.l1_h * o.l1_w
        distance = () if dense else ("load3d_c0_stride",)
        return ("load3d", *distance, *cube_features(o.dtype))

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Columns come in whole blocks, channel blocks do not overlap, windows fit the padded
        image."""
        c0 = BLOCK // itemsize(o.dtype)
        for name in ("k_pos", "k"):
            value = getattr(o, name)
            if value is not None and value % c0:
                return f"{name} = {value} is not a multiple of C0 = {c0}"
        if o.l1_h is not None and o.l1_h * o.l1_w > o.src_c0_stride:
            size = f"l1_h * l1_w = {o.l1_h * o.l1_w}"
            return f"src_c0_stride = {o.src_c0_stride} is less than {size}"
        reach, padded = _reach(o.dilation_w, o.filter_w), o.l1_w + o.pad_left + o.pad_right
        if reach > padded:
            return f"a window of {reach} columns does not fit the {padded} of the padded image"
        if None in (o.l1_h, o.pad_top, o.pad_bottom):
            return None
        reach, padded = _reach(o.dilation_h, o.filter_h), o.l1_h + o.pad_top + o.pad_bottom
        if reach > padded:
            return f"a window of {reach} rows does not fit the {padded} of the padded image"
        return None

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """The image in every channel block that columns lie in; whole fractals written."""
        del machine
        extent, blocks = Extent.of(o.m, o.k, o.dtype), _channel_blocks(o)
        stride = o.src_c0_stride * BLOCK
        # An image is no larger than the distance of its channel blocks, whatever bounds l1_h.
        size = min(o.l1_h * o.l1_w * BLOCK, stride) if o.m else 0
        reads = [Footprint("l1", blocks.start * stride, size, len(blocks), stride)]
        if blocks and blocks.start:
            # Where k_pos is an upper bound, the span has to cover what smaller values read.
            reads.append(Footprint("l1", 0, min(size, BLOCK)))
        written = extent.footprints("l0a", extent.rows * FRACTAL)
        return (
            *(Access("src", "r", shape) for shape in reads),
            *(Access("dst", "w", shape) for shape in written),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Gather blocks of 32 bytes, zeros where they lie in the padding."""
        if o.m <= 0 or o.k <= 0:
            return
        extent, blocks = Extent.of(o.m, o.k, o.dtype), _channel_blocks(o)
        stride, size = o.src_c0_stride, o.l1_h * o.l1_w
        start = o.src + blocks.start * stride * BLOCK
        source = core.l1.flat(start, (len(blocks) - 1) * stride + size if size else 0, _BLOCK)
        target = core.l0a.flat(o.dst, extent.rows * extent.depth * FRACTAL, _BLOCK)
        found, padding = _gather(
            _Axis(o.l1_h, o.stride_h, o.filter_h, o.dilation_h, o.pad_top, o.pad_bottom),
            _Axis(o.l1_w, o.stride_w, o.filter_w, o.dilation_w, o.pad_left, o.pad_right),
            stride,
            (o.m_pos, extent.rows),
            (o.k_pos // extent.c0, extent.depth),
        )
        if len(padding) == len(target):
            target[...] = _ZERO_BLOCK
            return
        # Clipping touches padding only; `raise` would go through a copy of the target.
        np.take(source, found, out=target, mode="clip")
        if len(padding):
            target[padding] = _ZERO_BLOCK

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Whole fractals, by the rows of the image each touches."""
        del traffic
        width = _Axis(o.l1_w, o.stride_w, o.filter_w, o.dilation_w, o.pad_left, o.pad_right).windows
        size = Extent.of(o.m, o.k, o.dtype).depth * FRACTAL_BYTES
        return costs.im2col(machine, o.m, size, start=o.m_pos, width=width, stride=o.stride_w)


class _Axis(NamedTuple):
    """One axis of the image: its size and how windows lie along it."""

    size: int
    stride: int
    taps: int
    dilation: int
    before: int
    after: int

    @property
    def windows(self) -> int:
        """How many windows lie along the axis."""
        spare = self.size + self.before + self.after - _reach(self.dilation, self.taps)
        return spare // self.stride + 1

    def positions(self, window: Indices, tap: Indices) -> Indices:
        """Where taps [k] of windows [m] lie on the axis, as [m, k]; outside it in the padding."""
        return (window * self.stride - self.before)[:, None] + tap * self.dilation


def _reach(dilation: int, taps: int) -> int:
    """Elements from the first to the last tap of a window."""
    return dilation * (taps - 1) + 1


def _channel_blocks(o: Operands) -> range:
    """The channel blocks in which the columns asked for lie."""
    block = o.filter_h * o.filter_w * (BLOCK // itemsize(o.dtype))
    return range(o.k_pos // block, ceil_div(o.k_pos + o.k, block) if o.k else o.k_pos // block)


@lru_cache(_KEPT)
def _gather(
    rows: _Axis, columns: _Axis, stride: int, m: tuple[int, int], k: tuple[int, int]
) -> tuple[Indices, Indices]:
    """Which block of L1 each block of L0A comes from, and which blocks of L0A are padding.

    `m` is the first row of the matrix and how many fractals of rows, `k` the first block of columns
    and how many.  Blocks of L1 count from the channel block of the first column; padding has any.
    """
    oh, ow = np.divmod(m[0] + np.arange(m[1] * FRACTAL), columns.windows)
    c1, tap = np.divmod(k[0] + np.arange(k[1]), rows.taps * columns.taps)
    kh, kw = np.divmod(tap, columns.taps)
    y, x = rows.positions(oh, kh), columns.positions(ow, kw)
    inside = (oh < rows.windows)[:, None] & (y >= 0) & (y < rows.size)
    inside &= (x >= 0) & (x < columns.size)
    index = np.where(inside, (c1 - c1[0]) * stride + y * columns.size + x, _PADDING)
    # From [m, k] to the order of L0A: fractals of 16 rows, all of k in each.
    packed = index.reshape(-1, FRACTAL, k[1]).transpose(0, 2, 1).reshape(-1)
    return packed, np.flatnonzero(packed == _PADDING)
