"""Cycles from sizes, for every unit and every DMA path of a machine.

Instruction cycles, the tiling cost model and the emulator's clock all come from these functions.
An operation keeps its pipe busy for `Cycles.busy`; its result is complete `Cycles.tail` later, so
independent operations on one pipe overlap their tails.  All arithmetic is in integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from .machine import Machine

FRACTAL = 16
"""Rows and columns of one cube step."""
BLOCK = 32
"""Bytes of one block: a row of a fractal, and the step of on-chip strides."""

GmPath = Literal["gm_l1", "gm_ub", "ub_gm"]
LocalPath = Literal["l1_l0a", "l1_l0b", "l0c_ub"]
VectorClass = Literal[
    "single", "pair", "divide", "transcendental", "reduce_add", "reduce_max", "convert"
]


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
    c0 = BLOCK // (4 if dtype == "f32" else 2)
    steps = c0 // machine.cube.depth(dtype)
    fractals = ceil_div(m, FRACTAL) * ceil_div(n, FRACTAL) * ceil_div(k, c0)
    return Cycles(machine.cube.setup + fractals * steps, machine.cube.drain)


def vector(machine: Machine, group: VectorClass, itemsize: int, repeat: int) -> Cycles:
    """Cycles of a vector instruction whose widest element type has `itemsize` bytes."""
    cost = machine.vector.group(group)
    slope = cost.slope_b32 if itemsize == 4 else cost.slope_b16
    return Cycles(max(cost.floor, slope * repeat), cost.tail)


def local_move(machine: Machine, path: LocalPath, size: int) -> Cycles:
    """Cycles of moving `size` bytes between two memories of a core."""
    cost = machine.paths.local(path)
    return Cycles(max(1, ceil_div(size, cost.rate)), cost.latency)


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
