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
from ...dialects.tensor.structured import Axis, dims_of_axes, map_from_axes, pads_of_axes
from .emit import Emitter, broadcast_axes, constant, element_of, shape_of
from .scalar_cast import cast_scalar


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
    return add_and_round(emit, product, None, element_of(op.out))


def convert_gemm(emit: Emitter, op: GemmOp) -> SSAValue:
    """Transposes go into the maps; alpha, beta, the addend and the rounding into one map."""
    shape = shape_of(op.out)
    lhs = [2, 0] if op.trans_a else [0, 2]
    rhs = [1, 2] if op.trans_b else [2, 1]
    product = contract(emit, op.a, lhs, op.b, rhs, shape)
    alpha, beta = op.alpha.value.data, op.beta.value.data
    return add_and_round(emit, product, op.c, element_of(op.out), alpha=alpha, beta=beta)


def add_and_round(
    emit: Emitter,
    product: SSAValue,
    addend: SSAValue | None,
    target: Attribute,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> SSAValue:
    """`alpha * product + beta * addend` as elements of `target`, in one map.

    The addend broadcasts to the product by numpy's rules and is converted to its type first. The
    product itself if that is all.
    """
    wide = element_of(product)
    if addend is None and alpha == 1.0 and target == wide:
        return product

    def body(builder: Builder, args: Sequence[SSAValue]) -> SSAValue:
        total = _scaled(builder, args[0], alpha)
        if len(args) > 1:
            extra = _scaled(builder, cast_scalar(builder, args[1], wide), beta)
            total = builder.insert(arith.AddfOp(total, extra)).result
        return cast_scalar(builder, total, target)

    inputs = [product] if addend is None else [product, addend]
    return emit.map(inputs, shape_of(product), target, body)


def _scaled(builder: Builder, value: SSAValue, factor: float) -> SSAValue:
    if factor == 1.0:
        return value
    return builder.insert(arith.MulfOp(value, constant(builder, factor, value.type))).result


def contract(
    emit: Emitter,
    lhs: SSAValue,
    lhs_axes: Sequence[Axis],
    rhs: SSAValue,
    rhs_axes: Sequence[Axis],
    shape: Sequence[int],
) -> SSAValue:
    """The sum of products over the dims of both factors that come after those of `shape`.

    What a window of a factor reads outside of it is zero.
    """
    parallel = len(shape)
    rank = 1 + max(dims_of_axes(lhs_axes))
    elements = [element_of(lhs), element_of(rhs)]
    wide = element_type(accumulator(element_name(elements[0])))
    return emit.add(
        ContractOp(
            [lhs, rhs],
            [map_from_axes(rank, axes) for axes in (lhs_axes, rhs_axes, range(parallel))],
            [*["parallel"] * parallel, *["reduction"] * (rank - parallel)],
            make_body(elements, lambda builder, args: _product(builder, args, wide)),
            TensorType(wide, shape),
            "add",
            pads=[pads_of_axes(lhs_axes), pads_of_axes(rhs_axes)],
        )
    )


def _product(builder: Builder, args: Sequence[SSAValue], wide: Attribute) -> SSAValue:
    lhs, rhs = (cast_scalar(builder, arg, wide) for arg in args)
    return builder.insert(arith.MulfOp(lhs, rhs)).result
