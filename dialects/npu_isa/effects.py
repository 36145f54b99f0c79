"""What instructions do to memory: the bytes they touch, and what becomes of bytes without a value.

To find uses of bytes that were never written, every memory has a shadow of equal size that holds 0
for a byte with a value and 255 for one without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .memory import Array, Core, Memory

Space = Literal["gm", "l1", "l0a", "l0b", "l0c", "ub", "bt", "fb"]
SPACES: tuple[Space, ...] = ("gm", "l1", "l0a", "l0b", "l0c", "ub", "bt", "fb")
Mode = Literal["r", "w"]

DEFINED, UNDEFINED = 0, 0xFF
"""Shadow bytes."""
_BYTE = np.dtype(np.uint8)


class Footprint(NamedTuple):
    """Bytes touched in one memory: `rows` runs of `row_bytes`, `stride` bytes apart."""

    space: Space
    start: int
    row_bytes: int
    rows: int = 1
    stride: int = 0

    @property
    def end(self) -> int:
        """First byte after the last one touched."""
        if self.rows == 0 or self.row_bytes == 0:
            return self.start
        return self.start + (self.rows - 1) * self.stride + self.row_bytes

    @property
    def bytes(self) -> int:
        """Bytes touched, a byte touched twice counted twice."""
        return self.rows * self.row_bytes


class Access(NamedTuple):
    """One effect on memory: the address field it goes through, read or write, and the bytes
    relative to the address in that field."""

    field: str
    mode: Mode
    shape: Footprint

    def at(self, address: int) -> Footprint:
        """The bytes touched when the field holds `address`."""
        return self.shape._replace(start=self.shape.start + address)


Effects = Sequence[tuple[Mode, Footprint]]
"""Reads and writes of an instruction, at absolute addresses."""


class UndefinedUse(NamedTuple):
    """Bytes without a value that matter: the memory they are in and what is wrong, in words."""

    space: Space
    why: str


def shadow_of(shadow: Core, shape: Footprint) -> Array:
    """The shadow bytes of a range, uint8[rows, row_bytes], writable."""
    memory: Memory = getattr(shadow, shape.space)
    rows = max(shape.rows, 0)
    return memory.view(shape.start, (rows, shape.row_bytes), (shape.stride, 1), _BYTE)


def use(shadow: Core, effects: Effects) -> UndefinedUse | None:
    """Whatever is read must be defined, whatever is written is; the first byte that is not."""
    found: UndefinedUse | None = None
    for mode, shape in effects:
        if mode == "r" and found is None:
            read = shadow_of(shadow, shape)
            if read.any():
                row, byte = np.argwhere(read)[0].tolist()
                address = shape.start + row * shape.stride + byte
                found = UndefinedUse(shape.space, f"byte {address} of it has no value")
    for mode, shape in effects:
        if mode == "w":
            shadow_of(shadow, shape)[...] = DEFINED
    return found
