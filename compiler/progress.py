"""One line on a terminal that says what is being done, for work that takes a while."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

Tell = Callable[[str], None]
"""A function that is told what is being done from now on."""

PATIENCE = 1.0
"""Seconds before the line appears."""
_PERIOD = 0.2
_WIPE = "\r\x1b[K"


@contextmanager
def shown(stream: TextIO | None, after: float = PATIENCE) -> Generator[Tell]:
    """Gives a function that is told what is being done; shown `after` seconds if it still is.

    The line goes when the context ends. On anything but a terminal nothing is ever written.
    """
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield say_nothing
        return
    line = _Line(stream, after)
    thread = threading.Thread(target=line.paint, name="progress", daemon=True)
    thread.start()
    try:
        yield line.tell
    finally:
        line.ended.set()
        thread.join()


def say_nothing(text: str) -> None:
    """A `Tell` that tells nobody."""
    del text


class _Line:
    """The line, painted by a thread of its own so that it moves while the work does not tell."""

    def __init__(self, stream: TextIO, after: float) -> None:
        self.ended = threading.Event()
        self._stream = stream
        self._after = after
        self._start = monotonic()
        self._text = "working"

    def tell(self, text: str) -> None:
        """What is being done from now on."""
        self._text = text

    def paint(self) -> None:
        """Paint until the end, then wipe what was painted."""
        if self.ended.wait(self._after):
            return
        while not self.ended.is_set():
            self._write(f"{_WIPE}{self._cut()}")
            self.ended.wait(_PERIOD)
        self._write(_WIPE)

    def _cut(self) -> str:
        """The text with the seconds since the start, no wider than the terminal."""
        seconds = f" ({monotonic() - self._start:.0f} s)"
        room = shutil.get_terminal_size().columns - 1 - len(seconds)
        return f"{self._text[: max(room, 0)]}{seconds}"

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self.ended.set()  # the terminal has gone; the work goes on
