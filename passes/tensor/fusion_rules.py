"""The rules by which structured ops may share a group, as a table.

A rule judges a whole set of ops, given the iteration space they would share, so the same rule says
whether an op may join and whether groups may merge. `matches` says which sets a rule is about; the
first rule that matches decides. To add a rule, put it into `RULES` of a subclass of the pass.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.tensor.bodies import is_forwarding, product_args
from ...dialects.tensor.structured import StructuredOp, axes_of_map, dims_of_axes
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
        """Those that are sums of products for the cube."""
        return [op for op in self.ops if is_contraction(op)]

    @property
    def reductions(self) -> list[StructuredOp]:
        """Those that reduce by vector work, along the last axis of what they read among others."""
        return [op for op in self.ops if _reduces(op) and not is_outer_reduction(op)]

    @property
    def outer_reductions(self) -> list[StructuredOp]:
        """Those that reduce by vector work along axes before the last."""
        return [op for op in self.ops if is_outer_reduction(op)]

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
    """Whether the op is a matrix product, or several: work for the cube, whatever it is called.

    It sums products of its two inputs and has columns: one input alone has the last axis of the
    result. Where both have it (a depthwise convolution), products are vector work.
    """
    if len(op.inputs) != 2 or op.combiner != "add" or product_args(op.body) is None:
        return False
    result = list(dims_of_axes(axes_of_map(op.result_map)))
    if not result:
        return False
    lhs, rhs = (result[-1] in dims_of_axes(op.input_axes(index)) for index in range(2))
    return lhs != rhs


def is_outer_reduction(op: StructuredOp) -> bool:
    """Whether the op reduces by vector work and leaves the last axis of all it reads alone.

    A pooling or a depthwise convolution: one accumulator around which the reduced dims are loops.
    """
    if not _reduces(op):
        return False
    result = axes_of_map(op.result_map)
    axes = [op.input_axes(index) for index in range(len(op.inputs))]
    column = result[-1] if result else None
    return column is not None and all(entries[-1:] == (column,) for entries in axes)


def _reduces(op: StructuredOp) -> bool:
    return op.combiner is not None and not is_contraction(op)


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


def _outer_objection(proposal: Proposal) -> str | None:
    space, (reduction, *others) = proposal.space, proposal.outer_reductions
    if reduction is not proposal.ops[0]:
        return "a reduction along axes before the last takes no work before it into its group"
    if others or proposal.reductions:
        return "a group holds one reduction along axes before the last, and no other"
    walked = set(space.dims_of(reduction)) - proposal.reduced(reduction)
    if any(set(space.dims_of(op)) != walked for op in proposal.ops if op is not reduction):
        return "the map does not walk the dims of the reduction's result"
    return None


def _row_objection(proposal: Proposal) -> str | None:
    space = proposal.space
    rows = {d for d, kind in enumerate(space.kinds) if kind == "parallel"}
    reduced = proposal.reduced(proposal.reductions[0])
    if any(proposal.reduced(op) != reduced for op in proposal.reductions):
        return "the reductions are along different dims"
    if len(reduced) > 1:
        return "a reduction along the last axis and others stays alone"
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
        lambda p: not (p.contractions or p.reductions or p.outer_reductions),
        _chain_objection,
    ),
    FusionRule(
        "cube-epilogue",
        "Maps over the rows and columns of a product or a convolution run on its tile before it is "
        "stored: bias, relu, a residual, and the cast of the next product's operand.",
        lambda p: bool(p.contractions) and not (p.reductions or p.outer_reductions),
        _epilogue_objection,
    ),
    FusionRule(
        "outer-reduction-epilogue",
        "Maps over the result of a reduction along axes before the last run on its accumulator "
        "before it is stored: what follows a pooling or a depthwise convolution.",
        lambda p: bool(p.outer_reductions) and not p.contractions,
        _outer_objection,
    ),
    FusionRule(
        "row-reduction",
        "Reductions along the last axis and the maps around them run on whole rows: softmax, "
        "normalisations.",
        lambda p: bool(p.reductions) and not (p.contractions or p.outer_reductions),
        _row_objection,
    ),
)
"""All rules, in the order they are asked."""
