"""Memories of a core as bytes, and what an instruction sees of a core."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..core.errors import BoundsError

Array = npt.NDArray[Any]

ALIGNMENT = 64
"""Bytes; a copy between buffers that differ modulo 32 is ten times slower on common hosts."""


class Memory:
    """A byte-addressed memory: `data` is uint8[size], its start aligned to 64 bytes."""

    __slots__ = ("data", "name")

    def __init__(self, name: str, size: int, fill: int = 0) -> None:
        """A memory of `size` bytes, each `fill` (0..255)."""
        self.name = name
        # Zeros cost no host memory until they are written.
        raw = (
            np.full(size + ALIGNMENT, fill, np.uint8)
            if fill
            else np.zeros(size + ALIGNMENT, np.uint8)
        )
        skip = -raw.ctypes.data % ALIGNMENT
        self.data: npt.NDArray[np.uint8] = raw[skip : skip + size]

    def view(
        self, start: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Array:
        """A writable view of `dtype[shape]` with its first element at byte `start` and `strides` in
        bytes.  Raises BoundsError when an element would lie outside."""
        try:
            return np.ndarray(shape, dtype, self.data, start, strides)
        except (TypeError, ValueError) as error:
            raise BoundsError(
                f"access outside {self.name} of {self.data.size} bytes",
                why=f"shape {shape}, strides {strides} of {dtype} at byte {start}: {error}",
                hint="check the address, the counts and the strides of the instruction",
            ) from error

    def flat(self, start: int, count: int, dtype: np.dtype[Any]) -> Array:
        """A view of `count` consecutive elements of `dtype` from byte `start`."""
        return self.view(start, (count,), (dtype.itemsize,), dtype)


class Core(Protocol):
    """What instructions read and write when they execute."""

    gm: Memory
    l1: Memory
    l0a: Memory
    l0b: Memory
    l0c: Memory
    ub: Memory
    bt: Memory
    fb: Memory
    regs: list[int]
    """Scalar registers, signed 64-bit values."""
    core_id: int
    core_count: int
