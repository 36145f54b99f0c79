"""Tensor programs that read along windows: convolutions, depthwise convolutions, poolings."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from npuc.dialects.core.attributes import tensor_of
from npuc.dialects.core.dtypes import Array, to_numpy
from npuc.dialects.tensor.bodies import make_body
from npuc.dialects.tensor.ops import ContractOp, MapOp, ReduceOp
from npuc.dialects.tensor.structured import StructuredOp, Window, map_from_axes

POINTS = ("parallel",) * 4
SPATIAL = (1, 2)


@dataclass(frozen=True)
class Windows:
    """Sizes of an image [n, h, w, c] and of the windows on it, (height, width) each."""

    batch: int
    image: tuple[int, int]
    channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[tuple[int, int], tuple[int, int]]
    dtype: str

    @property
    def points(self) -> tuple[int, int]:
        """Output positions along both axes; not positive where a window does not fit."""
        parts = zip(self.image, self.kernel, self.strides, self.dilations, self.pads, strict=True)
        down, across = (
            (size + sum(pad) - dilation * (kernel - 1) - 1) // stride + 1
            for size, kernel, stride, dilation, pad in parts
        )
        return down, across

    def axes(self, first_tap: int, channel: int) -> tuple[int | Window | None, ...]:
        """How the image is read, with the taps' dims from `first_tap` on."""
        down, across = (
            Window(SPATIAL[i], first_tap + i, self.strides[i], self.dilations[i], *self.pads[i])
            for i in range(2)
        )
        return (0, down, across, channel)

    def array(self, *shape: int) -> Array:
        """Numbers that are always the same."""
        return np.random.default_rng(0).standard_normal(shape).astype(to_numpy(self.dtype))


@st.composite
def windows(draw: st.DrawFn) -> Windows:
    """Small images, kernels up to 4, windows that fit; padding less than a window."""
    kernel = draw(st.tuples(*[st.integers(1, 4)] * 2))
    dilations = draw(st.tuples(*[st.integers(1, 2)] * 2))
    covered = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    (top, bottom), (left, right) = (
        draw(st.tuples(*[st.integers(0, size - 1)] * 2)) for size in covered
    )
    return Windows(
        draw(st.integers(1, 2)),
        (draw(st.integers(covered[0], 18)), draw(st.integers(covered[1], 18))),
        draw(st.sampled_from((1, 3, 8, 16, 33))),
        (kernel[0], kernel[1]),
        draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        (dilations[0], dilations[1]),
        ((top, bottom), (left, right)),
        draw(st.sampled_from(("f16", "f32"))),
    )


def convolution(sizes: Windows, outputs: int) -> tuple[ModuleOp, list[Array]]:
    """A convolution with a bias row added, and its arguments."""
    image = (sizes.batch, *sizes.image, sizes.channels)
    weights = (*sizes.kernel, sizes.channels, outputs)
    block = _arguments((image, weights), (sizes.dtype, sizes.dtype))
    bias = block.insert_arg(tensor_of("f32", [outputs]), 2)
    result = tensor_of("f32", [sizes.batch, *sizes.points, outputs])
    maps = [map_from_axes(7, axes) for axes in (sizes.axes(4, 6), (4, 5, 6, 3), (0, 1, 2, 3))]
    product = ContractOp(
        list(block.args[:2]),
        maps,
        (*POINTS, "reduction", "reduction", "reduction"),
        _product_body(sizes.dtype),
        result,
        "add",
        pads=[[(0, 0), *sizes.pads, (0, 0)], []],
    )
    body = make_body(
        [result.element_type] * 2, lambda b, args: b.insert(arith.AddfOp(args[0], args[1])).result
    )
    rows = AffineMap.identity(4)
    added = MapOp(
        [product.output, bias], [rows, map_from_axes(4, (3,)), rows], POINTS, body, result
    )
    arrays = [sizes.array(*image), sizes.array(*weights), sizes.array(outputs).astype(np.float32)]
    return _module(block, [product, added]), arrays


def depthwise(sizes: Windows) -> tuple[ModuleOp, list[Array]]:
    """A depthwise convolution, and its arguments."""
    image = (sizes.batch, *sizes.image, sizes.channels)
    weights = (*sizes.kernel, sizes.channels)
    block = _arguments((image, weights), (sizes.dtype, sizes.dtype))
    product = ContractOp(
        list(block.args),
        [map_from_axes(6, axes) for axes in (sizes.axes(4, 3), (4, 5, 3), (0, 1, 2, 3))],
        (*POINTS, "reduction", "reduction"),
        _product_body(sizes.dtype),
        tensor_of("f32", [sizes.batch, *sizes.points, sizes.channels]),
        "add",
        pads=[[(0, 0), *sizes.pads, (0, 0)], []],
    )
    return _module(block, [product]), [sizes.array(*image), sizes.array(*weights)]


