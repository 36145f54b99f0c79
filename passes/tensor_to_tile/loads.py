"""Load the current tile of a tensor from GM into UB; see `patch.py` for reads along windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import Axis, StructuredOp
from ...dialects.tile.memory import CopyOp
from ...dialects.tile.types import BufferType
from ...dialects.tile.vector import TransposeOp
from .geometry import ROW
from .spread import Spread, Tile

if TYPE_CHECKING:
    from .kernel import KernelEmitter


def load_tile(kernel: KernelEmitter, op: StructuredOp, index: int) -> Tile:
    """The tile of a value that stands in GM, in a fresh buffer."""
    value, full = op.inputs[index], kernel.space.axes_of_use(op, index)
    if kernel.geometry.transposes(full):
        return _load_transposed(kernel, value, full)
    emit, spread, axes = kernel.emit_op, kernel.spread_of(full), kernel.geometry.merged(full)
    buffer = kernel.alloc(tensor_type(value).element_type, spread)
    rectangle = kernel.rectangle(full, value)
    emit(
        CopyOp(
            kernel.seen(kernel.gm[value], value, full),
            buffer,
            source_offsets=kernel.gm_offsets(axes),
            target_offsets=[emit.constant(0)] * len(rectangle),
            valid=kernel.valid(rectangle),
            axes=kernel.gm_axes(axes, rectangle),
        )
    )
    return Tile(buffer, spread)


def _load_transposed(kernel: KernelEmitter, value: SSAValue, full: tuple[Axis, ...]) -> Tile:
    """A tile whose rows are contiguous in memory: loaded as it stands there, then transposed."""
    emit, geometry, axes = kernel.emit_op, kernel.geometry, kernel.geometry.merged(full)
    shape = geometry.merged_shape(full, tensor_type(value).get_shape())
    if any(size > 1 for size in shape[axes.index(ROW) + 1 :]):
        raise PassError(
            "a tile with neither rows nor columns contiguous in memory is not supported yet",
            where=kernel.where,
            why=f"{value.type} is read with its last axis looped",
            hint="transpose the tensor in two steps",
        )
    spread = Spread(True, True)
    element_type = tensor_type(value).element_type
    dims = kernel.dims(spread)[::-1]
    standing = emit.alloc(BufferType.of(dims, element_type, "ub"))
    rectangle = (geometry.col, ROW)
    emit(
        CopyOp(
            kernel.seen(kernel.gm[value], value, full),
            standing,
            source_offsets=kernel.gm_offsets(axes),
            target_offsets=[emit.constant(0)] * 2,
            valid=kernel.valid(rectangle),
            axes=kernel.gm_axes(axes, rectangle),
        )
    )
    buffer = kernel.alloc(element_type, spread)
    emit(TransposeOp(standing, buffer))
    return Tile(buffer, spread)
