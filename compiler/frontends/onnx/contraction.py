"""Import of matrix products."""

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import dtype, static_shape
from ....dialects.graph.contraction import GemmOp, MatMulOp
from ....dialects.graph.movement import ReshapeOp, TransposeOp
from .builder import GraphBuilder
from .node import Node
from .rule import Rule, long_factors

_BROADCASTS_SINCE = 7
"""The operator set from which on C of a Gemm broadcasts without being told to."""


def _matmul(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """A vector is a row on the left and a column on the right, and the result has no such axis."""
    lhs, rhs = (graph.value(name) for name in node.inputs)
    left, right = static_shape(lhs), static_shape(rhs)
    if len(left) == 1:
        lhs = graph.add(ReshapeOp(lhs, (1, *left)))
    if len(right) == 1:
        rhs = graph.add(ReshapeOp(rhs, (*right, 1)))
    out = graph.add(MatMulOp(lhs, rhs))
    shape = list(static_shape(out))
    if len(right) == 1:
        del shape[-1]
    if len(left) == 1:
        del shape[-1 if len(right) == 1 else -2]
    return [out if len(shape) == len(static_shape(out)) else graph.add(ReshapeOp(out, shape))]


def _gemm(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """All attributes keep their meaning; the third operand is optional from opset 11 on."""
    if dtype(graph.value(node.inputs[0])) == "i32":
        return [_integer_gemm(node, graph)]
    a, b = (graph.value(name) for name in node.inputs[:2])
    c = graph.value(node.inputs[2]) if node.has_input(2) else None
    out = GemmOp(
        a,
        b,
        c,
        alpha=node.real("alpha", 1.0),
        beta=node.real("beta", 1.0),
        trans_a=bool(node.integer("transA", 0)),
        trans_b=bool(node.integer("transB", 0)),
    )
    must_fit = node.opset < _BROADCASTS_SINCE and not node.integer("broadcast", 0)
    if must_fit and c is not None and static_shape(c) != static_shape(out.out):
        raise VerifyException(
            f"C has shape {list(static_shape(c))}, the product {list(static_shape(out.out))}, "
            "and the attribute `broadcast`, needed for that before opset 7, is not set"
        )
    return [graph.add(out)]


def _integer_gemm(node: Node, graph: GraphBuilder) -> SSAValue:
    """A plain product, whose factors are transposed before."""
    lhs, rhs = (graph.value(name) for name in node.inputs[:2])
    if node.integer("transA", 0):
        lhs = graph.add(TransposeOp(lhs, (1, 0)))
    if node.integer("transB", 0):
        rhs = graph.add(TransposeOp(rhs, (1, 0)))
    return graph.add(MatMulOp(lhs, rhs))


def _gemm_refusal(node: Node) -> str | None:
    """Integers are multiplied and no more."""
    scaled = node.has_input(2) or node.real("alpha", 1.0) != 1.0
    if node.info(0).dtype == "i32" and scaled:
        return "a Gemm of i32 is supported without addend and with alpha 1 only"
    return long_factors(node)


MATMUL = "floats, and int32 on the host engine; batches broadcast; vectors on either side"
GEMM = "floats, all attributes; int32 on the host engine, without addend and with alpha 1"

RULES = {
    "MatMul": Rule(_matmul, MATMUL, long_factors),
    "Gemm": Rule(_gemm, GEMM, _gemm_refusal),
}
"""The operators of this family."""
