"""Cycles from sizes, for every unit and every DMA path of a machine.

Instruction cycles, the tiling cost model and the emulator's clock all come from these functions.
An operation keeps its pipe busy for `Cycles.busy`; its result is complete `Cycles.tail` later, so
independent operations on one pipe overlap their tails.  All arithmetic is in integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ..core.dtypes import itemsize

if TYPE_CHECKING:
    from .machine import Machine

FRACTAL = 16
"""Rows and columns of one cube step."""
BLOCK = 32
"""Bytes of one block: a row of a fractal, and the step of on-chip strides."""

GmPath = Literal["gm_l1", "gm_ub", "ub_gm", "l1_gm", "l0c_gm"]
LocalPath = Literal[
    "l1_l0a", "l1_l0b", "l0c_ub", "ub_l1", "l1_ub", "l1_bt", "l1_fb", "l0c_l1"
]  # fmt: skip
VectorClass = Literal[
    "single", "pair", "divide", "transcendental", "reduce_add", "reduce_max", "convert",
    "logic", "compare", "multiply_add", "block_reduce", "transpose", "gather", "gather_block",
    "compress", "sort", "merge",
]  # fmt: skip


class Cycles(NamedTuple):
    """`busy`: cycles until the pipe takes its next work; `tail`: further cycles until done."""

    busy: int
    tail: int


class Traffic(NamedTuple):
    """Circumstances of a GM transfer: `cores` share the chip's bandwidth equally, and `missed`
    bytes go between L2 and DRAM because of it (fetched, or written back to make room)."""

    cores: int = 1
    missed: int = 0


RESIDENT = Traffic()
"""One core alone, everything in L2."""


def ceil_div(value: int, step: int) -> int:
    """`value / step`, rounded up."""
    return -(-value // step)


def mmad(machine: Machine, m: int, k: int, n: int, dtype: str) -> Cycles:
    """Cycles of one product of m x k by k x n of `dtype`: setup plus one step a fractal."""
    c0 = BLOCK // itemsize(dtype)
    steps = c0 // machine.cube.depth(dtype)
    fractals = ceil_div(m, FRACTAL) * ceil_div(n, FRACTAL) * ceil_div(k, c0)
    return Cycles(machine.cube.setup + fractals * steps, machine.cube.drain)


def vector(
    machine: Machine, group: VectorClass, itemsize: int, repeat: int, *, counted: bool = False
) -> Cycles:
    """Cycles of a vector instruction whose widest element type has `itemsize` bytes; `counted` in
    counter mode, which costs more."""
    cost = machine.vector.group(group)
    slope = cost.slope_b32 if itemsize == 4 else cost.slope_b16
    busy = max(cost.floor, slope * repeat)
    return Cycles(busy + (machine.vector.count_mode if counted else 0), cost.tail)


def local_move(machine: Machine, path: LocalPath, size: int) -> Cycles:
    """Cycles of moving `size` bytes between two memories of a core."""
    cost = machine.paths.local(path)
    return Cycles(max(1, ceil_div(size, cost.rate)), cost.latency)


_SLOWEST = 8
"""How many times longer than at full rate an im2col load takes at most."""


def im2col(
    machine: Machine, rows: int, fractal_row: int, *, start: int, width: int, stride: int
) -> Cycles:
    """Cycles of an im2col load from L1 to L0A of `rows` windows of an image.

    `fractal_row` is the bytes of 16 rows; the first window is number `start`, `width` windows lie
    in one row of the image, `stride` columns apart.

    Published for a part that moves 256 bytes a cycle on this path (Ascend C performance guide): a
    fractal whose 16 windows lie in one row of the image runs at full rate, one whose windows lie in
    n > 1 rows at 512 / (n + 2) bytes a cycle, windows 2, 4 or 8 columns apart at
    512 / (2 * stride), and nothing runs at less than 32, the rate of all other strides.  Here the
    full rate is that of the machine's path, the others scale with it, and the slower of the two
    counts.
    """
    apart = stride if stride in (1, 2, 4) else _SLOWEST
    halves = 0
    for first in range(start, start + rows, FRACTAL):
        touched = (first + FRACTAL - 1) // width - first // width + 1
        spread = 2 if touched == 1 else min(touched + 2, 2 * _SLOWEST)
        halves += max(spread, 2 * apart)
    cost = machine.paths.l1_l0a
    return Cycles(max(1, ceil_div(halves * fractal_row, 2 * cost.rate)), cost.latency)


def is_aligned(machine: Machine, start: int, rows: int, row_bytes: int, stride: int) -> bool:
    """Whether every burst of a GM transfer starts on the machine's burst boundary.

    Rows that follow each other without a gap are one burst."""
    burst = machine.dma.burst
    return start % burst == 0 and (rows <= 1 or stride in (row_bytes, 0) or stride % burst == 0)


def gm_move(
    machine: Machine,
    path: GmPath,
    rows: int,
    row_bytes: int,
    stride: int,
    *,
    aligned: bool,
    traffic: Traffic = RESIDENT,
) -> Cycles:
    """Cycles of moving `rows` runs of `row_bytes`, `stride` bytes apart in GM.

    A run counts as whole requests; the slowest of the core's port, its share of L2 and its share
    of DRAM (for `traffic.missed` bytes) decides.  `aligned` is what `is_aligned` says.
    """
    cost = machine.paths.gm(path)
    if stride == row_bytes:
        rows, row_bytes = 1, rows * row_bytes
    size = rows * ceil_div(row_bytes, machine.dma.request) * machine.dma.request
    percent = 100 if aligned else cost.unaligned
    port = ceil_div(size * percent, cost.rate * 100)
    shared = ceil_div(size * percent * traffic.cores, machine.l2.rate * 100)
    return Cycles(max(machine.dma.issue, port, shared, dram_cycles(machine, traffic)), cost.latency)


def dram_cycles(machine: Machine, traffic: Traffic) -> int:
    """Cycles to move `traffic.missed` bytes at a core's share of the DRAM bandwidth."""
    scaled = traffic.missed * traffic.cores * machine.core.clock
    return ceil_div(scaled, machine.dram.bandwidth * 1000)


