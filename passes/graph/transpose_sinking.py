"""Patterns that move transposes of activations towards the results, until they meet and cancel.

All keep values: only where a transpose stands changes. A value that loses its last user to a
pattern hands its names to the value it is a view of (`hand_down`).
"""

from collections.abc import Sequence
from typing import TypeGuard

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.core.ops import ConstantOp, WeightOp
from ...dialects.core.origins import move_origins
from ...dialects.core.steps import Step
from ...dialects.graph.base import GraphOp, element, shaped, static_shape
from ...dialects.graph.canonicalization import hand_down
from ...dialects.graph.contraction import GemmOp, MatMulOp
from ...dialects.graph.movement import ReshapeOp, TransposeOp
from ...dialects.graph.normalization import SoftmaxOp
from .permutations import Group, Order, inverse, moves_nothing, permuted, reshape_groups


def is_constant(value: SSAValue) -> bool:
    """Whether a value is known before the program runs."""
    return isinstance(value.owner, ConstantOp | WeightOp)


def moved(value: SSAValue) -> TransposeOp | None:
    """The transpose that makes a value, unless it is one of a constant, which will fold."""
    owner = value.owner
    return owner if isinstance(owner, TransposeOp) and not is_constant(owner.x) else None


def flattened(value: SSAValue) -> tuple[ReshapeOp, TransposeOp] | None:
    """The reshape that makes a value and the transpose whose result that reshapes, if so."""
    reshape = value.owner
    if not isinstance(reshape, ReshapeOp):
        return None
    transpose = moved(reshape.x)
    return None if transpose is None else (reshape, transpose)


def let_go(transpose: TransposeOp) -> None:
    """Let the operand of a transpose stand for its result if nothing uses that any more."""
    hand_down(transpose, Step("transpose", inverse(transpose.order)))


def let_go_both(reshape: ReshapeOp, transpose: TransposeOp, rewriter: PatternRewriter) -> None:
    """As `let_go`, for a reshape of a transpose."""
    hand_down(reshape, Step("reshape", static_shape(reshape.x)))
    if reshape.out.first_use is None:
        rewriter.erase(reshape)  # else the transpose would seem to be used
        let_go(transpose)


def rebuilt(op: GraphOp, operands: Sequence[SSAValue], shape: Sequence[int]) -> Operation:
    """The same operator on other operands, with a result of another shape."""
    return type(op).create(
        operands=operands,
        result_types=[shaped(shape, element(op.results[0]))],
        properties=op.properties.copy(),
    )


class SinkThroughElementwise(RewritePattern):
    """f(transpose(x), y) is transpose(f(x, y')), where y' is y transposed back.

    That is done where y' costs nothing: y is a constant, is itself so transposed, moves only axes
    of size 1, or is transposed back already for another user.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Sink the transpose of the first operand that allows it."""
        if not isinstance(op, GraphOp) or not op.ELEMENTWISE:
            return
        rank = len(static_shape(op.results[0]))
        for operand in op.operands:
            transpose = moved(operand)
            if transpose is None or len(transpose.order) != rank:
                continue
            others = [other for other in op.operands if other is not operand]
            if all(_can_be_undone(other, transpose) for other in others):
                self._sink(op, transpose, rewriter)
                return

    @staticmethod
    def _sink(op: GraphOp, transpose: TransposeOp, rewriter: PatternRewriter) -> None:
        out, order = op.results[0], transpose.order
        made = list[Operation]()
        operands = [_undone(operand, order, made) for operand in op.operands]
        inner = rebuilt(op, operands, permuted(static_shape(out), inverse(order)))
        move_origins(out, inner.results[0], Step("transpose", inverse(order)))
        touched = [t for operand in op.operands if (t := moved(operand)) is not None]
        rewriter.replace(op, [*made, inner, TransposeOp(inner.results[0], order)])
        for each in touched:
            let_go(each)


def _can_be_undone(value: SSAValue, transpose: TransposeOp) -> bool:
    """Whether `value`, broadcast against a transposed one, can be had in the order before that."""
    rank, shape = len(transpose.order), static_shape(value)
    if len(shape) > rank:
        return False
    if all(size == 1 for size in shape) or is_constant(value):
        return True
    other = moved(value)
    if other is not None and other.order == transpose.order:
        return True
    # What follows adds a transpose of `value`. It must not in turn look worth sinking, so it is
    # only done for a transpose that moves something, and removes that one.
    if len(shape) != rank or moves_nothing(static_shape(transpose.x), transpose.order):
        return False
    back = inverse(transpose.order)
    if moves_nothing(shape, back):
        return True
    return _uses_of(value, back) > 0 and _uses_of(transpose.x, transpose.order) == 1


