"""Kinds of arguments of the commands: they take any text, and tell shells how to complete it.

An argument parser has them as `type`; `completion.py` reads them back from it.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from dataclasses import dataclass

from ..dialects.target.machines import DEFAULT as DEFAULT_MACHINE

__all__ = ["DEFAULT_MACHINE", "FileName", "MachineName", "shape_of_input"]


@dataclass(frozen=True)
class FileName:
    """A file whose name ends in one of `suffixes`, or any file if there are none."""

    suffixes: tuple[str, ...] = ()

    def __call__(self, text: str) -> str:
        """The text: whether there is such a file is found out, and told better, on opening it."""
        return text


@dataclass(frozen=True)
class MachineName:
    """A built-in machine, or the `.toml` file of another one."""

    def __call__(self, text: str) -> str:
        """The text: whether there is such a machine is found out when it is loaded."""
        return text


def shape_of_input(text: str) -> tuple[str, tuple[int, ...]]:
    """The name and the sizes in `NAME=1x3x224x224`; `ArgumentTypeError` for anything else."""
    name, equals, sizes = text.rpartition("=")
    parts = sizes.split("x")
    if not (name and equals and all(part.isascii() and part.isdecimal() for part in parts)):
        raise ArgumentTypeError(f"{text!r} is not like x=1x3x224x224")
    return name, tuple(map(int, parts))
