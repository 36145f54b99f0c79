"""The rules by which structured ops may share a group, as a table.

A rule judges a whole set of ops, given the iteration space they would share, so the same rule says
whether an op may join and whether groups may merge. `matches` says which sets a rule is about; the
first rule that matches decides. To add a rule, put it into `RULES` of a subclass of the pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.tensor.bodies import is_forwarding, product_args
from ...dialects.tensor.structured import StructuredOp
from ..analysis.iteration_space import GroupSpace
from .row_memory import peak_row_bytes


@dataclass(frozen=True)
class Proposal:
    """Ops that might become one group.

    `space` is the iteration space they share; `capacity` the bytes of vector memory on chip, None
    if the module names no machine.
    """

    space: GroupSpace
    capacity: int | None

    @property
    def ops(self) -> tuple[StructuredOp, ...]:
        """The ops, in program order."""
        return self.space.ops

    @property
    def contractions(self) -> list[StructuredOp]:
        """Those that are sums of products."""
        return [op for op in self.ops if is_contraction(op)]

    @property
    def reductions(self) -> list[StructuredOp]:
        """Those that reduce and are no contraction."""
        return [op for op in self.ops if op.combiner is not None and not is_contraction(op)]

    def reduced(self, op: StructuredOp) -> set[int]:
        """The dims of the space that `op` reduces."""
        dims = self.space.dims_of(op)
        return {d for d, kind in zip(dims, op.iterators, strict=True) if kind == "reduction"}


@dataclass(frozen=True)
class FusionRule:
    """One way to fuse: `name` for `disable=`, `doc` for people, and the two predicates.

    `objection` is only asked about proposals that match; it returns why not, or None.
    """

    name: str
    doc: str
    matches: Callable[[Proposal], bool]
    objection: Callable[[Proposal], str | None]


def is_contraction(op: StructuredOp) -> bool:
    """Whether the op sums products of its two inputs, whatever it is called."""
    return len(op.inputs) == 2 and op.combiner == "add" and product_args(op.body) is not None


def group_kind(ops: Sequence[StructuredOp]) -> str:
    """What a group of these ops mainly is: "cube", "move" or "vector"."""
    if any(map(is_contraction, ops)):
        return "cube"
    moves = all(op.combiner is None and is_forwarding(op.body) for op in ops)
    return "move" if moves else "vector"


def _chain_objection(proposal: Proposal) -> str | None:
    every = set(range(proposal.space.rank))
    if any(set(proposal.space.dims_of(op)) != every for op in proposal.ops):
        return "the maps do not walk the same dims"
    return None


def _epilogue_objection(proposal: Proposal) -> str | None:
    space, (product, *others) = proposal.space, proposal.contractions
    if others:
        return "a group holds one contraction"
    made = {op.output for op in proposal.ops}
    if any(value in made for value in product.inputs):
        return "a contraction takes no vector work before it into its group"
    walked = set(space.dims_of(product)) - proposal.reduced(product)
    if any(set(space.dims_of(op)) != walked for op in proposal.ops if op is not product):
        return "the map does not walk the rows and columns of the product"
    return None


def _row_objection(proposal: Proposal) -> str | None:
    space = proposal.space
    rows = {d for d, kind in enumerate(space.kinds) if kind == "parallel"}
    reduced = proposal.reduced(proposal.reductions[0])
    if any(proposal.reduced(op) != reduced for op in proposal.reductions):
        return "the reductions are along different dims"
    if any(not rows <= set(space.dims_of(op)) for op in proposal.ops):
        return "not every op walks the rows of the reduction"
    if len(rows) + len(reduced) != space.rank:
        return "an op walks a dim that is neither reduced nor a row"
    need = peak_row_bytes(space, reduced)
    if proposal.capacity is not None and need > proposal.capacity:
        return f"a whole row takes {need} bytes at once, vector memory has {proposal.capacity}"
    return None


RULES: tuple[FusionRule, ...] = (
    FusionRule(
        "elementwise-chain",
        "Maps over the same dims run on one tile, without a round trip through memory.",
        lambda p: not p.contractions and not p.reductions,
        _chain_objection,
    ),
    FusionRule(
        "cube-epilogue",
        "Maps over the rows and columns of a product run on its tile before it is stored: bias, "
        "relu, and the cast of the next product's operand.",
        lambda p: bool(p.contractions) and not p.reductions,
        _epilogue_objection,
    ),
    FusionRule(
        "row-reduction",
        "Reductions along one axis and the maps around them run on whole rows: softmax, "
        "normalisations.",
        lambda p: bool(p.reductions) and not p.contractions,
        _row_objection,
    ),
)
"""All rules, in the order they are asked."""
