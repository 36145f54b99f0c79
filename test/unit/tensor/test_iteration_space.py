"""Ops of a group share dims exactly where values join them."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.dialects.core.errors import PassError
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.tensor.ops import GroupOp
from npuc.dialects.tensor.structured import StructuredOp, Window
from npuc.passes.analysis.iteration_space import GroupSpace

PRODUCT = """
  %0 = arith.mulf %p, %q : f32
  tensor.yield %0 : f32
"""
SOFTMAX_HEAD = """
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %r = tensor.group(%a = %x : tensor<4x8xf32>) kind "vector" {
    %m = tensor.reduce(%a) maps [affine_map<(d0, d1) -> (d0, d1)>]
        -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine max {
    ^bb0(%p: f32):
      tensor.yield %p : f32
    } : (tensor<4x8xf32>) -> tensor<4xf32>
    %e = tensor.map(%a, %m) maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1)>]
        -> affine_map<(d0, d1) -> (d1, d0)> iterators [parallel, parallel] {
    ^bb0(%p: f32, %q: f32):
      %s = arith.subf %p, %q : f32
      tensor.yield %s : f32
    } : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
    tensor.yield %e : tensor<4x8xf32>
  } -> (tensor<4x8xf32>)
  func.return %r : tensor<4x8xf32>
}
"""
SELF_PRODUCT = f"""
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {{
  %r = tensor.group(%a = %x : tensor<4x8xf32>) kind "cube" {{
    %c = tensor.contract(%a, %a) maps [affine_map<(d0, d1, d2) -> (d0, d2)>,
        affine_map<(d0, d1, d2) -> (d1, d2)>] -> affine_map<(d0, d1, d2) -> (d0, d1)>
        iterators [parallel, parallel, reduction] combine add {{
    ^bb0(%p: f32, %q: f32):{PRODUCT}
    }} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    tensor.yield %c : tensor<4x4xf32>
  }} -> (tensor<4x4xf32>)
  func.return %r : tensor<4x4xf32>
}}
"""


CONV = """
    %c = tensor.contract(%a, %w) maps [affine_map<(d0, d1, d2, d3) -> (d0 + d2, d3)>,
        affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1)>
        iterators [parallel, parallel, reduction, reduction] combine add
        pads [[[1, 1], [0, 0]], []] {
    ^bb0(%p: f32, %q: f32):
      %m = arith.mulf %p, %q : f32
      tensor.yield %m : f32
    } : (tensor<6x8xf32>, tensor<3x8x4xf32>) -> tensor<6x4xf32>
"""
RESIDUAL = """
    %s = tensor.map(%b, %c) maps [affine_map<(d0, d1) -> (d1, d0)>,
        affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d1, d0)>
        iterators [parallel, parallel] {
    ^bb0(%p: f32, %q: f32):
      %m = arith.addf %p, %q : f32
      tensor.yield %m : f32
    } : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
"""
POOL = """
    %n = tensor.reduce(VALUE) maps [affine_map<(d0, d1, d2) -> (d0 * 2 + d2, d1)>]
        -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction]
        combine max bounds [3, 4, 2] {
    ^bb0(%p: f32):
      tensor.yield %p : f32
    } : (tensor<6x4xf32>) -> tensor<3x4xf32>
"""


def windows(*body: str, yielded: str, type_: str) -> GroupOp:
    return group_in(
        f"""
func.func @main(%x: tensor<6x8xf32>, %f: tensor<3x8x4xf32>, %y: tensor<6x4xf32>) -> {type_} {{
  %r = tensor.group(%a = %x : tensor<6x8xf32>, %w = %f : tensor<3x8x4xf32>,
      %b = %y : tensor<6x4xf32>) kind "cube" {{
    {"".join(body)}
    tensor.yield {yielded} : {type_}
  }} -> ({type_})
  func.return %r : {type_}
}}
"""
    )


def group_in(text: str) -> GroupOp:
    module = NpucParser(make_context(), text).parse_module()
    assert isinstance(module, ModuleOp)
    (group,) = [op for op in module.walk() if isinstance(op, GroupOp)]
    return group


def test_dims_meet_through_values_whatever_their_order_in_an_op() -> None:
    group = group_in(SOFTMAX_HEAD)
    space = GroupSpace(group)
    reduce, map = space.ops
    assert space.extents == (4, 8)
    assert space.kinds == ("parallel", "reduction")
    assert space.dims_of(reduce) == (0, 1)
    assert space.dims_of(map) == (1, 0)
    assert space.axes_of(group.body.args[0]) == (0, 1)
    assert space.axes_of(reduce.output) == (0,)
    assert space.axes_of_use(map, 1) == (0,)
    assert space.outputs == (map.output,)


def test_a_value_read_along_two_dims_does_not_unify() -> None:
    with pytest.raises(PassError, match="does not share an iteration space"):
        GroupSpace(group_in(SELF_PRODUCT))


def test_outside_a_group_such_a_value_is_told_apart_by_its_uses() -> None:
    group = group_in(SELF_PRODUCT)
    (contract,) = [op for op in group.body.ops if isinstance(op, StructuredOp)]
    space = GroupSpace.of_ops([contract])
    assert space.axes_of_use(contract, 0) == (0, 2)
    assert space.axes_of_use(contract, 1) == (1, 2)
    assert space.kinds == ("parallel", "parallel", "reduction")
    assert space.outputs == (contract.output,)


def test_a_window_is_over_group_dims_and_joins_none() -> None:
    group = windows(CONV, RESIDUAL, yielded="%s", type_="tensor<6x4xf32>")
    space = GroupSpace(group)
    contract, map = space.ops
    assert space.extents == (6, 4, 3, 8)
    assert space.kinds == ("parallel", "parallel", "reduction", "reduction")
    assert space.dims_of(map) == (1, 0)
    window = Window(point=0, tap=2, stride=1, dilation=1, before=1, after=1)
    assert space.axes_of_use(contract, 0) == (window, 3)
    assert space.axes_of(group.body.args[0]) == (window, 3)
    assert space.axes_of(group.body.args[1]) == (2, 3, 1)
    assert space.axes_of_use(map, 0) == space.axes_of(contract.output) == (0, 1)


def test_no_window_reads_a_value_of_its_group() -> None:
    group = windows(CONV, POOL.replace("VALUE", "%c"), yielded="%n", type_="tensor<3x4xf32>")
    with pytest.raises(PassError, match="whose windows overlap in it"):
        GroupSpace(group)


def test_a_value_from_outside_may_be_read_both_ways_as_two_operands() -> None:
    plain = RESIDUAL.replace("%c", "%b")
    group = windows(POOL.replace("VALUE", "%b"), plain, yielded="%n", type_="tensor<3x4xf32>")
    with pytest.raises(PassError, match="not as it is read elsewhere"):
        GroupSpace(group)
    pool, map = [op for op in group.body.ops if isinstance(op, StructuredOp)]
    space = GroupSpace.of_ops([pool, map])
    assert space.axes_of_use(pool, 0) == (Window(0, 2, 2, 1, 0, 0), 1)
    assert space.axes_of_use(map, 0) == space.axes_of(group.body.args[2]) == (4, 3)
