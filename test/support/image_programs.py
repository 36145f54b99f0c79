"""Random small networks on images as graph ops with channels first, as a hypothesis strategy."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue

from graph_programs import dtype_of, shape_of
from npuc.dialects.core.attributes import OriginAttr, tensor_of
from npuc.dialects.core.constants import constant_op
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.ops import NpucOp
from npuc.dialects.core.origins import set_origins
from npuc.dialects.core.store import Store
from npuc.dialects.graph.contraction import GemmOp, MatMulOp
from npuc.dialects.graph.convolution import ConvOp
from npuc.dialects.graph.elementwise import AddOp, MaximumOp, MinimumOp, MulOp, ReluOp, SubOp
from npuc.dialects.graph.movement import CastOp, ReshapeOp, TransposeOp
from npuc.dialects.graph.normalization import BatchNormOp, SoftmaxOp
from npuc.dialects.graph.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    MaxPoolOp,
)

ELEMENTWISE = (AddOp, SubOp, MulOp, MaximumOp, MinimumOp)


class Network:
    """A function under construction, with weights in `store`; every made value has an origin."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.block, self.store = draw, Block(), Store()
        self.values: list[SSAValue] = []
        self.rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def argument(self, *shape: int) -> SSAValue:
        """A new f32 input."""
        return self.block.insert_arg(tensor_of("f32", shape), len(self.block.args))

    def add(self, op: NpucOp) -> SSAValue:
        """Append an op."""
        self.block.add_op(op)
        result, number = op.results[0], len(self.values)
        set_origins(result, [OriginAttr.of(f"node{number}", f"t{number}")])
        self.values.append(result)
        return result

    def weight(self, *shape: int, low: float = -1.0) -> SSAValue:
        """A constant of values between `low` and 1."""
        op = constant_op(self.rng.uniform(low, 1.0, shape).astype(np.float32), self.store)
        self.block.add_op(op)
        return op.result

    def pick(self, low: int, high: int) -> int:
        """An integer between two, both included."""
        return self.draw(st.integers(low, high))


class Placed(NamedTuple):
    """Windows that fit an image."""

    window: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]


def _placed(net: Network, x: SSAValue) -> Placed:
    sizes = shape_of(x)[2:]
    window = [net.pick(1, min(3, size)) for size in sizes]
    dilations = [
        net.pick(1, 2) if (k - 1) * 2 < n else 1 for k, n in zip(window, sizes, strict=True)
    ]
    pads = [net.pick(0, k - 1) for k in window] * 2
    return Placed(window, [net.pick(1, 2) for _ in sizes], dilations, pads)


