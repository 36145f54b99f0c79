"""Work of the host engine: exact, counted, reported, and refused on request."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import npuc
from commands import output
from npuc.backend.container import from_bytes
from npuc.backend.program import HostTask
from npuc.compiler.driver import compile_model, lower_model
from npuc.compiler.pipeline import Options
from npuc.compiler.run import LEVELS
from npuc.dialects.core.errors import PassError, ProgramError
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.kernels.host import HOST_FUNCTIONS

Array = np.ndarray[Any, Any]


@cache
def model() -> bytes:
    """An integer product beside a float one."""
    rng = np.random.default_rng(7)
    weights = [
        numpy_helper.from_array(rng.integers(-99, 99, (5, 7)).astype(np.int32), "w"),
        numpy_helper.from_array(rng.standard_normal((8, 4)).astype(np.float32), "v"),
    ]
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["c"], name="integers"),
        helper.make_node("MatMul", ["x", "v"], ["y"], name="floats"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.INT32, [3, 5]),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [6, 8]),
        ],
        [
            helper.make_tensor_value_info("c", TensorProto.INT32, [3, 7]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [6, 4]),
        ],
        weights,
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


@cache
def inputs() -> dict[str, Array]:
    rng = np.random.default_rng(8)
    return {
        "a": rng.integers(-99, 99, (3, 5)).astype(np.int32),
        "x": rng.standard_normal((6, 8)).astype(np.float32),
    }


def expected() -> list[Array]:
    session: Any = onnxruntime.InferenceSession(model(), providers=["CPUExecutionProvider"])
    return cast(list[Array], session.run(None, inputs()))


@pytest.mark.parametrize("level", ["graph", "tensor", "tile"])
def test_integers_are_exact_at_each_level(level: str) -> None:
    lowered = lower_model(model(), Options(), LEVELS[level])
    got = Interpreter(lowered.module, lowered.store).call("main", *inputs().values())
    np.testing.assert_array_equal(got[0], expected()[0])


def test_integers_are_exact_on_the_emulator_and_take_time() -> None:
    executable = npuc.Executable(compile_model(model(), Options()).program, checks=True)
    got = executable.run(**inputs())
    np.testing.assert_array_equal(got.outputs["c"], expected()[0])
    np.testing.assert_allclose(got.outputs["y"], expected()[1], atol=1e-2)
    (task,) = [task for task in got.tasks if task.kernel == "host matmul"]
    assert task.core_cycles == (300 + (4 * (15 + 35 + 21) + 7) // 8,)  # bytes outweigh operations
    assert executable.program.source_engines == {"integers": "host", "floats": "cube"}


def test_a_host_call_survives_the_program_file(tmp_path: Path) -> None:
    source, path = tmp_path / "m.onnx", tmp_path / "m.npu"
    source.write_bytes(model())
    text = output("npu-opt", "--to=final", stdin=output("npu-translate", "--import-onnx", source))
    output("npu-translate", "--mlir-to-binary", "-o", path, stdin=text)
    program = from_bytes(path.read_bytes())
    (call,) = [task for task in program.entries[0].tasks if isinstance(task, HostTask)]
    assert (call.function, call.node, call.result.shape) == ("matmul", "integers", (3, 7))
    lifted = output("npu-translate", "--binary-to-mlir", path)
    assert output("npu-translate", "--mlir-to-binary", stdin=lifted) == path.read_bytes()
    np.testing.assert_array_equal(npuc.load(path).run(**inputs()).outputs["c"], expected()[0])


def test_strict_refuses_with_node_and_reason() -> None:
    with pytest.raises(PassError) as refusal:
        npuc.compile(model(), strict=True)
    assert refusal.value.where is not None
    assert "integers" in refusal.value.where
    assert refusal.value.why == HOST_FUNCTIONS["matmul"].reason


def test_a_program_with_an_unknown_host_function_is_refused() -> None:
    program = compile_model(model(), Options()).program
    (call,) = [task for task in program.entries[0].tasks if isinstance(task, HostTask)]
    object.__setattr__(call, "function", "sort")
    with pytest.raises(ProgramError, match="has no function `sort`"):
        program.check()