def _uses_of(value: SSAValue, order: Order) -> int:
    """How many uses the transposes of a value to `order` have."""
    users = [use.operation for use in value.uses]
    return sum(
        len(list(user.out.uses))
        for user in users
        if isinstance(user, TransposeOp) and user.order == order
    )


def _undone(value: SSAValue, order: Order, made: list[Operation]) -> SSAValue:
    """`value` in the order before a transpose to `order`; ops that this takes go to `made`."""
    shape = static_shape(value)
    transpose = moved(value)
    if transpose is not None and transpose.order == order:
        return transpose.x
    if all(size == 1 for size in shape):
        return value
    constant = is_constant(value)
    if len(shape) < len(order):
        value = _append(made, ReshapeOp(value, (1,) * (len(order) - len(shape)) + shape))
    value = _append(made, TransposeOp(value, inverse(order)))
    return _append(made, _stripped(value)) if constant and _leading_ones(value) else value


def _append(made: list[Operation], op: Operation) -> SSAValue:
    made.append(op)
    return op.results[0]


def _leading_ones(value: SSAValue) -> int:
    shape = static_shape(value)
    return next((axis for axis, size in enumerate(shape) if size != 1), len(shape))


def _stripped(value: SSAValue) -> ReshapeOp:
    """A constant without leading axes of size 1, as a bias usually is written."""
    return ReshapeOp(value, static_shape(value)[_leading_ones(value) :])


class SinkThroughSoftmax(RewritePattern):
    """A softmax along the axis that was last before the transpose is one of rows before it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SoftmaxOp, rewriter: PatternRewriter, /) -> None:
        """Swap the two."""
        transpose = moved(op.x)
        if transpose is None or transpose.order[op.axis.value.data] != len(transpose.order) - 1:
            return
        inner = rebuilt(op, [transpose.x], static_shape(transpose.x))
        inner.properties["axis"] = IntegerAttr(len(transpose.order) - 1, i64)
        move_origins(op.out, inner.results[0], Step("transpose", inverse(transpose.order)))
        rewriter.replace(op, [inner, TransposeOp(inner.results[0], transpose.order)])
        let_go(transpose)


def _ranks(transpose: TransposeOp, groups: Sequence[Group]) -> list[list[int]]:
    """For each group of axes of the result, where they were among the operand's axes over 1."""
    shape = static_shape(transpose.x)
    wide = [axis for axis, size in enumerate(shape) if size != 1]
    places = {axis: place for place, axis in enumerate(wide)}
    sources = ([transpose.order[axis] for axis in group.before] for group in groups)
    return [[places[axis] for axis in group if axis in places] for group in sources]


def _is_run(ranks: Sequence[int]) -> bool:
    """Whether axes lie side by side in order."""
    return list(ranks) == list(range(ranks[0], ranks[0] + len(ranks))) if ranks else True


