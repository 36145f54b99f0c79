"""Transposes in UB."""

from __future__ import annotations

from ...dialects.npu_isa.instructions.lanewise import MAX_REPEAT
from ...dialects.tile.types import BLOCK_BYTES, FRACTAL_ROWS
from ...dialects.tile.vector import TransposeOp
from .lowering import FEW, Lowering, Scalar


def lower_transpose(low: Lowering, op: TransposeOp) -> None:
    """Sixteen rows at a time: a repeat turns one block of each into rows of the target."""
    source, target = low.places[op.source], low.places[op.target]
    rows, cols = source.type.dims
    c0, size = source.type.c0, source.type.itemsize
    source_row, target_row = source.type.row_bytes, target.type.row_bytes

    def piece(strip: Scalar, first: Scalar, repeat: int) -> None:
        origin = low.shifted(source.address, low.mul(strip, FRACTAL_ROWS * source_row))
        place = low.shifted(target.address, low.mul(strip, FRACTAL_ROWS * size))
        low.emit(
            "vnchwconv",
            dst=low.shifted(place, low.mul(first, c0 * target_row)),
            src=low.shifted(origin, low.mul(first, BLOCK_BYTES)),
            dtype=source.type.dtype,
            repeat=repeat,
            dst_row_stride=target_row // BLOCK_BYTES,
            src_row_stride=source_row // BLOCK_BYTES,
            dst_rep_stride=c0 * target_row // BLOCK_BYTES,
            src_rep_stride=1,
        )

    def strip(number: Scalar) -> None:
        full, rest = divmod(cols // c0, MAX_REPEAT)
        low.repeat(full, lambda i: piece(number, low.mul(i, MAX_REPEAT), MAX_REPEAT))
        if rest:
            piece(number, full * MAX_REPEAT, rest)

    low.repeat(rows // FRACTAL_ROWS, strip, unroll=FEW)
