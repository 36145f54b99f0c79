"""Scripts that complete the command line of a parser in a shell, made by `shtab`.

What an argument may be is said by its `choices`, or by its `type` if that is of `arguments.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any, cast

import shtab

from ..dialects.target.machine import builtin_names
from .arguments import FileName, MachineName

SHELLS = ("bash", "zsh", "fish")
"""The shells there are scripts for."""

# For bash the name must have `_file` in it: shtab then has the shell treat candidates as names of
# files, with a slash after folders and without a space.
_MACHINES = "_npuc_machine_or_file"
_PREAMBLES = {
    "bash": """\
%(function)s() {
  compgen -W '%(machines)s' -- "$1"
  %(files)s "$1"
}
""",
    "zsh": """\
%(function)s() {
  _alternative 'machines:machine:(%(machines)s)' 'files:file:_files -g "*.toml"'
}
""",
    "fish": """\
function %(function)s
  string split ' ' '%(machines)s'
  %(files)s
end
""",
}


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for one of `SHELLS`; the arguments of the parser are marked for it on the way."""
    for action in _arguments(parser):
        how = _completed_by(action.type)
        if how is not None:
            # The attribute by which shtab knows.
            vars(action)["complete"] = how
    return f"{shtab.complete(parser, shell).rstrip()}\n"


def _completed_by(kind: object) -> dict[str, Any] | None:
    """How shtab is to complete an argument of this `type`; None to leave it to its choices."""
    match kind:
        case FileName(suffixes) if suffixes:
            return dict(shtab.glob(*(f"*{suffix}" for suffix in suffixes)))
        case FileName():
            return dict(shtab.FILE)
        case MachineName():
            return _machines()
        case _:
            return None


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of the parsers of its subcommands."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield action
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            for command in cast(Mapping[str, argparse.ArgumentParser], action.choices).values():
                yield from _arguments(command)


def _machines() -> dict[str, Any]:
    """Names of built-in machines, and files with descriptions of others."""
    files: dict[str, Any] = dict(shtab.glob("*.toml"))
    preambles = {
        shell: files["preamble"].get(shell, "")
        + text
        % {
            "function": _MACHINES,
            "machines": " ".join(builtin_names()),
            "files": files[shell].strip("()"),
        }
        for shell, text in _PREAMBLES.items()
    }
    names = {"bash": _MACHINES, "zsh": _MACHINES, "fish": f"({_MACHINES})"}
    return {**names, "preamble": preambles}