class SinkThroughReshape(RewritePattern):
    """A reshape that splits or joins only axes that were side by side before the transpose."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        """Reshape first, then transpose what has become of the axes."""
        transpose = moved(op.x)
        target = static_shape(op.out)
        groups = None if transpose is None else reshape_groups(static_shape(op.x), target)
        if transpose is None or groups is None:
            return
        ranks = _ranks(transpose, groups)
        if not all(map(_is_run, ranks)):
            return
        kept = sorted(zip(ranks, groups, strict=True), key=lambda entry: entry[0])
        axes = tuple(axis for _, group in kept for axis in group.after)
        inner = ReshapeOp(transpose.x, permuted(target, axes))
        move_origins(op.out, inner.out, Step("transpose", axes))
        rewriter.replace(op, [inner, TransposeOp(inner.out, inverse(axes))])
        let_go(transpose)


class SinkReshape(RewritePattern):
    """f(reshape(t), c) is reshape(f(t, c')) for a constant c, so that the transpose t can sink."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Swap the two where the constant can be split as the reshape joined."""
        if not isinstance(op, GraphOp) or not op.ELEMENTWISE:
            return
        target = static_shape(op.results[0])
        for operand in op.operands:
            found = flattened(operand)
            if found is None or static_shape(operand) != target:
                continue
            source = static_shape(found[0].x)
            groups = reshape_groups(source, target)
            others = [other for other in op.operands if other is not operand]
            if groups is None or not all(map(is_constant, others)):
                continue
            shapes = [_split(static_shape(other), source, target, groups) for other in others]
            if _all_known(shapes):
                self._sink(op, found, dict(zip(others, shapes, strict=True)), rewriter)
                return

    @staticmethod
    def _sink(
        op: GraphOp,
        found: tuple[ReshapeOp, TransposeOp],
        shapes: dict[SSAValue, tuple[int, ...]],
        rewriter: PatternRewriter,
    ) -> None:
        reshape, transpose = found
        made = list[Operation]()
        operands = [
            _append(made, ReshapeOp(operand, shapes[operand])) if operand in shapes else reshape.x
            for operand in op.operands
        ]
        source, out = static_shape(reshape.x), op.results[0]
        inner = rebuilt(op, operands, source)
        move_origins(out, inner.results[0], Step("reshape", source))
        rewriter.replace(op, [*made, inner, ReshapeOp(inner.results[0], static_shape(out))])
        let_go_both(reshape, transpose, rewriter)


def _all_known(
    shapes: Sequence[tuple[int, ...] | None],
) -> TypeGuard[Sequence[tuple[int, ...]]]:
    return None not in shapes


def _split(
    shape: Sequence[int], source: Sequence[int], target: Sequence[int], groups: Sequence[Group]
) -> tuple[int, ...] | None:
    """The shape, broadcast to `source`, of a tensor of `shape` that is broadcast to `target`.

    None if it repeats along a part of a group.
    """
    full = (1,) * (len(target) - len(shape)) + tuple(shape)
    result = list[int]()
    for group in groups:
        sizes = permuted(full, group.after)
        if sizes == permuted(target, group.after):
            result += permuted(source, group.before)
        elif all(size == 1 for size in sizes):
            result += [1] * len(group.before)
        else:
            return None
    return tuple(result)


class PermuteRowsOfWeight(RewritePattern):
    """A product of flattened images by a constant: the rows of that take the order of the images.

    `matmul(reshape(transpose(x)), w)` is `matmul(reshape(x), w')` if the reshape joins the axes
    that the transpose moved to the one that is summed over.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatMulOp | GemmOp, rewriter: PatternRewriter, /) -> None:
        """Multiply the images as they are by the permuted rows."""
        factor, weight = op.operands[0], op.operands[1]
        found = flattened(factor)
        if found is None or not is_constant(weight) or len(static_shape(weight)) != 2:
            return
        if isinstance(op, GemmOp) and op.trans_a:
            return
        reshape, transpose = found
        joined = _joined(reshape, transpose)
        if joined is None:
            return
        columns_first = isinstance(op, GemmOp) and op.trans_b is not None
        sizes = permuted(static_shape(reshape.x), joined)
        made = _permuted_rows(weight, sizes, _order_of(joined, transpose.order), columns_first)
        images = ReshapeOp(transpose.x, static_shape(factor))
        operands = [images.out, made[-1].out, *op.operands[2:]]
        new = rebuilt(op, operands, static_shape(op.out))
        rewriter.replace(op, [*made, images, new])
        let_go_both(reshape, transpose, rewriter)


def _joined(reshape: ReshapeOp, transpose: TransposeOp) -> Order | None:
    """The axes over 1 of the transposed images that the reshape joins to its last one.

    None if that one is not made of them alone, or the others are not as they were before.
    """
    source, target = static_shape(reshape.x), static_shape(reshape.out)
    groups = reshape_groups(source, target)
    if groups is None:
        return None
    if any(target[axis] != 1 for axis in groups[-1].after if axis != len(target) - 1):
        return None
    before = [rank for ranks in _ranks(transpose, groups[:-1]) for rank in ranks]
    if before != list(range(len(before))):
        return None
    return tuple(axis for axis in groups[-1].before if source[axis] != 1)


def _order_of(axes: Order, order: Order) -> Order:
    """The permutation of `axes` (of a transpose's result) to the order they had before it."""
    kept = sorted(axes, key=lambda axis: order[axis])
    return tuple(axes.index(axis) for axis in kept)


def _permuted_rows(
    weight: SSAValue, sizes: Order, order: Order, columns_first: bool
) -> tuple[ReshapeOp, TransposeOp, ReshapeOp]:
    """Ops that give a matrix whose rows (or columns), seen as axes of `sizes`, are in `order`."""
    shape = static_shape(weight)
    if columns_first:
        split = ReshapeOp(weight, (shape[0], *sizes))
        moved_axes = TransposeOp(split.out, (0, *(axis + 1 for axis in order)))
    else:
        split = ReshapeOp(weight, (*sizes, shape[1]))
        moved_axes = TransposeOp(split.out, (*order, len(sizes)))
    return split, moved_axes, ReshapeOp(moved_axes.out, shape)


SINKING: tuple[RewritePattern, ...] = (
    SinkThroughElementwise(),
    SinkThroughSoftmax(),
    SinkThroughReshape(),
    PermuteRowsOfWeight(),
    SinkReshape(),
)
"""The patterns of this file, in the order in which they are tried."""
