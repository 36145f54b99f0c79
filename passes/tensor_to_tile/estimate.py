"""Predict the cycles of a candidate schedule from sizes alone, by the machine's cost functions.

In a steady loop every pipe works at once, so an iteration takes as long as its busiest pipe; and a
buffer of two slots lets its producer and its consumer each be one iteration ahead, so it also takes
at least half of what both need one after the other, latencies and flags included. The loops are
nested: steps in tiles of the reduced dim in tiles. The first tile's loads and the last one's store
are exposed. L2 is taken as warm. The same functions give an instruction its cycles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.target import costs
from ...dialects.target.machine import Machine
from .convolution import image_axis, reduced_step, reduced_tile, region_rows
from .geometry import Geometry
from .vector_cost import Work, element_bytes, elementwise, together, transfer, vector_works

ISSUED_PER_TILE, ISSUED_PER_K_TILE, ISSUED_PER_STEP = 32, 14, 14
"""Instructions issued for one iteration of each loop; counted in kernels."""


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
        return f"bound by {self.bound}: {self.rounds} x ({pipes})"


def estimate(
    geometry: Geometry, machine: Machine, tiles: Sequence[int], steps: Sequence[int]
) -> Candidate:
    """Cost of one candidate."""
    count = geometry.tile_count(tiles)
    cores = min(machine.core.count, count)
    rounds = -(-count // cores)
    works = vector_works(geometry, machine, tiles, cores)
    vector = sum(work.vector for work in works)
    issued = ISSUED_PER_TILE + sum(work.issued for work in works)
    load = together([work.load for work in works if work.turns == 1])
    store = together(
        [
            transfer(geometry, machine, "ub_gm", v, geometry.space.axes_of(v), tiles, cores)
            for v in geometry.group.yielded
        ]
    )
    waiting = sum(_waiting(machine, work) for work in works if work.turns > 1)
    busy = {"MTE2": sum(work.turns * work.load.busy for work in works), "MTE3": store.busy}
    handed_over, first = [(load, costs.Cycles(vector, 0))], sum(together([w.load for w in works]))
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
    period = _period(machine, [*busy.values(), vector + waiting], handed_over)
    total = rounds * period + first + vector + store.busy + store.tail
    return Candidate(tuple(tiles), tuple(steps), cores, rounds, busy, total)


def _waiting(machine: Machine, work: Work) -> int:
    """Cycles that the vector unit waits for loads in the turns of a reduction."""
    scalar = work.issued // work.turns * machine.scalar.step
    handed_over = [(work.load, costs.Cycles(work.each, 0))]
    period = _period(machine, [work.load.busy, work.each, scalar], handed_over)
    return work.turns * (period - work.each)


def _period(
    machine: Machine,
    busy: Sequence[int],
    handed_over: Sequence[tuple[costs.Cycles, costs.Cycles]],
) -> int:
    """Cycles between iterations: the busiest pipe, or half of the slowest hand-over."""
    flags = machine.sync.set_flag + machine.sync.wait_flag
    both_ways = (sum(a) + sum(b) + 2 * flags for a, b in handed_over)
    return max([*busy, *(-(-time // 2) for time in both_ways)])


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
    m, n, step = geometry.row_tile(tiles), tiles[dims.n], reduced_step(geometry, steps)
    k_tiles = -(-geometry.space.extents[dims.k] // tiles[dims.k])
    k_steps = reduced_tile(geometry, tiles) // step
    size = element_bytes(dims.op.inputs[dims.lhs])
    loads = _loads_to_l1(geometry, machine, tiles, cores)
    left = costs.local_move(machine, "l1_l0a", m * step * size)
    if dims.windows:
        across = dims.windows[-1]
        width = geometry.space.extents[across.point]
        row = costs.FRACTAL * step * size
        left = costs.im2col(machine, m, row, start=0, width=width, stride=across.stride)
    moves = [left, costs.local_move(machine, "l1_l0b", n * step * size)]
    load, move = together(loads), together(moves)
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
    drain += elementwise(machine, "single", 4, m * n)
    return Product(load.busy + load.tail, k_tiles * k_period, drain, k_tiles * issued)


def _loads_to_l1(
    geometry: Geometry, machine: Machine, tiles: Sequence[int], cores: int
) -> list[costs.Cycles]:
    """Loads of one tile of k of both factors; for a convolution a region and all taps."""
    dims = geometry.contraction
    assert dims is not None
    operands = [(i, dims.op.inputs[i]) for i in (dims.lhs, dims.rhs)]
    if not dims.windows:
        uses = [(value, geometry.space.axes_of_use(dims.op, i)) for i, value in operands]
        return [
            transfer(geometry, machine, "gm_l1", value, axes, tiles, cores) for value, axes in uses
        ]
    (_, image), (_, weights) = operands
    size = element_bytes(image)
    last = image_axis(geometry) + len(dims.windows)
    width = tensor_type(image).get_shape()[last - 1]
    channels = tensor_type(image).get_shape()[-1]
    pixels = region_rows(geometry, tiles) * width
    taps = prod(tiles[w.tap] for w in dims.windows)
    columns = tensor_type(weights).get_shape()[-1]
    runs = (
        (pixels, min(tiles[dims.k], channels) * size, channels * size),
        (taps * tiles[dims.k], tiles[dims.n] * size, columns * size),
    )
    traffic = costs.Traffic(cores)
    return [
        costs.gm_move(
            machine,
            "gm_l1",
            *run,
            aligned=costs.is_aligned(machine, 0, *run),
            traffic=traffic,
        )
        for run in runs
    ]
