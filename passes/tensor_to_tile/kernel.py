"""Emit the kernel of one group: the loop over tiles, the loads, the work, the stores.

1. Load what no looped dim touches, once, before the loop.
2. One flat loop hands tile `core, core + cores, ..` to each core; its number gives the offset of
   every looped dim, and at the edge the valid size.
3. In the loop: the contraction or the reduction around an accumulator, then vector work op by op,
   each value in a buffer of its own, then the stores.

Where several dims are the rows of a tile, a tensor in GM is seen with those merged into one axis.
Nothing here knows the class of a structured op, nor any size but those of the schedule.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.core.origins import node_of, origins_of
from ...dialects.core.steps import Step
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import Axis, StructuredOp, Window
from ...dialects.tile.memory import CopyOp, TapOp
from ...dialects.tile.program import EndOp, KernelOp, ViewOp
from ...dialects.tile.schedule import ScheduleAttr
from ...dialects.tile.types import BufferType
from .accumulation import emit_accumulation
from .contraction import emit_contraction
from .emitter import Emitter
from .geometry import ROW, Geometry
from .loads import load_tile
from .spread import Spread, Tile
from .vector import emit_vector
from .windows import point_of

Use = tuple[SSAValue, tuple[Axis, ...]]
"""A value of the group, and the dims its axes are read along."""


class KernelEmitter:
    """Builds one `tile.kernel`; see the module. Use: `KernelEmitter(...).emit()`.

    `offsets` and `sizes` say, per group dim and for `ROW`, where the current tile starts and how
    much of it is valid. `row_count` are the rows of the buffers that `alloc` makes.
    """

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
        self.loaded: dict[Use, Tile] = {}
        self.blocks: dict[SSAValue, SSAValue] = {}
        self.row_count = geometry.row_tile(self.tiles)

    def emit(self) -> KernelOp:
        """Emit everything and return the kernel."""
        counts, nodes = self.geometry.counts(self.tiles), _nodes_by_op(self.space.ops)
        self._fix_unlooped(counts)
        looped = {d for d, c in counts.items() if c > 1}
        self._load_ahead(nodes, looped)
        with self._tile_loop(counts):
            if self.geometry.contraction is None:
                self._load_ahead(nodes, set())
            for op in self.space.ops:
                self.emit_op.node = nodes[op]
                self.values[op.output] = self._emit_op(op)
                self._tap(op)
            self._store_results()
        self.emit_op.node = None
        self.emit_op(EndOp())
        return self.kernel

    def _emit_op(self, op: StructuredOp) -> Tile:
        if op is self.geometry.contract_op:
            return emit_contraction(self, op)
        if self.geometry.accumulates(op):
            return emit_accumulation(self, op)
        return emit_vector(self, op)

    # Where the current tile is.

    def _fix_unlooped(self, counts: dict[int, int]) -> None:
        """Dims in one piece start at 0 and are whole."""
        for dim, extent in enumerate(self.space.extents):
            if counts.get(dim, 1) == 1:
                self.offsets[dim] = self.emit_op.constant(0)
                self.sizes[dim] = self.emit_op.constant(min(self.tiles[dim], extent))
        self.place_rows()

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
                self.place(dim, emit.mul(index, self.tiles[dim]))
            self.place_rows()
            yield

    def place(self, dim: int, offset: SSAValue) -> None:
        """Set where the tile starts along `dim`, and how much of it is valid."""
        tile, extent = self.tiles[dim], self.space.extents[dim]
        self.offsets[dim] = offset
        self.sizes[dim] = self.emit_op.clipped(tile, extent, offset)

    def place_rows(self) -> None:
        """Set the offset and size of `ROW`, once those of all row dims are known.

        Of the row dims only one is cut; those inside it are whole, those outside have one index.
        """
        rows, extents, emit = self.geometry.rows, self.space.extents, self.emit_op
        if not rows or any(d not in self.offsets for d in rows):
            return
        looped = [d for d in rows if self.tiles[d] < extents[d]]
        cut = next((d for d in rows if self.tiles[d] > 1), rows[-1])
        inside = prod(extents[d] for d in rows[rows.index(cut) + 1 :])
        self.sizes[ROW] = emit.mul(self.sizes[cut], inside)
        terms = [
            emit.mul(self.offsets[d], prod(extents[e] for e in rows[rows.index(d) + 1 :]))
            for d in looped
        ]
        offset = terms[0] if terms else emit.constant(0)
        for term in terms[1:]:
            offset = emit.add(offset, term)
        self.offsets[ROW] = offset

    # Buffers.

    def alloc(self, element_type: Attribute, spread: Spread) -> SSAValue:
        """A fresh UB buffer for a tile of a value with these dims."""
        return self.emit_op.alloc(BufferType.of(self.dims(spread), element_type, "ub"))

    def dims(self, spread: Spread) -> tuple[int, ...]:
        """Shape of a tile with these dims; one element without any."""
        row = (self.row_count,) if self.geometry.rows and spread.row else ()
        col = (self.tiles[self.geometry.col],) if spread.col else ()
        return (*row, *col) or (1,)

    @contextmanager
    def buffers_of(self, rows: int) -> Generator[None]:
        """Let the buffers of tiles have so many rows."""
        before, self.row_count = self.row_count, rows
        yield
        self.row_count = before

    def extent(self, dim: int) -> int:
        """Elements of a group dim, or of `ROW`, in one tile."""
        return self.geometry.row_tile(self.tiles) if dim == ROW else self.tiles[dim]

    def spread_of(self, axes: Sequence[Axis]) -> Spread:
        """Which tile dims a value with these axes has."""
        dims = {point_of(a) for a in axes}
        return Spread(bool(dims & set(self.geometry.rows)), self.geometry.col in dims)

    # Loads and stores.

    def input_tile(self, op: StructuredOp, index: int) -> Tile:
        """The tile of an input of a vector op, loaded from GM where the group does not make it."""
        value = op.inputs[index]
        if value in self.values:
            return self.values[value]
        key = (value, self.space.axes_of_use(op, index))
        if key not in self.loaded:
            self.loaded[key] = load_tile(self, op, index)
        return self.loaded[key]

    def _load_ahead(
        self, nodes: Mapping[StructuredOp, StringAttr | None], moving: set[int]
    ) -> None:
        """Load what no dim of `moving`, and no loop of a reduction, moves.

        Loads that stand together share their flags where there are few.
        """
        moving = moving | set(self.geometry.taps)
        if self.geometry.reduces_rows:
            moving |= set(self.geometry.rows)
        for op in self.space.ops:
            if op is self.geometry.contract_op:
                continue
            self.emit_op.node = nodes[op]
            for index, value in enumerate(op.inputs):
                axes = self.space.axes_of_use(op, index)
                fixed = not any(isinstance(a, Window) for a in axes) and not moving & set(axes)
                if value in self.gm and fixed:
                    self.input_tile(op, index)
        self.emit_op.node = None

    def seen(self, buffer: SSAValue, value: SSAValue, axes: Sequence[Axis]) -> SSAValue:
        """The GM buffer of a value with its row dims merged."""
        shape = tensor_type(value).get_shape()
        merged = self.geometry.merged_shape(axes, shape)
        return self.reshaped(buffer, merged)

    def reshaped(self, buffer: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A GM buffer under another shape."""
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        if type_.dims == tuple(shape):
            return buffer
        return self.emit_op(ViewOp(buffer, BufferType.of(shape, type_.element_type, "gm"))).target

    def gm_offsets(self, axes: Sequence[Axis]) -> list[SSAValue]:
        """Where the current tile starts along each (merged, plain) axis of a GM buffer."""
        zero = self.emit_op.constant(0)
        return [self.offsets[d] if isinstance(d, int) else zero for d in axes]

    @staticmethod
    def gm_axes(axes: Sequence[Axis], rectangle: Sequence[Axis]) -> list[int] | None:
        """The GM axes of a rectangle; None where they are the last ones."""
        found = [axes.index(d) for d in rectangle]
        return None if found == list(range(len(axes) - len(found), len(axes))) else found

    def rectangle(self, full: Sequence[Axis], value: SSAValue) -> list[Axis]:
        """The merged axes of a tile of a GM tensor, rows first; its columns must be contiguous."""
        geometry = self.geometry
        axes = geometry.merged(full)
        rectangle: list[Axis] = [a for a in axes if a is not None and a in (ROW, geometry.col)]
        shape = geometry.merged_shape(full, tensor_type(value).get_shape())
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
        for value, output in zip(self.group.yielded, self.outputs, strict=True):
            full = self.space.axes_of(value)
            axes = self.geometry.merged(full)
            rectangle = self.rectangle(full, value)
            self.emit_op(
                CopyOp(
                    self.values[value].buffer,
                    self.seen(output, value, full),
                    source_offsets=[self.emit_op.constant(0) for _ in rectangle],
                    target_offsets=self.gm_offsets(axes),
                    valid=self.valid(rectangle),
                    axes=self.gm_axes(axes, rectangle),
                )
            )

    def valid(self, rectangle: Sequence[Axis]) -> list[SSAValue]:
        """The valid sizes of a rectangle."""
        return [self.sizes[d] for d in rectangle if isinstance(d, int)]

    def _tap(self, op: StructuredOp) -> None:
        """Mark the tile of a value that the source knows by name."""
        origins = origins_of(op.output)
        if not origins:
            return
        full = self.space.axes_of(op.output)
        axes = self.geometry.merged(full)
        shape = tensor_type(op.output).get_shape()
        merged = self.geometry.merged_shape(full, shape)
        if merged != shape:
            origins = tuple(o.after(Step("reshape", merged)) for o in origins)
        rectangle = self.rectangle(full, op.output)
        self.emit_op(
            TapOp(
                self.values[op.output].buffer,
                self.gm_offsets(axes),
                self.valid(rectangle),
                [axes.index(d) for d in rectangle],
                ArrayAttr([ArrayAttr(origins)]),
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
