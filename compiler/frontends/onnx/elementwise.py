"""Import of elementwise arithmetic."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.core.dtypes import to_numpy
from ....dialects.graph.base import dtype, static_shape
from ....dialects.graph.elementwise import (
    AddOp,
    BinaryOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    ReluOp,
    SubOp,
)
from ....dialects.graph.movement import ReshapeOp
from .builder import GraphBuilder
from .node import Node
from .rule import Build, Rule, normalized

_BROADCASTS_SINCE = 7
"""The operator set from which on operands broadcast as numpy's do."""
_CLIP_OPERANDS_SINCE = 11


def _binary(op: type[BinaryOp]) -> Build:
    """An operator of two operands."""

    def build(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
        lhs, rhs = (graph.value(name) for name in node.inputs)
        if node.opset < _BROADCASTS_SINCE:
            rhs = _placed(node, graph, lhs, rhs)
        return [graph.add(op(lhs, rhs))]

    return build


def _placed(node: Node, graph: GraphBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The right operand of an old operator, with axes of size 1 behind it so that it broadcasts.

    It has the shape of the left one, or under `broadcast` that of a run of axes, which begins at
    `axis` or else ends with the last one.
    """
    left, right = static_shape(lhs), static_shape(rhs)
    if not node.integer("broadcast", 0):
        if left != right:
            raise VerifyException(
                f"shapes {list(left)} and {list(right)} differ, and the attribute `broadcast`, "
                "which would allow that before opset 7, is not set"
            )
        return rhs
    axis = node.integer("axis", len(left) - len(right))
    axis = normalized(axis, len(left))
    behind = len(left) - axis - len(right)
    beside = left[axis : axis + len(right)] if axis >= 0 else ()
    if behind < 0 or right not in (beside, (1,) * len(right)):
        raise VerifyException(f"shape {list(right)} does not fit {list(left)} at axis {axis}")
    return graph.add(ReshapeOp(rhs, (*right, *[1] * behind))) if behind else rhs


def _several(op: type[BinaryOp]) -> Build:
    """An operator of any number of operands, which is that of two applied from left to right."""

    def build(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
        result, *others = (graph.value(name) for name in node.inputs)
        for other in others:
            result = graph.add(op(result, other))
        return [result]

    return build


def _clip(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """The maximum with the lower bound, then the minimum with the upper one, as far as given."""
    result = graph.value(node.inputs[0])
    for index, (name, op) in enumerate((("min", MaximumOp), ("max", MinimumOp)), start=1):
        if node.opset >= _CLIP_OPERANDS_SINCE:
            bound = graph.value(node.inputs[index]) if node.has_input(index) else None
        else:
            limit = np.array(node.real(name, 0.0), to_numpy(dtype(result)))
            bound = graph.constant(limit) if node.has(name) else None
        if bound is not None:
            if static_shape(bound) not in ((), (1,)):
                raise VerifyException(f"its bound {name} is no scalar")
            result = graph.add(op(result, bound))
    return [result]


def _relu(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    return [graph.add(ReluOp(graph.value(node.inputs[0])))]


_BROADCAST = "with broadcasting"

RULES = {
    "Add": Rule(_binary(AddOp), _BROADCAST),
    "Sub": Rule(_binary(SubOp), _BROADCAST),
    "Mul": Rule(_binary(MulOp), _BROADCAST),
    "Div": Rule(_binary(DivOp), f"{_BROADCAST}; integers truncate towards zero"),
    "Sum": Rule(_several(AddOp), f"any number of operands, {_BROADCAST}"),
    "Max": Rule(_several(MaximumOp), f"any number of operands, {_BROADCAST}"),
    "Min": Rule(_several(MinimumOp), f"any number of operands, {_BROADCAST}"),
    "Clip": Rule(_clip, "all of it"),
    "Relu": Rule(_relu, "all of it"),
}
"""The operators of this family."""
