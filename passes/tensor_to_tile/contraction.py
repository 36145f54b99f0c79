"""Emit the cube part of a tile: the loop over the reduced dim, and the drain.

```
c = alloc l0c
for kk in tiles of k:                 # GM -> L1, a tile of k at a time
  a1, b1 = alloc l1; copy a, b
  for s in steps of the tile:         # L1 -> L0, a step at a time
    a0 = alloc l0a; b0 = alloc l0b; copy, copy
    mmad a0, b0 -> c, from zero at the very first step
u = alloc ub, nz; copy c -> u         # drain
v = alloc ub; copy u -> v as rows
```

Every loop is kept, whatever its trip count, so that the code does not depend on sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.cube import MmadOp
from ...dialects.tile.kinds import Unary
from ...dialects.tile.memory import CopyOp
from ...dialects.tile.types import BufferType
from ...dialects.tile.vector import UnaryOp
from .contraction_dims import ContractionDims
from .spread import Spread, Tile

if TYPE_CHECKING:
    from .kernel import KernelEmitter


class _Operand:
    """One factor: its GM buffer, and whether its tile axes stand as the L0 buffer wants them."""

    def __init__(
        self, kernel: KernelEmitter, dims: ContractionDims, index: int, space: str
    ) -> None:
        self.value = dims.op.inputs[index]
        self.axes = kernel.space.axes_of_use(dims.op, index)
        self.space = space
        self.free = dims.m if space == "l0a" else dims.n
        self.k = dims.k
        wanted = (self.free, self.k) if space == "l0a" else (self.k, self.free)
        self.transpose = self.axes.index(wanted[0]) > self.axes.index(wanted[1])
        self.in_memory = (wanted[1], wanted[0]) if self.transpose else wanted
        shape = tensor_type(self.value).get_shape()
        last = self.axes.index(self.in_memory[1])
        if any(size > 1 for size in shape[last + 1 :]):
            raise PassError(
                "a factor whose last axis is neither its rows nor its columns is not supported yet",
                where=kernel.where,
                why=f"operand of type {self.value.type}, read with dims {list(self.axes)}",
                hint="transpose the tensor so that the batch axes come first",
            )
        self.element_type = tensor_type(self.value).element_type

    def sizes(self, free: int, k: int) -> tuple[int, int]:
        """Tile sizes in memory order."""
        return (free, k) if self.in_memory[0] == self.free else (k, free)


def emit_contraction(kernel: KernelEmitter, op: StructuredOp) -> Tile:
    """Emit the product of the current tile; the result is in UB, by rows."""
    dims = kernel.geometry.contraction
    assert dims is not None
    emit, tiles = kernel.emit_op, kernel.tiles
    shape = (tiles[dims.m], tiles[dims.n])
    element_type = tensor_type(op.output).element_type
    accumulator = emit.alloc(BufferType.of(shape, element_type, "l0c"))
    factors = (_Operand(kernel, dims, dims.lhs, "l0a"), _Operand(kernel, dims, dims.rhs, "l0b"))
    tile_k, extent = tiles[dims.k], kernel.space.extents[dims.k]
    zero, one = emit.constant(0), emit.constant(1)
    with emit.loop("k", zero, emit.constant(-(-extent // tile_k)), one) as number:
        start = emit.mul(number, tile_k)
        kernel.offsets[dims.k] = start
        kernel.sizes[dims.k] = emit.clipped(tile_k, extent, start)
        loaded = [_load(kernel, factor) for factor in factors]
        _emit_steps(kernel, dims, factors, loaded, accumulator, number)
    drained = emit.alloc(BufferType.of(shape, element_type, "ub", layout="nz"))
    emit(CopyOp(accumulator, drained))
    rows = kernel.alloc(element_type, Spread(True, True))
    emit(UnaryOp(Unary.COPY, drained, rows))
    return Tile(rows, Spread(True, True))


def _load(kernel: KernelEmitter, factor: _Operand) -> SSAValue:
    """GM to L1, as it stands in memory."""
    emit = kernel.emit_op
    sizes = factor.sizes(kernel.tiles[factor.free], kernel.tiles[factor.k])
    buffer = emit.alloc(BufferType.of(sizes, factor.element_type, "l1"))
    emit(
        CopyOp(
            kernel.gm[factor.value],
            buffer,
            source_offsets=kernel.gm_offsets(factor.axes),
            target_offsets=[emit.constant(0)] * 2,
            valid=[kernel.sizes[d] for d in factor.in_memory],
            axes=kernel.gm_axes(factor.axes, factor.in_memory),
        )
    )
    return buffer


def _emit_steps(
    kernel: KernelEmitter,
    dims: ContractionDims,
    factors: tuple[_Operand, _Operand],
    loaded: list[SSAValue],
    accumulator: SSAValue,
    number: SSAValue,
) -> None:
    """The inner loop: L1 to L0, and the multiply-accumulate."""
    emit, step = kernel.emit_op, kernel.schedule.step_sizes[dims.k]
    steps = kernel.tiles[dims.k] // step
    zero, one = emit.constant(0), emit.constant(1)
    with emit.loop("s", zero, emit.constant(steps), one) as inner:
        start = emit.mul(inner, step)
        size = _step_size(kernel, dims, step, start)
        buffers: list[SSAValue] = []
        for factor, source in zip(factors, loaded, strict=True):
            free, free_size = kernel.tiles[factor.free], kernel.sizes[factor.free]
            shape = (free, step) if factor.space == "l0a" else (step, free)
            buffer = emit.alloc(BufferType.of(shape, factor.element_type, factor.space))
            offsets = [start if d == dims.k else zero for d in factor.in_memory]
            valid = [free_size, size] if factor.space == "l0a" else [size, free_size]
            copy = CopyOp(
                source,
                buffer,
                source_offsets=offsets,
                target_offsets=[zero, zero],
                valid=valid,
                transpose=factor.transpose,
            )
            emit(copy)
            buffers.append(buffer)
        done = emit.add(emit.mul(number, steps), inner)
        valid = [kernel.sizes[dims.m], size, kernel.sizes[dims.n]]
        emit(MmadOp(buffers[0], buffers[1], accumulator, done, valid))


def _step_size(
    kernel: KernelEmitter, dims: ContractionDims, step: int, start: SSAValue
) -> SSAValue:
    """Valid elements of the reduced dim in this step; not zero, as steps divide tiles evenly."""
    emit, extent = kernel.emit_op, kernel.space.extents[dims.k]
    if extent % step == 0:
        return emit.constant(step)
    return emit.minimum(emit.constant(step), emit.sub(kernel.sizes[dims.k], start))
