"""One thread for BLAS while cores are emulated.

A product of the size of L0 takes 50 us; with two BLAS threads on a busy machine it takes 250 times
as long, because each call waits for a thread that is not running.  Cores run in Python threads
instead.  The number of threads would also change the last bits of a product.

The setting belongs to the process and numpy offers no call for it, so the functions of OpenBLAS are
looked up behind numpy's own extension module; the environment would only be read before numpy is
imported.  With another BLAS (Accelerate, MKL) nothing is changed, and its own variable must be set.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import NamedTuple

_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "_64", "")
_EXTENSIONS = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


class _Threads(NamedTuple):
    """OpenBLAS's own `get_num_threads` and `set_num_threads`."""

    get: Callable[[], int]
    set: Callable[[int], object]


@cache
def _openblas() -> _Threads | None:
    """The functions of the OpenBLAS that numpy is linked to, if it is one."""
    for name in _EXTENSIONS:
        try:
            library = ctypes.CDLL(str(import_module(name).__file__))
        except (ImportError, OSError):
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                getter = getattr(library, f"{prefix}get_num_threads{suffix}", None)
                setter = getattr(library, f"{prefix}set_num_threads{suffix}", None)
                if getter is not None and setter is not None:
                    return _Threads(getter, setter)
    return None


class _Pin:
    """Counts the users of the setting; the last one restores what the first one found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before = 0

    def enter(self, blas: _Threads) -> None:
        """One more user."""
        with self._lock:
            if self._users == 0:
                self._before = blas.get()
                blas.set(1)
            self._users += 1

    def leave(self, blas: _Threads) -> None:
        """One user less."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                blas.set(self._before)


_PIN = _Pin()


def blas_threads() -> int | None:
    """Threads that BLAS uses now; None when it is not an OpenBLAS."""
    blas = _openblas()
    return None if blas is None else blas.get()


@contextmanager
def single_threaded_blas() -> Generator[None]:
    """BLAS uses one thread inside; the last of overlapping users restores what was set before."""
    blas = _openblas()
    if blas is None:
        yield
        return
    _PIN.enter(blas)
    try:
        yield
    finally:
        _PIN.leave(blas)
