"""Elementwise work on UB buffers.

A vector instruction works on rows: `repeat` rows of up to 256 bytes, each operand with its own
distance between rows and between the 32-byte blocks of a row.  Work on a whole buffer sees it as
rows of exactly 256 bytes, whatever its shape; work with a row or a column that spreads goes by the
buffer's own rows, a chunk of columns at a time.  At most 255 rows fit one instruction: more are a
loop, and what is left over is an instruction of its own.
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
from .copies import row_bytes
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
) -> None:
    """Emit an instruction over `shape` = (rows, columns), `lanes` columns at a time; `fixed` are
    the fields that stay the same.

    A repeat is a row, and each chunk of columns another instruction; or a repeat is a chunk, and
    each row another instruction, where that takes fewer.
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
    if rest:
        behind = [
            operand._replace(address=low.shifted(operand.address, full * operand.chunk_bytes))
            for operand in operands
        ]
        _emit_chunks(low, mnemonic, behind, (rows, 1), {**fixed, "mask": rest})


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


def elements(type_: BufferType) -> int:
    """Elements of a buffer in UB, padding included."""
    return type_.nbytes // type_.itemsize


def by_rows(field: str, place: Place, lanes: int, mode: Mode = Mode.FULL) -> Rows:
    """An operand by the buffer's own rows."""
    if mode == Mode.ROW:
        return Rows(field, place.address, 0, 1, lanes * place.type.itemsize)
    if mode == Mode.BLOCK:
        return Rows(field, place.address, 1, 0, 0)
    stride = row_bytes(place.type) // BLOCK_BYTES
    return Rows(field, place.address, stride, 1, lanes * place.type.itemsize)


def lower_unary(low: Lowering, op: UnaryOp) -> None:
    """One instruction over the whole buffer, or fractals to rows."""
    source, target = low.places[op.source], low.places[op.target]
    layouts = (source.type.layout.data, target.type.layout.data)
    if layouts == ("nz", "nd"):
        _fractals_to_rows(low, source, target)
        return
    if layouts[0] != layouts[1]:
        raise low.refuse("rows do not become fractals in UB", f"{source.type} to {target.type}")
    fixed: dict[str, Value] = {"dtype": target.type.dtype}
    emit_flat(low, UNARY[op.kind.data], {"dst": target, "src0": source}, fixed)


def lower_scalar(low: Lowering, op: ScalarOp) -> None:
    """One instruction with an immediate over the whole buffer."""
    source, target = low.places[op.source], low.places[op.target]
    _check_one_layout(low, source, target)
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "scalar": op.value.value.data}
    emit_flat(low, WITH_SCALAR[op.kind.data], {"dst": target, "src0": source}, fixed)


def lower_fill(low: Lowering, op: FillOp) -> None:
    """Every element, padding included."""
    target = low.places[op.target]
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "scalar": op.value.value.data}
    emit_flat(low, "vdup", {"dst": target}, fixed)


def lower_binary(low: Lowering, op: BinaryOp) -> None:
    """Over the whole buffer, or by rows where a source spreads."""
    target = low.places[op.target]
    mnemonic, fixed = BINARY[op.kind.data], dict[str, Value](dtype=target.type.dtype)
    sources = [(low.places[source], mode) for source, mode in op.sources]
    for source, mode in sources:
        if mode == Mode.FULL:
            _check_one_layout(low, source, target)
    if all(mode == Mode.FULL for _, mode in sources):
        places = {"dst": target, "src0": sources[0][0], "src1": sources[1][0]}
        emit_flat(low, mnemonic, places, fixed)
        return
    if target.type.layout.data != "nd":
        raise low.refuse("a source spreads over rows only", f"the destination is {target.type}")
    lanes = REPEAT_BYTES // target.type.itemsize
    operands = [by_rows("dst", target, lanes)]
    for number, (source, mode) in enumerate(sources):
        operands.append(by_rows(f"src{number}", source, lanes, mode))
    cols = row_bytes(target.type) // target.type.itemsize
    rows = elements(target.type) // cols
    emit_rows(low, mnemonic, operands, (rows, cols), lanes, fixed)


def lower_cast(low: Lowering, op: CastOp) -> None:
    """Over the whole buffer where both sides have the same padding, else by rows."""
    source, target = low.places[op.source], low.places[op.target]
    _check_one_layout(low, source, target)
    fixed: dict[str, Value] = {"dtype": target.type.dtype, "src_dtype": source.type.dtype}
    if op.rounding != "even":
        fixed["rounding"] = op.rounding
    if elements(source.type) == elements(target.type):
        emit_flat(low, "vconv", {"dst": target, "src0": source}, fixed)
        return
    lanes = REPEAT_BYTES // max(source.type.itemsize, target.type.itemsize)
    operands = [by_rows("dst", target, lanes), by_rows("src0", source, lanes)]
    rows, cols = (1, *target.type.dims)[-2:]
    emit_rows(low, "vconv", operands, (rows, cols), lanes, fixed)


def _check_one_layout(low: Lowering, source: Place, target: Place) -> None:
    if source.type.layout != target.type.layout:
        raise low.refuse("only a copy changes the layout", f"{source.type} to {target.type}")


def _fractals_to_rows(low: Lowering, source: Place, target: Place) -> None:
    """Copy 16 columns at a time: 8 rows of one 32-byte block each are one repeat."""
    size = source.type.itemsize
    padded = round_up(source.type.dims[0], FRACTAL_ROWS)
    stripe_blocks = FRACTAL_ROWS * size // BLOCK_BYTES
    row_blocks = row_bytes(target.type) // BLOCK_BYTES

    def block(stripe: Scalar, part: int) -> None:
        start = low.mul(stripe, padded * FRACTAL_ROWS * size)
        origin = low.shifted(source.address, part * BLOCK_BYTES)
        place = low.shifted(target.address, part * BLOCK_BYTES)
        operands = (
            ("dst", low.shifted(place, low.mul(stripe, FRACTAL_ROWS * size)), row_blocks),
            ("src0", low.shifted(origin, start), stripe_blocks),
        )
        _columns_of_blocks(low, operands, source.type)

    stripes, rest = divmod(row_blocks, stripe_blocks)

    def stripe(number: Scalar) -> None:
        for part in range(stripe_blocks):
            block(number, part)

    low.repeat(stripes, stripe, unroll=FEW)
    for part in range(rest):
        block(stripes, part)


def _columns_of_blocks(
    low: Lowering, operands: Sequence[tuple[str, Address, int]], type_: BufferType
) -> None:
    """Copy one block of each row; operands are fields, addresses and blocks from row to row."""
    eights, rest = divmod(type_.dims[0], 8)
    lanes = REPEAT_BYTES // type_.itemsize
    fixed: dict[str, Value] = {"dtype": type_.dtype}
    if eights:
        rows = [Rows(field, address, 8 * step, step, 0) for field, address, step in operands]
        emit_rows(low, "vcopy", rows, (eights, lanes), lanes, fixed)
    if rest:
        rows = [
            Rows(field, low.shifted(address, eights * 8 * step * BLOCK_BYTES), 8 * step, step, 0)
            for field, address, step in operands
        ]
        emit_rows(low, "vcopy", rows, (1, rest * type_.c0), lanes, fixed)
