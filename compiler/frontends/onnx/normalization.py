"""Import of operators that normalise an axis."""

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import dtype, static_shape
from ....dialects.graph.movement import CastOp, ReshapeOp
from ....dialects.graph.normalization import BatchNormOp, SoftmaxOp
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


_ONE_MODE_ATTRIBUTE_SINCE = 14
_SPATIAL_ALWAYS_SINCE = 9
_PARAMETERS = ("scale", "bias", "mean", "variance")


def _batch_norm(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """Parameters of another float type than the operand's are converted to that."""
    x, *parameters = (graph.value(name) for name in node.inputs)
    scale, bias, mean, variance = (
        value if dtype(value) == dtype(x) else graph.add(CastOp(value, dtype(x)))
        for value in parameters
    )
    epsilon = node.real("epsilon", 1e-5)
    out = BatchNormOp(x, scale, bias, mean, variance, epsilon=epsilon, channel_axis=1)
    return [graph.add(out)]


def _not_inference(node: Node) -> str | None:
    """Why a BatchNormalization does not simply scale and shift each channel by constants."""
    if node.opset >= _ONE_MODE_ATTRIBUTE_SINCE:
        training = node.integer("training_mode", 0) != 0
    else:
        # What comes out says the mode; is_test, where it exists, confirms it.
        training = any(node.outputs[1:]) and not node.integer("is_test", 0)
    if training or any(map(node.uses_output, range(1, len(node.outputs)))):
        return "it computes statistics, as in training; only inference is supported"
    if node.opset < _SPATIAL_ALWAYS_SINCE and not node.integer("spatial", 1):
        return "its parameters differ by position (spatial is 0); only those by channel do"
    for index, name in enumerate(_PARAMETERS, start=1):
        if node.constant(index) is None:
            return f"its {name} `{node.inputs[index]}` is computed by the model, not a constant"
    return None


RULES = {
    "Softmax": Rule(_softmax, "along one axis; before opset 13 over all axes from one on"),
    "BatchNormalization": Rule(
        _batch_norm, "as in inference, with constant parameters", _not_inference
    ),
}
"""The operators of this family."""
