"""Vector instructions that transpose on the way from UB to UB."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...core.dtypes import itemsize
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic
from ..memory import Array
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .fractals import BITS
from .lanewise import NUMBERS, address, counts, dtype_field

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core


class VNchwConv(Instruction):
    """Transpose tiles of 16 rows of one block of 32 bytes, one tile a repeat.

    Repeat r reads row i (0..15) of its tile at `src + (r * src_rep_stride + i * src_row_stride)
    * 32`.  The tile has 32 / size columns for elements of `size` bytes: 16, or 8 of 32 bits.
    Column j becomes a row of 16 elements, one block of 16-bit or two of 32-bit elements, at
    `dst + (r * dst_rep_stride + j * dst_row_stride) * 32`.  A repeat reads its whole tile before
    it writes, and sees what earlier repeats wrote.
    """

    opcode = 0x161
    mnemonic = "vnchwconv"
    pipe = "V"
    moves = True
    restates = (
        "TransDataTo5HD (vnchwconv): 16- and 32-bit elements, repeat <= 255, repeat strides in "
        "32-byte units.  It takes 16 source and 16 destination addresses; here they are evenly "
        "spaced, and for 32-bit elements the two blocks of a row follow each other."
    )
    fields = layout(
        address("dst"),
        address("src"),
        dtype_field((*NUMBERS, "bf16")),
        counts()[1],
        *(Field(f"{n}_row_stride", "imm", 16, unit="32 bytes", min=1) for n in ("dst", "src")),
        *(Field(f"{n}_rep_stride", "imm", 16, unit="32 bytes", default=0) for n in ("dst", "src")),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Rows of the destination do not overlap."""
        blocks = itemsize(o.dtype) // 2
        if o.dst_row_stride >= blocks:
            return None
        return f"dst_row_stride = {o.dst_row_stride} is less than the {blocks} blocks of a row"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Rows of the tiles read and of the transposed tiles written."""
        del machine
        source, target = _source(o), _target(o)
        return (
            *(Access("src", "r", shape) for shape in source.footprints()),
            *(Access("dst", "w", shape) for shape in target.footprints()),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Transpose all tiles at once, or one by one where one may touch what another wrote."""
        if o.repeat <= 0:
            return
        source, target = _source(o), _target(o)
        apart = o.src + source.end <= o.dst or o.dst + target.end <= o.src
        if o.repeat == 1 or (apart and target.disjoint):
            target.view(core, o.dst)[...] = _columns(source.view(core, o.src), apart)
            return
        # The views check that all of it lies in UB before anything is written.
        tiles, results = source.view(core, o.src), target.view(core, o.dst)
        for tile, result in zip(tiles, results, strict=True):
            result[...] = _columns(tile, False)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """By the bytes of a tile, which are 512 for any element type."""
        del traffic
        return costs.vector(machine, "transpose", itemsize(o.dtype), o.repeat)


class _Tiles(NamedTuple):
    """`repeat` tiles of `rows` rows of `row_bytes`; strides in bytes."""

    repeat: int
    rows: int
    row_bytes: int
    rep_stride: int
    row_stride: int
    size: int
    """Bytes of an element."""

    @property
    def end(self) -> int:
        """First byte after the last one touched, from the address on."""
        return (
            (self.repeat - 1) * self.rep_stride + (self.rows - 1) * self.row_stride + self.row_bytes
        )

    @property
    def disjoint(self) -> bool:
        """Whether no two tiles share bytes; False where neither stride shows it."""
        tile = (self.rows - 1) * self.row_stride + self.row_bytes
        side_by_side = (self.repeat - 1) * self.rep_stride + self.row_bytes <= self.row_stride
        return self.rep_stride >= tile or (side_by_side and self.rep_stride >= self.row_bytes)

    def view(self, core: Core, start: int) -> Array:
        """The tiles at `start` in UB, bits[repeat, rows, columns]."""
        shape = (self.repeat, self.rows, self.row_bytes // self.size)
        return core.ub.view(
            start, shape, (self.rep_stride, self.row_stride, self.size), BITS[self.size]
        )

    def footprints(self) -> tuple[Footprint, ...]:
        """The bytes touched, from the address on: as few ranges as two strides allow."""
        repeat = self.repeat if self.rep_stride else min(self.repeat, 1)
        if self.row_stride == self.row_bytes:
            return (Footprint("ub", 0, self.rows * self.row_bytes, repeat, self.rep_stride),)
        if self.rep_stride == self.row_bytes:
            return (Footprint("ub", 0, repeat * self.row_bytes, self.rows, self.row_stride),)
        if self.rep_stride == self.rows * self.row_stride:
            return (Footprint("ub", 0, self.row_bytes, repeat * self.rows, self.row_stride),)
        starts = range(0, self.rows * self.row_stride, self.row_stride)
        return tuple(
            Footprint("ub", start, self.row_bytes, repeat, self.rep_stride) for start in starts
        )


def _source(o: Operands) -> _Tiles:
    strides = o.src_rep_stride * BLOCK, o.src_row_stride * BLOCK
    return _Tiles(o.repeat, FRACTAL, BLOCK, *strides, itemsize(o.dtype))


def _target(o: Operands) -> _Tiles:
    size = itemsize(o.dtype)
    strides = o.dst_rep_stride * BLOCK, o.dst_row_stride * BLOCK
    return _Tiles(o.repeat, BLOCK // size, FRACTAL * size, *strides, size)


def _columns(tiles: Array, apart: bool) -> Array:
    """Tiles transposed; a copy unless they lie apart from where they go."""
    turned = tiles.swapaxes(-1, -2)
    return turned if apart else turned.copy()
