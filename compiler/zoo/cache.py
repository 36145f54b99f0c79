"""The cache: a folder a model, with files that are trusted only after a look at their SHA-256."""

from __future__ import annotations

import os
import sys
from hashlib import file_digest
from pathlib import Path

from ...dialects.core.errors import InputError
from .table import Entry, ModelFile

VARIABLE = "NPUC_CACHE"
"""The environment variable that names another folder for all that npuc caches."""


def zoo_folder() -> Path:
    """The folder of all models: in `NPUC_CACHE`, or where the platform keeps caches."""
    chosen = os.environ.get(VARIABLE)
    root = Path(chosen).absolute() if chosen else _platform_folder() / "npuc"
    return root / "zoo"


def _platform_folder() -> Path:
    """The user's folder for caches; `InputError` if there is no home folder to put it in."""
    # The XDG specification has relative paths ignored.
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if xdg.is_absolute():
        return xdg
    local = os.environ.get("LOCALAPPDATA")
    if sys.platform == "win32" and local:
        return Path(local)
    try:
        home = Path.home()
    except RuntimeError as error:
        raise InputError(
            "there is no folder to cache models in",
            why=str(error),
            hint=f"set {VARIABLE} to a folder that may be written to",
        ) from error
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def folder(entry: Entry) -> Path:
    """The folder of one model, whether it is there or not."""
    return zoo_folder() / entry.name


def flaws(entry: Entry) -> dict[str, str]:
    """What is wrong with the cached files of a model, by file name; nothing if it is fetched."""
    found = {file.name: _flaw(folder(entry) / file.name, file) for file in entry.files}
    return {name: flaw for name, flaw in found.items() if flaw}


def state(entry: Entry) -> str:
    """Whether a model is fetched: `yes`, `no` (no file of it is there) or `damaged`."""
    if not flaws(entry):
        return "yes"
    names = (file.name for file in entry.files)
    return "damaged" if any((folder(entry) / name).exists() for name in names) else "no"


def _flaw(path: Path, file: ModelFile) -> str | None:
    try:
        with path.open("rb") as stream:
            digest = file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if digest == file.sha256 else "is damaged"
