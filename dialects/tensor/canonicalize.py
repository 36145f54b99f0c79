"""Local rewrites that bring tensor code to one form; `tensor-canonicalize` repeats them.

Each pattern changes inputs and maps in place, so that the op keeps its origins and location; the
origins of a value that nothing reads any more move to the value it was made of. Ops that read along
windows keep their inputs as they are: a window has no form along other axes.
"""

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from ..core.attributes import element_name, tensor_type
from ..core.dtypes import is_float
from ..core.ops import ConstantOp, WeightOp
from ..core.origins import move_origins
from ..core.steps import Step
from .bodies import is_forwarding
from .ops import TransposeOp, ViewOp
from .structured import StructuredOp, axes_of_map, map_from_axes

Entry = TypeVar("Entry")


class ForwardIdentity(RewritePattern):
    """A map that yields its input element at the same place is its input."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StructuredOp, rewriter: PatternRewriter, /) -> None:
        """Replace the op by its input."""
        if _is_movement(op) and op.input_maps[0] == op.result_map:
            rewriter.replace(op, (), [op.inputs[0]])


class ForwardIdentityView(RewritePattern):
    """A view with the shape of its source is its source."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ViewOp, rewriter: PatternRewriter, /) -> None:
        """Replace the view by its source."""
        if op.source.type == op.output.type:
            rewriter.replace(op, (), [op.source])


class FoldViewOfView(RewritePattern):
    """Row-major order survives any number of reshapes, so only the last shape counts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ViewOp, rewriter: PatternRewriter, /) -> None:
        """Let the view read the source of the inner view."""
        inner = op.source.owner
        if not isinstance(inner, ViewOp):
            return
        op.operands = [inner.source]
        rewriter.notify_op_modified(op)
        _retire(inner, Step("reshape", tensor_type(inner.source).get_shape()), rewriter)


class DropUnusedInputs(RewritePattern):
    """An input the body never reads is only kept if it alone says how long a dim is."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StructuredOp, rewriter: PatternRewriter, /) -> None:
        """Drop the first such input; the driver comes back for more."""
        if not op.FREE_INPUTS or op.has_windows:
            return
        for index, arg in enumerate(op.body.args):
            if not arg.uses and _drop_input(op, index):
                rewriter.notify_op_modified(op)
                return


class MergeEqualInputs(RewritePattern):
    """Two inputs that read the same element of the same value are one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StructuredOp, rewriter: PatternRewriter, /) -> None:
        """Let the body read the first of two equal inputs; drop the second."""
        if not op.FREE_INPUTS or op.has_windows:
            return
        first: dict[tuple[SSAValue, AffineMap], int] = {}
        for index, key in enumerate(zip(op.inputs, op.input_maps, strict=True)):
            kept = first.setdefault(key, index)
            if kept != index:
                op.body.args[index].replace_all_uses_with(op.body.args[kept])
                _drop_input(op, index)
                rewriter.notify_op_modified(op)
                return


class FoldSplatIntoBody(RewritePattern):
    """A constant with one value for all elements is a scalar of the body."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StructuredOp, rewriter: PatternRewriter, /) -> None:
        """Drop the first such input and read an `arith.constant` instead."""
        if not op.FREE_INPUTS or op.has_windows:
            return
        # An op on constants alone is one as a whole, which the driver folds.
        if all(isinstance(v.owner, ConstantOp) for v in op.inputs):
            return
        for index, value in enumerate(op.inputs):
            scalar = _splat(value)
            if scalar is None or not _dims_known(op, _without(op.input_maps, index)):
                continue
            rewriter.insert(scalar, InsertPoint.at_start(op.body))
            op.body.args[index].replace_all_uses_with(scalar.result)
            _drop_input(op, index)
            rewriter.notify_op_modified(op)
            return


class FoldMovementIntoMap(RewritePattern):
    """A transpose or broadcast of an input is a different map of what it moves."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: StructuredOp, rewriter: PatternRewriter, /) -> None:
        """Read the source of the first such input."""
        if op.has_windows:
            return
        for index, value in enumerate(op.inputs):
            moved = value.owner
            if not isinstance(moved, StructuredOp) or not _is_movement(moved):
                continue
            if isinstance(moved.inputs[0].owner, WeightOp) and moved.recipe_step() is not None:
                continue  # The driver makes it a step of the weight, which costs nothing at all.
            maps = list(op.input_maps)
            maps[index] = _through(moved, maps[index])
            if not _dims_known(op, maps):
                continue
            inputs = [moved.inputs[0] if i == index else v for i, v in enumerate(op.inputs)]
            op.set_inputs(inputs, maps)
            rewriter.notify_op_modified(op)
            if isinstance(moved, TransposeOp):
                inverse = [moved.permutation.index(i) for i in range(len(moved.permutation))]
                _retire(moved, Step("transpose", tuple(inverse)), rewriter)
            return


def _is_movement(op: StructuredOp) -> bool:
    """Whether the op has one input and moves its elements unchanged."""
    moves = len(op.inputs) == 1 and op.combiner is None and is_forwarding(op.body)
    return moves and not op.has_windows


def _through(moved: StructuredOp, map: AffineMap) -> AffineMap:
    """The map that reads the source of `moved` where `map` reads its result."""
    reader = axes_of_map(map)
    result, source = axes_of_map(moved.result_map), axes_of_map(moved.input_maps[0])
    seen = {dim: reader[axis] for axis, dim in enumerate(result) if dim is not None}
    return map_from_axes(map.num_dims, [None if a is None else seen[a] for a in source])


def _dims_known(op: StructuredOp, input_maps: Sequence[AffineMap]) -> bool:
    """Whether these maps and the result's still give every dim an extent."""
    known = {a for m in (*input_maps, op.result_map) for a in axes_of_map(m)}
    return all(dim in known for dim in range(len(op.iterator_types)))


def _drop_input(op: StructuredOp, index: int) -> bool:
    maps = _without(op.input_maps, index)
    if not _dims_known(op, maps):
        return False
    op.body.erase_arg(op.body.args[index])
    op.set_inputs(_without(op.inputs, index), maps)
    return True


def _without(entries: Sequence[Entry], index: int) -> list[Entry]:
    return [*entries[:index], *entries[index + 1 :]]


def _splat(value: SSAValue) -> arith.ConstantOp | None:
    """What all elements of a constant are, as an op for a body; None if they differ."""
    owner = value.owner
    if not isinstance(owner, ConstantOp) or not owner.value.is_splat():
        return None
    element = owner.value.tensor.element_type
    scalar = owner.value.array().flat[0]
    name = element_name(element)
    if name == "ui8":
        # arith knows signless integers only.
        return None
    if is_float(name):
        return arith.ConstantOp(FloatAttr(float(scalar), cast(AnyFloat, element)))
    return arith.ConstantOp(IntegerAttr(int(scalar), cast(IntegerType, element)))


def _retire(op: Operation, step: Step, rewriter: PatternRewriter) -> None:
    """If nothing reads `op` any more, erase it; `step` leads from its result back to its source."""
    if op.results[0].uses:
        return
    move_origins(op.results[0], op.operands[0], step)
    rewriter.erase(op)


STRUCTURED_PATTERNS: tuple[RewritePattern, ...] = (
    ForwardIdentity(),
    DropUnusedInputs(),
    MergeEqualInputs(),
    FoldSplatIntoBody(),
    FoldMovementIntoMap(),
)
"""The patterns of every structured op."""

VIEW_PATTERNS: tuple[RewritePattern, ...] = (ForwardIdentityView(), FoldViewOfView())
"""The patterns of `tensor.view`."""
