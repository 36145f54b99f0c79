"""Elementwise work on UB buffers.

A vector instruction works on rows: `repeat` rows of up to 256 bytes, each operand with its own
distance between rows and between the 32-byte blocks of a row.  Work on whole buffers sees them as
rows of exactly 256 bytes, whatever their shape; work with a row or a column that spreads, or with a
sub-view whose rows lie apart, goes by the buffer's own rows, a chunk of columns at a time.  Columns
that do not fill 256 bytes are taken a block of 8 rows at a time.  At most 255 rows fit one
instruction: more are a loop, and what is left over is an instruction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...dialects.npu_isa.instructions.lanes import REPEAT_BYTES
from ...dialects.npu_isa.instructions.lanewise import MAX_REPEAT
from ...dialects.npu_isa.ops import Address, Value
from ...dialects.tile.kinds import Binary, Mode, Unary
from ...dialects.tile.memory import FillOp
from ...dialects.tile.types import BLOCK_BYTES, FRACTAL_ROWS, BufferType, round_up
from ...dialects.tile.vector import BinaryOp, CastOp, ScalarOp, UnaryOp
from .lowering import FEW, Lowering, Place, Scalar

UNARY: dict[Unary, str] = {
    Unary.EXP: "vexp",
    Unary.LN: "vln",
    Unary.SQRT: "vsqrt",
    Unary.RSQRT: "vrsqrt",
    Unary.REC: "vrec",
    Unary.ABSOLUTE: "vabs",
    Unary.RELU: "vrelu",
    Unary.COPY: "vcopy",
}
BINARY: dict[Binary, str] = {
    Binary.ADD: "vadd",
    Binary.SUB: "vsub",
    Binary.MUL: "vmul",
    Binary.DIV: "vdiv",
    Binary.MAXIMUM: "vmax",
    Binary.MINIMUM: "vmin",
}
WITH_SCALAR: dict[Binary, str] = {
    Binary.ADD: "vadds",
    Binary.MUL: "vmuls",
    Binary.MAXIMUM: "vmaxs",
    Binary.MINIMUM: "vmins",
}


class Rows(NamedTuple):
    """One operand seen as rows: the distances in blocks of 32 bytes from row to row and from block
    to block, and in bytes from one chunk of columns to the next."""

    field: str
    address: Address
    row_stride: int
    block_stride: int
    chunk_bytes: int


def emit_rows(
    low: Lowering,
    mnemonic: str,
    operands: Sequence[Rows],
    shape: tuple[int, int],
    lanes: int,
    fixed: dict[str, Value],
    c0: int = 0,
) -> None:
    """Emit an instruction over `shape` = (rows, columns), `lanes` columns at a time; `fixed` are
    the fields that stay the same, `c0` the columns of a block if that is one number.

    A repeat is a row, and each chunk of columns another instruction; or a repeat is a chunk, and
    each row another instruction, where that takes fewer. What is left of the columns is taken a
    block of 8 rows a repeat where that takes fewer repeats.
    """
    rows, cols = shape
    full, rest = divmod(cols, lanes)
    if full > rows:
        turned = [
            operand._replace(
                row_stride=operand.chunk_bytes // BLOCK_BYTES,
                chunk_bytes=operand.row_stride * BLOCK_BYTES,
            )
            for operand in operands
        ]
        _emit_chunks(low, mnemonic, turned, (full, rows), {**fixed, "mask": lanes})
    elif full:
        _emit_chunks(low, mnemonic, operands, (rows, full), {**fixed, "mask": lanes})
    if not rest:
        return
    behind = [
        operand._replace(address=low.shifted(operand.address, full * operand.chunk_bytes))
        for operand in operands
    ]
    if c0 and -(-rest // c0) * _repeats_by_blocks(rows) < rows:
        for block in range(-(-rest // c0)):
            column = [
                operand._replace(
                    address=low.shifted(operand.address, block * operand.block_stride * BLOCK_BYTES)
                )
                for operand in behind
            ]
            emit_blocks(low, mnemonic, column, rows, c0, fixed)
    else:
        _emit_chunks(low, mnemonic, behind, (rows, 1), {**fixed, "mask": rest})


EIGHT = 8
"""Blocks, or rows of one block, that a repeat takes."""


def _repeats_by_blocks(rows: int) -> int:
    """Repeats for one block of each row; an instruction takes as long as two at least."""
    eights, rest = divmod(rows, EIGHT)
    return (max(eights, 2) if eights else 0) + (2 if rest else 0)


def emit_blocks(
    low: Lowering,
    mnemonic: str,
    operands: Sequence[Rows],
    rows: int,
    c0: int,
    fixed: dict[str, Value],
) -> None:
    """Emit an instruction over the first block, of `c0` elements, of each row."""
    eights, rest = divmod(rows, EIGHT)
    by_eight = [
        operand._replace(block_stride=operand.row_stride, row_stride=EIGHT * operand.row_stride)
        for operand in operands
    ]
    if eights:
        _emit_chunks(low, mnemonic, by_eight, (eights, 1), {**fixed, "mask": EIGHT * c0})
    if rest:
        behind = [
            operand._replace(
                address=low.shifted(operand.address, eights * operand.row_stride * BLOCK_BYTES)
            )
            for operand in by_eight
        ]
        _emit_chunks(low, mnemonic, behind, (1, 1), {**fixed, "mask": rest * c0})


def _emit_chunks(
    low: Lowering,
    mnemonic: str,
    operands: Sequence[Rows],
    shape: tuple[int, int],
    fixed: dict[str, Value],
) -> None:
    """Emit an instruction over `shape` = (rows, chunks), at most 255 rows at a time."""
    rows, chunks = shape

    def piece(row: Scalar, chunk: Scalar, repeat: int) -> None:
        fields = dict(fixed)
        for operand in operands:
            address = low.shifted(operand.address, low.mul(chunk, operand.chunk_bytes))
            skipped = low.mul(row, operand.row_stride * BLOCK_BYTES)
            fields[operand.field] = low.shifted(address, skipped)
            fields[f"{operand.field}_blk_stride"] = operand.block_stride
            fields[f"{operand.field}_rep_stride"] = operand.row_stride
        low.emit(mnemonic, **fields, repeat=repeat)

    def chunk(number: Scalar) -> None:
        full, rest = divmod(rows, MAX_REPEAT)
        low.repeat(full, lambda i: piece(low.mul(i, MAX_REPEAT), number, MAX_REPEAT))
        if rest:
            piece(full * MAX_REPEAT, number, rest)

    low.repeat(chunks, chunk, unroll=FEW)


def emit_flat(
    low: Lowering, mnemonic: str, places: dict[str, Place], fixed: dict[str, Value]
) -> None:
    """Emit an elementwise instruction over whole buffers with as many elements, by field."""
    count = elements(next(iter(places.values())).type)
    lanes = REPEAT_BYTES // max(place.type.itemsize for place in places.values())
    operands = [
        Rows(name, place.address, lanes * place.type.itemsize // BLOCK_BYTES, 1, 0)
        for name, place in places.items()
    ]
    full, rest = divmod(count, lanes)
    if full:
        emit_rows(low, mnemonic, operands, (full, lanes), lanes, fixed)
    if rest:
        behind = [
            operand._replace(
                address=low.shifted(operand.address, full * operand.row_stride * BLOCK_BYTES)
            )
            for operand in operands
        ]
        emit_rows(low, mnemonic, behind, (1, rest), lanes, fixed)


def emit_elementwise(
    low: Lowering,
    mnemonic: str,
    operands: Sequence[tuple[str, Place, Mode]],
    fixed: dict[str, Value],
) -> None:
    """Emit an elementwise instruction over fields, their buffers and how these spread; the first
    is the destination. Over whole buffers where all have the same padding, else by rows."""
    target = operands[0][1]
    whole = all(mode == Mode.FULL and not place.type.strides.data for _, place, mode in operands)
    if whole and len({elements(place.type) for _, place, _ in operands}) == 1:
        emit_flat(low, mnemonic, {name: place for name, place, _ in operands}, fixed)
        return
    for _, place, _ in operands:
        if place.type.layout.data != "nd":
            raise low.refuse("fractals are no rows to spread over", f"an operand is {place.type}")
    widths = {place.type.itemsize for _, place, _ in operands}
    lanes = REPEAT_BYTES // max(widths)
    c0 = target.type.c0 if len(widths) == 1 else 0
    rows, cols = (1, *target.type.dims)[-2:]
    shape = (rows, target.type.padded_cols if c0 else cols)
    by = [by_rows(name, place, lanes, mode) for name, place, mode in operands]
    emit_rows(low, mnemonic, by, shape, lanes, fixed, c0)


def elements(type_: BufferType) -> int:
    """Elements of a buffer in UB, padding included."""
    return type_.nbytes // type_.itemsize


def by_rows(field: str, place: Place, lanes: int, mode: Mode = Mode.FULL) -> Rows:
    """An operand by the buffer's own rows."""
    if mode == Mode.ROW:
        return Rows(field, place.address, 0, 1, lanes * place.type.itemsize)
    if mode == Mode.BLOCK:
        return Rows(field, place.address, 1, 0, 0)
    stride = place.type.row_bytes // BLOCK_BYTES
    return Rows(field, place.address, stride, 1, lanes * place.type.itemsize)