def pooling(sizes: Windows, combiner: str) -> tuple[ModuleOp, list[Array]]:
    """A pooling, and its argument."""
    image = (sizes.batch, *sizes.image, sizes.channels)
    block = _arguments((image,), (sizes.dtype,))
    result = tensor_of(sizes.dtype, [sizes.batch, *sizes.points, sizes.channels])
    pooled = ReduceOp(
        list(block.args),
        [map_from_axes(6, axes) for axes in (sizes.axes(4, 3), (0, 1, 2, 3))],
        (*POINTS, "reduction", "reduction"),
        make_body([result.element_type], lambda _, args: args[0]),
        result,
        combiner,
        pads=[[(0, 0), *sizes.pads, (0, 0)]],
        bounds=[sizes.batch, *sizes.points, sizes.channels, *sizes.kernel],
    )
    return _module(block, [pooled]), [sizes.array(*image)]


@dataclass(frozen=True)
class Reduction:
    """A reduction of a tensor of `shape` over `axes`, all but the last, of `x * x - y`.

    `y` has the axes `second` of `x`, which may be none of the reduced ones, or all.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    second: tuple[int, ...]
    combiner: str
    dtype: str


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    """Ranks 2 to 4, any of the outer axes."""
    rank = draw(st.integers(2, 4))
    shape = draw(st.tuples(*[st.integers(1, 20)] * (rank - 1), st.sampled_from((1, 5, 16, 40))))
    axes = draw(st.sets(st.integers(0, rank - 2), min_size=1))
    kept = [axis for axis in range(rank) if axis not in axes]
    seconds = (range(rank), kept, kept[-1:], [*sorted(axes), rank - 1])
    return Reduction(
        shape,
        tuple(sorted(axes)),
        tuple(draw(st.sampled_from(seconds))),
        draw(st.sampled_from(("max", "min", "add"))),
        draw(st.sampled_from(("f16", "f32"))),
    )


def outer_reduction(case: Reduction) -> tuple[ModuleOp, list[Array]]:
    """The reduction, and its arguments; it is computed and given in f32."""
    rank, single = len(case.shape), tensor_of("f32", []).element_type
    shapes = (case.shape, tuple(case.shape[axis] for axis in case.second))
    block = _arguments(shapes, (case.dtype, "f32"))
    kept = [axis for axis in range(rank) if axis not in case.axes]

    def build(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        x = args[0] if case.dtype == "f32" else builder.insert(arith.ExtFOp(args[0], single)).result
        return builder.insert(
            arith.SubfOp(builder.insert(arith.MulfOp(x, x)).result, args[1])
        ).result

    reduced = ReduceOp(
        list(block.args),
        [map_from_axes(rank, axes) for axes in (range(rank), case.second, kept)],
        ["reduction" if axis in case.axes else "parallel" for axis in range(rank)],
        make_body([tensor_of(t, []).element_type for t in (case.dtype, "f32")], build),
        tensor_of("f32", [case.shape[axis] for axis in kept]),
        case.combiner,
    )
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    return _module(block, [reduced]), [
        array.astype(to_numpy(t)) for array, t in zip(arrays, (case.dtype, "f32"), strict=True)
    ]


def _arguments(shapes: tuple[tuple[int, ...], ...], dtypes: tuple[str, ...]) -> Block:
    types = [tensor_of(dtype, shape) for shape, dtype in zip(shapes, dtypes, strict=True)]
    return Block(arg_types=types)


def _product_body(dtype: str) -> Block:
    single = tensor_of("f32", []).element_type
    element = tensor_of(dtype, []).element_type

    def build(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        lhs, rhs = args
        if dtype == "f16":
            lhs, rhs = (builder.insert(arith.ExtFOp(a, single)).result for a in args)
        return builder.insert(arith.MulfOp(lhs, rhs)).result

    return make_body([element, element], build)


def _module(block: Block, ops: list[StructuredOp]) -> ModuleOp:
    block.add_ops(ops)
    block.add_op(func.ReturnOp(ops[-1].output))
    types = FunctionType.from_lists([a.type for a in block.args], [ops[-1].output.type])
    return ModuleOp([func.FuncOp("main", types, Region(block))])
