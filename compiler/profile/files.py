"""Profile a run of a model into a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...dialects.core.errors import InputError
from ...dialects.core.files import write_whole
from ..observation import Observation, observe
from ..progress import Tell
from ..request import Request
from .tables import write_memory, write_statistic, write_summary
from .trace import Gap, gaps, write_trace

FILES = {
    "op_summary.csv": write_summary,
    "op_statistic.csv": write_statistic,
    "memory.csv": write_memory,
    "trace.json": write_trace,
}
"""What is written, and by what."""


@dataclass(frozen=True)
class Profiled:
    """A run that was written to `folder`; `gaps` are what the trace leaves out."""

    observation: Observation
    folder: str
    gaps: Sequence[Gap]


def profile(request: Request, folder: str, tell: Tell) -> Profiled:
    """Compile and run what is asked for, and write `FILES` into `folder`, which is made if need be.

    Each file appears whole or not at all, and none before all of them are complete.
    `InputError` for a folder that cannot be written to (found before anything is compiled), or what
    compiling and running raise.
    """
    _check_folder(folder)
    observation = observe(request, tell, trace=True)
    made = _make(Path(folder))
    try:
        tell("writing the files")
        _write(observation, Path(folder), list(FILES))
    except BaseException:
        for path in made:
            with suppress(OSError):  # not empty: somebody else has written into it
                path.rmdir()
        raise
    return Profiled(observation, folder, gaps(observation))


def _write(observation: Observation, folder: Path, names: Sequence[str]) -> None:
    """Write the files; each takes its place only when all of them are complete."""
    name, *others = names

    def write(file: BinaryIO) -> None:
        FILES[name](observation, file)
        file.flush()
        if others:
            _write(observation, folder, others)

    write_whole(folder / name, write)


def _make(folder: Path) -> list[Path]:
    """Make the folder and those it is in; those that were not there, the innermost first."""
    missing: list[Path] = []
    place = folder
    while not place.exists():
        missing.append(place)
        place = place.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(str(folder), error.strerror or str(error)) from error
    return missing


def _check_folder(folder: str) -> None:
    """Find out early what writing would find out late."""
    # Functions of os.path answer False where pathlib's raise, for want of rights for instance.
    place = os.path.abspath(folder)
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    wrong = None
    if not os.path.isdir(place):
        wrong = f"{place} is no folder"
    elif not os.access(place, os.W_OK | os.X_OK):
        wrong = f"the folder {place} may not be written to"
    else:
        taken = [name for name in FILES if os.path.isdir(os.path.join(folder, name))]
        wrong = f"{taken[0]} in it is a folder" if taken else None
    if wrong:
        raise _refused(folder, wrong)


def _refused(folder: str, why: str) -> InputError:
    return InputError(
        f"cannot write into {folder}", why=why, hint="give a folder that may be written to, by -o"
    )
