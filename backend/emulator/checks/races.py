"""Races on chip: two accesses to one byte from different pipes, one a write, in no order.

For each memory, pipe and kind of access an array says which instruction of the pipe touched each
byte last.  Instructions of one pipe run in order, so that the last one stands for all before it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ....dialects.npu_isa.spec import PIPES, Footprint
from ....dialects.target.machine import Machine
from ..issue import Effect
from .order import VectorClock

Mode = Literal["r", "w"]
_NUMBER = np.dtype(np.int32)


class Conflict(NamedTuple):
    """An earlier access that the one being checked is not ordered after."""

    space: str
    address: int
    """The first byte both touch."""
    mode: Mode
    pipe: int
    number: int
    """Which instruction of the pipe."""


class LastTouched:
    """The last access to each byte of the on-chip memories of one core."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._last: dict[tuple[str, Mode], dict[int, npt.NDArray[np.int32]]] = {}

    def check(self, effects: tuple[Effect, ...], pipe: int, seen: VectorClock) -> Conflict | None:
        """The first conflict of an instruction of `pipe` that has `seen` so much of the others."""
        found: Conflict | None = None
        for mode, shape in effects:
            if shape.space == "gm" or shape.rows <= 0 or shape.row_bytes <= 0:
                continue
            earlier: tuple[Mode, ...] = ("w",) if mode == "r" else ("w", "r")
            for kind in earlier:
                found = found or self._conflict(shape, kind, pipe, seen)
        for mode, shape in effects:
            if shape.space != "gm" and shape.rows > 0 and shape.row_bytes > 0:
                _window(self._array(shape.space, mode, pipe), shape)[...] = seen[pipe]
        return found

    def _conflict(
        self, shape: Footprint, kind: Mode, pipe: int, seen: VectorClock
    ) -> Conflict | None:
        for other, numbers in self._last.get((shape.space, kind), {}).items():
            if other == pipe:
                continue
            window = _window(numbers, shape)
            if window.max() > seen[other]:
                row, byte = np.argwhere(window > seen[other])[0].tolist()
                address = shape.start + row * shape.stride + byte
                return Conflict(shape.space, address, kind, other, int(window[row, byte]))
        return None

    def _array(self, space: str, mode: Mode, pipe: int) -> npt.NDArray[np.int32]:
        arrays = self._last.setdefault((space, mode), {})
        if pipe not in arrays:
            arrays[pipe] = np.zeros(self._machine.size(space), _NUMBER)
        return arrays[pipe]


def _window(numbers: npt.NDArray[np.int32], shape: Footprint) -> npt.NDArray[np.int32]:
    """The entries of a footprint's bytes, int32[rows, row_bytes]."""
    size = _NUMBER.itemsize
    strides = (shape.stride * size, size)
    extents = (shape.rows, shape.row_bytes)
    return np.ndarray(extents, _NUMBER, numbers.data, shape.start * size, strides)


def missing_order(earlier: int, later: int) -> str:
    """What would order an access of pipe `later` after one of pipe `earlier`."""
    src, dst = PIPES[earlier], PIPES[later]
    return f"no set_flag({src} -> {dst}) with its wait_flag, or barrier, stands between them"
