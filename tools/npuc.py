"""The command `npuc`: what a person does with a model.

Each subcommand adds a parser and names the function that does its work; compiler and emulator are
imported only by the subcommand that needs them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from npuc import __version__

from ..compiler.command_line import run_guarded
from .commands import run
from .commands.base import TOOL

COMMANDS = (run,)
"""The modules of the subcommands, in the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npuc` with arguments (those of the process by default); the exit code."""
    arguments = _parser().parse_args(argv)
    return run_guarded(TOOL, lambda: arguments.work(arguments), debug=arguments.debug)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        TOOL, description="Compile neural networks for NPUs and run them.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"npuc {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(subparsers)
    return parser


if __name__ == "__main__":
    sys.exit(main())