def scalar(machine: Machine) -> Cycles:
    """Cycles of one scalar instruction."""
    return Cycles(machine.scalar.step, 0)


def fill(machine: Machine, path: GmPath | LocalPath, size: int) -> Cycles:
    """Cycles of filling `size` bytes at the end of a path, at its rate; nothing comes from afar."""
    rate = getattr(machine.paths, path).rate
    return Cycles(max(1, ceil_div(size, rate)), 0)


def scalar_access(machine: Machine, path: GmPath | None, traffic: Traffic = RESIDENT) -> Cycles:
    """Cycles of a scalar load or store: of UB, or with `path` of GM, for which the thread waits."""
    access = machine.scalar.access
    if path is None:
        return Cycles(access, 0)
    waiting = machine.paths.gm(path).latency + dram_cycles(machine, traffic)
    return Cycles(access + waiting, 0)


def through_gm(machine: Machine) -> int:
    """Cycles until a core sees what another one told it through GM: a store and a load."""
    return machine.paths.ub_gm.latency + machine.paths.gm_ub.latency


def nanoseconds(machine: Machine, time: int) -> int:
    """Cycles in `time` nanoseconds, rounded up."""
    return ceil_div(time * machine.core.clock, 1000)


def microseconds(machine: Machine, cycles: int) -> float:
    """Duration of `cycles` in microseconds."""
    return cycles / machine.core.clock


HOST_TASK = 300
"""Cycles to start a function of the host engine: an AI CPU task takes 200 to 390 (pypto)."""
HOST_RATE = 8
"""Operations, and bytes moved, a cycle of the host engine: a guess for one general core."""


def host_call(operations: int, traffic: int) -> int:
    """Cycles of a function of the host engine, on any machine."""
    return HOST_TASK + ceil_div(max(operations, traffic), HOST_RATE)
