"""Softmax: the maximum, exponentials of the differences, their sum, the quotients."""

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.core.attributes import element_name, element_type
from ...dialects.core.dtypes import HALVES
from ...dialects.graph.normalization import SoftmaxOp
from ...dialects.tensor.bodies import make_body
from ...dialects.tensor.ops import MapOp, ReduceOp
from ...dialects.tensor.structured import map_from_axes
from .emit import BodyBuilder, Emitter, element_of, shape_of
from .scalar_cast import cast_scalar


def convert_softmax(emit: Emitter, op: SoftmaxOp) -> SSAValue:
    """Four ops over the same dims, in f32 for 16-bit floats, rounded once at the end."""
    axis, narrow = op.axis.value.data, element_of(op.x)
    wide = element_type("f32") if element_name(narrow) in HALVES else narrow

    def shifted_exp(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        x, top = (cast_scalar(builder, arg, wide) for arg in args)
        return builder.insert(math.ExpOp(builder.insert(arith.SubfOp(x, top)).result)).result

    def quotient(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        return cast_scalar(builder, builder.insert(arith.DivfOp(args[0], args[1])).result, narrow)

    top = _reduce(emit, op.x, axis, "max")
    powers = _map_rows(emit, op.x, top, axis, wide, shifted_exp)
    total = _reduce(emit, powers, axis, "add")
    return _map_rows(emit, powers, total, axis, narrow, quotient)


def _row_map(rank: int, axis: int) -> AffineMap:
    """The map of a value that has every dim but `axis`."""
    return map_from_axes(rank, [d for d in range(rank) if d != axis])


def _reduce(emit: Emitter, value: SSAValue, axis: int, combiner: str) -> SSAValue:
    shape, element = shape_of(value), element_of(value)
    rank = len(shape)
    return emit.add(
        ReduceOp(
            [value],
            [AffineMap.identity(rank), _row_map(rank, axis)],
            ["reduction" if d == axis else "parallel" for d in range(rank)],
            make_body([element], lambda _, args: args[0]),
            TensorType(element, [size for d, size in enumerate(shape) if d != axis]),
            combiner,
        )
    )


def _map_rows(
    emit: Emitter,
    value: SSAValue,
    per_row: SSAValue,
    axis: int,
    element: Attribute,
    build: BodyBuilder,
) -> SSAValue:
    shape = shape_of(value)
    rank = len(shape)
    identity = AffineMap.identity(rank)
    return emit.add(
        MapOp(
            [value, per_row],
            [identity, _row_map(rank, axis), identity],
            ["parallel"] * rank,
            make_body([element_of(value), element_of(per_row)], build),
            TensorType(element, shape),
        )
    )
