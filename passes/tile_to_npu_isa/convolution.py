"""Filters to L1, and im2col to L0A."""

from __future__ import annotations

from ...dialects.tile.convolution import Im2colOp, LoadFilterOp
from ...dialects.tile.types import FRACTAL_ROWS, round_up
from .copies import gm_address
from .lowering import Lowering, Scalar


def lower_load_filter(low: Lowering, op: LoadFilterOp) -> None:
    """One load a block of channels: the rows of the block at every tap are a matrix of the load."""
    source, target = low.places[op.source], low.places[op.target]
    c0, size, taps = target.type.c0, target.type.itemsize, op.taps
    channels, columns = low.index(op.channels), low.index(op.columns)
    start = gm_address(low, source, list(op.source_offsets))
    strides = source.type.row_major_strides
    blocks = target.type.dims[0] // (taps * c0)

    def block(number: Scalar) -> None:
        skipped = low.mul(number, c0)
        low.emit(
            "nd2nz_gm_l1",
            dst=low.shifted(target.address, low.mul(number, taps * c0 * c0 * size)),
            src=low.shifted(start, low.mul(skipped, strides[-2] * size)),
            dtype=target.type.dtype,
            rows=low.binary("s_min", low.sub(channels, skipped), c0),
            cols=columns,
            src_stride=strides[-2] * size,
            dst_c0_stride=round_up(target.type.dims[0], FRACTAL_ROWS),
            nd_num=taps,
            src_nd_stride=strides[-3] * size,
            dst_nd_stride=c0,
        )

    if blocks == 1:
        block(0)
        return
    with low.loop(low.ceil_div(channels, c0)) as number:
        block(number)


def lower_im2col(low: Lowering, op: Im2colOp) -> None:
    """One load of the part of the matrix that is asked for."""
    source, target = low.places[op.source], low.places[op.target]
    (kh, sh, dh), (kw, sw, dw) = op.along
    left, right = op.pads.get_values()
    low.emit(
        "load3d_l1_l0a",
        dst=target.address,
        src=source.address,
        dtype=source.type.dtype,
        l1_h=low.index(op.height),
        l1_w=op.width.value.data,
        m_pos=low.index(op.row),
        m=low.index(op.m),
        k_pos=low.index(op.column),
        k=low.index(op.k),
        stride_h=sh,
        stride_w=sw,
        filter_h=kh,
        filter_w=kw,
        dilation_h=dh,
        dilation_w=dw,
        pad_left=left,
        pad_right=right,
        pad_top=low.index(op.top),
        pad_bottom=low.index(op.bottom),
        src_c0_stride=round_up(source.type.dims[0], FRACTAL_ROWS),
    )
