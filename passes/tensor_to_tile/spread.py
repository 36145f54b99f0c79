"""Which of a tile's two dims a value has: all of it, one row, one column, or one element."""

from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Spread:
    """Which of a tile's two dims a value has."""

    row: bool
    col: bool

    def join(self, other: "Spread") -> "Spread":
        """The dims of an elementwise result."""
        return Spread(self.row or other.row, self.col or other.col)


@dataclass(frozen=True)
class Tile:
    """The current tile of a value: its UB buffer and which dims it has."""

    buffer: SSAValue
    spread: Spread
