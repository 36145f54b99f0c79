"""The matrix unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import is_float, to_numpy
from ...core.kernels.contract import matmul
from ...core.kernels.widen import widen
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import (
    CUBE_DTYPES,
    FRACTAL_BYTES,
    MAX_EXTENT,
    ROW_BYTES,
    Extent,
    accumulator,
    cube_features,
)

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Array, Core, Memory

_OPERANDS = (
    Field("dst", "addr", space="l0c", align=1024),
    Field("src0", "addr", space="l0a", align=FRACTAL_BYTES),
    Field("src1", "addr", space="l0b", align=FRACTAL_BYTES),
)
_SIZES = (
    Field("dtype", "imm", 4, enum=CUBE_DTYPES),
    Field("m", "ri", 12, max=MAX_EXTENT),
    Field("k", "ri", 12, max=MAX_EXTENT),
    Field("n", "ri", 12, max=MAX_EXTENT),
)


class Product(Instruction):
    """Base of the products of `src0`, m x k, and `src1`, k x n, into L0C."""

    pipe = "M"

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Features of the element type."""
        return (*super().features(o), *cube_features(o.dtype))

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """m rows and n columns of the operands' fractals; m rows of each block column of the
        result."""
        del machine
        if 0 in (o.m, o.k, o.n):
            return ()
        left, right = Extent.of(o.m, o.k, o.dtype), Extent.of(o.n, o.k, o.dtype)
        return (
            *(Access("src0", "r", shape) for shape in left.footprints("l0a", o.m)),
            *(Access("src1", "r", shape) for shape in right.footprints("l0b", o.n)),
            Access("dst", "w", _written(o)),
        )

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Setup plus one step a fractal."""
        del traffic
        return costs.mmad(machine, o.m, o.k, o.n, o.dtype)


class Mmad(Product):
    """`dst = src0 x src1`, or `dst += src0 x src1` when `accumulate` is not 0.

    `src0` is m x k packed in L0A, `src1` k x n packed in L0B, both as `load2d` with the same
    extents leaves them.  L0C holds `[ceil(n / 16)][m padded to 16][16]` numbers of 4 bytes; rows
    beyond m are left alone, columns beyond n in the last block become 0 (or keep their value when
    accumulating).  Nothing happens when m, k or n is 0.

    Floats, both operands of `dtype`, give f32: one f32 product of exactly m, k, n, then one add.
    Integers give i32, exactly; sums wrap.  With dtype `i8` both operands are i8, with `ui8` the
    left one is ui8 and the right one i8.
    """

    opcode = 0x080
    mnemonic = "mmad"
    restates = (
        "Mmad: m, k, n in [0, 4095]; initial value zero or L0C; f16, bf16 or f32 operands with an "
        "f32 result, 8-bit integers with an i32 result.  Whether i32 sums wrap or saturate is not "
        "published."
    )
    fields = layout(*_OPERANDS, *_SIZES, Field("accumulate", "ri", 1))

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """As every product; the result is read too when it is added to."""
        accesses = super().footprints(o, machine)
        if not accesses or not o.accumulate:
            return accesses
        return (*accesses, Access("dst", "r", _written(o)))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Unpack both operands, one product, one add."""
        if 0 in (o.m, o.k, o.n):
            return
        columns, result = _product(core, o), _result(core.l0c, o)
        if o.accumulate:
            # `elementwise.add` without its copy: this is most of the cost of a shallow product.
            with np.errstate(all="ignore"):
                result += columns
        else:
            result[...] = columns


class MmadBias(Product):
    """`dst = src0 x src1 + bias`, the same bias in every row; operands and layouts as for `mmad`.

    `bias` points at n numbers of the type of the result in the table of biases.  Columns beyond n
    in the last block become 0.  The product is followed by one add.
    """

    opcode = 0x081
    mnemonic = "mmad_bias"
    feature = "bias_table"
    restates = (
        "Mmad with a bias tensor in C2: m, k, n in [0, 4095]; types as without; the bias f32 or "
        "i32, 64-byte aligned."
    )
    fields = layout(*_OPERANDS, Field("bias", "addr", 16, space="bt", align=64), *_SIZES)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """As every product, and the biases."""
        accesses = super().footprints(o, machine)
        bias = Access("bias", "r", Footprint("bt", 0, o.n * accumulator(o.dtype).itemsize))
        return (*accesses, bias) if accesses else ()

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Unpack both operands, one product, one add of the biases."""
        if 0 in (o.m, o.k, o.n):
            return
        dtype = accumulator(o.dtype)
        bias = np.zeros(ceil_div(o.n, FRACTAL) * FRACTAL, dtype)
        bias[: o.n] = core.bt.flat(o.bias, o.n, dtype)
        with np.errstate(all="ignore"):
            result = _product(core, o) + bias.reshape(-1, 1, FRACTAL)
        _result(core.l0c, o)[...] = result


def _written(o: Operands) -> Footprint:
    """m rows of each block column of the result."""
    column = ceil_div(o.m, FRACTAL) * FRACTAL * ROW_BYTES
    return Footprint("l0c", 0, o.m * ROW_BYTES, ceil_div(o.n, FRACTAL), column)


def _result(l0c: Memory, o: Operands) -> Array:
    """The result in L0C, [ceil(n / 16), m, 16]."""
    dtype = accumulator(o.dtype)
    column = ceil_div(o.m, FRACTAL) * FRACTAL * ROW_BYTES
    shape = (ceil_div(o.n, FRACTAL), o.m, FRACTAL)
    return l0c.view(o.dst, shape, (column, ROW_BYTES, dtype.itemsize), dtype)


def _product(core: Core, o: Operands) -> Array:
    """The product, laid out as `_result`, zeros in the columns beyond n."""
    m, k, n = o.m, o.k, o.n
    product = matmul(_left(core.l0a, o)[:m, :k], _right(core.l0b, o)[:k, :n])
    wide = ceil_div(n, FRACTAL)
    if n % FRACTAL:
        padded = np.zeros((m, wide * FRACTAL), product.dtype)
        padded[:, :n] = product
        product = padded
    return product.reshape(m, wide, FRACTAL).transpose(1, 0, 2)


def _left(l0a: Memory, o: Operands) -> Array:
    """The packed left operand as a matrix, floats as f32, padding included."""
    extent, dtype = Extent.of(o.m, o.k, o.dtype), to_numpy(o.dtype)
    across, along = extent.steps("l0a")
    shape = (extent.rows, FRACTAL, extent.depth, extent.c0)
    packed = l0a.view(o.src0, shape, (across, BLOCK, along, dtype.itemsize), dtype)
    return _unpacked(packed, o.dtype).reshape(extent.rows * FRACTAL, -1)


def _right(l0b: Memory, o: Operands) -> Array:
    """The packed right operand as a matrix, floats as f32, padding included."""
    extent = Extent.of(o.n, o.k, o.dtype)
    dtype = to_numpy(o.dtype if is_float(o.dtype) else "i8")
    across, along = extent.steps("l0b")
    shape = (extent.depth, extent.c0, extent.rows, FRACTAL)
    packed = l0b.view(o.src1, shape, (along, dtype.itemsize, across, BLOCK), dtype)
    return _unpacked(packed, o.dtype).reshape(extent.depth * extent.c0, -1)


def _unpacked(packed: Array, dtype: str) -> Array:
    """In row-major order; floats as f32, integers as they are."""
    return widen(packed) if is_float(dtype) else np.ascontiguousarray(packed)
