"""Poolings: a `tensor.reduce` along windows or whole images, and a `tensor.map` for the mean."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.core.attributes import element_name, element_type
from ...dialects.core.dtypes import Array, to_numpy
from ...dialects.core.errors import UnsupportedError
from ...dialects.core.locations import where
from ...dialects.core.ops import INLINE_BYTES
from ...dialects.graph.base import accumulator
from ...dialects.graph.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    GlobalPoolOp,
    MaxPoolOp,
    PoolOp,
)
from ...dialects.tensor.bodies import make_body
from ...dialects.tensor.ops import MapOp, ReduceOp
from ...dialects.tensor.structured import map_from_axes, pads_of_axes
from .emit import Emitter, constant, element_of, require_computable, shape_of
from .scalar_cast import cast_scalar
from .windows import require_channels_last, window_axes


def convert_max_pool(emit: Emitter, op: MaxPoolOp) -> SSAValue:
    """The maximum along the taps of each window."""
    require_channels_last(op)
    require_computable(op, element_of(op.x))
    return _reduce_windows(emit, op, element_of(op.x), "max")


def convert_average_pool(emit: Emitter, op: AveragePoolOp) -> SSAValue:
    """The sum along the taps, in f32 for 16-bit floats, times one over the number of elements."""
    require_channels_last(op)
    total = _reduce_windows(emit, op, _wide(op.x), "add")
    target, counts = element_of(op.out), op.counts()
    if counts.min() == counts.max():
        return _scale(emit, total, 1 / int(counts.flat[0]), target)
    shape = shape_of(total)
    points = range(1, len(shape) - 1)
    every = AffineMap.identity(len(shape))

    def body(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        return cast_scalar(builder, builder.insert(arith.MulfOp(args[0], args[1])).result, target)

    factors = _reciprocals(emit, op, counts)
    return emit.add(
        MapOp(
            [total, factors],
            [every, map_from_axes(len(shape), points), every],
            ["parallel"] * len(shape),
            make_body([element_of(total), element_of(factors)], body),
            TensorType(target, shape),
        )
    )


def convert_global_max_pool(emit: Emitter, op: GlobalMaxPoolOp) -> SSAValue:
    """The maximum along the spatial axes, which come back with size 1 by a view."""
    require_channels_last(op)
    require_computable(op, element_of(op.x))
    return emit.view(_reduce_images(emit, op, element_of(op.x), "max"), shape_of(op.out))


def convert_global_average_pool(emit: Emitter, op: GlobalAveragePoolOp) -> SSAValue:
    """The sum along the spatial axes times one over the number of elements, and a view."""
    require_channels_last(op)
    total = _reduce_images(emit, op, _wide(op.x), "add")
    factor = 1 / prod(shape_of(op.x)[1:-1])
    return emit.view(_scale(emit, total, factor, element_of(op.out)), shape_of(op.out))


def _reduce_windows(emit: Emitter, op: PoolOp, element: Attribute, combiner: str) -> SSAValue:
    """Dims are those of the result, then the taps."""
    shape = shape_of(op.out)
    channel = len(shape) - 1
    taps = range(len(shape), len(shape) + len(op.window))
    axes = [0, *window_axes(op, range(1, channel), taps), channel]
    rank = len(shape) + len(taps)
    return emit.add(
        ReduceOp(
            [op.x],
            [map_from_axes(rank, axes), map_from_axes(rank, range(len(shape)))],
            [*["parallel"] * len(shape), *["reduction"] * len(taps)],
            _widening(element_of(op.x), element),
            TensorType(element, shape),
            combiner,
            pads=[pads_of_axes(axes)],
            bounds=[*shape, *op.window],
        )
    )


def _reduce_images(emit: Emitter, op: GlobalPoolOp, element: Attribute, combiner: str) -> SSAValue:
    shape = shape_of(op.x)
    channel = len(shape) - 1
    return emit.add(
        ReduceOp(
            [op.x],
            [AffineMap.identity(len(shape)), map_from_axes(len(shape), [0, channel])],
            ["parallel", *["reduction"] * (channel - 1), "parallel"],
            _widening(element_of(op.x), element),
            TensorType(element, [shape[0], shape[-1]]),
            combiner,
        )
    )


def _widening(narrow: Attribute, wide: Attribute) -> Block:
    return make_body([narrow], lambda builder, args: cast_scalar(builder, args[0], wide))


def _wide(value: SSAValue) -> Attribute:
    """The type in which the elements of a value are summed."""
    return element_type(accumulator(element_name(element_of(value))))


def _scale(emit: Emitter, total: SSAValue, factor: float, target: Attribute) -> SSAValue:
    def body(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        scalar = constant(builder, factor, args[0].type)
        product = builder.insert(arith.MulfOp(args[0], scalar)).result
        return cast_scalar(builder, product, target)

    return emit.map([total], shape_of(total), target, body)


def _reciprocals(emit: Emitter, op: AveragePoolOp, counts: Array) -> SSAValue:
    """One over the number of elements of each window, [output sizes..].

    That number is a product of numbers along each axis, which are small constants;
    `tensor-canonicalize` makes one constant of it all where that is small too.
    """
    element = _wide(op.x)
    along = [_small(op, values, element) for values in _by_axis(counts)]
    rank = len(along)

    def body(builder: Builder, args: Sequence[SSAValue]) -> SSAValue:
        number = args[0]
        for other in args[1:]:
            number = builder.insert(arith.MulfOp(number, other)).result
        return builder.insert(arith.DivfOp(constant(builder, 1, element), number)).result

    return emit.add(
        MapOp(
            [emit.constant(values) for values in along],
            [*(map_from_axes(rank, [axis]) for axis in range(rank)), AffineMap.identity(rank)],
            ["parallel"] * rank,
            make_body([element] * rank, body),
            TensorType(element, counts.shape),
        )
    )


def _by_axis(counts: Array) -> list[Array]:
    """One list of integers per axis whose products are `counts`, [n0, n1, ..], which has some."""
    lists: list[Array] = []
    while counts.ndim > 1:
        first = counts[(slice(None), *[0] * (counts.ndim - 1))]
        first = first // np.gcd.reduce(first)
        lists.append(first)
        counts = counts[0] // first[0]
    return [*lists, counts]


def _small(op: AveragePoolOp, counts: Array, element: Attribute) -> Array:
    """Numbers of elements as a float constant; UnsupportedError if that is too large for one."""
    values = counts.astype(to_numpy(element_name(element)))
    if values.nbytes > INLINE_BYTES:
        most = INLINE_BYTES // values.itemsize
        raise UnsupportedError(
            f"{op.name} has {values.size} windows along an axis, of different numbers of elements",
            where=where(op),
            why=f"where padding does not count, at most {most} windows along an axis are supported",
            hint="let padding count, or pool without padding",
        )
    return values
