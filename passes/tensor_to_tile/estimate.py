"""Predict the cycles of a candidate schedule from sizes alone, by the machine's cost functions.

In a steady loop every pipe works at once, so a tile takes as long as its busiest pipe; the first
tile's loads and the last one's store are exposed. These are the same functions that give an
instruction its cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import itemsize
from ...dialects.target import costs
from ...dialects.target.machine import Machine
from .geometry import Geometry

REPEAT_BYTES = 256
"""Bytes a vector instruction takes in one repeat."""


@dataclass(frozen=True)
class Candidate:
    """Tile and step sizes under consideration, with what they would cost.

    `busy` are the cycles of each pipe for one tile, `total` those of the whole kernel.
    """

    tiles: tuple[int, ...]
    steps: tuple[int, ...]
    cores: int
    rounds: int
    busy: Mapping[str, int] = field(hash=False)
    total: int = 0

    @property
    def bound(self) -> str:
        """The busiest pipe."""
        return max(self.busy, key=lambda pipe: self.busy[pipe])

    def reason(self) -> str:
        """One sentence for `npuc explain`."""
        pipes = ", ".join(f"{pipe} {cycles}" for pipe, cycles in sorted(self.busy.items()))
        return f"bound by {self.bound}, {self.total} cycles: {self.rounds} x ({pipes})"


def estimate(
    geometry: Geometry, machine: Machine, tiles: Sequence[int], steps: Sequence[int]
) -> Candidate:
    """Cost of one candidate."""
    count = geometry.tile_count(tiles)
    cores = min(machine.core.count, count)
    rounds = -(-count // cores)
    busy = {"MTE2": 0, "V": 0, "MTE3": 0}
    exposed = 0
    if geometry.contraction is not None:
        exposed = _contraction(geometry, machine, tiles, steps, cores, busy)
    for value, axes in _external_inputs(geometry):
        move = _transfer(geometry, machine, "gm_ub", value, axes, tiles, cores)
        busy["MTE2"] += move.busy
        exposed = max(exposed, move.busy + move.tail)
    for value in geometry.group.yielded:
        axes = geometry.space.axes_of(value)
        move = _transfer(geometry, machine, "ub_gm", value, axes, tiles, cores)
        busy["MTE3"] += move.busy
        exposed += move.busy + move.tail
    busy["V"] += _vector_work(geometry, machine, tiles)
    total = rounds * max(busy.values()) + exposed + busy["V"]
    return Candidate(tuple(tiles), tuple(steps), cores, rounds, busy, total)


def _external_inputs(geometry: Geometry) -> Iterator[tuple[SSAValue, tuple[int | None, ...]]]:
    """The values that vector work of the group loads from GM, each once."""
    space = geometry.space
    made = {op.output for op in space.ops}
    seen: set[tuple[SSAValue, tuple[int | None, ...]]] = set()
    for op in space.ops:
        if op is geometry.contract_op:
            continue
        for index, value in enumerate(op.inputs):
            key = (value, space.axes_of_use(op, index))
            if value not in made and key not in seen:
                seen.add(key)
                yield key


def _transfer(
    geometry: Geometry,
    machine: Machine,
    path: costs.GmPath,
    value: SSAValue,
    axes: Sequence[int | None],
    tiles: Sequence[int],
    cores: int,
) -> costs.Cycles:
    """Cycles of moving one tile of a value."""
    size = _itemsize(value)
    inside = [d for d in axes if d is not None]
    last = inside[-1] if inside else None
    row_bytes = (tiles[last] if last is not None else 1) * size
    rows = prod(tiles[d] for d in inside[:-1])
    shape = tensor_type(value).get_shape()
    stride = (shape[-1] if shape else 1) * size
    aligned = costs.is_aligned(machine, 0, rows, row_bytes, stride)
    return costs.gm_move(
        machine, path, rows, row_bytes, stride, aligned=aligned, traffic=costs.Traffic(cores)
    )


def _contraction(
    geometry: Geometry,
    machine: Machine,
    tiles: Sequence[int],
    steps: Sequence[int],
    cores: int,
    busy: dict[str, int],
) -> int:
    """Add the cube pipes' cycles for one tile; the exposed cycles before the first product."""
    dims = geometry.contraction
    assert dims is not None
    space, op = geometry.space, dims.op
    loads, moves, first = 0, 0, 0
    k_tiles = -(-space.extents[dims.k] // tiles[dims.k])
    k_steps = k_tiles * (tiles[dims.k] // steps[dims.k])
    dtype = element_name(tensor_type(op.inputs[0]).element_type)
    factors: tuple[tuple[int, costs.LocalPath, int], ...] = (
        (dims.lhs, "l1_l0a", dims.m),
        (dims.rhs, "l1_l0b", dims.n),
    )
    for index, path, free in factors:
        value = op.inputs[index]
        axes = space.axes_of_use(op, index)
        move = _transfer(geometry, machine, "gm_l1", value, axes, tiles, cores)
        loads += move.busy * k_tiles
        first = max(first, move.busy + move.tail)
        nbytes = tiles[free] * steps[dims.k] * _itemsize(value)
        moves += costs.local_move(machine, path, nbytes).busy * k_steps
    m, n = tiles[dims.m], tiles[dims.n]
    product = costs.mmad(machine, m, steps[dims.k], n, dtype)
    drained = m * n * 4
    busy["MTE2"] += loads
    busy["MTE1"] = moves
    busy["M"] = product.busy * k_steps
    busy["V"] += costs.local_move(machine, "l0c_ub", drained).busy
    busy["V"] += _elementwise(machine, "single", 4, m * n)
    return first + moves // max(1, k_steps) + product.busy


def _vector_work(geometry: Geometry, machine: Machine, tiles: Sequence[int]) -> int:
    """Cycles of the vector pipe for the scalar bodies of one tile."""
    cycles = 0
    for op in geometry.space.ops:
        if op is geometry.contract_op:
            continue
        elements = prod(tiles[d] for d in geometry.space.dims_of(op))
        for scalar in op.body.ops:
            if scalar.results:
                size = max(4 if "f32" in str(v.type) else 2 for v in scalar.results)
                group = "transcendental" if scalar.name.startswith("math.") else "pair"
                cycles += _elementwise(machine, group, size, elements)
        if op.combiner is not None:
            cycles += _elementwise(machine, "reduce_add", _itemsize(op.output), elements)
    return cycles


def _elementwise(machine: Machine, group: costs.VectorClass, size: int, elements: int) -> int:
    """Cycles of one vector op over so many elements."""
    repeat = -(-elements * size // REPEAT_BYTES)
    return costs.vector(machine, group, size, repeat).busy


def _itemsize(value: SSAValue) -> int:
    return itemsize(element_name(tensor_type(value).element_type))
