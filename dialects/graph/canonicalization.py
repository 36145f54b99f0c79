"""Rewrites that simplify graph ops locally; `graph-canonicalize` applies them to a fixed point.

Values keep their bits, with one exception: `x + 0.0` becomes `x`, which keeps the sign of a zero.
"""

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ..core.ops import ConstantOp
from ..core.origins import move_origins
from ..core.steps import Step
from .base import dtype, static_shape
from .elementwise import AddOp, BinaryOp, DivOp, MulOp, ReluOp, SubOp
from .movement import CastOp, ReshapeOp, TransposeOp

# For each element type those that hold every one of its values.
_WIDER: dict[str, frozenset[str]] = {
    "bool": frozenset({"i8", "ui8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}),
    "i8": frozenset({"i16", "i32", "i64", "f16", "bf16", "f32", "f64"}),
    "ui8": frozenset({"i16", "i32", "i64", "f16", "bf16", "f32", "f64"}),
    "i16": frozenset({"i32", "i64", "f32", "f64"}),
    "i32": frozenset({"i64", "f64"}),
    "f16": frozenset({"f32", "f64"}),
    "bf16": frozenset({"f32", "f64"}),
    "f32": frozenset({"f64"}),
}


def _is_filled_with(value: SSAValue, number: int) -> bool:
    """Whether `value` is a constant whose elements all equal `number`."""
    if not isinstance(value.owner, ConstantOp) or not value.owner.value.is_splat():
        return False
    array = value.owner.value.array()
    return array.size > 0 and bool(array.flat[0] == number)


def hand_down(inner: Operation, step: Step) -> None:
    """Let the operand of `inner`, about to lose its last user, stand for the result of `inner`.

    `step` makes the operand from that result.
    """
    if inner.results[0].first_use is None:
        move_origins(inner.results[0], inner.operands[0], step)


class DropNeutralOperand(RewritePattern):
    """x + 0, x - 0, x * 1 and x / 1 are x, unless the constant widens the shape."""

    COMMUTATIVE: ClassVar = (AddOp, MulOp)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp | SubOp | MulOp | DivOp, rewriter: PatternRewriter, /):
        """Replace the op by the operand that is not the constant."""
        kept = _kept_operand(op, isinstance(op, self.COMMUTATIVE))
        if kept is not None and kept.type == op.out.type:
            rewriter.replace(op, (), [kept])


def _kept_operand(op: BinaryOp, commutes: bool) -> SSAValue | None:
    """The operand that equals the result, if the other one is the neutral constant."""
    if op.NEUTRAL is None:
        return None
    if _is_filled_with(op.rhs, op.NEUTRAL):
        return op.lhs
    return op.rhs if commutes and _is_filled_with(op.lhs, op.NEUTRAL) else None


class DropRepeatedRelu(RewritePattern):
    """relu(relu(x)) is relu(x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /):
        """Replace the outer op by the inner one."""
        if isinstance(op.x.owner, ReluOp):
            rewriter.replace(op, (), [op.x])


class MergeReshapes(RewritePattern):
    """A reshape to the operand's own shape goes; of two in a row the last one is enough."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /):
        """Drop the reshape, or let it read what the inner one reads."""
        if op.x.type == op.out.type:
            rewriter.replace(op, (), [op.x])
        elif isinstance(inner := op.x.owner, ReshapeOp):
            rewriter.replace(op, ReshapeOp(inner.x, static_shape(op.out)))
            hand_down(inner, Step("reshape", static_shape(inner.x)))


class MergeTransposes(RewritePattern):
    """A transpose that moves nothing goes; two in a row become one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /):
        """Drop the transpose, or compose it with the inner one."""
        if op.order == tuple(range(len(op.order))):
            rewriter.replace(op, (), [op.x])
        elif isinstance(inner := op.x.owner, TransposeOp):
            composed = tuple(inner.order[axis] for axis in op.order)
            rewriter.replace(op, TransposeOp(inner.x, composed))
            inverse = tuple(inner.order.index(axis) for axis in range(len(inner.order)))
            hand_down(inner, Step("transpose", inverse))


class MergeCasts(RewritePattern):
    """A cast to the operand's own type goes; so does an inner cast that loses nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /):
        """Drop the cast, or let it read what the inner one reads."""
        if op.x.type == op.out.type:
            rewriter.replace(op, (), [op.x])
        elif isinstance(inner := op.x.owner, CastOp):
            source = dtype(inner.x)
            if dtype(inner.out) in _WIDER.get(source, ()):
                rewriter.replace(op, CastOp(inner.x, dtype(op.out)))
                hand_down(inner, Step("cast", source))


class CastBeforeReshape(RewritePattern):
    """A cast of a reshaped value stands before the reshape, with what made the value."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /):
        """Swap the two if nothing else uses the reshaped value."""
        if isinstance(inner := op.x.owner, ReshapeOp) and op.x.has_one_use():
            cast = CastOp(inner.x, dtype(op.out))
            rewriter.replace(op, [cast, ReshapeOp(cast.out, static_shape(op.out))])
            hand_down(inner, Step("reshape", static_shape(inner.x)))


_NEUTRAL = (DropNeutralOperand(),)

PATTERNS: dict[type[Operation], tuple[RewritePattern, ...]] = {
    AddOp: _NEUTRAL,
    SubOp: _NEUTRAL,
    MulOp: _NEUTRAL,
    DivOp: _NEUTRAL,
    ReluOp: (DropRepeatedRelu(),),
    ReshapeOp: (MergeReshapes(),),
    TransposeOp: (MergeTransposes(),),
    CastOp: (MergeCasts(), CastBeforeReshape()),
}
"""The patterns of each op that has any."""
