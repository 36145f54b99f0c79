"""Casts between floats and integers give what ONNX says, at every level."""

from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import npuc
from npuc.compiler.driver import compile_model, lower_model
from npuc.compiler.pipeline import Options
from npuc.compiler.request import LEVELS
from npuc.dialects.core.interpreter import Interpreter

VALUES = np.array([[0.6, 1.5, 2.5, -0.6, -1.5, -2.5, 7.0, 1e6]] * 3, np.float32)


def model() -> bytes:
    """f32 to i32 and back."""
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], name="down", to=TensorProto.INT32),
        helper.make_node("Cast", ["i"], ["y"], name="up", to=TensorProto.FLOAT),
    ]
    shape = list(VALUES.shape)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor_value_info("i", TensorProto.INT32, shape),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, shape),
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def expected() -> list[np.ndarray[Any, Any]]:
    session: Any = onnxruntime.InferenceSession(model(), providers=["CPUExecutionProvider"])
    return cast(list[np.ndarray[Any, Any]], session.run(None, {"x": VALUES}))


@pytest.mark.parametrize("level", ["graph", "tensor", "tile"])
def test_each_level(level: str) -> None:
    lowered = lower_model(model(), Options("tiny"), LEVELS[level])
    got = Interpreter(lowered.module, lowered.store).call("main", VALUES)
    for a, b in zip(got, expected(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_emulator() -> None:
    executable = npuc.Executable(compile_model(model(), Options("tiny")).program, checks=True)
    outputs = executable.run(x=VALUES).outputs
    for name, b in zip(("i", "y"), expected(), strict=True):
        np.testing.assert_array_equal(outputs[name], b)
