"""Matrix products: a `tensor.contract` summed in f32, then a `tensor.map` for what is left."""

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import element_name, element_type
from ...dialects.graph.base import accumulator
from ...dialects.graph.contraction import GemmOp, MatMulOp
from ...dialects.tensor.bodies import make_body
from ...dialects.tensor.ops import ContractOp
from ...dialects.tensor.structured import map_from_axes
from .emit import Emitter, broadcast_axes, constant, element_of, shape_of
from .scalar_cast import cast_scalar

Axes = Sequence[int | None]


def convert_matmul(emit: Emitter, op: MatMulOp) -> SSAValue:
    """Batches are leading dims of the result; a factor that repeats along one leaves it out.

    A product of integers is work for the host engine.
    """
    shape = shape_of(op.out)
    if element_name(element_of(op.lhs)) == "i32":
        return emit.host_call("matmul", [op.lhs, op.rhs])
    batch = shape[:-2]
    m, n, k = len(batch), len(batch) + 1, len(batch) + 2
    lhs = [*broadcast_axes(shape_of(op.lhs)[:-2], batch), m, k]
    rhs = [*broadcast_axes(shape_of(op.rhs)[:-2], batch), k, n]
    product = contract(emit, op.lhs, lhs, op.rhs, rhs, shape)
    target = element_of(op.out)
    if element_of(product) == target:
        return product
    return emit.map(
        [product], shape, target, lambda builder, args: cast_scalar(builder, args[0], target)
    )


def convert_gemm(emit: Emitter, op: GemmOp) -> SSAValue:
    """Transposes go into the maps; alpha, beta, the addend and the rounding into one map."""
    shape = shape_of(op.out)
    lhs = [2, 0] if op.trans_a else [0, 2]
    rhs = [1, 2] if op.trans_b else [2, 1]
    product = contract(emit, op.a, lhs, op.b, rhs, shape)
    target, wide = element_of(op.out), element_of(product)
    alpha, beta = op.alpha.value.data, op.beta.value.data
    if op.c is None and alpha == 1.0 and target == wide:
        return product

    def body(builder: Builder, args: Sequence[SSAValue]) -> SSAValue:
        total = _scaled(builder, args[0], alpha)
        if len(args) > 1:
            addend = _scaled(builder, cast_scalar(builder, args[1], wide), beta)
            total = builder.insert(arith.AddfOp(total, addend)).result
        return cast_scalar(builder, total, target)

    return emit.map([product] if op.c is None else [product, op.c], shape, target, body)


def _scaled(builder: Builder, value: SSAValue, factor: float) -> SSAValue:
    if factor == 1.0:
        return value
    return builder.insert(arith.MulfOp(value, constant(builder, factor, value.type))).result


def contract(
    emit: Emitter,
    lhs: SSAValue,
    lhs_axes: Axes,
    rhs: SSAValue,
    rhs_axes: Axes,
    shape: Sequence[int],
) -> SSAValue:
    """The sum of products over one dim, which comes after those of the result's `shape`."""
    rank = len(shape)
    elements = [element_of(lhs), element_of(rhs)]
    wide = element_type(accumulator(element_name(elements[0])))
    return emit.add(
        ContractOp(
            [lhs, rhs],
            [map_from_axes(rank + 1, axes) for axes in (lhs_axes, rhs_axes, range(rank))],
            [*["parallel"] * rank, "reduction"],
            make_body(elements, lambda builder, args: _product(builder, args, wide)),
            TensorType(wide, shape),
            "add",
        )
    )


def _product(builder: Builder, args: Sequence[SSAValue], wide: Attribute) -> SSAValue:
    lhs, rhs = (cast_scalar(builder, arg, wide) for arg in args)
    return builder.insert(arith.MulfOp(lhs, rhs)).result
