"""Emit a reduction over dims that are not the tile's columns, around an accumulator.

```
acc = alloc; fill acc, neutral
for each tile of the reduced rows, each index of what else is reduced:
  x = alloc ub; copy x                # along windows: all that lies under the tile
  for each tap of a window:
    ..the body on what the tap sees..
    acc = acc combine value
```

Where the rows of the tile are reduced, those of the accumulator are joined in the end, the second
half to the first, until one is left.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import SSAValue

from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.kinds import Binary
from ...dialects.tile.memory import FillOp, SubviewOp
from ...dialects.tile.vector import BinaryOp
from .geometry import ROW
from .patch import neutral
from .spread import Spread, Tile
from .taps import Taps
from .vector import emit_body

if TYPE_CHECKING:
    from .kernel import KernelEmitter

COMBINE = {"add": Binary.ADD, "mul": Binary.MUL, "max": Binary.MAXIMUM, "min": Binary.MINIMUM}
"""The vector op of each combiner."""


def emit_accumulation(kernel: KernelEmitter, op: StructuredOp) -> Tile:
    """Emit one such reduction on the current tile."""
    if op.combiner is None or any(value in kernel.values for value in op.inputs):
        raise PassError(
            f"{op.name} walks an axis that is not the last and is reduced by its own group",
            where=kernel.where,
            why="such axes are looped around loads from memory into an accumulator",
            hint="run tensor-fuse-groups, which leaves other work along them outside",
        )
    geometry, combine = kernel.geometry, COMBINE[op.combiner]
    result = kernel.spread_of(kernel.space.axes_of(op.output))
    joins_rows = geometry.reduces_rows and not set(geometry.rows).isdisjoint(
        kernel.space.dims_of(op)
    )
    spread = Spread(joins_rows or result.row, result.col)
    nothing = neutral(kernel, op.combiner, op.yielded.type)
    taps = Taps(kernel, op)
    with kernel.buffers_of(taps.result_rows):
        target = kernel.alloc(op.yielded.type, spread)
        kernel.emit_op(FillOp(target, nothing))
        with _loops(kernel, op, taps), taps.each() as known:
            value = emit_body(kernel, op, spread, known)
            if joins_rows:
                _fill_missing(kernel, value.buffer, nothing)
            kernel.emit_op(BinaryOp(combine, target, value.buffer, target))
    buffer = _join_rows(kernel, combine, target) if joins_rows else taps.packed(target)
    return Tile(buffer, result)


@contextmanager
def _loops(kernel: KernelEmitter, op: StructuredOp, taps: Taps) -> Generator[None]:
    """Loops over what the op reduces and UB does not hold all at once, a tile at a time.

    What is loaded in them is forgotten afterwards.
    """
    emit, tiles, extents = kernel.emit_op, kernel.tiles, kernel.space.extents
    rows = kernel.geometry.rows if kernel.geometry.reduces_rows else ()
    loaded, blocks = dict(kernel.loaded), dict(kernel.blocks)
    zero, one = emit.constant(0), emit.constant(1)
    with ExitStack() as stack:
        for dim in sorted(kernel.space.dims_of(op)):
            held = dim in taps.dims and tiles[dim] == extents[dim]
            if kernel.space.kinds[dim] == "parallel" or held:
                continue
            size = tiles[dim] if dim in (*rows, *taps.dims) else 1
            count = emit.constant(-(-extents[dim] // size))
            variable = stack.enter_context(emit.loop(f"r{dim}", zero, count, one))
            kernel.offsets[dim], kernel.sizes[dim] = emit.mul(variable, size), one
            if dim in rows:
                kernel.place(dim, kernel.offsets[dim])
        if rows:
            kernel.place_rows()
        yield
    kernel.loaded, kernel.blocks = loaded, blocks


def _fill_missing(kernel: KernelEmitter, buffer: SSAValue, value: FloatAttr) -> None:
    """Give the rows that a ragged tile lacks a value that joins without effect."""
    emit, geometry = kernel.emit_op, kernel.geometry
    extents = kernel.space.extents
    if all(extents[d] % kernel.tiles[d] == 0 for d in geometry.rows):
        return
    rows = geometry.row_tile(kernel.tiles)
    missing = emit.sub(emit.constant(rows), kernel.sizes[ROW])
    with emit.loop("m", emit.constant(0), missing, emit.constant(1)) as number:
        row = emit.sub(emit.constant(rows - 1), number)
        emit(FillOp(emit(SubviewOp(buffer, row, None)).target, value))


def _join_rows(kernel: KernelEmitter, kind: Binary, buffer: SSAValue) -> SSAValue:
    """Join all rows of a buffer into its first, half of them at a time; that row."""
    emit = kernel.emit_op
    zero, left = emit.constant(0), kernel.geometry.row_tile(kernel.tiles)
    while left > 1:
        half = (left + 1) // 2
        first = emit(SubviewOp(buffer, zero, left - half)).target
        second = emit(SubviewOp(buffer, emit.constant(half), left - half)).target
        emit(BinaryOp(kind, first, second, first))
        left = half
    return emit(SubviewOp(buffer, zero, None)).target