def _conv(net: Network, x: SSAValue) -> SSAValue:
    channels, place = shape_of(x)[1], _placed(net, x)
    groups = net.draw(st.sampled_from([n for n in range(1, channels + 1) if channels % n == 0]))
    filters = groups * net.pick(1, 3)
    out = ConvOp(
        x,
        net.weight(filters, channels // groups, *place.window),
        net.weight(filters) if net.draw(st.booleans()) else None,
        strides=place.strides,
        dilations=place.dilations,
        pads=place.pads,
        groups=groups,
    )
    return net.add(out)


def _pool(net: Network, x: SSAValue) -> SSAValue:
    window, *rest = _placed(net, x)
    strides, dilations, pads = rest
    if net.draw(st.booleans()):
        return net.add(MaxPoolOp(x, window, strides=strides, dilations=dilations, pads=pads))
    counted = net.draw(st.booleans())
    return net.add(
        AveragePoolOp(
            x,
            window,
            strides=strides,
            dilations=dilations,
            pads=pads,
            count_include_pad=counted,
        )
    )


def _norm(net: Network, x: SSAValue) -> SSAValue:
    scale, bias, mean = (net.weight(shape_of(x)[1]) for _ in range(3))
    variance = net.weight(shape_of(x)[1], low=0.25)
    return net.add(BatchNormOp(x, scale, bias, mean, variance, epsilon=1e-3, channel_axis=1))


def _with_constant(net: Network, x: SSAValue) -> SSAValue:
    shape = shape_of(x)
    kept = net.pick(0, len(shape) - 1)
    sizes = [size if net.draw(st.booleans()) else 1 for size in shape[len(shape) - kept :]]
    kind, c = net.draw(st.sampled_from(ELEMENTWISE)), net.weight(*sizes)
    return net.add(kind(x, c) if net.draw(st.booleans()) else kind(c, x))


def _residual(net: Network, x: SSAValue) -> SSAValue:
    fitting = [value for value in net.values if value.type == x.type]
    return net.add(net.draw(st.sampled_from(ELEMENTWISE))(x, net.draw(st.sampled_from(fitting))))


def _excite(net: Network, x: SSAValue) -> SSAValue:
    """Channels weighed by what a small network makes of their means or maxima."""
    pool = net.draw(st.sampled_from((GlobalAveragePoolOp, GlobalMaxPoolOp)))
    images, channels, *sizes = shape_of(x)
    pooled = net.add(pool(x))
    if net.draw(st.booleans()):
        flat = net.add(ReshapeOp(pooled, (images, channels)))
        made = net.add(MatMulOp(flat, net.weight(channels, channels)))
        weights = net.add(ReshapeOp(made, (images, channels, *[1] * len(sizes))))
    else:
        ones = [1] * len(sizes)
        weights = net.add(
            ConvOp(
                pooled,
                net.weight(channels, channels, *ones),
                strides=ones,
                dilations=ones,
                pads=[0] * 2 * len(ones),
            )
        )
    return net.add(MulOp(x, weights))


def _relu(net: Network, x: SSAValue) -> SSAValue:
    return net.add(ReluOp(x))


def _round(net: Network, x: SSAValue) -> SSAValue:
    return net.add(CastOp(net.add(CastOp(x, "f16")), "f32"))


def _shuffle(net: Network, x: SSAValue) -> SSAValue:
    """Channels in another order, by splitting and transposing their axis."""
    shape = shape_of(x)
    if shape[1] % 2:
        return net.add(ReluOp(x))
    split = net.add(ReshapeOp(x, (shape[0], 2, shape[1] // 2, *shape[2:])))
    turned = net.add(TransposeOp(split, (0, 2, 1, *range(3, len(shape) + 1))))
    return net.add(ReshapeOp(turned, shape))


BODY: tuple[Callable[[Network, SSAValue], SSAValue], ...] = (
    _conv,
    _conv,
    _pool,
    _norm,
    _with_constant,
    _residual,
    _excite,
    _relu,
    _round,
    _shuffle,
)
"""What keeps images images."""

PLAIN = (_conv, _conv, _pool, _norm, _relu, _round)
"""What channels last can always be carried through, up to a classifier."""


def _classify(net: Network, x: SSAValue) -> SSAValue:
    """Flattened images, elementwise operators, a product with a weight, maybe a softmax."""
    images, classes = shape_of(x)[0], net.pick(1, 5)
    if net.draw(st.booleans()):
        x = net.add(GlobalAveragePoolOp(x))
    depth = int(np.prod(shape_of(x)[1:]))
    x = net.add(ReshapeOp(x, (images, depth)))
    if net.draw(st.booleans()):
        x = net.add(
            ReluOp(net.add(AddOp(x, net.weight(*net.draw(st.sampled_from([(depth,), ()]))))))
        )
    match net.draw(st.sampled_from(["matmul", "gemm", "transposed"])):
        case "matmul":
            x = net.add(MatMulOp(x, net.weight(depth, classes)))
        case "gemm":
            x = net.add(GemmOp(x, net.weight(depth, classes), net.weight(classes)))
        case _:
            x = net.add(GemmOp(x, net.weight(classes, depth), trans_b=True))
    return net.add(SoftmaxOp(x, 1)) if net.draw(st.booleans()) else x


def _end(net: Network, x: SSAValue) -> SSAValue:
    """Images as they are, as rows of positions, or as probabilities by channel."""
    shape = shape_of(x)
    match net.draw(st.sampled_from(["classes", "images", "rows", "softmax"])):
        case "classes":
            return _classify(net, x)
        case "rows":
            rows = net.add(ReshapeOp(x, (*shape[:2], int(np.prod(shape[2:])))))
            return net.add(TransposeOp(rows, (0, 2, 1)))
        case "softmax":
            return net.add(SoftmaxOp(x, 1))
        case _:
            return x


class Sample(NamedTuple):
    """A module with `@main`, its weights, and arguments for it."""

    module: ModuleOp
    store: Store
    arguments: tuple[Array, ...]


def _finish(net: Network, outputs: list[SSAValue]) -> Sample:
    block = net.block
    block.add_op(func.ReturnOp(*outputs))
    types = FunctionType.from_lists([a.type for a in block.args], [v.type for v in outputs])
    module = ModuleOp([func.FuncOp("main", types, Region(block))])
    shapes = [shape_of(argument) for argument in block.args]
    arguments = tuple(net.rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
    return Sample(module, net.store, arguments)


@st.composite
def networks(draw: st.DrawFn) -> Sample:
    """Up to six layers on images of one or two spatial axes, with one or two results."""
    net = Network(draw)
    sizes = [net.pick(1, 7) for _ in range(net.pick(1, 2))]
    x = net.argument(net.pick(1, 2), net.pick(1, 4), *sizes)
    net.values.append(x)
    for _ in range(net.pick(1, 6)):
        x = draw(st.sampled_from(BODY))(net, x)
    last = _end(net, x)
    inner = [value for value in net.values[1:] if dtype_of(value) == "f32"] or [last]
    return _finish(net, list(dict.fromkeys([draw(st.sampled_from(inner)), last])))


@st.composite
def classifiers(draw: st.DrawFn) -> Sample:
    """Up to six layers on images of one channel, of which only the classes are returned."""
    net = Network(draw)
    x = net.argument(net.pick(1, 3), 1, *[net.pick(1, 7) for _ in range(net.pick(1, 2))])
    net.values.append(x)
    for _ in range(net.pick(1, 6)):
        x = draw(st.sampled_from(PLAIN))(net, x)
    return _finish(net, [_classify(net, x)])
