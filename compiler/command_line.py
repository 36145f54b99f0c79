"""What every command does around its work: exit codes, errors as paragraphs, whole files.

Standard output carries results only; everything said to a person goes to standard error.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..dialects.core.errors import InputError, InternalError, NpucError

FAILED = 1
"""Exit code of a command that could not do what it was asked, or whose check failed."""
INTERRUPTED = 130
"""Exit code after an interrupt from the keyboard, as shells have it."""
STANDARD = "-"
"""The file name that means standard input or output."""


def run_guarded(tool: str, work: Callable[[], int], *, debug: bool = False) -> int:
    """Run `work` and return its exit code, or that of the error it raised.

    An error of npuc is printed as its paragraph; any other exception is a bug and says how to get
    the traceback. With `debug` nothing is caught but an interrupt.
    """
    try:
        return work()
    except KeyboardInterrupt:
        say(f"{tool}: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone: nothing is left to say, and nowhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except InternalError as error:
        if debug:
            raise
        say(_bug(tool, str(error)))
    except NpucError as error:
        if debug:
            raise
        say(f"{tool}: error: {error}")
    except Exception as error:  # the one place where a bug becomes a message
        if debug:
            raise
        say(_bug(tool, f"{type(error).__name__}: {error}"))
    return FAILED


def _bug(tool: str, what: str) -> str:
    """The paragraph for an exception that nobody meant."""
    arguments = " ".join(sys.argv[1:])
    return (
        f"{tool}: this is a bug in npuc: {what}\n"
        f"  do: run `{tool} {arguments} --debug` for the traceback, and report it with the model"
    )


def say(text: str) -> None:
    """Tell the person at the command line something, on standard error."""
    print(text, file=sys.stderr)  # noqa: T201  (what commands say to a person)


def read_bytes(name: str) -> bytes:
    """The bytes of a file, or of standard input for `-`; `InputError` if it cannot be read."""
    if name == STANDARD:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read {name}",
            why=error.strerror or str(error),
            hint="give the path of a file that is there and may be read",
        ) from error


def read_text(name: str) -> str:
    """The text of a UTF-8 file, or of standard input for `-`; `InputError` if there is none."""
    data = read_bytes(name)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = "standard input" if name == STANDARD else name
        raise InputError(
            f"{shown} is not text", why=str(error), hint="give a file in UTF-8"
        ) from error


def write_output(data: bytes, name: str, *, text: bool) -> None:
    """Write all of `data` to a file or, for `-`, to standard output.

    A file appears whole or not at all: it is written under a temporary name beside its place and
    renamed. `InputError` if it cannot be, or for bytes that are no `text` on a terminal.
    """
    if name != STANDARD:
        _write_whole(Path(name), data)
        return
    if not text and sys.stdout.isatty():
        raise InputError(
            "the output is binary, and standard output is a terminal", hint="use -o FILE"
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _write_whole(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        # A device or a pipe is written to, never replaced by a file.
        try:
            path.write_bytes(data)
        except OSError as error:
            raise _unwritable(path, error) from error
        return
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        mask = os.umask(0o077)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        Path(partial).unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}", why=error.strerror or str(error))
