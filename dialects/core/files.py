"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .errors import InputError


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Make the file `path` with what `write` writes to the file it is given.

    It is written under a temporary name beside its place and renamed, with the rights the process
    gives new files; through a link, what it points to. A device or a pipe is written to, never
    replaced by a file. `InputError` if the system refuses; then, as after an interrupt, what was
    at `path` still is.
    """
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                write(device)
            return
        # Neither `tempfile`, which makes private files, nor `umask`, which all threads share; and
        # no part of the name, which may be as long as names can be.
        target = Path(os.path.realpath(path))
        partial = target.with_name(f".npuc-{os.urandom(8).hex()}")
        try:
            with partial.open("xb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write {path}",
            why=error.strerror or str(error),
            hint="give a path that may be written to, in a folder that is there",
        ) from error
