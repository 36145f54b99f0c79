"""Loops stay rolled: with one schedule, a larger matrix takes more iterations and no more code."""

from collections.abc import Sequence

import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler.driver import lower_model
from npuc.compiler.pipeline import Options, run_stages
from npuc.dialects.core.registry import make_context
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.tensor.ops import GroupOp
from npuc.dialects.tile.schedule import ScheduleAttr

TILES, STEPS = (128, 128, 128), (128, 128, 64)


def product(size: int) -> bytes:
    """`y = a @ b` for square f16 matrices, as an ONNX file."""
    tensor = helper.make_tensor_value_info
    names: Sequence[str] = ("a", "b")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")],
        "product",
        [tensor(name, TensorProto.FLOAT16, [size, size]) for name in names],
        [tensor("y", TensorProto.FLOAT16, [size, size])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def lowered(size: int, cores: int) -> ModuleOp:
    """The product at stage `final`, tiled by hand for so many cores."""
    state = lower_model(product(size), Options("ascend310p"), "scheduled")
    groups = [op for op in state.module.walk() if isinstance(op, GroupOp)]
    cubes = [group for group in groups if group.kind == "cube"]
    assert len(cubes) == 1
    cubes[0].attributes["tile.schedule"] = ScheduleAttr.of(TILES, STEPS, cores, "set by hand")
    run_stages(state.module, make_context(state.store), "final")
    return state.module


def instructions(module: ModuleOp) -> list[list[str]]:
    """The names of the ops of each kernel."""
    return [
        [inner.name for inner in op.walk() if inner is not op]
        for op in module.ops
        if isinstance(op, KernelOp)
    ]


# Counts of tiles differ from each other and from the number of cores: where two happen to be equal,
# one computation of an index serves for both.
@pytest.mark.parametrize(("small", "large", "cores"), [(256, 2048, 1), (768, 2560, 4)])
def test_a_larger_product_is_the_same_code(small: int, large: int, cores: int) -> None:
    kernels = instructions(lowered(small, cores))
    assert kernels
    assert all(len(kernel) <= 300 for kernel in kernels)
    assert instructions(lowered(large, cores)) == kernels
