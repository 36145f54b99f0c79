"""`npuc completion`: a script that completes command lines of npuc in a shell."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .base import add_command, show

if TYPE_CHECKING:
    from .base import Subparsers

_EPILOG = """\
to have it in every new shell:
  bash   npuc completion bash > ~/.local/share/bash-completion/completions/npuc
  zsh    npuc completion zsh > "${fpath[1]}/_npuc"
  fish   npuc completion fish > ~/.config/fish/completions/npuc.fish

in this one (bash, zsh):
  eval "$(npuc completion bash)\""""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc completion`."""
    parser = add_command(
        subparsers,
        "completion",
        _run,
        help="print a script that lets a shell complete command lines",
        description="Print a script that lets a shell complete commands, options and files.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish"
    )


def _run(arguments: argparse.Namespace) -> int:
    from ...compiler.completion import script
    from ..command_parser import command_parser

    parser, _ = command_parser()
    show(script(parser, arguments.shell))
    return 0
