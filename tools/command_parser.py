"""The command line of `npuc`.

Each subcommand adds a parser and names the function that does its work; compiler and emulator are
imported only by the subcommand that needs them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from io import StringIO

from npuc import __version__

from ..compiler.command_line import say, standard_output
from .commands import compile as compile_
from .commands import completion, explain, info, profile, run, targets, zoo
from .commands.base import TOOL

COMMANDS = (
    compile_,
    run,
    info,
    explain,
    profile,
    targets,
    zoo,
    completion,
)
"""The modules of the subcommands, in the order of the help."""

_EPILOG = """\
`npuc COMMAND --help` says more about a command. The tools npu-opt and
npu-translate work on the levels between a model and a program, as text."""

WRONG_USAGE = 2
"""Exit code of a command line that cannot be understood, as `argparse` has it."""


def run_command(given: Sequence[str]) -> int:
    """Do what the arguments say; the exit code, and `SystemExit` where argparse ends the program.

    Raises what the work of the subcommand does.
    """
    parser, commands = command_parser()
    if not given:
        say(parser.format_help())
        return WRONG_USAGE
    command = next((word for word in given if not word.startswith("-")), None)
    if command is not None and command not in commands:
        say(_unknown(f"command `{command}`", command, list(commands)))
        return WRONG_USAGE
    # argparse does not mind if a help text or the version cannot be written; we do.
    text = StringIO()
    try:
        with redirect_stdout(text):
            arguments, extra = parser.parse_known_args(given)
    except SystemExit:
        if text.getvalue():
            with standard_output() as out:
                out.write(text.getvalue())
        raise
    if extra:
        chosen = commands[arguments.command]
        usage = chosen.format_usage()
        what = f"argument `{extra[0]}`"
        say(usage + _unknown(what, extra[0].partition("=")[0], re.findall(r"--?[\w-]+", usage)))
        return WRONG_USAGE
    return arguments.work(arguments)


def _unknown(what: str, word: str, known: Sequence[str]) -> str:
    """The message for a word that is not known, with the nearest one that is."""
    nearest = get_close_matches(word, known, 1)
    do = f"did you mean `{nearest[0]}`?" if nearest else f"`{TOOL} --help` lists the commands"
    return f"{TOOL}: error: there is no {what}\n  do: {do}"


def command_parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of `npuc`, and those of its commands by name."""
    parser = argparse.ArgumentParser(
        TOOL,
        description="Compile neural networks for NPUs, and run them on an emulator that "
        "computes\nexact values and counts cycles.",
        epilog=_EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"npuc {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for command in COMMANDS:
        command.add(subparsers)
    return parser, subparsers.choices
