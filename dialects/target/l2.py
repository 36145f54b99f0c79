"""Which bytes of GM are in L2, settled by ranges in program order.

Least recently used pages leave first; a page that was written goes back to DRAM when it leaves.  A
read of a page that is absent fetches what is asked for of it, a write does not fetch.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from .machine import Machine

Pages = npt.NDArray[np.int64]
_ABSENT = 0
_GROWTH = 1 << 10
_PIECES = 8
_SLACK = 8
"""Uses kept a resident page before those overtaken by later ones are forgotten."""


class L2:
    """Residency of GM pages.

    `warm` ranges, `(start, bytes)` in GM, are in L2 from the start, clean; without any it is cold.
    """

    def __init__(self, machine: Machine, warm: tuple[tuple[int, int], ...] = ()) -> None:
        self.page = machine.l2.page
        """Bytes of a page."""
        self._capacity = machine.l2.size // self.page
        self._stamp: Pages = np.zeros(_GROWTH, np.int64)
        """When each page was last used; 0 while it is absent."""
        self._dirty: npt.NDArray[Any] = np.zeros(_GROWTH, np.bool_)
        self._clock = 0
        self._resident = 0
        self._uses: deque[tuple[int, Pages]] = deque()
        """Stamp and pages of each access, oldest first."""
        self._listed = 0
        """Pages in `_uses`, those used again later counted again."""
        self.is_warm = bool(warm)
        """Whether anything was in L2 from the start."""
        for start, size in warm:
            self.access(start, size)

    def access(
        self, start: int, row_bytes: int, rows: int = 1, stride: int = 0, *, write: bool = False
    ) -> int:
        """Use `rows` runs of `row_bytes`, `stride` bytes apart; bytes between L2 and DRAM for it.

        These are the bytes a read asks for in proportion to the pages that are absent, and whole
        pages written back.
        """
        if rows <= 0 or row_bytes <= 0:
            return 0
        if rows > 1 and stride == row_bytes:
            rows, row_bytes = 1, rows * row_bytes
        pages = self._pages(start, row_bytes, rows, stride)
        self._reserve(int(pages[-1]) + 1)
        absent, written = 0, 0
        # Piece by piece, so that an access larger than L2 pushes out its own beginning.
        step = max(1, self._capacity // _PIECES)
        for first in range(0, len(pages), step):
            absent += self._use(pages[first : first + step], write)
            written += self._evict()
        missed = 0 if write else rows * row_bytes * absent // len(pages)
        return missed + written

    def _use(self, pages: Pages, write: bool) -> int:
        """Make pages resident and the most recently used; how many were absent."""
        absent = int(np.count_nonzero(self._stamp[pages] == _ABSENT))
        self._clock += 1
        self._stamp[pages] = self._clock
        self._uses.append((self._clock, pages))
        self._listed += len(pages)
        self._resident += absent
        if write:
            self._dirty[pages] = True
        if self._listed > _SLACK * max(self._resident, _GROWTH):
            self._compact()
        return absent

    def _pages(self, start: int, row_bytes: int, rows: int, stride: int) -> Pages:
        """Numbers of the pages touched, ascending, each once."""
        first = start // self.page
        last = (start + row_bytes - 1) // self.page
        if rows == 1:
            return np.arange(first, last + 1)
        starts = start + np.arange(rows, dtype=np.int64) * stride
        firsts = starts // self.page
        width = int(((starts + row_bytes - 1) // self.page - firsts).max()) + 1
        grid = firsts[:, None] + np.arange(width)
        inside = grid * self.page < (starts + row_bytes)[:, None]
        return np.unique(grid[inside])

    def _reserve(self, pages: int) -> None:
        if pages > len(self._stamp):
            extra = max(pages, 2 * len(self._stamp)) - len(self._stamp)
            self._stamp = np.concatenate([self._stamp, np.zeros(extra, np.int64)])
            self._dirty = np.concatenate([self._dirty, np.zeros(extra, np.bool_)])

    def _evict(self) -> int:
        """Drop the least recently used pages beyond the capacity; bytes written back."""
        written = 0
        while self._resident > self._capacity:
            stamp, pages = self._uses[0]
            current = pages[self._stamp[pages] == stamp]
            surplus = self._resident - self._capacity
            gone = current[:surplus]
            written += int(np.count_nonzero(self._dirty[gone])) * self.page
            self._stamp[gone] = _ABSENT
            self._dirty[gone] = False
            self._resident -= len(gone)
            if len(gone) == len(current):
                self._listed -= len(pages)
                self._uses.popleft()
        return written

    def _compact(self) -> None:
        """Forget uses of pages that were used again since."""
        kept = [(stamp, pages[self._stamp[pages] == stamp]) for stamp, pages in self._uses]
        self._uses = deque((stamp, pages) for stamp, pages in kept if len(pages))
        self._listed = sum(len(pages) for _, pages in self._uses)
