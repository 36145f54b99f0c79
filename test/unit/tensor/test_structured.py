"""Structured ops mean what numpy says, whatever their maps; a new one needs only its class."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType, f16, f32, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.core.attributes import tensor_type
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.tensor.bodies import make_body
from npuc.dialects.tensor.dialect import DIALECT
from npuc.dialects.tensor.ops import ContractOp, GroupOp, MapOp, ReduceOp, TransposeOp, ViewOp
from npuc.dialects.tensor.structured import StructuredOp, axes_of_map, map_from_axes
from npuc.passes.tensor.tensor_canonicalize import TensorCanonicalizePass
from npuc.passes.tensor.tensor_fuse_groups import TensorFuseGroupsPass

Axes = Sequence[int | None]


@irdl_op_definition
class DistanceOp(StructuredOp):
    """Sum of squared differences: an op npuc has never heard of."""

    name = "mine.distance"

    @classmethod
    def of(cls, points: SSAValue, centres: SSAValue) -> "DistanceOp":
        """[n, k] points and [m, k] centres give [n, m]."""
        (n, k), (m, _) = (shape(v) for v in (points, centres))
        assert k == shape(centres)[1]
        return cls(
            [points, centres],
            [map_from_axes(3, axes) for axes in ((0, 2), (1, 2), (0, 1))],
            ["parallel", "parallel", "reduction"],
            make_body([f32, f32], squared_difference),
            TensorType(f32, [n, m]),
            "add",
        )


def squared_difference(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
    gap = builder.insert(arith.SubfOp(args[0], args[1])).result
    return builder.insert(arith.MulfOp(gap, gap)).result


def shape(value: SSAValue) -> tuple[int, ...]:
    return tensor_type(value).get_shape()


def values(*types: tuple[Attribute, Sequence[int]]) -> Sequence[SSAValue]:
    return Block(arg_types=[TensorType(element, sizes) for element, sizes in types]).args


def add_body(element: Attribute) -> Block:
    return make_body([element] * 2, lambda b, args: b.insert(arith.AddfOp(args[0], args[1])).result)


def product_body(element: Attribute, wide: Attribute) -> Block:
    def build(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        lhs, rhs = args
        if element != wide:
            lhs, rhs = (builder.insert(arith.ExtFOp(arg, wide)).result for arg in args)
        return builder.insert(arith.MulfOp(lhs, rhs)).result

    return make_body([element] * 2, build)


def forward(element: Attribute) -> Block:
    return make_body([element], lambda _, args: args[0])


def function_of(op: StructuredOp, types: Sequence[Attribute], block: Block) -> ModuleOp:
    block.add_op(op)
    block.add_op(ReturnOp(op.output))
    signature = FunctionType.from_lists(types, [op.output.type])
    return ModuleOp([FuncOp("main", signature, Region(block))])


def test_a_map_permutes_broadcasts_and_adds_size_1_axes() -> None:
    x, y = values((f32, [3, 2]), (f32, [1, 4]))
    op = MapOp(
        [x, y],
        [map_from_axes(3, axes) for axes in ((2, 0), (None, 1), (0, 1, None, 2))],
        ["parallel"] * 3,
        add_body(f32),
        TensorType(f32, [2, 4, 1, 3]),
    )
    op.verify()
    a, b = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(4, dtype=np.float32)[None]
    expected = (a.T[:, None, :] + b[0][None, :, None])[:, :, None, :]
    np.testing.assert_array_equal(op.evaluate(a, b)[0], expected)
    assert op.extents() == (2, 4, 3)
    assert op.cost() == (24, 40, 96)


@pytest.mark.parametrize(
    ("combiner", "reference"),
    [("add", np.sum), ("max", np.max), ("min", np.min), ("mul", np.prod)],
)
def test_reductions_over_any_dims(combiner: str, reference: Any) -> None:
    (x,) = values((f32, [2, 3, 4]))
    op = ReduceOp(
        [x],
        [map_from_axes(3, axes) for axes in ((0, 1, 2), (1, None))],
        ["reduction", "parallel", "reduction"],
        forward(f32),
        TensorType(f32, [3, 1]),
        combiner,
    )
    op.verify()
    a = np.linspace(-1, 2, 24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_allclose(op.evaluate(a)[0], reference(a, axis=(0, 2))[:, None], rtol=1e-5)


def test_half_sums_are_rounded_once() -> None:
    (x,) = values((f16, [4096]))
    op = ReduceOp(
        [x],
        [map_from_axes(1, [0]), map_from_axes(1, [])],
        ["reduction"],
        forward(f16),
        TensorType(f16, []),
        "add",
    )
    ones = np.ones(4096, np.float16)
    assert op.evaluate(ones)[0] == 4096  # summed in f16 it would stop at 2048


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_contractions_agree_with_einsum(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from("bmnk"), min_size=2, max_size=5))
    rank, sizes = len(kinds), data.draw(st.tuples(*[st.integers(1, 4)] * len(kinds)))
    order = data.draw(st.permutations(range(rank)))
    lhs = [d for d in order if kinds[d] in "bmk"]
    rhs = [d for d in data.draw(st.permutations(range(rank))) if kinds[d] in "bnk"]
    out = [d for d in range(rank) if kinds[d] != "k"]
    reduced = "k" in kinds
    x, y = values((f16, [sizes[d] for d in lhs]), (f16, [sizes[d] for d in rhs]))
    op = (ContractOp if reduced else MapOp)(
        [x, y],
        [map_from_axes(rank, axes) for axes in (lhs, rhs, out)],
        ["reduction" if kind == "k" else "parallel" for kind in kinds],
        product_body(f16, f32),
        TensorType(f32, [sizes[d] for d in out]),
        "add" if reduced else None,
    )
    op.verify()
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape(v)).astype(np.float16) for v in (x, y))
    letters = ["".join("abcde"[d] for d in axes) for axes in (lhs, rhs, out)]
    expected = np.einsum(
        f"{letters[0]},{letters[1]}->{letters[2]}", *(v.astype("f8") for v in (a, b))
    )
    got = op.evaluate(a, b)[0]
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_body_that_yields_a_constant_fills_the_result() -> None:
    def one(builder: Builder, args: tuple[SSAValue, ...]) -> SSAValue:
        return builder.insert(arith.ConstantOp.from_int_and_width(3, i32)).result

    sizes = [map_from_axes(2, (0, 1))]
    op = MapOp([], sizes, ["parallel"] * 2, make_body([], one), TensorType(i32, [2, 3]))
    op.verify()
    np.testing.assert_array_equal(op.evaluate()[0], np.full((2, 3), 3, np.int32))


def test_transpose_and_view() -> None:
    (x,) = values((f32, [2, 3, 4]))
    transpose, view = TransposeOp.of(x, (2, 0, 1)), ViewOp(x, [6, 4])
    for op in (transpose, view):
        op.verify()
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(transpose.evaluate(a)[0], a.transpose(2, 0, 1))
    np.testing.assert_array_equal(view.evaluate(a)[0], a.reshape(6, 4))
    assert transpose.permutation == (2, 0, 1)
    assert view.cost() == (0, 0, 0)


def test_axes_refuse_what_is_no_projected_permutation() -> None:
    twice = AffineMap(1, 0, (AffineExpr.dimension(0) * 2,))
    with pytest.raises(ValueError, match="neither a dim nor the constant 0"):
        axes_of_map(twice)
    (x,) = values((f32, [4]))
    op = MapOp([x], [twice, twice], ["parallel"], forward(f32), TensorType(f32, [4]))
    with pytest.raises(VerifyException, match="is neither a dim, the constant 0 nor a window"):
        op.verify()


def test_a_new_structured_op_runs_parses_canonicalises_and_fuses() -> None:
    points, centres = (TensorType(f32, sizes) for sizes in ([6, 4], [3, 4]))
    block = Block(arg_types=[points, TensorType(f32, [4, 3])])
    turned = TransposeOp.of(block.args[1], (1, 0))
    block.add_op(turned)
    op = DistanceOp.of(block.args[0], turned.output)
    assert turned.output.type == centres
    module = function_of(op, [arg.type for arg in block.args], block)
    context = make_context()
    context.load_dialect(Dialect("mine", [DistanceOp]))
    for pass_ in (TensorCanonicalizePass(), TensorFuseGroupsPass()):
        pass_.apply(context, module)
        verify(module)
        parsed = NpucParser(context, str(module)).parse_module()
        assert parsed.is_structurally_equivalent(module)
    (group,) = [inner for inner in module.walk() if isinstance(inner, GroupOp)]
    (fused,) = [inner for inner in group.body.ops if isinstance(inner, StructuredOp)]
    assert isinstance(fused, DistanceOp)
    assert axes_of_map(fused.input_maps[1]) == (2, 1)  # it reads through the transpose
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((6, 4)).astype("f4"), rng.standard_normal((4, 3)).astype("f4")
    expected = ((a[:, None, :] - b.T[None]) ** 2).sum(-1)
    np.testing.assert_allclose(fused.evaluate(a, b)[0], expected, rtol=1e-5)


def test_the_dialect_holds_upstreams_ops_too() -> None:
    names = [op.name for op in DIALECT.operations]
    assert len(names) == len(set(names))
    assert {"tensor.extract_slice", "tensor.yield", "tensor.map", "tensor.group"} <= set(names)
