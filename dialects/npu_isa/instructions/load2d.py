"""Loads from L1 to L0A and L0B, on MTE1."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, Space, layout
from .fractals import BITS, CUBE_DTYPES, FRACTAL_BYTES, Extent, cube_features

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core, Memory

MAX_LOAD_EXTENT = 255 * FRACTAL

_FRACTAL = np.dtype((np.void, FRACTAL_BYTES))


def _fields(space: Space) -> tuple[Field, ...]:
    return layout(
        Field("dst", "addr", space=space, align=FRACTAL_BYTES),
        Field("src", "addr", space="l1", align=BLOCK),
        Field("dtype", "imm", 4, enum=CUBE_DTYPES),
        Field("rows", "ri", 12, max=MAX_LOAD_EXTENT),
        Field("k", "ri", 12, max=MAX_LOAD_EXTENT),
        Field("src_c0_stride", "imm", 16, unit="rows of 32 bytes", min=1),
        Field("transpose", "imm", 1, default=0),
    )


class Load2D(Instruction):
    """Base of the loads of a `rows` x `k` block of fractals from L1 to an L0 memory.

    `src` points at the first element in L1, whose block columns are `src_c0_stride` rows of 32
    bytes apart.  Without `transpose` L1 holds the matrix as rows x k; with it, as k x rows, and
    each fractal is transposed on the way; k then counts in whole blocks of C0 rows of L1, which
    for 8-bit elements are two fractals of them, transposed as one square of 32 x 32.  Whole
    fractals move; the destination is packed for exactly these extents, which is how `mmad` with the
    same extents reads it.
    """

    pipe = "MTE1"
    moves = True
    feature = "load2d_block"
    restates = (
        "LoadData with LoadData2DParamsV2, L1 to L0A/L0B: mStep x kStep fractals of 512 bytes "
        "(<= 255 each), srcStride, ifTranspose.  Older parts take one run of <= 255 fractals an "
        "instruction, and transpose 16-bit elements only, 8-bit ones by LoadDataWithTranspose."
    )
    space: ClassVar[Literal["l0a", "l0b"]]
    """Where it loads to."""

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Block loads, and what the element type needs."""
        return ("load2d_block", *cube_features(o.dtype))

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Block columns of L1 read; fractals written, whole or as far as block columns reach."""
        del machine
        extent = Extent.of(o.rows, o.k, o.dtype)
        if o.transpose:
            columns, column = ceil_div(o.rows, extent.c0), extent.depth * extent.c0 * BLOCK
            rows = min(columns * extent.c0, extent.rows * FRACTAL)
        else:
            columns, column = extent.depth, extent.rows * FRACTAL_BYTES
            rows = extent.rows * FRACTAL
        source = Footprint("l1", 0, column, columns, o.src_c0_stride * BLOCK)
        written = extent.footprints(cls.space, rows)
        return (Access("src", "r", source), *(Access("dst", "w", shape) for shape in written))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy or transpose the fractals."""
        extent = Extent.of(o.rows, o.k, o.dtype)
        if extent.rows <= 0 or extent.depth <= 0:
            return
        target = core.l0a if cls.space == "l0a" else core.l0b
        steps = extent.steps(cls.space)
        if o.transpose:
            _transpose(core.l1, target, o, steps)
            return
        shape = (extent.rows, extent.depth)
        source = core.l1.view(o.src, shape, (FRACTAL_BYTES, o.src_c0_stride * BLOCK), _FRACTAL)
        target.view(o.dst, shape, steps, _FRACTAL)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Whole fractals at the path's rate."""
        del traffic
        path = "l1_l0a" if cls.space == "l0a" else "l1_l0b"
        return costs.local_move(machine, path, Extent.of(o.rows, o.k, o.dtype).bytes)


def _transpose(l1: Memory, target: Memory, o: Operands, steps: tuple[int, int]) -> None:
    """Transpose fractals; a 16-row fractal takes `16 / C0` block columns of the source, or half of
    one where C0 is 32.

    Where the last fractal has fewer, the rest of it is left alone.
    """
    extent = Extent.of(o.rows, o.k, o.dtype)
    size = BLOCK // extent.c0
    column, bits = o.src_c0_stride * BLOCK, BITS[size]
    # `step` block columns of the source and `across` fractals of the target from one to the next.
    if extent.c0 <= FRACTAL:
        step, across, height = FRACTAL // extent.c0, 1, extent.c0
        total = ceil_div(o.rows, extent.c0)
        pieces = [(part * column, part * extent.c0 * BLOCK) for part in range(min(step, total))]
    else:
        step, across, height = 1, extent.c0 // FRACTAL, FRACTAL
        total = extent.rows
        halves = range(min(across, total))
        pieces = [(half * FRACTAL * size, half * steps[0]) for half in halves]
    for part, (source_at, target_at) in enumerate(pieces):
        shape = (ceil_div(total - part, step * across), extent.depth, height, extent.c0)
        away = (step * column, extent.c0 * BLOCK, size, BLOCK)
        source = l1.view(o.src + source_at, shape, away, bits)
        places = (across * steps[0], steps[1], BLOCK, size)
        target.view(o.dst + target_at, shape, places, bits)[...] = source


class Load2DL1L0A(Load2D):
    """Load a left operand: `rows` runs along m, packed `[m / 16][k / C0][16][C0]`."""

    opcode = 0x060
    mnemonic = "load2d_l1_l0a"
    space = "l0a"
    fields = _fields("l0a")


class Load2DL1L0B(Load2D):
    """Load a right operand: `rows` runs along n, packed `[k / C0][n / 16][16][C0]`.

    A row-major k x n matrix needs `transpose = 1`, one held as n x k does not.
    """

    opcode = 0x061
    mnemonic = "load2d_l1_l0b"
    space = "l0b"
    fields = _fields("l0b")
