"""Predict the cycles of a candidate schedule from sizes alone, by the machine's cost functions.

In a steady loop every pipe works at once, so an iteration takes as long as its busiest pipe; and a
buffer of two slots lets its producer and its consumer each be one iteration ahead, so it also takes
at least half of what both need one after the other, latencies and flags included. The loops are
nested: steps in tiles of the reduced dim in tiles. The first tile's loads and the last one's store
are exposed. L2 is taken as warm. The same functions give an instruction its cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import itemsize
from ...dialects.target import costs
from ...dialects.target.machine import Machine
from .geometry import Geometry

REPEAT_BYTES = 256
"""Bytes a vector instruction takes in one repeat."""
ISSUED_PER_TILE, ISSUED_PER_K_TILE, ISSUED_PER_STEP, ISSUED_PER_OP = 32, 14, 14, 3
"""Instructions issued for one iteration of each loop, and for one vector op; counted in kernels."""


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
    vector = _vector_work(geometry, machine, tiles)
    issued = ISSUED_PER_TILE + ISSUED_PER_OP * sum(len(op.body.ops) for op in geometry.space.ops)
    moves = [
        _transfer(geometry, machine, "gm_ub", value, axes, tiles, cores)
        for value, axes in _external_inputs(geometry)
    ]
    load = _together(moves)
    store = _together(
        [
            _transfer(geometry, machine, "ub_gm", v, geometry.space.axes_of(v), tiles, cores)
            for v in geometry.group.yielded
        ]
    )
    busy = {"MTE2": load.busy, "MTE3": store.busy}
    handed_over, first = [(load, costs.Cycles(vector, 0))], load.busy + load.tail
    if geometry.contraction is not None:
        product = _contraction(geometry, machine, tiles, steps, cores, busy)
        first = product.first
        vector += product.drain
        issued += product.issued
        handed_over.append(
            (costs.Cycles(product.cycles, machine.cube.drain), costs.Cycles(product.drain, 0))
        )
    busy |= {"V": vector, "S": issued * machine.scalar.step}
    handed_over.append((costs.Cycles(vector, 0), store))
    period = _period(machine, [*busy.values()], handed_over)
    total = rounds * period + first + vector + store.busy + store.tail
    return Candidate(tuple(tiles), tuple(steps), cores, rounds, busy, total)


def _together(moves: Sequence[costs.Cycles]) -> costs.Cycles:
    """Several transfers of one engine, one behind the other; their latencies overlap."""
    return costs.Cycles(sum(m.busy for m in moves), max((m.tail for m in moves), default=0))


def _period(
    machine: Machine,
    busy: Sequence[int],
    handed_over: Sequence[tuple[costs.Cycles, costs.Cycles]],
) -> int:
    """Cycles between iterations: the busiest pipe, or half of the slowest hand-over."""
    flags = machine.sync.set_flag + machine.sync.wait_flag
    both_ways = (sum(a) + sum(b) + 2 * flags for a, b in handed_over)
    return max([*busy, *(-(-time // 2) for time in both_ways)])


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
    size = element_bytes(value)
    inside = [d for d in axes if d is not None]
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


class Product(NamedTuple):
    """The contraction of one tile, in cycles: before its first step, from there to its last, and
    the drain; and the instructions issued for it."""

    first: int
    cycles: int
    drain: int
    issued: int


def _contraction(
    geometry: Geometry,
    machine: Machine,
    tiles: Sequence[int],
    steps: Sequence[int],
    cores: int,
    busy: dict[str, int],
) -> Product:
    """The product of one tile.

    Adds the cycles of the pipes M, MTE1 and MTE2 for one tile to `busy`.
    """
    dims = geometry.contraction
    assert dims is not None
    m, n, step = tiles[dims.m], tiles[dims.n], steps[dims.k]
    k_tiles = -(-geometry.space.extents[dims.k] // tiles[dims.k])
    k_steps = tiles[dims.k] // step
    factors: tuple[tuple[int, costs.LocalPath, int], ...] = (
        (dims.lhs, "l1_l0a", m),
        (dims.rhs, "l1_l0b", n),
    )
    loads: list[costs.Cycles] = []
    moves: list[costs.Cycles] = []
    for index, path, free in factors:
        value = dims.op.inputs[index]
        axes = geometry.space.axes_of_use(dims.op, index)
        loads.append(_transfer(geometry, machine, "gm_l1", value, axes, tiles, cores))
        moves.append(costs.local_move(machine, path, free * step * element_bytes(value)))
    load, move = _together(loads), _together(moves)
    dtype = element_name(tensor_type(dims.op.inputs[0]).element_type)
    mmad = costs.mmad(machine, m, step, n, dtype)
    scalar = machine.scalar.step
    step_period = _period(machine, [move.busy, mmad.busy, ISSUED_PER_STEP * scalar], [(move, mmad)])
    fed = costs.Cycles(k_steps * step_period, 0)
    issued = ISSUED_PER_K_TILE + k_steps * ISSUED_PER_STEP
    k_period = _period(machine, [load.busy, fed.busy, issued * scalar], [(load, fed)])
    busy["MTE2"] += load.busy * k_tiles
    busy["MTE1"] = move.busy * k_tiles * k_steps
    busy["M"] = mmad.busy * k_tiles * k_steps
    drain = costs.local_move(machine, "l0c_ub", m * n * 4).busy
    drain += _elementwise(machine, "single", 4, m * n)
    return Product(load.busy + load.tail, k_tiles * k_period, drain, k_tiles * issued)


def _vector_work(geometry: Geometry, machine: Machine, tiles: Sequence[int]) -> int:
    """Cycles of the vector pipe for the scalar bodies of one tile."""
    cycles = 0
    for op in geometry.space.ops:
        if op is geometry.contract_op:
            continue
        elements = prod(tiles[d] for d in geometry.space.dims_of(op))
        for scalar in op.body.ops:
            if scalar.results:
                size = max(itemsize(element_name(v.type)) for v in scalar.results)
                group = "transcendental" if scalar.name.startswith("math.") else "pair"
                cycles += _elementwise(machine, group, size, elements)
        if op.combiner is not None:
            cycles += _elementwise(machine, "reduce_add", element_bytes(op.output), elements)
    return cycles


def _elementwise(machine: Machine, group: costs.VectorClass, size: int, elements: int) -> int:
    """Cycles of one vector op over so many elements."""
    repeat = -(-elements * size // REPEAT_BYTES)
    return costs.vector(machine, group, size, repeat).busy


def element_bytes(value: SSAValue) -> int:
    """Bytes of one element of a tensor."""
    return itemsize(element_name(tensor_type(value).element_type))
