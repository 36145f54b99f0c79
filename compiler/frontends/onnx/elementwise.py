"""Import of elementwise arithmetic."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.graph.elementwise import AddOp, BinaryOp, DivOp, MulOp, ReluOp, SubOp
from .builder import GraphBuilder
from .node import Node
from .rule import Build, Rule


def _binary(op: type[BinaryOp]) -> Build:
    """An operator of two operands that broadcast as numpy's do, as all have since opset 7."""

    def build(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
        lhs, rhs = (graph.value(name) for name in node.inputs)
        return [graph.add(op(lhs, rhs))]

    return build


def _relu(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    return [graph.add(ReluOp(graph.value(node.inputs[0])))]


_BROADCAST = "with broadcasting"

RULES = {
    "Add": Rule(_binary(AddOp), _BROADCAST),
    "Sub": Rule(_binary(SubOp), _BROADCAST),
    "Mul": Rule(_binary(MulOp), _BROADCAST),
    "Div": Rule(_binary(DivOp), f"{_BROADCAST}; integers truncate towards zero"),
    "Relu": Rule(_relu, "all of it"),
}
"""The operators of this family."""
