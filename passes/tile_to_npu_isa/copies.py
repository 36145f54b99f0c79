"""Copies between memory spaces, one function a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, OpResult, SSAValue

from ...dialects.npu_isa.instructions.mte import MAX_BURSTS
from ...dialects.npu_isa.ops import Address
from ...dialects.tile.cube import MmadOp
from ...dialects.tile.memory import CopyOp
from ...dialects.tile.types import BLOCK_BYTES, FRACTAL_ROWS, BufferType, round_up
from .lowering import Lowering, Place, Scalar


def _sizes(low: Lowering, op: CopyOp, whole: Sequence[int]) -> list[Scalar]:
    """Valid sizes of the rectangle."""
    return [low.index(size) for size in op.valid] if op.valid else list(whole)


def gm_address(low: Lowering, place: Place, offsets: Sequence[SSAValue]) -> Address:
    """Address of the element at `offsets` of a GM buffer."""
    type_ = place.type
    address = low.shifted(place.address, type_.offset.data * type_.itemsize)
    for offset, stride in zip(offsets, type_.row_major_strides, strict=False):
        moved = low.mul(low.index(offset), stride * type_.itemsize)
        address = low.shifted(address, moved)
    return address


def _gm_row_stride(low: Lowering, op: CopyOp, type_: BufferType) -> int:
    """Bytes between two rows of the rectangle in GM (0 for a single row); its columns must be
    contiguous there."""
    strides = type_.row_major_strides
    axes = op.gm_axes
    last = axes[-1]
    if strides[last] != 1 and type_.dims[last] > 1:
        raise low.refuse(
            "the columns of the rectangle are not contiguous in GM",
            f"axis {last} of {type_} has stride {strides[last]}",
            "transpose the tensor first",
        )
    return strides[axes[0]] * type_.itemsize if len(axes) == 2 else 0


def _ub_address(low: Lowering, place: Place, offsets: Sequence[SSAValue]) -> Address:
    """Address of the element at `offsets` of a UB buffer by rows."""
    type_, address = place.type, place.address
    for axis, offset in enumerate(reversed(offsets)):
        if axis == 0:
            _check_multiple(low, offset, type_.c0)
        step = type_.row_bytes if axis else type_.itemsize
        address = low.shifted(address, low.mul(low.index(offset), step))
    return address


def gm_to_l1(low: Lowering, op: CopyOp) -> None:
    """Rows in GM become fractals in L1, padded with zeros to whole ones."""
    source, target = low.places[op.source], low.places[op.target]
    rows, cols = _sizes(low, op, target.type.dims)
    low.emit(
        "nd2nz_gm_l1",
        dst=_l1_address(low, target, op.target_offsets),
        src=gm_address(low, source, op.source_offsets),
        dtype=target.type.dtype,
        rows=rows,
        cols=cols,
        src_stride=_gm_row_stride(low, op, source.type),
        dst_c0_stride=round_up(target.type.dims[0], FRACTAL_ROWS),
    )


def _l1_address(low: Lowering, place: Place, offsets: Sequence[SSAValue]) -> Address:
    """Address of the element at `offsets` of an L1 buffer; columns in steps of a block."""
    if not offsets:
        return place.address
    type_ = place.type
    _check_multiple(low, offsets[1], type_.c0)
    column = round_up(type_.dims[0], FRACTAL_ROWS) * type_.itemsize
    address = low.shifted(place.address, low.mul(low.index(offsets[0]), BLOCK_BYTES))
    return low.shifted(address, low.mul(low.index(offsets[1]), column))


def gm_to_ub(low: Lowering, op: CopyOp) -> None:
    """Rows in GM become rows in UB, their last block filled up with zeros."""
    source, target = low.places[op.source], low.places[op.target]
    sizes = _sizes(low, op, target.type.dims)
    gm = gm_address(low, source, op.source_offsets)
    _check_rows(low, op, target)
    ub = _ub_address(low, target, op.target_offsets)
    length = low.mul(sizes[-1], target.type.itemsize)
    gm_stride, ub_stride = _gm_row_stride(low, op, source.type), _ub_row_stride(target.type)

    def burst(first: Scalar, rows: Scalar) -> None:
        low.emit(
            "mov_gm_ub",
            dst=low.shifted(ub, low.mul(first, ub_stride)),
            src=low.shifted(gm, low.mul(first, gm_stride)),
            nburst=rows,
            len=length,
            src_stride=gm_stride,
            dst_stride=ub_stride // BLOCK_BYTES,
        )

    _bursts(low, target.type, sizes, burst)


def ub_to_gm(low: Lowering, op: CopyOp) -> None:
    """Rows in UB become rows in GM; exactly the valid bytes are written."""
    source, target = low.places[op.source], low.places[op.target]
    sizes = _sizes(low, op, source.type.dims)
    gm = gm_address(low, target, op.target_offsets)
    _check_rows(low, op, source)
    ub = _ub_address(low, source, op.source_offsets)
    length = low.mul(sizes[-1], source.type.itemsize)
    gm_stride, ub_stride = _gm_row_stride(low, op, target.type), _ub_row_stride(source.type)

    def burst(first: Scalar, rows: Scalar) -> None:
        low.emit(
            "mov_ub_gm",
            dst=low.shifted(gm, low.mul(first, gm_stride)),
            src=low.shifted(ub, low.mul(first, ub_stride)),
            nburst=rows,
            len=length,
            dst_stride=gm_stride,
            src_stride=ub_stride // BLOCK_BYTES,
        )

    _bursts(low, source.type, sizes, burst)


def _bursts(
    low: Lowering,
    type_: BufferType,
    sizes: Sequence[Scalar],
    burst: Callable[[Scalar, Scalar], None],
) -> None:
    """Emit `burst(first row, rows)` for as many rows at a time as one instruction takes."""
    if len(sizes) == 1:
        burst(0, 1)
        return
    most = type_.dims[0]
    if most <= MAX_BURSTS:
        burst(0, sizes[0])
        return
    with low.loop(low.ceil_div(sizes[0], MAX_BURSTS)) as chunk:
        first = low.mul(chunk, MAX_BURSTS)
        burst(first, low.binary("s_min", low.sub(sizes[0], first), MAX_BURSTS))


def _check_rows(low: Lowering, op: CopyOp, ub: Place) -> None:
    if ub.type.layout.data != "nd":
        raise low.refuse("a fractal buffer cannot move to or from GM", hint="copy it to rows first")
    if op.rectangle_rank not in (1, 2):
        raise low.refuse(f"a copied rectangle has 1 or 2 axes, not {op.rectangle_rank}")


def _ub_row_stride(type_: BufferType) -> int:
    """Bytes from one row of a UB buffer to the next; 0 when there is one row only."""
    return type_.row_bytes if len(type_.dims) == 2 else 0


def l1_to_l0(low: Lowering, op: CopyOp) -> None:
    """Fractals of L1 to L0A or L0B, packed for exactly the valid sizes.

    `valid` is in the destination's axes. L0B holds fractals of columns, so that a matrix that lies
    in L1 as `k x n` is transposed by the load, and one that lies as `n x k` is not.
    """
    source, target = low.places[op.source], low.places[op.target]
    space = target.type.space.data
    if any(low.index(offset) != 0 for offset in op.target_offsets):
        raise low.refuse(f"a load fills {space} from its start", "the target has an offset")
    first, second = _sizes(low, op, target.type.dims)
    swapped = op.transpose is not None
    rows, k = (first, second) if space == "l0a" else (second, first)
    low.emit(
        f"load2d_l1_{space}",
        dst=target.address,
        src=_l1_address(low, source, op.source_offsets),
        dtype=source.type.dtype,
        rows=rows,
        k=k,
        src_c0_stride=round_up(source.type.dims[0], FRACTAL_ROWS),
        transpose=int(swapped == (space == "l0a")),
    )


def l0c_to_ub(low: Lowering, op: CopyOp) -> None:
    """The drain, rounding to f16 on the way where the destination is f16.

    `mmad` packs its result for its own valid sizes, so the drain moves exactly those.
    """
    source, target = low.places[op.source], low.places[op.target]
    if target.type.layout.data != "nz":
        raise low.refuse("a drain leaves fractals", f"the destination is {target.type}")
    if op.source_offsets or op.target_offsets:
        raise low.refuse("a drain moves a whole result", "it has offsets")
    m, n = _result_sizes(low, op)
    low.emit(
        "mov_l0c_ub",
        dst=target.address,
        src=source.address,
        dtype=target.type.dtype,
        m=m,
        n=n,
        dst_stride=round_up(target.type.dims[0], FRACTAL_ROWS),
    )


def _result_sizes(low: Lowering, op: CopyOp) -> tuple[Scalar, Scalar]:
    """Rows and columns that the products in an accumulator have."""
    sizes: set[tuple[Scalar, Scalar]] = set()
    for use in op.source.uses:
        product = use.operation
        if isinstance(product, MmadOp):
            if not (_is_visible(product.m, op) and _is_visible(product.n, op)):
                raise low.refuse(
                    "the drain cannot know how its accumulator is packed",
                    "the sizes of the product are computed in a loop that the drain is not in",
                )
            sizes.add((low.index(product.m), low.index(product.n)))
    if len(sizes) != 1:
        raise low.refuse(
            "the products in one accumulator must have the same rows and columns",
            f"there are {len(sizes)} sizes",
        )
    found = sizes.pop()
    if op.valid and tuple(low.index(size) for size in op.valid) != found:
        raise low.refuse("a drain moves a whole result", "its valid sizes are not the product's")
    return found


def _is_visible(value: SSAValue, op: CopyOp) -> bool:
    """Whether the block that defines `value` holds `op`."""
    block = value.block if isinstance(value, BlockArgument) else value.owner.parent_block()
    around = op.parent_block()
    while around is not None and around is not block:
        parent = around.parent_op()
        around = None if parent is None else parent.parent_block()
    return around is not None


def _check_multiple(low: Lowering, offset: SSAValue, unit: int) -> None:
    """Refuse an offset along columns that is not known to fall on a block of 32 bytes."""
    if divisor(offset) % unit:
        raise low.refuse(
            "the columns of the rectangle must start at a block of 32 bytes",
            f"the offset is a multiple of {divisor(offset)} elements, a block holds {unit}",
        )


def divisor(value: SSAValue) -> int:
    """A number that divides an index whatever happens at run time; 0 for the constant 0."""
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        return gcd(divisor(loop.lb), divisor(loop.step)) if isinstance(loop, scf.ForOp) else 1
    op = value.op if isinstance(value, OpResult) else None
    match op:
        case arith.ConstantOp(value=IntegerAttr() as attribute):
            return abs(attribute.value.data)
        case arith.MuliOp():
            return divisor(op.lhs) * divisor(op.rhs)
        case arith.AddiOp() | arith.SubiOp() | arith.MinSIOp() | arith.MaxSIOp():
            return gcd(divisor(op.lhs), divisor(op.rhs))
        case _:
            return 1
