"""Lowering by rebuilding: a new block is written op by op, with a map from old to new values.

Every op that is added gets the location of the op it is made from, and every value that is mapped
hands its origins to its heir, so that a lowering cannot forget either.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.core.errors import InternalError
from ..dialects.core.locations import where
from ..dialects.core.origins import move_location, move_origins
from ..dialects.core.steps import Step

OpT = TypeVar("OpT", bound=Operation)


class Rebuild:
    """Appends to `block`, working for one source op at a time."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.source: Operation | None = None
        """The op being rewritten; `emit` copies its location."""
        self._values: dict[SSAValue, SSAValue] = {}

    def __getitem__(self, old: SSAValue) -> SSAValue:
        """The new value of an old one; `InternalError` if it was not mapped yet."""
        new = self._values.get(old)
        if new is None:
            at = None if self.source is None else where(self.source)
            raise InternalError(f"%{old.name_hint or '?'} has no value in the new block", where=at)
        return new

    def operands(self, op: Operation) -> list[SSAValue]:
        """The new values of all operands of an old op."""
        return [self[operand] for operand in op.operands]

    def emit(self, op: OpT) -> OpT:
        """Append an op at the current block with the location of the source op."""
        self.block.add_op(op)
        if self.source is not None:
            move_location(self.source, op)
        return op

    def map(self, old: SSAValue, new: SSAValue, step: Step | None = None) -> None:
        """Let `new` stand for `old` from here on, with its origins (seen through any `step`)."""
        self._values[old] = new
        if new.name_hint is None:
            new.name_hint = old.name_hint
        move_origins(old, new, step)

    def map_all(self, olds: Sequence[SSAValue], news: Sequence[SSAValue]) -> None:
        """Map values pairwise."""
        for old, new in zip(olds, news, strict=True):
            self.map(old, new)

    @contextmanager
    def within(self, block: Block) -> Generator[Block]:
        """Append to another block, as the body of an op just emitted, within the `with`."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer
