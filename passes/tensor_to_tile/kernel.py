"""Emit the kernel of one group: the loop over tiles, the loads, the work, the stores.

1. Load what no looped dim touches, once, before the loop.
2. One flat loop hands tile `core, core + cores, ..` to each core; its number gives the offset of
   every looped dim, and at the edge the valid size.
3. In the loop: the contraction, then vector work op by op, each value in a buffer of its own, then
   the stores.

Nothing here knows the class of a structured op, nor any size but those of the schedule.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.core.origins import ORIGINS, node_of
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.memory import CopyOp, TapOp
from ...dialects.tile.program import EndOp, KernelOp
from ...dialects.tile.schedule import ScheduleAttr
from ...dialects.tile.types import BufferType
from .contraction import emit_contraction
from .emitter import Emitter
from .geometry import Geometry
from .spread import Spread, Tile
from .vector import emit_vector


class KernelEmitter:
    """Builds one `tile.kernel`; see the module. Use: `KernelEmitter(...).emit()`."""

    def __init__(
        self, group: GroupOp, geometry: Geometry, schedule: ScheduleAttr, name: str, where: str
    ) -> None:
        self.group, self.geometry, self.schedule, self.where = group, geometry, schedule, where
        self.space, self.tiles = geometry.space, schedule.tile_sizes
        types = [
            BufferType.of(tensor_type(v).get_shape(), tensor_type(v).element_type, "gm")
            for v in (*group.operands, *group.results)
        ]
        self.kernel = KernelOp.empty(name, types)
        self.emit_op = Emitter(self.kernel.body.block)
        arguments = self.kernel.body.block.args
        inputs = len(group.operands)
        self.gm: dict[SSAValue, SSAValue] = dict(
            zip(group.body.args, arguments[:inputs], strict=True)
        )
        self.outputs = arguments[inputs:]
        self.offsets: dict[int, SSAValue] = {}
        self.sizes: dict[int, SSAValue] = {}
        self.values: dict[SSAValue, Tile] = {}
        self.loaded: dict[tuple[SSAValue, tuple[int | None, ...]], Tile] = {}
        self.blocks: dict[SSAValue, SSAValue] = {}

    def emit(self) -> KernelOp:
        """Emit everything and return the kernel."""
        counts, nodes = self.geometry.counts(self.tiles), _nodes_by_op(self.space.ops)
        self._fix_unlooped(counts)
        self._load_invariants(nodes)
        with self._tile_loop(counts):
            for op in self.space.ops:
                self.emit_op.node = nodes[op]
                if op is self.geometry.contract_op:
                    self.values[op.output] = emit_contraction(self, op)
                else:
                    self.values[op.output] = emit_vector(self, op)
                self._tap(op)
            self._store_results()
        self.emit_op.node = None
        self.emit_op(EndOp())
        return self.kernel

    # Where the current tile is.

    def _fix_unlooped(self, counts: dict[int, int]) -> None:
        """Dims in one piece start at 0 and are whole."""
        for dim, extent in enumerate(self.space.extents):
            if counts.get(dim, 1) == 1:
                self.offsets[dim] = self.emit_op.constant(0)
                self.sizes[dim] = self.emit_op.constant(min(self.tiles[dim], extent))

    @contextmanager
    def _tile_loop(self, counts: dict[int, int]) -> Generator[None]:
        emit, inner = self.emit_op, self.geometry.tile_count(self.tiles)
        many = [d for d in self.geometry.looped if counts[d] > 1]
        cores = emit.constant(self.schedule.cores.data)
        with emit.loop("t", emit.core_id(), emit.constant(inner), cores) as number:
            for position, dim in enumerate(many):
                inner //= counts[dim]
                index = emit.div(number, inner)
                if position:
                    index = emit.rem(index, counts[dim])
                self._place(dim, emit.mul(index, self.tiles[dim]))
            yield

    def _place(self, dim: int, offset: SSAValue) -> None:
        """Set where the tile starts along `dim`, and how much of it is valid."""
        tile, extent = self.tiles[dim], self.space.extents[dim]
        self.offsets[dim] = offset
        self.sizes[dim] = self.emit_op.clipped(tile, extent, offset)

    # Buffers.

    def alloc(self, element_type: Attribute, spread: Spread) -> SSAValue:
        """A fresh UB buffer for a tile of a value with these dims."""
        return self.emit_op.alloc(BufferType.of(self.dims(spread), element_type, "ub"))

    def dims(self, spread: Spread) -> tuple[int, ...]:
        """Shape of a tile with these dims; one element without any."""
        geometry = self.geometry
        row = () if geometry.row is None or not spread.row else (self.tiles[geometry.row],)
        col = (self.tiles[geometry.col],) if spread.col else ()
        return (*row, *col) or (1,)

    def spread_of(self, axes: Sequence[int | None]) -> Spread:
        """Which tile dims a value with these axes has."""
        return Spread(
            self.geometry.row is not None and self.geometry.row in axes, self.geometry.col in axes
        )

    # Loads and stores.

    def input_tile(self, op: StructuredOp, index: int) -> Tile:
        """The tile of an input of a vector op, loaded from GM where the group does not make it."""
        value = op.inputs[index]
        if value in self.values:
            return self.values[value]
        key = (value, self.space.axes_of_use(op, index))
        if key not in self.loaded:
            self.loaded[key] = self._load(*key)
        return self.loaded[key]

    def _load_invariants(self, nodes: Mapping[StructuredOp, StringAttr | None]) -> None:
        looped = {d for d, c in self.geometry.counts(self.tiles).items() if c > 1}
        for op in self.space.ops:
            if op is self.geometry.contract_op:
                continue
            self.emit_op.node = nodes[op]
            for index, value in enumerate(op.inputs):
                if value in self.gm and not looped & set(self.space.axes_of_use(op, index)):
                    self.input_tile(op, index)
        self.emit_op.node = None

    def _load(self, value: SSAValue, axes: tuple[int | None, ...]) -> Tile:
        spread = self.spread_of(axes)
        buffer = self.alloc(tensor_type(value).element_type, spread)
        rectangle = self._rectangle(axes, spread, value)
        self.emit_op(
            CopyOp(
                self.gm[value],
                buffer,
                source_offsets=self.gm_offsets(axes),
                target_offsets=[self.emit_op.constant(0) for _ in rectangle],
                valid=[self.sizes[d] for d in rectangle],
                axes=self.gm_axes(axes, rectangle),
            )
        )
        return Tile(buffer, spread)

    def gm_offsets(self, axes: Sequence[int | None]) -> list[SSAValue]:
        """Where the current tile starts along each axis of a GM buffer."""
        zero = self.emit_op.constant(0)
        return [zero if d is None else self.offsets[d] for d in axes]

    @staticmethod
    def gm_axes(axes: Sequence[int | None], rectangle: Sequence[int]) -> list[int] | None:
        """The GM axes of a rectangle; None where they are the last ones."""
        found = [axes.index(d) for d in rectangle]
        return None if found == list(range(len(axes) - len(found), len(axes))) else found

    def _rectangle(
        self, axes: tuple[int | None, ...], spread: Spread, value: SSAValue
    ) -> list[int]:
        """The group dims of a tile of a GM tensor, rows first; its columns must be contiguous."""
        geometry = self.geometry
        row, col = geometry.row, geometry.col
        rectangle = [
            d for d, has in ((row, spread.row), (col, spread.col)) if has and d is not None
        ]
        shape = tensor_type(value).get_shape()
        if not rectangle:
            raise PassError(
                "a single element that is no constant cannot be spread over a tile yet",
                where=self.where,
                why=f"an operand of type {value.type} has none of the tile's dims",
                hint="make it a constant of the model, or expand it to the shape of the result",
            )
        last = axes.index(rectangle[-1])
        if any(size > 1 for size in shape[last + 1 :]):
            raise PassError(
                "a tile whose columns are not contiguous in memory is not supported yet",
                where=self.where,
                why=f"axis {last} of {value.type} is read as columns, but it is not the last",
                hint="transpose the tensor first",
            )
        return rectangle

    def _store_results(self) -> None:
        yielded = self.group.yielded
        for value, output in zip(yielded, self.outputs, strict=True):
            tile, axes = self.values[value], self.space.axes_of(value)
            rectangle = self._rectangle(axes, tile.spread, value)
            self.emit_op(
                CopyOp(
                    tile.buffer,
                    output,
                    source_offsets=[self.emit_op.constant(0) for _ in rectangle],
                    target_offsets=self.gm_offsets(axes),
                    valid=[self.sizes[d] for d in rectangle],
                    axes=self.gm_axes(axes, rectangle),
                )
            )

    def _tap(self, op: StructuredOp) -> None:
        """Mark the tile of a value that the source knows by name."""
        origins = op.attributes.get(ORIGINS)
        if origins is None:
            return
        tile, axes = self.values[op.output], self.space.axes_of(op.output)
        rectangle = self._rectangle(axes, tile.spread, op.output)
        self.emit_op(
            TapOp(
                tile.buffer,
                self.gm_offsets(axes),
                [self.sizes[d] for d in rectangle],
                [axes.index(d) for d in rectangle],
                origins,
            )
        )


def _nodes_by_op(ops: Sequence[StructuredOp]) -> dict[StructuredOp, StringAttr | None]:
    """The node each op works for: its own, or that of the next op which computes a named tensor."""
    nodes: dict[StructuredOp, StringAttr | None] = {}
    current: StringAttr | None = None
    for op in reversed(ops):
        name = node_of(op)
        current = current if name is None else StringAttr(name)
        nodes[op] = current
    return nodes


def nodes_of(group: GroupOp) -> list[str]:
    """The source nodes of a group, in order, each once."""
    names = (node_of(op) for op in group.body.ops)
    return list(dict.fromkeys(n for n in names if n))
