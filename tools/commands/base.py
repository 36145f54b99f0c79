"""What the subcommands share: how they make their parser, common options, progress, printing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...compiler.arguments import DEFAULT_MACHINE, MachineName, shape_of_input
from ...compiler.command_line import standard_output
from ...compiler.progress import Tell, shown

if TYPE_CHECKING:
    from argparse import _SubParsersAction  # pyright: ignore[reportPrivateUsage]

    from rich.text import Text

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

TOOL = "npuc"


def add_command(
    subparsers: Subparsers,
    name: str,
    work: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """The parser of a subcommand, which has `--debug`; `work` returns the exit code."""
    parser = subparsers.add_parser(
        name,
        help=help,
        description=description,
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(work=work)
    return parser


def add_target(parser: argparse.ArgumentParser) -> None:
    """The option `--target`."""
    parser.add_argument(
        "--target",
        metavar="NAME|PATH",
        type=MachineName(),
        help=f"the machine: a name that `npuc targets` lists (default: {DEFAULT_MACHINE}), or a "
        ".toml file",
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    """The option `--precision`."""
    parser.add_argument(
        "--precision",
        choices=("mixed", "f16", "origin"),
        help="mixed (the default): products of f16, summed in f32; f16: all in f16; origin: as the "
        "model says",
    )


def add_strict(parser: argparse.ArgumentParser) -> None:
    """The option `--strict`."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse what would run on the host engine (AI CPU)"
    )


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """The option `--shape`, which may be given several times; `shapes_of` reads it."""
    parser.add_argument(
        "--shape",
        metavar="NAME=SIZES",
        type=shape_of_input,
        action="append",
        default=[],
        help="sizes of an input that the model leaves open, as in x=1x3x224x224 (default: each 1)",
    )


def shapes_of(arguments: argparse.Namespace) -> dict[str, tuple[int, ...]]:
    """The sizes that were given by `--shape`, by name of the input."""
    return dict(arguments.shape)


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option `--json`."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object in one line, for programs"
    )


@contextmanager
def progress() -> Generator[Tell]:
    """Shows what is being done once it takes longer than a second; on a terminal only."""
    with shown(sys.stderr) as tell:
        yield tell


def show(text: Text | str) -> None:
    """Print a report to standard output, in colour if that is a terminal that wants it."""
    with standard_output() as out:
        if isinstance(text, str):
            print(text, file=out)
        elif not out.isatty():
            print(text.plain, file=out)
        else:
            from rich.console import Console

            Console(file=out, highlight=False, soft_wrap=True).print(text)
