"""Elementwise operators: one `tensor.map` each."""

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects.core.ops import NpucOp
from ...dialects.graph.elementwise import (
    AddOp,
    BinaryOp,
    DivOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    ReluOp,
    SubOp,
)
from ...dialects.graph.movement import CastOp
from .emit import Emitter, constant, element_of, is_float_type, require_computable, shape_of
from .scalar_cast import cast_scalar

SCALARS: dict[type[NpucOp], tuple[type[Operation], type[Operation]]] = {
    AddOp: (arith.AddfOp, arith.AddiOp),
    SubOp: (arith.SubfOp, arith.SubiOp),
    MulOp: (arith.MulfOp, arith.MuliOp),
    DivOp: (arith.DivfOp, arith.DivSIOp),
    MaximumOp: (arith.MaximumfOp, arith.MaxSIOp),
    MinimumOp: (arith.MinimumfOp, arith.MinSIOp),
}
"""The scalar op of each binary operator, for floats and for integers."""


def convert_binary(emit: Emitter, op: BinaryOp) -> SSAValue:
    """`tensor.map` of one scalar op; a broadcast operand leaves dims out of its map."""
    element = element_of(op.out)
    require_computable(op, element)
    scalar = SCALARS[type(op)][0 if is_float_type(element) else 1]

    def body(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        made = scalar.create(operands=list(args), result_types=[element])
        return builder.insert(made).results[0]

    return emit.map([op.lhs, op.rhs], shape_of(op.out), element, body)


def convert_relu(emit: Emitter, op: ReluOp) -> SSAValue:
    """`tensor.map` of the maximum with zero, which keeps NaN."""
    element = element_of(op.out)
    require_computable(op, element)

    def body(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        zero = constant(builder, 0, element)
        kind = arith.MaximumfOp if is_float_type(element) else arith.MaxSIOp
        return builder.insert(kind(args[0], zero)).result

    return emit.map([op.x], shape_of(op.out), element, body)


def convert_cast(emit: Emitter, op: CastOp) -> SSAValue:
    """`tensor.map` of the conversion; the operand itself if it has the type already."""
    target = element_of(op.out)
    if element_of(op.x) == target:
        return op.x
    require_computable(op, element_of(op.x), target)
    return emit.map(
        [op.x],
        shape_of(op.out),
        target,
        lambda builder, args: cast_scalar(builder, args[0], target),
    )
