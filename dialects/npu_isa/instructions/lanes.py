"""How a vector operand's lanes lie in UB: reading, writing and footprints.

All arrays have shape [repeat, mask]; strides are in blocks of 32 bytes, as in the instruction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...target.costs import BLOCK, ceil_div
from ..effects import DEFINED, Footprint
from ..memory import Array, Memory

UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
"""Unsigned integers by their bytes."""
Flags = npt.NDArray[np.bool_]

BLOCKS = 8
"""Blocks of one repeat."""
REPEAT_BYTES = BLOCKS * BLOCK


class Lanes(NamedTuple):
    """A vector operand: element type, address, and the strides between blocks and repeats."""

    dtype: np.dtype[Any]
    address: int
    blk_stride: int
    rep_stride: int

    @property
    def per_block(self) -> int:
        """Elements of one block."""
        return BLOCK // self.dtype.itemsize

    def span(self, mask: int) -> int:
        """Bytes from the first to the last touched in one repeat."""
        if self.blk_stride == 1:
            return mask * self.dtype.itemsize
        whole, rest = divmod(mask, self.per_block)
        last = (whole if rest else whole - 1) * self.blk_stride * BLOCK
        return last + (rest if rest and self.blk_stride else self.per_block) * self.dtype.itemsize

    def end(self, repeat: int, mask: int) -> int:
        """First byte after the last one touched."""
        return self.address + (repeat - 1) * self.rep_stride * BLOCK + self.span(mask)


def read(ub: Memory, lanes: Lanes, repeat: int, mask: int) -> Array:
    """The active lanes, [repeat, mask]; a view of UB where the strides allow one."""
    size, step = lanes.dtype.itemsize, lanes.rep_stride * BLOCK
    if lanes.blk_stride == 1:
        return ub.view(lanes.address, (repeat, mask), (step, size), lanes.dtype)
    blocks = ceil_div(mask, lanes.per_block)
    shape = (repeat, blocks, lanes.per_block)
    view = ub.view(lanes.address, shape, (step, lanes.blk_stride * BLOCK, size), lanes.dtype)
    return view.reshape(repeat, blocks * lanes.per_block)[:, :mask]


def write(ub: Memory, lanes: Lanes, repeat: int, mask: int, values: Array) -> None:
    """Store `values`, which broadcast to [repeat, mask], to the active lanes."""
    size, step = lanes.dtype.itemsize, lanes.rep_stride * BLOCK
    if lanes.blk_stride == 1:
        ub.view(lanes.address, (repeat, mask), (step, size), lanes.dtype)[...] = values
        return
    values = np.broadcast_to(values, (repeat, mask))
    blocks, rest = divmod(mask, lanes.per_block)
    column, split = lanes.blk_stride * BLOCK, blocks * lanes.per_block
    if blocks:
        shape = (repeat, blocks, lanes.per_block)
        view = ub.view(lanes.address, shape, (step, column, size), lanes.dtype)
        view[...] = values[:, :split].reshape(shape)
    if rest:
        start = lanes.address + blocks * column
        ub.view(start, (repeat, rest), (step, size), lanes.dtype)[...] = values[:, split:]


def plain(lanes: Lanes) -> Lanes:
    """The same lanes as unsigned numbers, such as shadows hold: 0 is defined, all ones is not."""
    return lanes._replace(dtype=UNSIGNED[lanes.dtype.itemsize])


def undefined(shadow: Memory, lanes: Lanes, repeat: int, mask: int) -> Flags:
    """Which active lanes lack a value in a shadow of UB, in part or whole, bool[repeat, mask]."""
    return read(shadow, plain(lanes), repeat, mask) != DEFINED


def mark(shadow: Memory, lanes: Lanes, repeat: int, mask: int, missing: Flags) -> None:
    """Mark the active lanes in a shadow of UB as without a value where `missing`, else with one."""
    target = plain(lanes)
    full = np.array(-1).astype(target.dtype)
    write(shadow, target, repeat, mask, np.where(missing, full, target.dtype.type(DEFINED)))


def at_repeat(operand: Lanes, repeat: int) -> Lanes:
    """The operand from the repeat with this number on."""
    if not repeat:
        return operand
    return operand._replace(address=operand.address + repeat * operand.rep_stride * BLOCK)


def meets(start: int, end: int, lanes: Lanes, repeat: int, mask: int) -> bool:
    """Whether bytes `start..end` may be among those of the active lanes."""
    return start < lanes.end(repeat, mask) and lanes.address < end


def in_order(target: Lanes, sources: tuple[Lanes, ...], repeat: int, mask: int) -> bool:
    """Whether the repeats must run one by one because one may touch what an earlier one wrote."""
    if repeat <= 1:
        return False
    if abs(target.rep_stride) * BLOCK < target.span(mask):
        return True
    end = target.end(repeat, mask)
    return any(
        source.address < end and target.address < source.end(repeat, mask)
        for source in sources
        if source[1:] != target[1:] or source.dtype.itemsize != target.dtype.itemsize
    )


def footprints(lanes: Lanes, repeat: int, mask: int) -> tuple[Footprint, ...]:
    """The bytes of the active lanes, relative to the operand's address."""
    size, step = lanes.dtype.itemsize, lanes.rep_stride * BLOCK
    if lanes.rep_stride == 0:
        repeat = min(repeat, 1)
    if lanes.blk_stride == 1:
        row = mask * size
        if row == step:
            return (Footprint("ub", 0, row * repeat),)
        return (Footprint("ub", 0, row, repeat, step),)
    if lanes.blk_stride == 0:
        return (Footprint("ub", 0, min(mask, lanes.per_block) * size, repeat, step),)
    blocks = ceil_div(mask, lanes.per_block)
    column = lanes.blk_stride * BLOCK
    last = (mask - (blocks - 1) * lanes.per_block) * size
    return tuple(
        Footprint("ub", block * column, last if block == blocks - 1 else BLOCK, repeat, step)
        for block in range(blocks)
    )
