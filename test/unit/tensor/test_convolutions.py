"""Graphs of convolutions and poolings compute the same after conversion and fusion."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.core.attributes import element_name, tensor_of, tensor_type
from npuc.dialects.core.dtypes import Array, to_numpy
from npuc.dialects.core.errors import PassError, UnsupportedError
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.ops import ConstantOp, NpucOp
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare
from npuc.dialects.core.verify import verify
from npuc.dialects.graph.convolution import ConvOp
from npuc.dialects.graph.elementwise import AddOp, ReluOp
from npuc.dialects.graph.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    MaxPoolOp,
)
from npuc.dialects.tensor.structured import StructuredOp
from npuc.passes.base import NpucPass
from npuc.passes.graph.graph_apply_precision import GraphApplyPrecisionPass, Policy
from npuc.passes.graph_to_tensor.convert_graph_to_tensor import ConvertGraphToTensorPass
from npuc.passes.tensor.tensor_canonicalize import TensorCanonicalizePass
from npuc.passes.tensor.tensor_fuse_groups import TensorFuseGroupsPass

MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LAST = "channels_last"
SMALL = st.integers(1, 3)


class Sizes(NamedTuple):
    """How windows lie on the spatial axes of a tensor."""

    window: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]


class Net:
    """A function under construction; every op works on the value before it."""

    def __init__(self, draw: st.DrawFn):
        self.draw, self.block = draw, Block()
        self.dtype = draw(st.sampled_from(("f32", "f16")))
        rank = draw(st.integers(1, 2))
        sizes = [draw(st.integers(1, 7)) for _ in range(rank)]
        channels = draw(st.sampled_from((1, 2, 4, 6)))
        self.values = [self.argument([draw(st.integers(1, 2)), *sizes, channels])]

    @property
    def value(self) -> SSAValue:
        return self.values[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(tensor_type(self.value).get_shape())

    def argument(self, shape: list[int]) -> SSAValue:
        return self.block.insert_arg(tensor_of(self.dtype, shape), len(self.block.args))

    def parameter(self, shape: list[int]) -> SSAValue:
        """A small constant, or else a value known at run time only."""
        if np.prod(shape) > 64 or self.draw(st.booleans()):
            return self.argument(shape)
        values = np.arange(np.prod(shape)).reshape(shape) % 7 / 4 - 0.5
        op = ConstantOp.of(values.astype(to_numpy(self.dtype)))
        self.block.add_op(op)
        return op.result

    def sizes(self, most: int = 3) -> Sizes:
        """Windows of which at least one fits along each axis."""
        parts: list[tuple[int, ...]] = []
        for size in self.shape[1:-1]:
            window, dilation = self.draw(st.integers(1, most)), self.draw(st.integers(1, 2))
            reach = (window - 1) * dilation + 1
            before = self.draw(st.integers(0, reach - 1))
            after = max(self.draw(st.integers(0, reach - 1)), reach - size - before)
            parts.append((window, self.draw(SMALL), dilation, before, after))
        window, strides, dilations, before, after = map(list, zip(*parts, strict=True))
        return Sizes(window, strides, dilations, [*before, *after])

    def add(self, op: NpucOp) -> None:
        self.block.add_op(op)
        self.values.append(op.results[0])


def conv(net: Net) -> NpucOp:
    channels = net.shape[-1]
    groups = net.draw(st.sampled_from([g for g in range(1, 7) if channels % g == 0]))
    filters = groups * (1 if net.draw(st.booleans()) else net.draw(SMALL))
    one = [1] * (len(net.shape) - 2)
    sizes = net.sizes() if net.draw(st.booleans()) else Sizes(one, one, one, [0, 0] * len(one))
    return ConvOp(
        net.value,
        net.parameter([*sizes.window, channels // groups, filters]),
        net.parameter([filters]) if net.draw(st.booleans()) else None,
        strides=sizes.strides,
        dilations=sizes.dilations,
        pads=sizes.pads,
        groups=groups,
        layout=LAST,
    )


def max_pool(net: Net) -> NpucOp:
    window, strides, dilations, pads = net.sizes()
    return MaxPoolOp(
        net.value, window, strides=strides, dilations=dilations, pads=pads, layout=LAST
    )


def average_pool(net: Net) -> NpucOp:
    window, strides, dilations, pads = net.sizes()
    count = net.draw(st.booleans())
    after = pads[len(window) :]
    return AveragePoolOp(
        net.value,
        window,
        strides=strides,
        dilations=dilations,
        pads=pads,
        count_include_pad=count,
        uncounted=[net.draw(st.integers(0, pad)) for pad in after] if count else (),
        layout=LAST,
    )


def residual(net: Net) -> NpucOp:
    fitting = [value for value in net.values if value.type == net.value.type]
    return AddOp(net.value, net.draw(st.sampled_from(fitting)))


MAKERS: tuple[Callable[[Net], NpucOp], ...] = (
    conv,
    conv,
    conv,
    max_pool,
    average_pool,
    residual,
    lambda net: ReluOp(net.value),
    lambda net: GlobalAveragePoolOp(net.value, LAST),
    lambda net: GlobalMaxPoolOp(net.value, LAST),
)


class Sample(NamedTuple):
    """A module with `@main`, and arguments for it."""

    module: ModuleOp
    arguments: tuple[Array, ...]


@st.composite
def nets(draw: st.DrawFn) -> Sample:
    """A chain of up to six operators on images, channels last, of which the last is returned."""
    net = Net(draw)
    for _ in range(draw(st.integers(1, 6))):
        try:
            net.add(draw(st.sampled_from(MAKERS))(net))
        except VerifyException:
            net.add(ReluOp(net.value))  # a window on padding alone
    block = net.block
    block.add_op(func.ReturnOp(net.value))
    types = FunctionType.from_lists([a.type for a in block.args], [net.value.type])
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return Sample(
        ModuleOp([func.FuncOp("main", types, Region(block))]),
        tuple(random_like(rng, argument) for argument in block.args),
    )


def random_like(rng: np.random.Generator, value: SSAValue) -> Array:
    type_ = tensor_type(value)
    array = rng.uniform(-1, 1, type_.get_shape())
    return array.astype(to_numpy(element_name(type_.element_type)))


def apply(ctx: Context, module: ModuleOp, *passes: NpucPass) -> None:
    for pass_ in passes:
        pass_.apply(ctx, module)
        verify(module)


def run(sample: Sample) -> Array:
    with np.errstate(all="ignore"):
        (result,) = Interpreter(sample.module).call("main", *sample.arguments)
    return result


@pytest.mark.parametrize("policy", ["origin", "mixed", "f16"])
@MANY
@given(sample=nets())
def test_conversion_and_fusion_keep_values(policy: Policy, sample: Sample) -> None:
    ctx = make_context()
    apply(ctx, sample.module, GraphApplyPrecisionPass(policy=policy))
    reference = run(sample)
    apply(ctx, sample.module, ConvertGraphToTensorPass())
    assert not [op for op in sample.module.walk() if op.name.startswith("graph.")]
    narrow = policy == "f16" or reference.dtype == np.float16
    first = run(sample)
    result = compare(first, reference, "f16" if narrow else "origin")
    assert result.ok, result.why
    apply(ctx, sample.module, TensorCanonicalizePass(), TensorFuseGroupsPass())
    result = compare(run(sample), first, "f16" if narrow else "origin")
    assert result.ok, result.why
    for op in sample.module.walk():
        if isinstance(op, StructuredOp):
            parent = op.parent_op()
            assert parent is not None
            assert parent.name == "tensor.group"
    text = str(sample.module)
    assert str(NpucParser(ctx, text).parse_module()) == text


def converted(body: str, arguments: str, result: str) -> ModuleOp:
    text = f"func.func @main({arguments}) -> {result} {{\n{body}\nfunc.return %0 : {result}\n}}"
    module = NpucParser(make_context(), text).parse_module()
    assert isinstance(module, ModuleOp)
    apply(make_context(), module, ConvertGraphToTensorPass())
    return module


def test_channels_first_is_refused() -> None:
    with pytest.raises(PassError, match="run graph-assign-layout first"):
        converted(
            "%0 = graph.global_max_pool %x layout "
            '"channels_first" : tensor<1x4x8x8xf32> -> tensor<1x4x1x1xf32>',
            "%x: tensor<1x4x8x8xf32>",
            "tensor<1x4x1x1xf32>",
        )


def test_counts_of_very_many_windows_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="at most 256 windows along an axis"):
        converted(
            "%0 = graph.average_pool %x window [3] strides [1] dilations [1] pads [1, 1] "
            f'layout "{LAST}" : tensor<1x257x4xf32> -> tensor<1x257x4xf32>',
            "%x: tensor<1x257x4xf32>",
            "tensor<1x257x4xf32>",
        )
