"""Work on UB buffers that changes the number of elements: row reductions and broadcasts."""

from __future__ import annotations

from math import inf

from ...dialects.npu_isa.instructions.lanes import REPEAT_BYTES
from ...dialects.npu_isa.instructions.lanewise import MAX_REPEAT
from ...dialects.npu_isa.ops import Address, Value
from ...dialects.tile.kinds import Reduce
from ...dialects.tile.types import BLOCK_BYTES
from ...dialects.tile.vector import BroadcastOp, ReduceOp
from .lowering import Lowering, Place, Scalar
from .vector import emit_flat

WHOLE: dict[Reduce, str] = {Reduce.ADD: "vcadd", Reduce.MAX: "vcmax", Reduce.MIN: "vcmin"}
"""Instruction that reduces each repeat to one element."""
PAIR: dict[Reduce, str] = {Reduce.ADD: "vadd", Reduce.MAX: "vmax", Reduce.MIN: "vmin"}
"""Instruction that combines two partial results."""
GROUP = 8
"""Elements that one repeat of a broadcast takes."""


def lower_reduce(low: Lowering, op: ReduceOp) -> None:
    """Each row to one element: a chunk of columns at a time, the partial results combined."""
    source, target = low.places[op.source], low.places[op.target]
    if source.type.layout.data != "nd":
        raise low.refuse("only rows are reduced", f"the source is {source.type}")
    lanes = REPEAT_BYTES // source.type.itemsize
    full, rest = divmod(op.cols.value.data, lanes)
    mnemonic, fixed = WHOLE[op.kind.data], dict[str, Value](dtype=source.type.dtype)
    chunks = full + (rest > 0)
    scratch = None if op.scratch is None else low.places[op.scratch]
    if chunks > 1 and scratch is None:
        raise low.refuse(
            "a row wider than one vector needs scratch",
            f"{op.cols.value.data} columns, a vector has {lanes} lanes",
        )

    def partial(into: Place, chunk: Scalar, mask: int) -> None:
        start = low.shifted(source.address, low.mul(chunk, REPEAT_BYTES))
        _reduce_rows(low, mnemonic, (into, source, start), mask, fixed)

    def combined(chunk: Scalar, mask: int) -> None:
        assert scratch is not None
        partial(scratch, chunk, mask)
        places = {"dst": target, "src0": target, "src1": scratch}
        emit_flat(low, PAIR[op.kind.data], places, fixed)

    partial(target, 0, lanes if full else rest)
    low.repeat(full - 1, lambda i: combined(low.add(i, 1), lanes))
    if full and rest:
        combined(full, rest)


def _reduce_rows(
    low: Lowering,
    mnemonic: str,
    operands: tuple[Place, Place, Address],
    mask: int,
    fixed: dict[str, Value],
) -> None:
    """Reduce `mask` columns from an address on, for each row of the source."""
    into, source, start = operands
    step = source.type.row_bytes
    rows = (1, *source.type.dims)[-2]

    def piece(first: Scalar, repeat: int) -> None:
        low.emit(
            mnemonic,
            dst=low.shifted(into.address, low.mul(first, into.type.itemsize)),
            src0=low.shifted(start, low.mul(first, step)),
            src0_rep_stride=step // BLOCK_BYTES,
            mask=mask,
            repeat=repeat,
            **fixed,
        )

    full, rest = divmod(rows, MAX_REPEAT)
    low.repeat(full, lambda i: piece(low.mul(i, MAX_REPEAT), MAX_REPEAT))
    if rest:
        piece(full * MAX_REPEAT, rest)


def lower_broadcast(low: Lowering, op: BroadcastOp) -> None:
    """One block filled with each element: eight a repeat, what is left over one by one.

    The instruction always writes eight blocks, more than are left at the end.
    """
    source, target = low.places[op.source], low.places[op.target]
    rows = source.type.dims[0]
    dtype = source.type.dtype
    whole = rows - rows % GROUP
    if rows > whole:
        # Last to first: the first block is scratch until its own turn, below.
        for row in range(rows - 1, max(whole, 1) - 1, -1):
            _fill_block(low, source, target, row)
        if not whole:
            _fill_block(low, source, target, 0)
    full, rest = divmod(whole // GROUP, MAX_REPEAT)

    def piece(first: Scalar, repeat: int) -> None:
        low.emit(
            "vbrcb",
            dst=low.shifted(target.address, low.mul(first, GROUP * BLOCK_BYTES)),
            src0=low.shifted(source.address, low.mul(first, GROUP * source.type.itemsize)),
            dtype=dtype,
            repeat=repeat,
        )

    low.repeat(full, lambda i: piece(low.mul(i, MAX_REPEAT), MAX_REPEAT))
    if rest:
        piece(full * MAX_REPEAT, rest)


def _fill_block(low: Lowering, source: Place, target: Place, row: int) -> None:
    """Fill block `row` of the target with element `row`.

    The maximum of the lanes up to that of the element, those before it -inf, is the element; as
    many repeats as a block has lanes write it side by side.
    """
    per_block, dtype = source.type.c0, source.type.dtype
    at = low.shifted(source.address, row // per_block * BLOCK_BYTES)
    lane = row % per_block
    if lane:
        scratch = target.address
        low.emit("vcopy", dst=scratch, src0=at, dtype=dtype, mask=lane + 1, repeat=1)
        low.emit("vdup", dst=scratch, scalar=-inf, dtype=dtype, mask=lane, repeat=1)
        at = scratch
    low.emit(
        "vcmax",
        dst=low.shifted(target.address, row * BLOCK_BYTES),
        src0=at,
        src0_rep_stride=0,
        dtype=dtype,
        mask=lane + 1,
        repeat=per_block,
    )
