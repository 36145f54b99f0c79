"""What the subcommands share: the parser they add to, and progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import argparse
    from argparse import _SubParsersAction  # pyright: ignore[reportPrivateUsage]

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

TOOL = "npuc"


@contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """Shows what is being done while it is done; on a terminal only."""
    err: TextIO | None = sys.stderr
    if err is None or not err.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda text: status.update(text)
