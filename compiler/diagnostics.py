"""Diagnostics with places, and the comments in a test that say which are expected.

`// expected-error {{text}}` expects an error on its own line whose text contains `text`; `@+2`,
`@-1` after the kind move the line. `remark` works the same way, but a remark nobody expects is no
failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..dialects.core.errors import NpucError
from ..passes.base import PassReport

_PLACE = re.compile(r"(?P<file>.*?):(?P<line>\d+):(?P<column>\d+)(?: (?P<rest>.*))?")
_EXPECTED = re.compile(
    r"expected-(?P<kind>error|remark)\s*(?:@(?P<offset>[+-]\d+))?\s*\{\{(?P<text>.*?)\}\}"
)
_SHOWN_LOSSES = 8


class Diagnostic(NamedTuple):
    """A message at a place; the line is None when the place is unknown."""

    kind: str
    file: str
    line: int | None
    column: int | None
    text: str

    def __str__(self) -> str:
        """`file:line:column: kind: text`, as compilers print it."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line is not None else self.file
        return f"{place}: {self.kind}: {self.text}"


class Expectation(NamedTuple):
    """A comment that expects a diagnostic: where it must be and what it must contain."""

    kind: str
    line: int
    text: str


def of_error(error: NpucError, file: str) -> Diagnostic:
    """The diagnostic of an error raised while working on `file`."""
    found = _PLACE.fullmatch(error.where or "")
    rest = found["rest"] if found else error.where
    details = (("where", rest), ("why", error.why), ("do", error.hint))
    lines = [error.what, *(f"  {label}: {text}" for label, text in details if text)]
    lines += [f"  {note}" for note in getattr(error, "__notes__", ())]
    return _at(found, "error", file, "\n".join(lines))


def of_report(report: PassReport, pass_name: str, file: str) -> list[Diagnostic]:
    """The remarks of one run of a pass, with one for all origins it lost."""
    remarks = [
        _at(_PLACE.fullmatch(remark.where or ""), "remark", file, remark.text)
        for remark in report.remarks
    ]
    if report.losses:
        names = [f'"{loss.origin.tensor.data}"' for loss in report.losses]
        more = len(names) - _SHOWN_LOSSES
        shown = ", ".join(names[:_SHOWN_LOSSES]) + (f" and {more} more" if more > 0 else "")
        text = f"{pass_name}: not observable from here on: {shown}"
        remarks.append(Diagnostic("remark", file, None, None, text))
    return remarks


def _at(found: re.Match[str] | None, kind: str, file: str, text: str) -> Diagnostic:
    if found is None:
        return Diagnostic(kind, file, None, None, text)
    return Diagnostic(kind, found["file"], int(found["line"]), int(found["column"]), text)


def expectations(text: str, first_line: int = 1) -> list[Expectation]:
    """The expectations in the comments of `text`, whose first line has the number `first_line`."""
    return [
        Expectation(found["kind"], number + int(found["offset"] or 0), found["text"])
        for number, line in enumerate(text.split("\n"), start=first_line)
        for found in _EXPECTED.finditer(line.partition("//")[2])
    ]


def mismatches(
    expected: Iterable[Expectation], actual: Sequence[Diagnostic], file: str
) -> list[Diagnostic]:
    """What was expected and did not come, then errors that came and were not expected."""
    left = list(actual)
    wrong: list[Diagnostic] = []
    for want in expected:
        hit = next((d for d in left if _meets(d, want)), None)
        if hit is None:
            text = f'expected {want.kind} "{want.text}" was not produced'
            wrong.append(Diagnostic("error", file, want.line, 1, text))
        else:
            left.remove(hit)
    unexpected = [d for d in left if d.kind == "error"]
    return wrong + [d._replace(text=f"unexpected error: {d.text}") for d in unexpected]


def _meets(diagnostic: Diagnostic, want: Expectation) -> bool:
    same_place = diagnostic.kind == want.kind and diagnostic.line == want.line
    return same_place and want.text in diagnostic.text
