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

A convolution is the same loop with other loads; see `convolution.py`. Every loop is kept, whatever
its trip count, so that the code does not depend on sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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
from .convolution import Filter, Image, reduced_step, reduced_tile
from .geometry import ROW
from .spread import Spread, Tile

if TYPE_CHECKING:
    from .kernel import KernelEmitter


class Factor(Protocol):
    """One factor of a product: how a tile of k gets to L1, and a step of it to L0."""

    def load(self) -> None:
        """Emit the load of the current tile of k."""
        ...

    def step(self, start: SSAValue, size: SSAValue) -> SSAValue:
        """Emit the load of `size` reduced elements from `start` on; the L0 buffer."""
        ...


class _Matrix:
    """A factor that lies in GM as a matrix, perhaps with the reduced dim first."""

    def __init__(
        self, kernel: KernelEmitter, dims: ContractionDims, index: int, space: str
    ) -> None:
        self.kernel, self.k, self.space = kernel, dims.k, space
        self.value = dims.op.inputs[index]
        self.full = kernel.space.axes_of_use(dims.op, index)
        self.axes = kernel.geometry.merged(self.full)
        self.free = ROW if space == "l0a" else dims.n
        wanted = (self.free, self.k) if space == "l0a" else (self.k, self.free)
        self.transpose = self.axes.index(wanted[0]) > self.axes.index(wanted[1])
        self.in_memory = (wanted[1], wanted[0]) if self.transpose else wanted
        shape = kernel.geometry.merged_shape(self.full, tensor_type(self.value).get_shape())
        last = self.axes.index(self.in_memory[1])
        if any(size > 1 for size in shape[last + 1 :]):
            raise PassError(
                "a factor whose last axis is neither its rows nor its columns is not supported yet",
                where=kernel.where,
                why=f"operand of type {self.value.type}, read with dims {list(self.axes)}",
                hint="transpose the tensor so that the batch axes come first",
            )
        self.element_type = tensor_type(self.value).element_type
        self.buffer: SSAValue | None = None

    def load(self) -> None:
        """GM to L1, as it stands in memory."""
        kernel, emit = self.kernel, self.kernel.emit_op
        sizes = (kernel.extent(self.free), kernel.tiles[self.k])
        shape = sizes if self.in_memory[0] == self.free else sizes[::-1]
        self.buffer = emit.alloc(BufferType.of(shape, self.element_type, "l1"))
        emit(
            CopyOp(
                kernel.seen(kernel.gm[self.value], self.value, self.full),
                self.buffer,
                source_offsets=kernel.gm_offsets(self.axes),
                target_offsets=[emit.constant(0)] * 2,
                valid=kernel.valid(self.in_memory),
                axes=kernel.gm_axes(self.axes, self.in_memory),
            )
        )

    def step(self, start: SSAValue, size: SSAValue) -> SSAValue:
        """L1 to L0, transposed where it has to be."""
        kernel, emit = self.kernel, self.kernel.emit_op
        assert self.buffer is not None
        zero, left = emit.constant(0), self.space == "l0a"
        free, free_size = kernel.extent(self.free), kernel.sizes[self.free]
        step = kernel.schedule.step_sizes[self.k]
        shape = (free, step) if left else (step, free)
        buffer = emit.alloc(BufferType.of(shape, self.element_type, self.space))
        emit(
            CopyOp(
                self.buffer,
                buffer,
                source_offsets=[start if d == self.k else zero for d in self.in_memory],
                target_offsets=[zero, zero],
                valid=[free_size, size] if left else [size, free_size],
                transpose=self.transpose,
            )
        )
        return buffer


def emit_contraction(kernel: KernelEmitter, op: StructuredOp) -> Tile:
    """Emit the product of the current tile; the result is in UB, by rows."""
    dims = kernel.geometry.contraction
    assert dims is not None
    emit, tiles = kernel.emit_op, kernel.tiles
    shape = (kernel.extent(ROW), tiles[dims.n])
    element_type = tensor_type(op.output).element_type
    accumulator = emit.alloc(BufferType.of(shape, element_type, "l0c"))
    factors: tuple[Factor, Factor]
    if dims.windows:
        factors = (Image(kernel, dims), Filter(kernel, dims))
    else:
        factors = (_Matrix(kernel, dims, dims.lhs, "l0a"), _Matrix(kernel, dims, dims.rhs, "l0b"))
    tile_k, extent = tiles[dims.k], kernel.space.extents[dims.k]
    zero, one = emit.constant(0), emit.constant(1)
    with emit.loop("k", zero, emit.constant(-(-extent // tile_k)), one) as number:
        start = emit.mul(number, tile_k)
        kernel.offsets[dims.k] = start
        kernel.sizes[dims.k] = emit.clipped(tile_k, extent, start)
        for factor in factors:
            factor.load()
        _emit_steps(kernel, dims, factors, accumulator, number)
    drained = emit.alloc(BufferType.of(shape, element_type, "ub", layout="nz"))
    emit(CopyOp(accumulator, drained))
    rows = kernel.alloc(element_type, Spread(True, True))
    emit(UnaryOp(Unary.COPY, drained, rows))
    return Tile(rows, Spread(True, True))


def _emit_steps(
    kernel: KernelEmitter,
    dims: ContractionDims,
    factors: tuple[Factor, Factor],
    accumulator: SSAValue,
    number: SSAValue,
) -> None:
    """The inner loop: L1 to L0, and the multiply-accumulate."""
    emit = kernel.emit_op
    step = reduced_step(kernel.geometry, kernel.schedule.step_sizes)
    steps = reduced_tile(kernel.geometry, kernel.tiles) // step
    zero, one = emit.constant(0), emit.constant(1)
    with emit.loop("s", zero, emit.constant(steps), one) as inner:
        start = emit.mul(inner, step)
        size = _step_size(kernel, dims, step, start)
        lhs, rhs = (factor.step(start, size) for factor in factors)
        done = emit.add(emit.mul(number, steps), inner)
        valid = [kernel.sizes[ROW], size, kernel.sizes[dims.n]]
        emit(MmadOp(lhs, rhs, accumulator, done, valid))


def _step_size(
    kernel: KernelEmitter, dims: ContractionDims, step: int, start: SSAValue
) -> SSAValue:
    """Valid elements of the reduced dim in this step; not zero, as steps divide tiles evenly."""
    emit, extent = kernel.emit_op, kernel.space.extents[dims.k]
    if dims.windows or extent % step == 0:
        return emit.constant(step)
    return emit.minimum(emit.constant(step), emit.sub(kernel.sizes[dims.k], start))
