"""The pass `tensor-choose-schedule`."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

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
from ..tile.tile_assign_depth import assign_depths, give_back
from .convert_tensor_to_tile import SCHEDULE
from .estimate import Candidate, element_bytes, estimate
from .geometry import Geometry, geometry_of
from .kernel import KernelEmitter

LARGEST_TILE = 256
"""Most rows or columns of one mmad that are tried."""
LARGEST_STEP = 256
"""Most reduced elements of one mmad that are tried."""
MOST_STEPS = 8
"""Most mmad steps fed by one L1 tile that are tried."""
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
              reason "bound by S, 316 cycles: 1 x (MTE2 32, MTE3 32, S 38, V 16)">} {
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
       steps that divide it evenly.
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
    ranked = sorted(_candidates(geometry, machine), key=_rank)
    if not ranked:
        raise CapacityError(
            "not even one fractal of each factor fits the cube's memories twice",
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
    return ScheduleAttr.of(candidate.tiles, candidate.steps, candidate.cores, candidate.reason())


def _emit(geometry: Geometry, schedule: ScheduleAttr, place: str) -> KernelOp:
    kernel = KernelEmitter(geometry.group, geometry, schedule, "candidate", place).emit()
    assign_depths(kernel)
    return kernel


def _fits(kernel: KernelOp, machine: Machine) -> bool:
    return all(used <= machine.size(space) for space, used in peaks(plan(kernel)).items())


def _candidates(geometry: Geometry, machine: Machine) -> Iterator[Candidate]:
    """All sizes worth pricing, each priced."""
    extents, kinds = geometry.space.extents, geometry.space.kinds
    contraction = geometry.contraction
    base = [1] * geometry.space.rank
    rows = [1]
    if geometry.row is not None:
        rows = _rows(extents[geometry.row], FRACTAL_ROWS if contraction else 1)
    whole = contraction is None and kinds[geometry.col] == "reduction"
    unit = FRACTAL_ROWS if contraction else _block(geometry)
    cols = [extents[geometry.col]] if whole else _sizes(extents[geometry.col], unit)
    for row in rows:
        for col in cols:
            tiles = list(base)
            if geometry.row is not None:
                tiles[geometry.row] = row
            tiles[geometry.col] = col
            if contraction is None:
                yield estimate(geometry, machine, tiles, tiles)
                continue
            for step, count in _reduced(geometry, machine, row, col):
                steps = list(tiles)
                steps[contraction.k], tiles[contraction.k] = step, step * count
                yield estimate(geometry, machine, tiles, steps)


def _rows(extent: int, unit: int) -> list[int]:
    """The sizes of rows without those that are ragged and leave part of a broadcast's group.

    Such rows are spread one by one by reductions, which rows without a value would spoil.
    """
    return [r for r in _sizes(extent, unit) if extent % r == 0 or r % BROADCAST_ROWS == 0]


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


def _reduced(geometry: Geometry, machine: Machine, row: int, col: int) -> Iterator[tuple[int, int]]:
    """Step sizes and steps a tile for the reduced dim whose factors fit L0 and L1 twice."""
    dims = geometry.contraction
    assert dims is not None
    size = max(element_bytes(v) for v in dims.op.inputs)
    if max(row, col) > LARGEST_TILE or row * col * 4 > machine.size("l0c"):
        return
    extent = geometry.space.extents[dims.k]
    for step in _sizes(min(round_up(extent, 16), LARGEST_STEP), 16):
        if 2 * row * step * size > machine.size("l0a"):
            continue
        if 2 * col * step * size > machine.size("l0b"):
            continue
        total = -(-extent // step)
        for count in range(1, min(total, MOST_STEPS) + 1):
            fits = 2 * (row + col) * step * count * size <= machine.size("l1")
            if total % count == 0 and fits:
                yield step, count
