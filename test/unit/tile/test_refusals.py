"""What tiling refuses, it refuses by name, with what to do."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.driver import lower_model
from npuc.compiler.pipeline import Options
from npuc.compiler.run import Request, run_model
from npuc.dialects.core.errors import CapacityError, InputError, PassError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.target.attributes import MACHINE, MachineAttr
from npuc.dialects.target.machine import from_description, load
from npuc.passes.tensor_to_tile.tensor_choose_schedule import TensorChooseSchedulePass
from source_tree import ROOT

PRODUCT = """
func.func @main(%x: tensor<16x16xf16>, %w: tensor<16x16xf16>) -> tensor<16x16xf32> {
  %g = tensor.group(%a = %x : tensor<16x16xf16>, %b = %w : tensor<16x16xf16>) kind "cube" {
    %r = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2) -> (d0, d2)>,
        affine_map<(d0, d1, d2) -> (d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)>
        iterators [parallel, parallel, reduction] combine add {
    ^bb0(%p : f16, %q : f16):
      %0 = arith.extf %p : f16 to f32
      %1 = arith.extf %q : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      tensor.yield %2 : f32
    } : (tensor<16x16xf16>, tensor<16x16xf16>) -> tensor<16x16xf32>
    tensor.yield %r : tensor<16x16xf32>
  } -> (tensor<16x16xf32>)
  func.return %g : tensor<16x16xf32>
}
"""


def choose_with(memory: str, nbytes: int) -> ModuleOp:
    """The product's module with its schedule, on `tiny` with another size of a memory."""
    description = deepcopy(dict(load("tiny").description))
    description["memory"][memory]["value"] = nbytes
    module = parse_module(make_context(), PRODUCT)
    module.attributes[MACHINE] = MachineAttr.of(from_description(description, "a test"))
    TensorChooseSchedulePass().apply(make_context(), module)
    return module


def test_a_cube_too_small_for_a_fractal_is_named() -> None:
    with pytest.raises(CapacityError, match="not even the smallest tile") as refusal:
        choose_with("l1", 512)
    assert "512" in str(refusal.value)


def test_a_cube_with_room_for_one_fractal_is_used_without_a_second_slot() -> None:
    assert "tiles [16, 16, 16]" in str(choose_with("l0a", 512))


def test_an_integer_constant_is_named() -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "c"], ["y"], name="plus")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.INT32, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [4, 8])],
        [numpy_helper.from_array(np.array([3], np.int32), "c")],
    )
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    with pytest.raises(PassError, match="the integer constant 3") as refusal:
        lower_model(model, Options(), "scheduled")
    assert "plus" in str(refusal.value)
    assert refusal.value.hint


@pytest.mark.parametrize("level", ["graph", "tensor"])
def test_strict_says_where_it_has_no_effect(level: str) -> None:
    model = str(Path(ROOT, "examples/digits/digits_mlp.onnx"))
    with pytest.raises(InputError, match="no effect"):
        run_model(Request(model, level=level, strict=True), lambda text: None)