def lower_unary(low: Lowering, op: UnaryOp) -> None:
    """One instruction over the whole buffer, or fractals to rows."""
    source, target = low.places[op.source], low.places[op.target]
    layouts = (source.type.layout.data, target.type.layout.data)
    if layouts == ("nz", "nd"):
        _fractals_to_rows(low, source, target)
        return
    fixed: dict[str, Value] = {"dtype": target.type.dtype}
    _emit_unary(low, UNARY[op.kind.data], source, target, fixed)


def lower_scalar(low: Lowering, op: ScalarOp) -> None:
    """One instruction with an immediate over the whole buffer."""
    source, target = low.places[op.source], low.places[op.target]
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "scalar": op.value.value.data}
    _emit_unary(low, WITH_SCALAR[op.kind.data], source, target, fixed)


def lower_fill(low: Lowering, op: FillOp) -> None:
    """Every element, padding included."""
    target = low.places[op.target]
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "scalar": op.value.value.data}
    emit_elementwise(low, "vdup", [("dst", target, Mode.FULL)], fixed)


def lower_binary(low: Lowering, op: BinaryOp) -> None:
    """Over the whole buffer, or by rows where a source spreads."""
    target = low.places[op.target]
    operands = [("dst", target, Mode.FULL)]
    for number, (source, mode) in enumerate(op.sources):
        if mode == Mode.FULL:
            _check_one_layout(low, low.places[source], target)
        operands.append((f"src{number}", low.places[source], mode))
    emit_elementwise(low, BINARY[op.kind.data], operands, {"dtype": target.type.dtype})


