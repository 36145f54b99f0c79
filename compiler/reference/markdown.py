"""Markdown out of docstrings and rows."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence

WIDTH = 118
"""Columns of running text."""
_ITEM = re.compile(r"([*-]|\d+\.) ")
_LIST = re.compile(r"\s*([#*+>-]|\d+\.)(\s|$)")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; cells are one line and may hold code."""
    lines = [_row(head), "|" + "---|" * len(head), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def code(text: object) -> str:
    """Text as code."""
    return f"`{text}`"


def prose(text: str) -> str:
    """A docstring as paragraphs of `WIDTH` columns; lists and indented lines stay as they are."""
    paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n\n".join(map(_paragraph, paragraphs)) + "\n"


def _paragraph(text: str) -> str:
    """Refilled, but code stays code, and each item of a list starts a line."""
    if text.startswith("    "):
        return text
    if _ITEM.match(text):
        items = re.split(r"\n(?=(?:[*-]|\d+\.) )", text)
        return "\n".join(fill(item, indent="  ") for item in items)
    return fill(text)


def fill(text: str, *, indent: str = "") -> str:
    """One paragraph of `WIDTH` columns; `indent` goes before every line but the first.

    No line reads as the start of a list: it takes a word from the line before.
    """
    one_space = " ".join(text.split())
    lines = textwrap.wrap(
        one_space,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for number in range(1, len(lines)):
        if _LIST.match(lines[number]):
            lines[number - 1], _, word = lines[number - 1].rpartition(" ")
            lines[number] = f"{indent}{word} {lines[number].strip()}"
    return "\n".join(lines)


def summary(text: str) -> str:
    """The first sentence of a docstring, in one line, without its full stop."""
    first = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[^a-z])", first, maxsplit=1)[0].removesuffix(".")
