"""What every command does around its work: exit codes, errors as paragraphs, whole files.

Standard output carries results only; everything said to a person goes to standard error.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Self, TextIO

from ..dialects.core.errors import InputError, InternalError, NpucError
from ..dialects.core.files import write_whole
from .tables import printable

FAILED = 1
"""Exit code of a command that could not do what it was asked, or whose check failed."""
INTERRUPTED = 130
"""Exit code after an interrupt from the keyboard, as shells have it."""
_OBJECTS = 200_000
"""New objects after which the garbage collector looks at them."""
STANDARD = "-"
"""The file name that means standard input or output."""


def run_guarded(tool: str, work: Callable[[], int], *, debug: bool = False) -> int:
    """Run `work` and return its exit code, or that of the error it raised.

    An error of npuc is printed as its paragraph; any other exception is a bug and says how to get
    the traceback. With `debug` nothing is caught but an interrupt.
    """
    with _Interrupts() as interrupts:
        try:
            with _rare_collection():
                return work()
        except KeyboardInterrupt:
            return _interrupted(tool)
        except BrokenPipeError:
            # Whoever read our output has gone: nothing is left to say, and nowhere to flush to.
            _discard_output()
            return FAILED
        except Exception as error:  # the one place where an error becomes a message
            if interrupts.came:
                return _interrupted(tool)
            if debug:
                raise
            say(_message(tool, error))
            return FAILED


def _interrupted(tool: str) -> int:
    say(f"{tool}: interrupted")
    return INTERRUPTED


class _Interrupts:
    """Notes interrupts while it is entered, as a `KeyboardInterrupt` may come out as another error:
    modules in C that are just being imported turn it into an `ImportError`."""

    def __init__(self) -> None:
        self.came = False
        self._noting = False

    def __enter__(self) -> Self:
        # Another handler, or none, is somebody's decision; and only the main thread may set one.
        plain = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if plain and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._note)
            self._noting = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._noting:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        signal.default_int_handler(number, frame)


def _message(tool: str, error: Exception) -> str:
    """What to say about an error: its paragraph, or that it is a bug."""
    if isinstance(error, InternalError):
        return _bug(tool, str(error))
    if isinstance(error, NpucError):
        return f"{tool}: error: {error}"
    return _bug(tool, f"{type(error).__name__}: {error}")


@contextmanager
def _rare_collection() -> Generator[None]:
    """Look for garbage in cycles less often: IR is many objects that live long, and looking through
    all of them again and again takes a third of the time of compiling."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _bug(tool: str, what: str) -> str:
    """The paragraph for an exception that nobody meant."""
    arguments = " ".join(sys.argv[1:])
    return (
        f"{tool}: this is a bug in npuc: {what}\n"
        f"  do: run `{tool} {arguments} --debug` for the traceback, and report it with the model"
    )


def say(text: str) -> None:
    """Tell the person at the command line something, on standard error, if that is open.

    Control characters, which names of files and nodes may hold, are shown and not obeyed.
    """
    # Python makes it None when the process was started with it closed.
    err: TextIO | None = sys.stderr
    if err is not None:
        lines = text.removesuffix("\n").split("\n")
        err.write("".join(f"{printable(line)}\n" for line in lines))


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
    if isinstance(out, TextIOWrapper) and out.errors == "strict":
        # A bar or a name that its encoding does not have must not be the end of a report.
        out.reconfigure(errors="replace")
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
