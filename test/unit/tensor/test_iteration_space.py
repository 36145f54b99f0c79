"""Ops of a group share dims exactly where values join them."""

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.dialects.core.errors import PassError
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.tensor.ops import GroupOp
from npuc.dialects.tensor.structured import StructuredOp
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
