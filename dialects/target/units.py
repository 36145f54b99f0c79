"""The sections of a machine description: what each value is, its unit and its sane range.

Values are integers in the unit given here, so that a machine survives any text form exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ..core.errors import InternalError


def quantity(unit: str, low: int, high: int) -> Any:
    """A field of a section: an integer in `unit` between `low` and `high`."""
    return field(metadata={"unit": unit, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class CoreUnit:
    """How many cores there are and how fast they run."""

    count: int = quantity("cores", 1, 1024)
    clock: int = quantity("MHz", 1, 100_000)
    queue: int = quantity("instructions", 1, 1024)
    """Depth of each pipe's queue."""


@dataclass(frozen=True, slots=True)
class MemorySizes:
    """Bytes of each memory; all but gm are per core."""

    gm: int = quantity("bytes", 1 << 16, 1 << 48)
    l1: int = quantity("bytes", 512, 1 << 24)
    l0a: int = quantity("bytes", 512, 1 << 24)
    l0b: int = quantity("bytes", 512, 1 << 24)
    l0c: int = quantity("bytes", 1024, 1 << 24)
    ub: int = quantity("bytes", 512, 1 << 24)
    bt: int = quantity("bytes", 0, 1 << 16)
    """The table of biases, of parts that have one."""
    fb: int = quantity("bytes", 0, 1 << 13)
    """The parameters of the drain, of parts with one of its own."""


@dataclass(frozen=True, slots=True)
class CubeUnit:
    """The matrix unit: 16 x depth x 16 multiply-adds a cycle."""

    depth_b8: int = quantity("elements of k a cycle", 1, 1024)
    depth_b16: int = quantity("elements of k a cycle", 1, 1024)
    depth_f32: int = quantity("elements of k a cycle", 1, 1024)
    setup: int = quantity("cycles", 0, 10_000)
    """Cycles an instruction adds to its steps."""
    drain: int = quantity("cycles", 0, 10_000)
    """Further cycles until its result can be used."""

    def depth(self, dtype: str) -> int:
        """Elements along k a cycle takes, for operands of `dtype`."""
        if dtype in ("i8", "ui8"):
            return self.depth_b8
        return self.depth_f32 if dtype == "f32" else self.depth_b16


@dataclass(frozen=True, slots=True)
class VectorCost:
    """Cost of one class of vector instructions: max(floor, slope * repeat), then `tail`."""

    slope_b32: int = quantity("cycles a repeat", 1, 1000)
    slope_b16: int = quantity("cycles a repeat", 1, 1000)
    floor: int = quantity("cycles", 0, 10_000)
    tail: int = quantity("cycles", 0, 10_000)


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector unit, by class of instruction."""

    single: VectorCost
    pair: VectorCost
    divide: VectorCost
    transcendental: VectorCost
    reduce_add: VectorCost
    reduce_max: VectorCost
    convert: VectorCost
    logic: VectorCost
    compare: VectorCost
    multiply_add: VectorCost
    block_reduce: VectorCost
    transpose: VectorCost
    gather: VectorCost
    gather_block: VectorCost
    compress: VectorCost
    sort: VectorCost
    merge: VectorCost
    count_mode: int = quantity("cycles", 0, 10_000)
    """What counter mode adds to an instruction."""

    def group(self, name: str) -> VectorCost:
        """The class called `name`."""
        return cast(VectorCost, getattr(self, name))


@dataclass(frozen=True, slots=True)
class LocalPath:
    """A path between two memories of a core."""

    rate: int = quantity("bytes a cycle", 1, 1 << 16)
    latency: int = quantity("cycles", 0, 100_000)


@dataclass(frozen=True, slots=True)
class GmPath:
    """A path between GM and a memory of a core."""

    rate: int = quantity("bytes a cycle", 1, 1 << 16)
    latency: int = quantity("cycles", 0, 100_000)
    unaligned: int = quantity("percent", 100, 1000)
    """Time of a transfer whose rows do not start on bursts, relative to one whose rows do."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Every path data takes; None for one the machine lacks."""

    gm_l1: GmPath
    gm_ub: GmPath
    ub_gm: GmPath
    l1_l0a: LocalPath
    l1_l0b: LocalPath
    l0c_ub: LocalPath
    ub_l1: LocalPath | None = None
    l1_ub: LocalPath | None = None
    l1_gm: GmPath | None = None
    l1_bt: LocalPath | None = None
    l1_fb: LocalPath | None = None
    l0c_l1: LocalPath | None = None
    l0c_gm: GmPath | None = None

    def gm(self, name: str) -> GmPath:
        """The GM path called `name`; InternalError if the machine lacks it."""
        return cast(GmPath, self._path(name))

    def local(self, name: str) -> LocalPath:
        """The on-chip path called `name`; InternalError if the machine lacks it."""
        return cast(LocalPath, self._path(name))

    def _path(self, name: str) -> GmPath | LocalPath:
        path = cast(GmPath | LocalPath | None, getattr(self, name))
        if path is None:
            raise InternalError(f"cycles of a move on the path {name}, which the machine lacks")
        return path


