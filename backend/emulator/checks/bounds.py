"""Addresses: every byte touched lies in its memory, and constants are not written."""

from __future__ import annotations

from bisect import bisect_right

from ....dialects.core.errors import BoundsError
from ....dialects.npu_isa.effects import SPACES, Footprint
from ...program import Program
from ..issue import Effect


class Bounds:
    """The sizes of all memories and the constants of a program."""

    def __init__(self, program: Program) -> None:
        self._sizes: dict[str, int] = {space: program.machine.size(space) for space in SPACES}
        self._sizes["gm"] = program.gm_bytes
        constants = sorted(program.constants, key=lambda constant: constant.address)
        self._constants = [constant for constant in constants if constant.data.nbytes]
        self._starts = [constant.address for constant in self._constants]

    def check(self, effects: tuple[Effect, ...]) -> BoundsError | None:
        """The error of an instruction with these effects, if there is one."""
        for mode, shape in effects:
            size = self._sizes[shape.space]
            if shape.rows <= 0 or shape.row_bytes <= 0:
                continue
            if shape.start < 0 or shape.end > size:
                verb = "read" if mode == "r" else "write"
                return BoundsError(
                    f"{verb} outside {shape.space}",
                    why=f"bytes {shape.start}..{shape.end} of the {size} there are",
                    hint="check the addresses, counts and strides of the instruction",
                )
            if mode == "w" and shape.space == "gm":
                fault = self.constant_hit(shape)
                if fault:
                    return fault
        return None

    def constant_hit(self, shape: Footprint) -> BoundsError | None:
        """The error of a write to GM that reaches a constant, if it does."""
        start, end = shape.start, shape.end
        index = bisect_right(self._starts, start) - 1
        for constant in self._constants[max(index, 0) :]:
            if constant.address >= end:
                return None
            if constant.address + constant.data.nbytes > start:
                return BoundsError(
                    f"write to the constant {constant.name}",
                    why=f"bytes {start}..{end} reach the constant at {constant.address}",
                    hint="constants are read-only; check the plan of GM",
                )
        return None
