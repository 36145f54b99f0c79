"""Matrices in fractals of 16 rows of 32 bytes, as the matrix unit takes them.

Layouts, for elements of `C0 = 32 / itemsize` a block and matrices padded to whole fractals:
L1 holds `[ceil(cols / C0)][rows][C0]`, L0A `[m / 16][k / C0][16][C0]` and L0B
`[k / C0][n / 16][16][C0]` with the 16 running along n.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.dtypes import is_float, itemsize
from ...target.costs import BLOCK, FRACTAL, ceil_div
from ..spec import Footprint

CUBE_DTYPES = ("f16", "bf16", "f32", "i8", "ui8")
"""Element types the cube takes, in the order of their codes."""
FRACTAL_BYTES = FRACTAL * BLOCK
MAX_EXTENT = 4095
"""Most rows, columns or depth of a product."""
ROW_BYTES = FRACTAL * 4
"""Bytes of one row of an L0C fractal."""
BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
"""Unsigned integers by their bytes, to move elements of any type."""


_FEATURES = {
    "f32": ("cube_f32",),
    "bf16": ("cube_bf16",),
    "i8": ("cube_i8",),
    "ui8": ("cube_i8",),
}
_F32, _I32 = np.dtype(np.float32), np.dtype(np.int32)


def cube_features(dtype: str | None) -> tuple[str, ...]:
    """Features that cube data of `dtype` needs; an unknown type needs none here."""
    return _FEATURES.get(dtype or "", ())


def accumulator(dtype: str) -> np.dtype[Any]:
    """What a product of operands of `dtype` is accumulated in."""
    return _F32 if is_float(dtype) else _I32


class Extent(NamedTuple):
    """Size of a matrix in an L0 memory: `rows` and `depth` in fractals, `c0` elements a block."""

    rows: int
    depth: int
    c0: int

    @staticmethod
    def of(rows: int, k: int, dtype: str) -> Extent:
        """The extent of `rows` (m or n) times `k` elements."""
        c0 = BLOCK // itemsize(dtype)
        return Extent(ceil_div(rows, FRACTAL), ceil_div(k, c0), c0)

    @property
    def bytes(self) -> int:
        """Bytes of all its fractals."""
        return self.rows * self.depth * FRACTAL_BYTES

    def steps(self, space: Literal["l0a", "l0b"]) -> tuple[int, int]:
        """Bytes from a fractal to the next one along rows and along k."""
        if space == "l0a":
            return self.depth * FRACTAL_BYTES, FRACTAL_BYTES
        return FRACTAL_BYTES, self.rows * FRACTAL_BYTES

    def footprints(self, space: Literal["l0a", "l0b"], rows: int) -> tuple[Footprint, ...]:
        """The bytes of the first `rows` elements along m or n, over the whole depth."""
        if space == "l0b":
            stride = self.rows * FRACTAL_BYTES
            return (Footprint("l0b", 0, rows * BLOCK, self.depth, stride),)
        whole, rest = divmod(rows, FRACTAL)
        above = whole * self.depth * FRACTAL_BYTES
        upper = Footprint("l0a", 0, above)
        last = Footprint("l0a", above, rest * BLOCK, self.depth, FRACTAL_BYTES)
        return (upper, last) if whole and rest else (last,) if rest else (upper,)
