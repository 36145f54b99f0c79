"""Import of operators that move elements, change their type or do nothing."""

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import static_shape
from ....dialects.graph.movement import CastOp, ReshapeOp, TransposeOp
from .builder import GraphBuilder
from .node import Node
from .rule import Rule, normalized
from .tensors import ELEMENT_TYPES, type_name

_RESHAPE_OPERAND_SINCE = 5
_AXES_OPERAND_SINCE = 13
_CAST_TO_NUMBER_SINCE = 6
_DROPOUT_IS_IDENTITY_SINCE = 7


def _computed_shape(node: Node) -> str | None:
    if node.opset >= _RESHAPE_OPERAND_SINCE and node.constant(1) is None:
        return (
            f"its shape `{node.inputs[1]}` is computed by the model, only constants are supported"
        )
    return None


def _reshape(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    keep_zero = bool(node.integer("allowzero", 0))
    if node.opset < _RESHAPE_OPERAND_SINCE:
        sizes = list(node.integers("shape") or ())
    else:
        wanted = node.constant(1)
        assert wanted is not None  # `_computed_shape` refused it
        sizes = [int(size) for size in wanted.reshape(-1)]
    return [graph.add(ReshapeOp(x, resolved(static_shape(x), sizes, keep_zero)))]


def resolved(source: Sequence[int], wanted: Sequence[int], keep_zero: bool) -> list[int]:
    """The sizes a Reshape to `wanted` gives a tensor of sizes `source`.

    0 is the size at the same place of `source` unless `keep_zero`; one -1 is what is left over.
    `VerifyException` if there is no such shape.
    """
    sizes = list(wanted)
    for axis, size in enumerate(sizes):
        if size == 0 and not keep_zero:
            if axis >= len(source):
                raise VerifyException(f"{list(source)} has no size {axis} to copy")
            sizes[axis] = source[axis]
    if -1 in sizes:
        hole = sizes.index(-1)
        rest = math.prod(size for axis, size in enumerate(sizes) if axis != hole)
        if rest <= 0 or math.prod(source) % rest:
            raise VerifyException(f"{list(source)} cannot be reshaped to {list(wanted)}")
        sizes[hole] = math.prod(source) // rest
    if min(sizes, default=0) < 0:
        raise VerifyException(f"{list(wanted)} has a negative size")
    return sizes


def _flatten(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    shape = static_shape(x)
    axis = normalized(node.integer("axis", 1), len(shape))
    if not 0 <= axis <= len(shape):
        raise VerifyException(f"its axis {node.integer('axis', 1)} is outside {list(shape)}")
    return [graph.add(ReshapeOp(x, (math.prod(shape[:axis]), math.prod(shape[axis:]))))]


def _transpose(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    reverse = tuple(reversed(range(len(static_shape(x)))))
    return [graph.add(TransposeOp(x, node.integers("perm") or reverse))]


def _computed_axes(node: Node) -> str | None:
    if node.opset >= _AXES_OPERAND_SINCE and node.has_input(1) and node.constant(1) is None:
        return (
            f"its axes `{node.inputs[1]}` are computed by the model, only constants are supported"
        )
    return None


def _axes(node: Node, rank: int) -> set[int] | None:
    """The axes of a Squeeze or Unsqueeze, counted from 0; None if there are none given.

    `VerifyException` if one is not below `rank` or is named twice.
    """
    given = node.integers("axes")
    if node.opset >= _AXES_OPERAND_SINCE:
        wanted = node.constant(1)
        given = None if wanted is None else tuple(int(axis) for axis in wanted.reshape(-1))
    if given is None:
        return None
    axes = {normalized(axis, rank) for axis in given}
    if len(axes) != len(given) or not all(0 <= axis < rank for axis in axes):
        raise VerifyException(f"its axes {list(given)} do not name different ones of {rank}")
    return axes


def _squeeze(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    shape = static_shape(x)
    axes = _axes(node, len(shape))
    if axes is None:
        axes = {axis for axis, size in enumerate(shape) if size == 1}
    if any(shape[axis] != 1 for axis in axes):
        raise VerifyException(f"axes {sorted(axes)} of {list(shape)} do not all have size 1")
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    return [graph.add(ReshapeOp(x, kept))]


def _unsqueeze(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    given = len(node.integers("axes") or ())
    if node.opset >= _AXES_OPERAND_SINCE and (wanted := node.constant(1)) is not None:
        given = wanted.size
    sizes = iter(static_shape(x))
    rank = len(static_shape(x)) + given
    axes = _axes(node, rank) or ()
    return [graph.add(ReshapeOp(x, [1 if a in axes else next(sizes) for a in range(rank)]))]


def _target(node: Node) -> int:
    """The number of the element type a Cast goes to; 0 for a name that is none."""
    if node.opset >= _CAST_TO_NUMBER_SINCE:
        return node.integer("to", 0)
    from onnx import TensorProto

    return dict(TensorProto.DataType.items()).get(node.text("to", ""), 0)


def _target_without_counterpart(node: Node) -> str | None:
    target = _target(node)
    return None if target in ELEMENT_TYPES else f"npuc has no element type {type_name(target)}"


def _cast(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    return [graph.add(CastOp(graph.value(node.inputs[0]), ELEMENT_TYPES[_target(node)]))]


def _training(node: Node) -> str | None:
    """Why a Dropout is not the identity."""
    if node.uses_output(1):
        return f"its mask `{node.outputs[1]}` is used, which only training does"
    if node.opset < _DROPOUT_IS_IDENTITY_SINCE and not node.integer("is_test", 0):
        return "its attribute is_test is 0, which means training before opset 7"
    if node.has_input(2):
        mode = node.constant(2)
        if mode is None or mode.any():
            return f"its training mode `{node.inputs[2]}` is not constantly false"
    return None


def _same(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    return [graph.value(node.inputs[0])]


RULES = {
    "Reshape": Rule(_reshape, "to a constant shape", _computed_shape),
    "Flatten": Rule(_flatten, "all of it"),
    "Squeeze": Rule(_squeeze, "constant axes", _computed_axes),
    "Unsqueeze": Rule(_unsqueeze, "constant axes", _computed_axes),
    "Transpose": Rule(_transpose, "all of it"),
    "Cast": Rule(_cast, "between floats, integers and bool", _target_without_counterpart),
    "Identity": Rule(_same, "removed"),
    "Dropout": Rule(_same, "as in inference: removed", _training),
}
"""The operators of this family."""
