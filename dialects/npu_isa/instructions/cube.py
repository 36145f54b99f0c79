"""The matrix unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import to_numpy
from ...core.kernels.contract import matmul
from ...core.kernels.widen import widen
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import CUBE_DTYPES, FRACTAL_BYTES, Extent, cube_features

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Array, Core, Memory

ACCUMULATOR = np.dtype(np.float32)
ROW_BYTES = FRACTAL * ACCUMULATOR.itemsize
"""Bytes of one row of an L0C fractal."""
MAX_EXTENT = 4095


class Mmad(Instruction):
    """`dst = src0 x src1`, or `dst += src0 x src1` when `accumulate` is not 0, in f32.

    `src0` is m x k packed in L0A, `src1` k x n packed in L0B, both as `load2d` with the same
    extents leaves them.  L0C holds `[ceil(n / 16)][m padded to 16][16]`; rows beyond m are left
    alone, columns beyond n in the last block become 0 (or keep their value when accumulating).
    The product is one f32 product of exactly m, k, n, then one add.
    """

    opcode = 0x080
    mnemonic = "mmad"
    pipe = "M"
    restates = "Mmad: m, k, n in [0, 4095]; cInit zero or L0C; f16/bf16/f32 operands, f32 result."
    fields = layout(
        Field("dst", "addr", space="l0c", align=1024),
        Field("src0", "addr", space="l0a", align=FRACTAL_BYTES),
        Field("src1", "addr", space="l0b", align=FRACTAL_BYTES),
        Field("dtype", "imm", 4, enum=CUBE_DTYPES),
        Field("m", "ri", 12, min=1, max=MAX_EXTENT),
        Field("k", "ri", 12, min=1, max=MAX_EXTENT),
        Field("n", "ri", 12, min=1, max=MAX_EXTENT),
        Field("accumulate", "ri", 1),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Features of the element type."""
        return cube_features(o.dtype)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """m rows and n columns of the operands' fractals; m rows of each block column of the
        result."""
        del machine
        left, right = Extent.of(o.m, o.k, o.dtype), Extent.of(o.n, o.k, o.dtype)
        column = left.rows * FRACTAL * ROW_BYTES
        result = Footprint("l0c", 0, o.m * ROW_BYTES, right.rows, column)
        accesses = (
            *(Access("src0", "r", shape) for shape in left.footprints("l0a", o.m)),
            *(Access("src1", "r", shape) for shape in right.footprints("l0b", o.n)),
            Access("dst", "w", result),
        )
        return (*accesses, Access("dst", "r", result)) if o.accumulate else accesses

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Unpack both operands, one product, one add."""
        m, k, n = o.m, o.k, o.n
        product = matmul(_left(core.l0a, o)[:m, :k], _right(core.l0b, o)[:k, :n])
        wide = ceil_div(n, FRACTAL)
        if n % FRACTAL:
            padded = np.zeros((m, wide * FRACTAL), ACCUMULATOR)
            padded[:, :n] = product
            product = padded
        column = ceil_div(m, FRACTAL) * FRACTAL * ROW_BYTES
        strides = (column, ROW_BYTES, ACCUMULATOR.itemsize)
        result = core.l0c.view(o.dst, (wide, m, FRACTAL), strides, ACCUMULATOR)
        columns = product.reshape(m, wide, FRACTAL).transpose(1, 0, 2)
        if o.accumulate:
            # `elementwise.add` without its copy: this is most of the cost of a shallow product.
            with np.errstate(all="ignore"):
                result += columns
        else:
            result[...] = columns

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Setup plus one step a fractal."""
        del traffic
        return costs.mmad(machine, o.m, o.k, o.n, o.dtype)


def _left(l0a: Memory, o: Operands) -> Array:
    """The packed left operand as an f32 matrix, padding included."""
    extent, dtype = Extent.of(o.m, o.k, o.dtype), to_numpy(o.dtype)
    across, along = extent.steps("l0a")
    shape = (extent.rows, FRACTAL, extent.depth, extent.c0)
    packed = l0a.view(o.src0, shape, (across, BLOCK, along, dtype.itemsize), dtype)
    return widen(packed).reshape(extent.rows * FRACTAL, -1)


def _right(l0b: Memory, o: Operands) -> Array:
    """The packed right operand as an f32 matrix, padding included."""
    extent, dtype = Extent.of(o.n, o.k, o.dtype), to_numpy(o.dtype)
    across, along = extent.steps("l0b")
    shape = (extent.depth, extent.c0, extent.rows, FRACTAL)
    packed = l0b.view(o.src1, shape, (along, dtype.itemsize, across, BLOCK), dtype)
    return widen(packed).reshape(extent.depth * extent.c0, -1)
