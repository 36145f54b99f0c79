"""Reductions along windows: what all taps of a tile see is loaded once, then taps are looped."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.kinds import Unary
from ...dialects.tile.memory import SubviewOp, buffer_type
from ...dialects.tile.types import BufferType
from ...dialects.tile.vector import UnaryOp
from .patch import Patch, TapRows
from .patch_shape import patch_shapes
from .spread import Spread, Tile
from .vector import Operand, emit_scalars
from .windows import made_of_one, taps_run, windows_of

if TYPE_CHECKING:
    from .kernel import KernelEmitter


class Taps:
    """The windows of one op on the current tile; there may be none."""

    def __init__(self, kernel: KernelEmitter, op: StructuredOp) -> None:
        self.kernel, self.op = kernel, op
        space, geometry = kernel.space, kernel.geometry
        self.dims = sorted({w.tap for w in windows_of(space, op)})
        """The taps, outermost first."""
        self.shapes = patch_shapes(geometry, op, kernel.tiles) if self.dims else {}
        self.held: dict[int, Patch | TapRows] = {
            index: Patch(kernel, op, index, shape) for index, shape in self.shapes.items()
        }
        for index in range(len(op.inputs)):
            run = taps_run(space, op, index, geometry.col, frozenset(self.dims))
            if run is not None:
                self.held[index] = TapRows(kernel, op, index, run)

    @property
    def result_rows(self) -> int:
        """Rows of the accumulator: those of a tile, perhaps with others between them."""
        for shape in self.shapes.values():
            return shape.results
        return self.kernel.geometry.row_tile(self.kernel.tiles)

    @contextmanager
    def each(self) -> Generator[dict[SSAValue, Tile | None]]:
        """Load what the taps of a tile see, and loop over them; what the body knows at a tap."""
        kernel, emit = self.kernel, self.kernel.emit_op
        sources = made_of_one(self.op, self.held)
        wholes = self._wholes(sources)
        zero, one = emit.constant(0), emit.constant(1)
        taps: dict[int, SSAValue] = {}
        with ExitStack() as stack:
            for number, dim in enumerate(self.dims):
                extent, size = kernel.space.extents[dim], kernel.tiles[dim]
                loop = emit.loop(f"k{number}", zero, emit.constant(size), one)
                taps[dim] = stack.enter_context(loop)
                cut = size < extent
                kernel.offsets[dim] = emit.add(kernel.offsets[dim], taps[dim]) if cut else taps[dim]
            known = dict[SSAValue, Tile | None].fromkeys(sources)
            for value, buffer in wholes.items():
                held = self.held[sources[value]]
                spread = Spread(isinstance(held, Patch), True)
                known[value] = Tile(held.view(buffer, taps), spread)
            yield known

    def _wholes(self, sources: dict[SSAValue, int]) -> dict[SSAValue, SSAValue]:
        """The values of the body that are ready before the taps are looped, and that something at
        a tap reads; for all taps, in a buffer each."""
        arguments = self.op.body.args
        used = [index for index in self.held if arguments[index].uses.get_length()]
        buffers = {index: self.held[index].load() for index in used}
        wholes: dict[SSAValue, SSAValue] = {}
        for index, buffer in buffers.items():
            held = self.held[index]
            held.complete(buffer)
            own = {value for value, source in sources.items() if source == index}
            values: dict[SSAValue, Operand] = {arguments[index]: Tile(buffer, Spread(True, True))}
            body = (s for s in self.op.body.ops if s.results)
            once = [s for s in body if s.results[0] in own or not s.operands]
            with self.kernel.buffers_of(held.rows):
                emit_scalars(self.kernel, once, values)
            for value, tile in values.items():
                if isinstance(tile, Tile) and _is_read_outside(value, own):
                    wholes[value] = tile.buffer
        return wholes

    def packed(self, buffer: SSAValue) -> SSAValue:
        """The accumulator without what lies between its rows."""
        kernel, emit = self.kernel, self.kernel.emit_op
        rows = kernel.geometry.row_tile(kernel.tiles)
        if self.result_rows == rows:
            return buffer
        shape = next(iter(self.shapes.values()))
        assert shape.down is not None
        width = shape.across.points
        type_ = buffer_type(buffer)
        packed = emit.alloc(BufferType.of((rows, type_.dims[-1]), type_.element_type, "ub"))
        zero, count = emit.constant(0), emit.constant(shape.down.points)
        with emit.loop("i", zero, count, emit.constant(1)) as row:
            source = emit(SubviewOp(buffer, emit.mul(row, shape.result_pitch), width)).target
            target = emit(SubviewOp(packed, emit.mul(row, width), width)).target
            emit(UnaryOp(Unary.COPY, source, target))
        return packed


def _is_read_outside(value: SSAValue, own: set[SSAValue]) -> bool:
    """Whether something other than what gives the values `own` reads a value."""
    users = (use.operation for use in value.uses)
    return any(not user.results or user.results[0] not in own for user in users)