@dataclass(frozen=True, slots=True)
class Dma:
    """What all DMA between GM and a core shares."""

    issue: int = quantity("cycles", 1, 10_000)
    """Least time between two transfers of one engine."""
    request: int = quantity("bytes", 32, 1 << 16)
    """A transfer takes whole requests."""
    burst: int = quantity("bytes", 32, 1 << 16)
    """Rows that start on this boundary run at full rate."""


@dataclass(frozen=True, slots=True)
class L2:
    """The cache all cores share, write-back."""

    size: int = quantity("bytes", 0, 1 << 32)
    page: int = quantity("bytes", 32, 1 << 20)
    """Granule of residency."""
    rate: int = quantity("bytes a cycle", 1, 1 << 20)
    """For the whole chip."""


@dataclass(frozen=True, slots=True)
class Dram:
    """Memory behind L2."""

    bandwidth: int = quantity("GB/s", 1, 100_000)


@dataclass(frozen=True, slots=True)
class CrossCore:
    """Flags between cores: counters that the cores of a task set and wait for."""

    ids: int = quantity("ids", 1, 16)
    most: int = quantity("sets", 1, 255)
    """Highest value of a counter."""
    group: int = quantity("cores", 1, 64)
    """Cores in a group; the first of them leads it."""
    latency: int = quantity("cycles", 0, 100_000)
    """From a set on one core until another core sees it."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Flags and barriers."""

    event_ids: int = quantity("ids a pair of pipes", 1, 8)
    set_flag: int = quantity("cycles", 0, 10_000)
    wait_flag: int = quantity("cycles", 0, 10_000)
    barrier: int = quantity("cycles", 0, 10_000)
    cross: CrossCore | None = None
    """Flags between cores, of parts that have them in hardware."""


@dataclass(frozen=True, slots=True)
class ScalarUnit:
    """The issuing thread."""

    step: int = quantity("cycles", 1, 10_000)
    """One scalar instruction, or issuing one instruction to a pipe."""
    branch: int = quantity("cycles", 1, 10_000)
    """The test and branch of a loop iteration."""
    access: int = quantity("cycles", 1, 10_000)
    """A load from UB or a store to it; one to or from GM takes the latency of the path besides."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Starting work on the chip."""

    task: int = quantity("ns", 0, 1_000_000_000)
    """Between two tasks of a program already handed over."""
    host: int = quantity("ns", 0, 1_000_000_000)
    """Handing a program over."""


SECTIONS: dict[str, type] = {
    "core": CoreUnit,
    "memory": MemorySizes,
    "cube": CubeUnit,
    "vector": VectorUnit,
    "paths": Paths,
    "dma": Dma,
    "l2": L2,
    "dram": Dram,
    "sync": Sync,
    "scalar": ScalarUnit,
    "launch": Launch,
}
"""The sections of a description, beside its head and its features."""
NESTED: dict[str, type] = {t.__name__: t for t in (VectorCost, LocalPath, GmPath, CrossCore)}
"""Sections within sections, by name."""
