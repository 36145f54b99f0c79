"""`npuc targets`: the machines there are, and where each of their values comes from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...compiler.arguments import MachineName
from .base import add_command, add_json, show

if TYPE_CHECKING:
    from .base import Subparsers

_EPILOG = """\
examples:
  npuc targets
  npuc targets tiny
  npuc targets mine.toml       checks a description of your own, and shows it

A value has the confidence H (official file or measured table), M (official
prose, or derived from it) or L (secondary source, scaled from another part, or
a guess). A feature is real on the part, or modelled: granted by the description
alone."""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc targets`."""
    parser = add_command(
        subparsers,
        "targets",
        _run,
        help="list the machines, or show every value of one with its source",
        description="List the built-in machines, or show all values of one and their sources.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "name",
        metavar="NAME|PATH",
        nargs="?",
        type=MachineName(),
        help="a machine of the list, or a .toml file",
    )
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from ...compiler.targets import machine_as_json, machine_as_text, table_as_json, table_as_text

    if arguments.name is None:
        show(table_as_json() if arguments.json else table_as_text())
    else:
        shown = machine_as_json if arguments.json else machine_as_text
        show(shown(arguments.name))
    return 0
