"""What every command does around its work: exit codes, errors as paragraphs, whole files.

Standard output carries results only; everything said to a person goes to standard error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..dialects.core.errors import InputError, InternalError, NpucError
from ..dialects.core.files import write_whole

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
        _discard_output()
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
    """Tell the person at the command line something, on standard error, if that is open."""
    # Python makes it None when the process was started with it closed.
    err: TextIO | None = sys.stderr
    if err is not None:
        err.write(text if text.endswith("\n") else f"{text}\n")


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

    A file appears whole or not at all. `InputError` if it cannot be written, or for bytes that are
    no `text` on a terminal.
    """
    if name != STANDARD:
        write_whole(Path(name), lambda file: file.write(data))
        return
    with standard_output() as out:
        if not text and out.isatty():
            raise InputError(
                "the output is binary, and standard output is a terminal", hint="use -o FILE"
            )
        out.flush()
        out.buffer.write(data)
        out.buffer.flush()


@contextmanager
def standard_output() -> Generator[TextIO]:
    """Standard output to print results to; they have arrived when the context ends.

    `InputError` if it is closed or its device takes no more; `BrokenPipeError` is for
    `run_guarded`.
    """
    # Python makes it None when the process was started with it closed.
    out: TextIO | None = sys.stdout
    if out is None:
        raise InputError("cannot write to standard output", why="it is closed")
    try:
        yield out
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise InputError(
            "cannot write to standard output",
            why=error.strerror or str(error),
            hint="send it to where there is room",
        ) from error


def _discard_output() -> None:
    """Let what is still to be flushed at exit go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
