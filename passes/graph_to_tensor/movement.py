"""Operators that move elements: `tensor.view` and `tensor.transpose`."""

from xdsl.ir import SSAValue

from ...dialects.graph.movement import ReshapeOp, TransposeOp
from ...dialects.tensor import ops as tensor
from .emit import Emitter, shape_of


def convert_reshape(emit: Emitter, op: ReshapeOp) -> SSAValue:
    """A reshape of row-major elements moves nothing."""
    return emit.view(op.x, shape_of(op.out))


def convert_transpose(emit: Emitter, op: TransposeOp) -> SSAValue:
    """A transpose stays one; `tensor-canonicalize` takes it into the maps that read it."""
    return emit.add(tensor.TransposeOp.of(op.x, op.order))
