"""The drain of the matrix unit's results into UB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.dtypes import to_numpy
from ...core.kernels.cast import cast
from ...core.kernels.elementwise import relu
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .cube import ACCUMULATOR, MAX_EXTENT, ROW_BYTES

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

RESULT_DTYPES = ("f32", "f16")


class MovL0cUb(Instruction):
    """Move an m x n result from L0C to UB, converting and optionally clamping at 0 on the way.

    Both sides hold `[ceil(n / 16)][rows][16]`; block columns are `src_stride` and `dst_stride` rows
    apart.  A `src_stride` of 0 means packed as `mmad` leaves it: m padded to 16.  Rows beyond m do
    not move; the last block column moves whole.
    """

    opcode = 0x100
    mnemonic = "mov_l0c_ub"
    pipe = "V"
    restates = (
        "DataCopy CO1 to CO2 with DataCopyEnhancedParams (L0C to UB through the vector pipe): f32 "
        "kept or converted to f16, optional relu."
    )
    fields = layout(
        Field("dst", "addr", space="ub", align=BLOCK),
        Field("src", "addr", space="l0c", align=ROW_BYTES),
        Field("dtype", "imm", 4, enum=RESULT_DTYPES),
        Field("m", "ri", 12, max=MAX_EXTENT),
        Field("n", "ri", 12, max=MAX_EXTENT),
        Field("src_stride", "imm", 16, unit="rows", default=0),
        Field("dst_stride", "imm", 16, unit="rows", min=1),
        Field("relu", "imm", 1, default=0),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Block columns in UB do not overlap."""
        if o.m is None or o.n is None or o.n <= FRACTAL or o.m <= o.dst_stride:
            return None
        return f"dst_stride = {o.dst_stride} rows is less than m = {o.m}"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """m rows of each block column on both sides."""
        del machine
        row = FRACTAL * to_numpy(o.dtype).itemsize
        columns = ceil_div(o.n, FRACTAL)
        source = Footprint("l0c", 0, o.m * ROW_BYTES, columns, _source_rows(o) * ROW_BYTES)
        return (
            Access("src", "r", source),
            Access("dst", "w", Footprint("ub", 0, o.m * row, columns, o.dst_stride * row)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Convert after the clamp."""
        if o.m <= 0 or o.n <= 0:
            return
        dtype = to_numpy(o.dtype)
        row = FRACTAL * dtype.itemsize
        shape = (ceil_div(o.n, FRACTAL), o.m, FRACTAL)
        steps = (_source_rows(o) * ROW_BYTES, ROW_BYTES, ACCUMULATOR.itemsize)
        source = core.l0c.view(o.src, shape, steps, ACCUMULATOR)
        values = cast(relu(source) if o.relu else source, o.dtype)
        core.ub.view(o.dst, shape, (o.dst_stride * row, row, dtype.itemsize), dtype)[...] = values

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Accumulator bytes at the path's rate."""
        del traffic
        return costs.local_move(machine, "l0c_ub", ceil_div(o.n, FRACTAL) * o.m * ROW_BYTES)


def _source_rows(o: Operands) -> int:
    return o.src_stride or ceil_div(o.m, FRACTAL) * FRACTAL
