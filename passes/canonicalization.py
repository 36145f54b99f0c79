"""The driver of the canonicalize passes: patterns, folding, merging and dead code, repeated.

1. Patterns: those the ops of npuc name (`get_canonicalization_patterns`), greedily.
2. Constants: an op of npuc whose operands are small constants becomes a constant of its value.
3. Weights: an op that is one step on a weight (`NpucOp.recipe_step`) becomes a step of the weight.
4. Equal computations: of two pure ops that agree in operands, attributes and bodies the later goes.
5. Dead code: a pure op nothing uses goes; origins without an heir are listed.

xDSL's own passes for this lose origins, or stop at any write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import (
    HasCanonicalizationPatternsTrait,
    IsolatedFromAbove,
    is_side_effect_free,
)
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.scoped_dict import ScopedDict

from ..dialects.core.attributes import DenseAttr
from ..dialects.core.errors import InternalError
from ..dialects.core.ops import (
    INLINE_BYTES,
    ConstantOp,
    EffectOp,
    NpucOp,
    WeightOp,
    tensor_bytes,
)
from ..dialects.core.origins import ORIGINS, move_location, move_origins, origins_on
from .base import Loss, NpucPass, apply_patterns

FOLDED_BYTES = 64 * 1024
"""Constants are folded only through operands and results of at most so many bytes."""

_MAX_ROUNDS = 100
_Seen: TypeAlias = ScopedDict[tuple[object, ...], list[Operation]]
"""Ops that later ones may equal, by all that must agree but their bodies."""


@dataclass(frozen=True)
class CanonicalizePass(NpucPass):
    """Base of a level's canonicalize pass, which adds the name and the documentation."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Canonicalize the module and list the origins that went with dead code."""
        for loss in canonicalize_module(op):
            self.lose(*loss)


def canonicalize_module(module: ModuleOp, more: Sequence[RewritePattern] = ()) -> list[Loss]:
    """Rewrite `module` to a fixed point; the origins that were lost with dead code.

    Steps as in the module docstring, with the patterns of `more` after those of the ops. The result
    does not depend on the order of equal choices: walks go forward, patterns are tried in order.
    """
    losses: list[Loss] = []
    for _ in range(_MAX_ROUNDS):
        changed = apply_patterns(module, [_OwnPatterns(), *more])
        changed |= _fold(module)
        changed |= _merge_equal(module.body, None)
        changed |= _remove_dead(module, losses)
        if not changed:
            return losses
    raise InternalError(f"the module still changes after {_MAX_ROUNDS} rounds")


class _OwnPatterns(RewritePattern):
    """The canonicalisation patterns that an op of npuc names itself."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Try them in their order until one applies."""
        if not isinstance(op, NpucOp | EffectOp):
            return
        for trait in op.get_traits_of_type(HasCanonicalizationPatternsTrait):
            for pattern in trait.get_patterns(type(op)):
                pattern.match_and_rewrite(op, rewriter)
                if rewriter.has_done_action:
                    return


def _fold(module: ModuleOp) -> bool:
    changed = False
    for op in list(module.walk()):
        if isinstance(op, NpucOp) and not isinstance(op, ConstantOp) and op.parent is not None:
            changed |= _fold_weight(op) or _fold_constant(op)
    return changed


def _fold_weight(op: NpucOp) -> bool:
    if len(op.operands) != 1 or not isinstance(source := op.operands[0].owner, WeightOp):
        return False
    step = op.recipe_step()
    if step is None:
        return False
    weight = WeightOp(source.blob.after(step))
    if source.result.has_one_use():
        move_origins(source.result, weight.result, step)
    _replace(op, [weight])
    return True


def _fold_constant(op: NpucOp) -> bool:
    operands = [operand.owner for operand in op.operands]
    constants = [owner.value for owner in operands if isinstance(owner, ConstantOp)]
    if not constants or len(constants) != len(operands):
        return False
    if any(tensor_bytes(x.type) > FOLDED_BYTES for x in (*op.operands, *op.results)):
        return False
    values = [DenseAttr.of(x) for x in op.evaluate(*(value.array() for value in constants))]
    if any(len(value.data) > INLINE_BYTES for value in values):
        return False
    _replace(op, [ConstantOp(value) for value in values])
    return True


def _replace(op: Operation, heirs: Sequence[ConstantOp | WeightOp]) -> None:
    """Put an heir for each result in the place of `op`."""
    block = op.parent_block()
    for result, heir in zip(op.results, heirs, strict=True):
        if block is not None:
            block.insert_op_before(heir, op)
        move_location(op, heir)
        move_origins(result, heir.result)
        heir.result.name_hint = result.name_hint
        result.replace_all_uses_with(heir.result)
    op.detach()
    op.erase()


def _merge_equal(region: Region, outer: _Seen | None) -> bool:
    """Replace pure ops by equal ones that are visible; `outer` holds those around the region."""
    return any([_merge_in_block(block, _Seen(outer)) for block in region.blocks])


def _merge_in_block(block: Block, seen: _Seen) -> bool:
    changed = False
    for op in list(block.ops):
        for region in op.regions:
            changed |= _merge_equal(region, None if op.has_trait(IsolatedFromAbove) else seen)
        if op.results and is_side_effect_free(op):
            changed |= _merge(op, seen)
    return changed


def _merge(op: Operation, seen: _Seen) -> bool:
    key = _key(op)
    # Its `get` writes out the key for every one that is missing, which takes longer than the rest.
    known: list[Operation] = []
    if key in seen:
        known = seen[key]
    first = next((x for x in known if _same_bodies(x, op)), None)
    if first is None:
        seen[key] = [*known, op]
        return False
    for result, heir in zip(op.results, first.results, strict=True):
        move_origins(result, heir)
        result.replace_all_uses_with(heir)
    op.detach()
    op.erase()
    return True


def _key(op: Operation) -> tuple[object, ...]:
    attributes: dict[str, Attribute] = {k: v for k, v in op.attributes.items() if k != ORIGINS}
    operands: tuple[SSAValue, ...] = tuple(op.operands)
    return (
        op.name,
        operands,
        tuple(result.type for result in op.results),
        tuple(sorted(op.properties.items(), key=lambda item: item[0])),
        tuple(sorted(attributes.items(), key=lambda item: item[0])),
    )


def _same_bodies(a: Operation, b: Operation) -> bool:
    return all(x.is_structurally_equivalent(y) for x, y in zip(a.regions, b.regions, strict=True))


def _remove_dead(module: ModuleOp, losses: list[Loss]) -> bool:
    changed = False
    for op in list(module.walk(reverse=True)):
        if op.parent is not None and is_trivially_dead(op):
            for inner in op.walk():
                why = f"`{op.name}` is dead code"
                losses += [Loss(origin, why) for origin in origins_on(inner)]
            op.detach()
            op.erase()
            changed = True
    return changed
