"""What the checks found."""

from __future__ import annotations

from collections.abc import Iterator

from ....dialects.core.errors import ExecutionError

LIMIT = 100
"""Findings kept; a wrong program tends to repeat itself."""


class CheckReport:
    """Findings of one run, in the order they were made; each is the error it would be raised as.

    With `collect` they gather here and the run goes on, otherwise the first one is raised.  A
    finding about the same instructions of the same kernel is made once.
    """

    def __init__(self, *, collect: bool = False) -> None:
        self.collect = collect
        self.findings: list[ExecutionError] = []
        self._seen: set[tuple[object, ...]] = set()

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[ExecutionError]:
        return iter(self.findings)

    def __str__(self) -> str:
        """One paragraph a finding."""
        return "\n".join(map(str, self.findings)) or "no findings"

    def add(self, error: ExecutionError, *same: object) -> None:
        """Raise or keep `error`; findings with equal `same` are kept once."""
        if not self.collect:
            raise error
        key = (type(error), *same)
        if key not in self._seen and len(self.findings) < LIMIT:
            self._seen.add(key)
            self.findings.append(error)
