"""Import of operators that normalise an axis."""

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import static_shape
from ....dialects.graph.movement import ReshapeOp
from ....dialects.graph.normalization import SoftmaxOp
from .builder import GraphBuilder
from .node import Node
from .rule import Rule, normalized

_ONE_AXIS_SINCE = 13


def _softmax(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """From opset 13 on along one axis, the last by default; before, over all axes from one on.

    The old form sees the tensor as a matrix, whose columns are the axes from `axis` (1 by default).
    """
    x = graph.value(node.inputs[0])
    shape = static_shape(x)
    old = node.opset < _ONE_AXIS_SINCE
    axis = normalized(node.integer("axis", 1 if old else -1), len(shape))
    if not 0 <= axis < len(shape):
        raise VerifyException(f"its axis {node.integer('axis', 1)} is outside {list(shape)}")
    if not old or axis == len(shape) - 1:
        return [graph.add(SoftmaxOp(x, axis))]
    rows = graph.add(ReshapeOp(x, (math.prod(shape[:axis]), math.prod(shape[axis:]))))
    return [graph.add(ReshapeOp(graph.add(SoftmaxOp(rows, 1)), shape))]


RULES = {"Softmax": Rule(_softmax, "along one axis; before opset 13 over all axes from one on")}
"""The operators of this family."""
