"""Predict what the vector work of one tile costs, op by op: loads, vector cycles, instructions.

Reductions around an accumulator take several turns of a load and work on it; what lies under all
taps of a window is loaded in one turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import itemsize
from ...dialects.target import costs
from ...dialects.target.machine import Machine
from ...dialects.tensor.structured import Axis, StructuredOp
from .geometry import Geometry
from .patch_shape import PatchShape, patch_shapes
from .vector import CASTS
from .windows import made_of_one, point_of, taps_run, windows_of

REPEAT_BYTES = 256
"""Bytes a vector instruction takes in one repeat."""
EIGHT = 8
"""Blocks of a repeat."""
ISSUED_PER_OP, ISSUED_PER_TURN = 3, 14
"""Instructions issued for one vector op of a tile, and for one turn of a reduction; counted in
kernels, as the following."""
ISSUED_PER_PATCH, ISSUED_PER_LINE, ISSUED_PER_TAP = 60, 22, 9
"""Instructions issued for what lies under windows, and within it for one image row or tap."""


@dataclass(frozen=True)
class Work:
    """One op on one tile: `turns` times a `load` and `each` cycles of vector work, and `once`
    cycles; `issued` are all its instructions."""

    turns: int
    load: costs.Cycles
    each: int
    once: int
    issued: int

    @property
    def vector(self) -> int:
        """Cycles of the vector unit."""
        return self.turns * self.each + self.once


def vector_works(
    geometry: Geometry, machine: Machine, tiles: Sequence[int], cores: int
) -> list[Work]:
    """The vector work of a group on one tile."""
    made = {op.output for op in geometry.space.ops}
    seen: set[tuple[SSAValue, tuple[Axis, ...]]] = set()
    works: list[Work] = []
    for op in geometry.space.ops:
        if op is geometry.contract_op:
            continue
        loaded: list[int] = []
        for index, value in enumerate(op.inputs):
            key = (value, geometry.space.axes_of_use(op, index))
            if value not in made and key not in seen:
                seen.add(key)
                loaded.append(index)
        works.append(_Pricing(geometry, machine, tiles, cores, op).work(loaded))
    return works


class _Pricing:
    """Prices one op."""

    def __init__(
        self,
        geometry: Geometry,
        machine: Machine,
        tiles: Sequence[int],
        cores: int,
        op: StructuredOp,
    ) -> None:
        self.geometry, self.machine, self.tiles, self.cores = geometry, machine, tiles, cores
        self.op, self.space = op, geometry.space
        self.scalars = [scalar for scalar in op.body.ops if scalar.results and scalar.operands]
        self.cols = tiles[geometry.col]

    def work(self, loaded: Sequence[int]) -> Work:
        """The op's work, with the loads of the inputs that no other op has loaded."""
        if windows_of(self.space, self.op):
            return self._along_windows(loaded)
        op, geometry, tiles = self.op, self.geometry, self.tiles
        elements = prod(tiles[d] for d in self.space.dims_of(op))
        load = together([self._transfer(index) for index in loaded])
        each = sum(self._elementwise(_class_of(s), _bytes_of(s), elements) for s in self.scalars)
        issued = ISSUED_PER_OP * len(op.body.ops)
        for index, value in enumerate(op.inputs):
            if geometry.transposes(self.space.axes_of_use(op, index)):
                each += self._elementwise("transpose", element_bytes(value), elements)
        if op.combiner is None:
            return Work(1, load, each, 0, issued)
        size = element_bytes(op.output)
        if not geometry.accumulates(op):
            return Work(1, load, each + self._elementwise("reduce_add", size, elements), 0, issued)
        turns, rows = self._turns(), -(-elements // self.cols)
        each += self._elementwise("pair", size, elements)
        once = self._elementwise("single", size, elements)
        joins = rows.bit_length() if geometry.reduces_rows else 0
        once += joins * self._elementwise("pair", size, self.cols)
        once += self._elementwise("pair", size, elements) if joins else 0
        return Work(turns, load, each, once, turns * (ISSUED_PER_TURN + issued) + joins)

    def _turns(self) -> int:
        """How often a tile of the op's inputs is loaded around its accumulator."""
        geometry, extents = self.geometry, self.space.extents
        dims = set(self.space.dims_of(self.op))
        rows = geometry.rows if geometry.reduces_rows else ()
        tiled = prod(-(-extents[d] // self.tiles[d]) for d in rows if d in dims)
        own = {w.tap for w in windows_of(self.space, self.op)}
        sizes = {d: self.tiles[d] if d in own else 1 for d in geometry.taps if d in dims}
        return tiled * prod(extents[d] // size for d, size in sizes.items())

    def _along_windows(self, loaded: Sequence[int]) -> Work:
        """What lies under the tile, then the body a tap."""
        op, space, geometry = self.op, self.space, self.geometry
        shapes = patch_shapes(geometry, op, self.tiles)
        own = frozenset(w.tap for w in windows_of(space, op))
        held = {
            index: prod(space.extents[d] for d in own)
            for index in range(len(op.inputs))
            if taps_run(space, op, index, geometry.col, own) is not None
        } | {index: shape.rows for index, shape in shapes.items()}
        sources = made_of_one(op, held)
        loads = [
            self._patch_load(i, shapes[i]) if i in shapes else self._transfer(i)
            for i in sorted({*held, *loaded})
        ]
        first = [s for s in self.scalars if s.results[0] in sources]
        each = sum(
            self._elementwise(_class_of(s), _bytes_of(s), held[sources[s.results[0]]] * self.cols)
            for s in first
        )
        shape = next(iter(shapes.values()))
        taps = prod(self.tiles[d] for d in own)
        size = element_bytes(op.output)
        at_tap = [self._by_rows("pair", size, shape.results)]
        for s in self.scalars:
            if s.results[0] not in sources:
                at_tap.append(self._by_rows(_class_of(s), _bytes_of(s), shape.results))
        each += taps * sum(cycles for cycles, _ in at_tap)
        issued = ISSUED_PER_TAP + sum(instructions for _, instructions in at_tap)
        once = 2 * self._elementwise("single", size, shape.results * self.cols)
        lines = sum(s.lines for s in shapes.values())
        turns = self._turns()
        whole = ISSUED_PER_PATCH + lines * ISSUED_PER_LINE + taps * issued
        return Work(turns, together(loads), each, once, turns * whole)

    def _patch_load(self, index: int, shape: PatchShape) -> costs.Cycles:
        """One transfer an image row."""
        sizes = tensor_type(self.op.inputs[index]).get_shape()
        size = element_bytes(self.op.inputs[index])
        pixels = min(shape.across.length, shape.across.extent)
        run = (pixels, min(self.cols, sizes[-1]) * size, sizes[-1] * size)
        aligned = costs.is_aligned(self.machine, sizes[-2] * sizes[-1] * size, *run)
        traffic = costs.Traffic(self.cores)
        line = costs.gm_move(self.machine, "gm_ub", *run, aligned=aligned, traffic=traffic)
        return costs.Cycles(shape.lines * line.busy, line.tail)

    def _transfer(self, index: int) -> costs.Cycles:
        axes = self.space.axes_of_use(self.op, index)
        value = self.op.inputs[index]
        return transfer(self.geometry, self.machine, "gm_ub", value, axes, self.tiles, self.cores)

    def _elementwise(self, group: costs.VectorClass, size: int, elements: int) -> int:
        return elementwise(self.machine, group, size, elements)

    def _by_rows(self, group: costs.VectorClass, size: int, rows: int) -> tuple[int, int]:
        """Cycles and instructions of an op on rows of columns: whole repeats, and what is left by
        rows or by blocks of eight rows."""
        full, rest = divmod(self.cols * size, REPEAT_BYTES)
        whole = costs.vector(self.machine, group, size, rows).busy
        if not rest:
            return full * whole, full
        blocks = -(-rest // costs.BLOCK)
        by_blocks = blocks * costs.vector(self.machine, group, size, -(-rows // EIGHT)).busy
        if by_blocks < whole:
            return full * whole + by_blocks, full + blocks
        return (full + 1) * whole, full + 1


def _class_of(scalar: Operation) -> costs.VectorClass:
    """The group of vector instructions that a scalar op becomes one of."""
    if isinstance(scalar, CASTS):
        return "convert"
    return "transcendental" if scalar.name.startswith("math.") else "pair"


def _bytes_of(scalar: Operation) -> int:
    """Bytes of the widest element that an op works on."""
    values: Iterable[SSAValue] = (*scalar.operands, *scalar.results)
    return max(_width(value.type) for value in values)


def _width(type_: Attribute) -> int:
    return itemsize(element_name(type_))


def together(moves: Sequence[costs.Cycles]) -> costs.Cycles:
    """Several transfers of one engine, one behind the other; their latencies overlap."""
    return costs.Cycles(sum(m.busy for m in moves), max((m.tail for m in moves), default=0))


def transfer(
    geometry: Geometry,
    machine: Machine,
    path: costs.GmPath,
    value: SSAValue,
    axes: Sequence[Axis],
    tiles: Sequence[int],
    cores: int,
) -> costs.Cycles:
    """Cycles of moving one tile of a value."""
    size = element_bytes(value)
    inside = [dim for axis in axes if (dim := point_of(axis)) is not None]
    last = inside[-1] if inside else None
    row_bytes = (tiles[last] if last is not None else 1) * size
    rows = prod(tiles[d] for d in inside[:-1])
    shape = tensor_type(value).get_shape()
    stride = (shape[-1] if shape else 1) * size
    cut = last is not None and tiles[last] < geometry.space.extents[last]
    second = row_bytes if cut else 0  # where the second tile of a row starts
    aligned = costs.is_aligned(machine, second, rows, row_bytes, stride)
    return costs.gm_move(
        machine, path, rows, row_bytes, stride, aligned=aligned, traffic=costs.Traffic(cores)
    )


def elementwise(machine: Machine, group: costs.VectorClass, size: int, elements: int) -> int:
    """Cycles of one vector op over so many elements."""
    repeat = -(-elements * size // REPEAT_BYTES)
    return costs.vector(machine, group, size, repeat).busy


def element_bytes(value: SSAValue) -> int:
    """Bytes of one element of a tensor."""
    return itemsize(element_name(tensor_type(value).element_type))
