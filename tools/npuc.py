"""The command `npuc`: what a person does with a model. Its subcommands: `command_parser.py`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..compiler.command_line import run_guarded

TOOL = "npuc"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npuc` with arguments (those of the process by default); the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    # The imports take long enough to be interrupted.
    return run_guarded(TOOL, lambda: _run(arguments), debug="--debug" in arguments)


def _run(arguments: Sequence[str]) -> int:
    from .command_parser import run_command

    return run_command(arguments)


if __name__ == "__main__":
    sys.exit(main())
