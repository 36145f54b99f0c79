"""Decide which structured ops of a block share a group.

1. Walk the ops in program order; each starts as a group of its own.
2. Try to merge the op with all groups whose values it reads, else with the latest of them, else
   with the one before, and so on. A merge needs: at most `MAX_OPS` ops; no way out of the
   merged group and back in; at most `MAX_OUTPUTS` values read outside; a shared iteration space;
   the axes of all its values in one order, since nothing inside a kernel transposes; and a rule
   that has no objection.
3. What stood in the way is kept, and becomes the group's `stopped`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from xdsl.ir import Block, Operation

from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import StructuredOp, Window, dims_of_axes
from ..analysis.iteration_space import GroupSpace
from .fusion_rules import FusionRule, Proposal, is_contraction

MAX_OPS = 64
"""Ops of a group: each becomes one to a few ops of a kernel, which is compiled as one piece."""
MAX_OUTPUTS = 4
"""Values a group may store. Each one stays in vector memory until it is stored."""


class FusionPlan:
    """The groups of one block: `groups` maps every structured op to the tuple of ops it is with."""

    groups: dict[StructuredOp, tuple[StructuredOp, ...]]

    def __init__(self, block: Block, rules: Sequence[FusionRule], capacity: int | None):
        self._rules, self._capacity = rules, capacity
        self._terminator = block.last_op
        self._positions = {op: number for number, op in enumerate(block.ops)}
        self._producers = {op: list(dict.fromkeys(self._read_by(op))) for op in block.ops}
        self._consumers: dict[Operation, list[Operation]] = {op: [] for op in block.ops}
        for op, producers in self._producers.items():
            for producer in producers:
                self._consumers[producer].append(op)
        self._refusals: dict[tuple[StructuredOp, StructuredOp], str] = {}
        self.groups = {}
        for op in block.ops:
            if isinstance(op, StructuredOp):
                self.groups[op] = (op,)
                self._place(op)

    def producers(self, op: Operation) -> list[Operation]:
        """The ops of this block whose results `op`, or an op nested in it, reads."""
        return self._producers[op]

    def stopped(self, ops: Sequence[StructuredOp]) -> str:
        """Why nothing more joined this group: what stood in the way of its first reader outside."""
        members = set(ops)
        readers = ((op, reader) for op in ops for reader in self._consumers[op])
        outside = [(op, reader) for op, reader in readers if reader not in members]
        if not outside:
            return "nothing reads its result"
        made, reader = min(outside, key=lambda pair: self._positions[pair[1]])
        if isinstance(reader, StructuredOp):
            return f"{reader.name}: {self._refusals[made, reader]}"
        if reader is self._terminator:
            return "its result is returned"
        return f"{reader.name} stays outside groups"

    def _read_by(self, op: Operation) -> Iterator[Operation]:
        for inner in op.walk():
            for operand in inner.operands:
                if isinstance(operand.owner, Operation) and operand.owner in self._positions:
                    yield operand.owner

    def _place(self, op: StructuredOp) -> None:
        sources = [p for p in self._producers[op] if isinstance(p, StructuredOp)]
        groups = {self.groups[source]: None for source in sources}
        latest = sorted(groups, key=lambda g: self._positions[g[-1]], reverse=True)
        attempts = [latest, *([group] for group in latest)] if len(latest) > 1 else [latest]
        for attempt in attempts if latest else []:
            objection = self._merge(op, attempt)
            if objection is None:
                self._note(op, [g for g in latest if g not in attempt], "it is in another group")
                return
            if len(attempt) == 1:
                self._note(op, attempt, objection)

    def _note(self, op: StructuredOp, groups: Iterable[tuple[StructuredOp, ...]], why: str) -> None:
        for group in groups:
            for member in group:
                self._refusals.setdefault((member, op), why)

    def _merge(self, op: StructuredOp, parts: Sequence[tuple[StructuredOp, ...]]) -> str | None:
        """Merge `op` and these groups into one; the objection if that cannot be."""
        members = sorted({op, *(m for p in parts for m in p)}, key=self._positions.__getitem__)
        objection = self._objection(members)
        if objection is None:
            for member in members:
                self.groups[member] = tuple(members)
        return objection

    def _objection(self, members: Sequence[StructuredOp]) -> str | None:
        if len(members) > MAX_OPS:
            return f"a group holds at most {MAX_OPS} ops"
        if self._leaves_and_returns(members):
            return "it also needs a value made from this group outside of it"
        try:
            space = GroupSpace.of_ops(members)
        except PassError:
            return _no_space(members)
        if len(space.outputs) > MAX_OUTPUTS:
            return f"more than {MAX_OUTPUTS} values would be read outside"
        if not _axes_in_one_order(space):
            return "it would have to transpose a value of the group"
        proposal = Proposal(space, self._capacity)
        for rule in self._rules:
            if rule.matches(proposal):
                return rule.objection(proposal)
        if len(members) > 1 and is_contraction(members[-1]):
            return "a contraction starts a group of its own"
        return "no rule fuses it"

    def _leaves_and_returns(self, members: Sequence[StructuredOp]) -> bool:
        """Whether a value leaves the would-be group, and another made from it comes back."""
        inside: set[Operation] = set(members)
        read = {p for m in members for p in self._producers[m]} - inside
        # Ops after the one that is being placed are in no group yet: nothing comes back from them.
        last = self._positions[members[-1]]
        todo = [c for m in members for c in self._consumers[m]]
        seen = set(inside)
        while todo:
            op = todo.pop()
            together = self.groups.get(op, (op,)) if isinstance(op, StructuredOp) else (op,)
            if op in seen or self._positions[together[0]] > last:
                continue
            seen.update(together)
            if read.intersection(together):
                return True
            todo.extend(c for other in together for c in self._consumers[other])
        return False


def _no_space(members: Sequence[StructuredOp]) -> str:
    """Why these ops do not share an iteration space."""
    made = {op.output for op in members}
    for op in members:
        for index, value in enumerate(op.inputs):
            if value in made and any(isinstance(a, Window) for a in op.input_axes(index)):
                return "its windows overlap in a value of the group"
    return "it does not share the group's iteration space"


def _axes_in_one_order(space: GroupSpace) -> bool:
    """Whether no two values made in the space have two dims in opposite orders."""
    orders = {tuple(dims_of_axes(space.axes_of(op.output))) for op in space.ops}
    pairs = {pair for order in orders for pair in combinations(order, 2)}
    return not any((second, first) in pairs for first, second in pairs)
