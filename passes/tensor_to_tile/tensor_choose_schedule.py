"""The pass `tensor-choose-schedule`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import CapacityError
from ...dialects.core.locations import where
from ...dialects.target.attributes import machine_of
from ...dialects.target.machine import Machine
from ...dialects.tensor.ops import GroupOp
from ...dialects.tile.program import KernelOp
from ...dialects.tile.schedule import ScheduleAttr
from ...dialects.tile.types import FRACTAL_ROWS, round_up
from ..analysis.buffer_plan import check_capacity, peaks, plan
from ..base import NpucPass
from ..tile.tile_assign_depth import PIPELINED, assign_depths, give_back
from .contraction_dims import ContractionDims
from .convert_tensor_to_tile import SCHEDULE
from .convolution import block_of, image_axis, region_rows
from .estimate import Candidate, estimate
from .geometry import TURNED, Geometry, geometry_of
from .kernel import KernelEmitter
from .vector_cost import element_bytes

LARGEST_TILE = 256
"""Most rows or columns of one mmad that are tried."""
LARGEST_STEP = 256
"""Most reduced elements of one mmad that are tried."""
MOST_STEPS = 8
"""Most mmad steps fed by one L1 tile that are tried."""
MAX_REDUCED = 4095
"""Most reduced elements of a convolution in L1: the limit of im2col's column fields."""
MAX_PIXELS = 16384
"""Most image elements a channel in L1: the limit of the load's row field."""
BROADCAST_ROWS = 8
"""Rows whose elements one instruction spreads over blocks."""


@dataclass(frozen=True)
class TensorChooseSchedulePass(NpucPass):
    """Choose tile sizes and cores for every group that has no `tile.schedule` yet.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
        %0 = tensor.group(%a = %x : tensor<8x64xf32>) kind "vector" stopped "end" {
          %1 = tensor.map(%a) maps [affine_map<(d0, d1) -> (d0, d1)>]
              -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
          ^bb0(%p : f32):
            %q = math.exp %p : f32
            tensor.yield %q : f32
          } : (tensor<8x64xf32>) -> tensor<8x64xf32>
          tensor.yield %1 : tensor<8x64xf32>
        } -> (tensor<8x64xf32>)
        func.return %0 : tensor<8x64xf32>
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
        %0 = tensor.group(%a = %x : tensor<8x64xf32>) kind "vector" stopped "end" attributes {
            tile.schedule = #tile.schedule<tiles [8, 64], steps [8, 64], cores 1,
              cycles 316, reason "bound by S: 1 x (MTE2 32, MTE3 32, S 38, V 16)">} {
          %1 = tensor.map(%a) maps [affine_map<(d0, d1) -> (d0, d1)>]
              -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
          ^bb0(%p : f32):
            %q = math.exp %p : f32
            tensor.yield %q : f32
          } : (tensor<8x64xf32>) -> tensor<8x64xf32>
          tensor.yield %1 : tensor<8x64xf32>
        } -> (tensor<8x64xf32>)
        func.return %0 : tensor<8x64xf32>
      }
    }
    ```

    1. Candidates: powers of two up to the extents for rows and columns (a dim reduced by vector
       work in one piece), multiples of 16 for the reduced dim of a contraction, and the numbers of
       steps that divide it evenly. The factors fit the cube's memories twice, or else once.
    2. Each is priced by `estimate.py` from sizes alone; no shape or name is looked at.
    3. In order of price, the kernel is emitted and its buffers planned; the first that fits with
       all its double buffers wins. If none does, the cheapest that fits with fewer.

    A schedule that stands in the IR (by hand, by a tuner) is kept; the next pass verifies it.
    """

    name: ClassVar[str] = "tensor-choose-schedule"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose for every group."""
        machine = machine_of(op)
        for group in op.walk():
            if isinstance(group, GroupOp) and SCHEDULE not in group.attributes:
                group.attributes[SCHEDULE] = choose(group, machine)


def choose(group: GroupOp, machine: Machine) -> ScheduleAttr:
    """The best schedule of one group; CapacityError if nothing fits the machine."""
    place = where(group) or "a group without a source node"
    geometry = geometry_of(group, place)
    ranked: list[Candidate] = []
    for slots in (PIPELINED, 1):
        ranked = ranked or sorted(_candidates(geometry, machine, slots), key=_rank)
    if not ranked:
        raise CapacityError(
            "not even the smallest tile of each factor fits the cube's memories",
            where=place,
            why=f"{machine.name} has {machine.size('l0a')}, {machine.size('l0b')}, "
            f"{machine.size('l0c')} and {machine.size('l1')} bytes of l0a, l0b, l0c and l1",
            hint="take a machine with larger memories",
        )
    for candidate in ranked:
        schedule = _schedule(candidate)
        if _fits(_emit(geometry, schedule, place), machine):
            return schedule
    for candidate in ranked:
        kernel = _emit(geometry, _schedule(candidate), place)
        give_back(kernel, machine)
        if _fits(kernel, machine):
            return _schedule(candidate)
    smallest = min(ranked, key=lambda c: prod(c.tiles))
    kernel = _emit(geometry, _schedule(smallest), place)
    check_capacity(kernel, plan(kernel), machine)
    return _schedule(smallest)


def _rank(candidate: Candidate) -> tuple[int, int, int, tuple[int, ...]]:
    """Cheapest first; of equal ones that with the fewest, largest mmads."""
    return candidate.total, candidate.rounds, -prod(candidate.steps), candidate.tiles


def _schedule(candidate: Candidate) -> ScheduleAttr:
    return ScheduleAttr.of(
        candidate.tiles, candidate.steps, candidate.cores, candidate.reason(), candidate.total
    )


def _emit(geometry: Geometry, schedule: ScheduleAttr, place: str) -> KernelOp:
    kernel = KernelEmitter(geometry.group, geometry, schedule, "candidate", place).emit()
    assign_depths(kernel)
    return kernel


def _fits(kernel: KernelOp, machine: Machine) -> bool:
    return all(used <= machine.size(space) for space, used in peaks(plan(kernel)).items())


def _candidates(geometry: Geometry, machine: Machine, slots: int) -> Iterator[Candidate]:
    """All sizes worth pricing, each priced; the factors of a product fit `slots` times."""
    extents, kinds = geometry.space.extents, geometry.space.kinds
    contraction = geometry.contraction
    whole = contraction is None and kinds[geometry.col] == "reduction"
    unit = FRACTAL_ROWS if contraction or geometry.transposed else _block(geometry)
    cols = _sizes(extents[geometry.col], unit)
    if whole:
        cols = [cols[-1] if geometry.transposed else extents[geometry.col]]
    for rows, taps, col in product(_rows(geometry), _taps(geometry), cols):
        sizes = {**rows, **taps, geometry.col: col}
        tiles = [sizes.get(dim, 1) for dim in range(geometry.space.rank)]
        if contraction is None:
            yield estimate(geometry, machine, tiles, tiles)
            continue
        for reduced in _reduced(geometry, machine, tiles, slots):
            steps = list(tiles)
            for dim, (tile, step) in reduced.items():
                tiles[dim], steps[dim] = tile, step
            yield estimate(geometry, machine, tiles, steps)


def _rows(geometry: Geometry) -> list[dict[int, int]]:
    """The sizes of row dims worth trying, by dim: a part of one dim, those inside it whole.

    Left out are rows that are ragged and leave part of a broadcast's group: they are spread one by
    one by reductions, which rows without a value would spoil.
    """
    found: list[dict[int, int]] = []
    base = dict.fromkeys(geometry.rows, 1)
    inside = 1
    for dim in reversed(geometry.rows):
        extent, outermost = geometry.space.extents[dim], dim == geometry.rows[0]
        unit = 1
        if geometry.transposed:
            unit = TURNED // gcd(inside, TURNED)
        elif geometry.contraction and inside == 1:
            unit = FRACTAL_ROWS
        for size in _sizes(extent, unit):
            size = size if outermost else min(size, extent)
            ragged = size < extent and extent % size and inside * size % BROADCAST_ROWS
            if not ragged and not (geometry.transposed and inside * size % TURNED):
                found.append({**base, dim: size})
        base[dim] = extent
        inside *= extent
    return found or [base]


def _taps(geometry: Geometry) -> Iterator[dict[int, int]]:
    """The sizes of the taps of windows worth trying: all, those of the last dim alone, one."""
    sizes = {dim: geometry.space.extents[dim] for dim in sorted(geometry.windows)}
    yield dict(sizes)
    for dim in sizes:
        if sizes[dim] > 1:
            sizes[dim] = 1
            yield dict(sizes)


def _sizes(extent: int, unit: int) -> list[int]:
    """Powers of two times `unit` below the extent, and the extent rounded up to the unit."""
    largest = round_up(extent, unit)
    sizes = {largest}
    size = unit
    while size < largest:
        sizes.add(size)
        size *= 2
    return sorted(sizes)


def _block(geometry: Geometry) -> int:
    """Columns in a 32-byte block of the narrowest result."""
    return max(32 // element_bytes(v) for v in geometry.group.yielded)


def _reduced(
    geometry: Geometry, machine: Machine, tiles: Sequence[int], slots: int
) -> Iterator[dict[int, tuple[int, int]]]:
    """Tile and step of the reduced dims whose factors fit L0 and L1 `slots` times."""
    dims = geometry.contraction
    assert dims is not None
    row, col = geometry.row_tile(tiles), tiles[geometry.col]
    size = max(element_bytes(v) for v in dims.op.inputs)
    if max(row, col) > LARGEST_TILE or row * col * 4 > machine.size("l0c"):
        return
    most = min(machine.size("l0a") // row, machine.size("l0b") // col) // (slots * size)
    room = machine.size("l1") // (slots * size)
    if dims.windows:
        yield from _of_convolution(geometry, tiles, most, room)
        return
    extent = geometry.space.extents[dims.k]
    for step in _sizes(min(round_up(extent, 16), LARGEST_STEP), 16):
        if step > most:
            continue
        total = -(-extent // step)
        for count in range(1, min(total, MOST_STEPS) + 1):
            if total % count == 0 and (row + col) * step * count <= room:
                yield {dims.k: (step * count, step)}


def _of_convolution(
    geometry: Geometry, tiles: Sequence[int], most: int, room: int
) -> Iterator[dict[int, tuple[int, int]]]:
    """The same for a convolution: all taps of some channel blocks in L1, fewer in a step.

    A step is several blocks at all taps, or part of the taps of one block; `most` is the largest
    step, `room` what L1 has for both factors, in elements.
    """
    dims = geometry.contraction
    assert dims is not None
    c0, channels = block_of(geometry), geometry.space.extents[dims.k]
    blocks = -(-channels // c0)
    sizes = {w.tap: geometry.space.extents[w.tap] for w in dims.windows}
    image = tensor_type(dims.op.inputs[dims.lhs]).get_shape()
    last = image_axis(geometry) + len(dims.windows)
    pixels = round_up(region_rows(geometry, tiles) * image[last - 1], FRACTAL_ROWS)
    if pixels > MAX_PIXELS:
        return
    for count in (c for c in range(1, blocks + 1) if blocks % c == 0):
        rows = prod(sizes.values()) * count * c0
        if (pixels * count * c0 + rows * tiles[dims.n]) > room or rows > MAX_REDUCED:
            break
        for step in _steps(dims, sizes, count):
            if prod(step.values()) * c0 <= min(most, MAX_REDUCED):
                taps = {tap: (size, step[tap]) for tap, size in sizes.items()}
                yield {dims.k: (count * c0, step[dims.k] * c0), **taps}


def _steps(
    dims: ContractionDims, sizes: Mapping[int, int], blocks: int
) -> Iterator[dict[int, int]]:
    """Taps and channel blocks in one step, each of which divides what the tile has."""
    for count in range(1, blocks + 1):
        if blocks % count == 0:
            yield {**sizes, dims.k: count}
    step = dict(sizes)
    for window in dims.windows:
        step[window.tap] = 1
        yield {**step, dims.k: 1}
