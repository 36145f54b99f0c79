"""Reading along windows means what walking the iteration space point by point gives."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType, f16, f32
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.tensor.bodies import make_body
from npuc.dialects.tensor.ops import ContractOp, MapOp, ReduceOp
from npuc.dialects.tensor.structured import (
    Axis,
    StructuredOp,
    Window,
    axes_of_map,
    map_from_axes,
    pads_of_axes,
)

MANY = settings(max_examples=150, deadline=None)
SMALL = st.integers(1, 3)
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
}
FORMS = (
    ("window",),
    ("plain", "window"),
    ("window", "plain"),
    ("window", "window"),
    ("plain", "window", "plain"),
    ("plain", "window", "window"),
)
START = {"add": 0.0, "mul": 1.0, "max": -np.inf, "min": np.inf}


class Space(NamedTuple):
    """Sizes of dims, how one input is read, its shape, and which dims are reduced."""

    extents: tuple[int, ...]
    axes: tuple[Axis, ...]
    shape: tuple[int, ...]
    reduced: tuple[int, ...]

    @property
    def kept(self) -> list[int]:
        return [d for d in range(len(self.extents)) if d not in self.reduced]

    @property
    def iterators(self) -> list[str]:
        return ["reduction" if d in self.reduced else "parallel" for d in range(len(self.extents))]


@st.composite
def spaces(draw: st.DrawFn, *, reduce_taps: bool = True) -> Space:
    """Windows and plain axes over dims in any order; plain dims may be reduced too."""
    kinds = draw(st.sampled_from(FORMS))
    count = sum(2 if kind == "window" else 1 for kind in kinds)
    dims = list(draw(st.permutations(range(count))))
    extents = tuple(draw(SMALL) for _ in range(count))
    axes: list[Axis] = []
    shape: list[int] = []
    reduced: list[int] = []
    for kind in kinds:
        if kind == "plain":
            dim = dims.pop()
            axes.append(dim)
            shape.append(extents[dim])
            if reduce_taps and draw(st.booleans()):
                reduced.append(dim)
            continue
        padding = draw(SMALL) - 1, draw(SMALL) - 1
        window = Window(dims.pop(), dims.pop(), draw(SMALL), draw(SMALL), *padding)
        rest = window.reach(extents) - window.before - window.after
        axes.append(window)
        shape.append(max(rest, 1) + draw(st.integers(0, 2)))
        if reduce_taps:
            reduced.append(window.tap)
    return Space(extents, tuple(axes), tuple(shape), tuple(reduced))


def read(array: Array, axes: Sequence[Axis], point: Sequence[int], outside: float) -> float:
    """The element that an input gives at a point."""
    place: list[int] = []
    for axis, size in zip(axes, array.shape, strict=True):
        if isinstance(axis, Window):
            at = point[axis.point] * axis.stride + point[axis.tap] * axis.dilation - axis.before
            if not 0 <= at < size:
                return outside
            place.append(at)
        else:
            place.append(0 if axis is None else point[axis])
    return float(array[tuple(place)])


def walk(space: Space, inputs: Sequence[tuple[Array, Sequence[Axis]]], combiner: str) -> Array:
    """The result point by point: the product of the inputs, combined."""
    outside = 0.0 if len(inputs) == 2 else START[combiner]
    result = np.full([space.extents[d] for d in space.kept], START[combiner])
    for point in product(*map(range, space.extents)):
        value = 1.0
        for array, axes in inputs:
            value *= read(array, axes, point, outside)
        place = tuple(point[d] for d in space.kept)
        result[place] = COMBINE[combiner](float(result[place]), value)
    return result


def small_integers(shape: Sequence[int], seed: int, dtype: str = "f4") -> Array:
    """Values with exact sums and products."""
    return np.random.default_rng(seed).integers(-3, 4, list(shape)).astype(dtype)


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    return Block(arg_types=[TensorType(element, list(shape))]).args[0]


def forward(element: Attribute = f32) -> Block:
    return make_body([element], lambda _, args: args[0])


def multiply(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    wide = [a if a.type == f32 else builder.insert(arith.ExtFOp(a, f32)).result for a in args]
    return builder.insert(arith.MulfOp(wide[0], wide[1])).result


def reduction(space: Space, combiner: str, element: Attribute = f32) -> ReduceOp:
    rank = len(space.extents)
    kept = space.kept
    plain = {*kept, *(a for a in space.axes if isinstance(a, int))}
    return ReduceOp(
        [value(space.shape, element)],
        [map_from_axes(rank, space.axes), map_from_axes(rank, kept)],
        space.iterators,
        forward(element),
        TensorType(element, [space.extents[d] for d in kept]),
        combiner,
        pads=[pads_of_axes(space.axes)],
        bounds=None if len(plain) == rank else space.extents,
    )


@MANY
@given(spaces(), st.sampled_from(sorted(COMBINE)), st.integers(0, 99), st.sampled_from("ef"))
def test_reductions_along_windows(space: Space, combiner: str, seed: int, kind: str) -> None:
    op = reduction(space, combiner, f16 if kind == "e" else f32)
    op.verify()
    array = small_integers(space.shape, seed, kind)
    (got,) = op.evaluate(array)
    with np.errstate(over="ignore"):
        expected = walk(space, [(array, space.axes)], combiner).astype(kind)
    assert got.dtype == np.dtype(kind)
    np.testing.assert_array_equal(got, expected)
    assert op.extents() == space.extents


@MANY
@given(spaces(), st.data())
def test_products_along_windows(space: Space, data: st.DataObject) -> None:
    """Factors share any parallel dims: none (columns), some (groups), or all (depthwise)."""
    kept, extents = space.kept, [*space.extents, data.draw(SMALL)]
    shared = data.draw(st.lists(st.sampled_from(kept), unique=True)) if kept else []
    column = len(space.extents)
    axes = data.draw(st.permutations([*space.reduced, *shared, column]))
    halves = data.draw(st.booleans())
    op = ContractOp(
        [
            value(space.shape, f16 if halves else f32),
            value([extents[d] for d in axes], f16 if halves else f32),
        ],
        [map_from_axes(column + 1, a) for a in (space.axes, axes, [*kept, column])],
        [*space.iterators, "parallel"],
        make_body([f16 if halves else f32] * 2, multiply),
        TensorType(f32, [extents[d] for d in (*kept, column)]),
        "add",
        pads=[pads_of_axes(space.axes), []],
    )
    op.verify()
    x = small_integers(space.shape, 1, "e" if halves else "f")
    w = small_integers([extents[d] for d in axes], 2, "e" if halves else "f")
    full = space._replace(extents=tuple(extents))
    np.testing.assert_array_equal(
        op.evaluate(x, w)[0], walk(full, [(x, space.axes), (w, axes)], "add")
    )


@MANY
@given(spaces(reduce_taps=False))
def test_a_map_may_lay_the_windows_out(space: Space) -> None:
    rank = len(space.extents)
    op = MapOp(
        [value(space.shape)],
        [map_from_axes(rank, space.axes), map_from_axes(rank, range(rank))],
        space.iterators,
        forward(),
        TensorType(f32, space.extents),
        pads=[pads_of_axes(space.axes)],
    )
    op.verify()
    array = small_integers(space.shape, 3)
    expected = walk(space, [(array, space.axes)], "add")  # nothing is combined: sums of one
    np.testing.assert_array_equal(op.evaluate(array)[0], expected)


@MANY
@given(spaces(), st.sampled_from(sorted(COMBINE)))
def test_the_text_parses_back(space: Space, combiner: str) -> None:
    op = reduction(space, combiner)
    source = AnyOp(result_types=[op.inputs[0].type])
    op.operands = source.results
    text = str(ModuleOp([source, op]))
    module = NpucParser(make_context(), text).parse_module()
    assert str(module) == text
    module.verify()
    (parsed,) = [inner for inner in module.walk() if isinstance(inner, StructuredOp)]
    assert parsed.properties == op.properties
    assert parsed.input_axes(0) == space.axes


def test_axes_know_their_windows_and_padding() -> None:
    window = Window(1, 4, 2, 3, 1, 0)
    op = reduction(Space((2, 3, 4, 5, 2), (0, window, None, 2, 3), (2, 7, 1, 4, 5), (4,)), "max")
    op.verify()
    assert op.has_windows
    assert op.input_axes(0) == (0, window, None, 2, 3)
    assert op.pads == (((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)),)
    assert op.bounds == op.extents() == (2, 3, 4, 5, 2)
    assert str(op.input_maps[0].results[1]) == "((d1 * 2) + (d4 * 3))"
    with pytest.raises(ValueError, match="neither a dim nor the constant 0"):
        axes_of_map(op.input_maps[0])


def test_zero_padding_is_no_padding() -> None:
    op = reduction(Space((3, 2), (Window(0, 1, 1, 1, 0, 0),), (4,), (1,)), "add")
    op.verify()
    assert op.pads_attr is None
    assert op.pads == ((),)


def test_a_window_must_fit_its_axis() -> None:
    op = reduction(Space((3, 2), (Window(0, 1, 2, 1, 0, 1),), (4,), (1,)), "add")
    with pytest.raises(VerifyException, match=r"reach over 6 elements of axis 0 .* which has 5"):
        op.verify()


def test_the_mean_of_16_bit_floats_is_summed_in_f32() -> None:
    space = Space((1, 64), (Window(0, 1, 1, 1, 0, 0),), (64,), (1,))
    big = np.full(64, 4096.0, np.float16)
    big[0] = 1.0
    assert reduction(space, "add", f16).evaluate(big)[0] == np.float16(np.inf)
    op = ReduceOp(
        [value([64], f16)],
        [map_from_axes(2, space.axes), map_from_axes(2, [0])],
        space.iterators,
        make_body([f16], lambda b, args: b.insert(arith.ExtFOp(args[0], f32)).result),
        TensorType(f32, [1]),
        "add",
        bounds=space.extents,
    )
    op.verify()
    assert op.evaluate(big)[0] == 63 * 4096 + 1
