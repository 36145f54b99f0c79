"""Typed reading of parsed JSON: every value knows its path, so that a wrong one can be named."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import cast

from ..dialects.core.errors import ProgramError

MAX_INTEGER = (1 << 63) - 1


class Value:
    """A JSON value at `path` of a document; each method checks the type it returns.

    They raise ProgramError with the path and what stands there instead.
    """

    def __init__(self, value: object, path: str) -> None:
        self.value = value
        self.path = path

    def text(self) -> str:
        """A string."""
        if isinstance(self.value, str):
            return self.value
        raise self.fault("a string")

    def integer(self) -> int:
        """An integer in 0..2^63-1."""
        value = self.value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER:
            return value
        raise self.fault("an integer in 0..2^63-1")

    def items(self) -> list[Value]:
        """The elements of an array."""
        if not isinstance(self.value, list):
            raise self.fault("an array")
        elements = cast(list[object], self.value)
        return [Value(element, f"{self.path}[{i}]") for i, element in enumerate(elements)]

    def members(self) -> dict[str, Value]:
        """The members of an object."""
        if not isinstance(self.value, dict):
            raise self.fault("an object")
        pairs = cast(dict[str, object], self.value)
        return {key: Value(member, f"{self.path}.{key}") for key, member in pairs.items()}

    def get(self, key: str) -> Value:
        """The member `key` of an object."""
        members = self.members()
        if key not in members:
            raise self.fault(f"an object with the member {key}")
        return members[key]

    def texts(self) -> tuple[str, ...]:
        """An array of strings."""
        return tuple(element.text() for element in self.items())

    def integers(self) -> tuple[int, ...]:
        """An array of integers."""
        return tuple(element.integer() for element in self.items())

    def choice(self, names: Sequence[str]) -> str:
        """A string out of `names`."""
        if self.value in names:
            return self.text()
        raise self.fault("one of " + ", ".join(names))

    def fault(self, expected: str) -> ProgramError:
        """The error that says what was expected here."""
        shown = reprlib.repr(self.value)
        return ProgramError(
            "the header of the program is not valid",
            where=self.path,
            why=f"{shown} where {expected} is right",
            hint="the file is damaged; compile the model again",
        )