def lower_cast(low: Lowering, op: CastOp) -> None:
    """Over the whole buffer where both sides have the same padding, else by rows."""
    source, target = low.places[op.source], low.places[op.target]
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "src_dtype": source.type.dtype}
    if op.rounding != "even":
        fixed["rounding"] = op.rounding
    _emit_unary(low, "vconv", source, target, fixed)


def _emit_unary(
    low: Lowering, mnemonic: str, source: Place, target: Place, fixed: dict[str, Value]
) -> None:
    """An instruction with one source of the destination's layout."""
    _check_one_layout(low, source, target)
    operands = [("dst", target, Mode.FULL), ("src0", source, Mode.FULL)]
    emit_elementwise(low, mnemonic, operands, fixed)


def _check_one_layout(low: Lowering, source: Place, target: Place) -> None:
    if source.type.layout != target.type.layout:
        raise low.refuse("only a copy changes the layout", f"{source.type} to {target.type}")


def _fractals_to_rows(low: Lowering, source: Place, target: Place) -> None:
    """Copy 16 columns at a time, block by block."""
    rows, size = source.type.dims[0], source.type.itemsize
    padded = round_up(rows, FRACTAL_ROWS)
    stripe_blocks = FRACTAL_ROWS * size // BLOCK_BYTES
    row_blocks = target.type.row_bytes // BLOCK_BYTES

    def block(stripe: Scalar, part: int) -> None:
        start = low.mul(stripe, padded * FRACTAL_ROWS * size)
        origin = low.shifted(source.address, part * BLOCK_BYTES)
        place = low.shifted(target.address, part * BLOCK_BYTES)
        operands = (
            Rows("dst", low.shifted(place, low.mul(stripe, FRACTAL_ROWS * size)), row_blocks, 1, 0),
            Rows("src0", low.shifted(origin, start), stripe_blocks, 1, 0),
        )
        dtype: dict[str, Value] = {"dtype": source.type.dtype}
        emit_blocks(low, "vcopy", operands, rows, source.type.c0, dtype)

    stripes, rest = divmod(target.type.padded_cols * size // BLOCK_BYTES, stripe_blocks)

    def stripe(number: Scalar) -> None:
        for part in range(stripe_blocks):
            block(number, part)

    low.repeat(stripes, stripe, unroll=FEW)
    for part in range(rest):
        block(stripes, part)
