"""Work of the host engine: exact, counted, reported, and refused on request."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

import npuc
from commands import output, run
from npuc.backend.container import from_bytes
from npuc.backend.program import HostTask
from npuc.compiler.driver import compile_model, lower_model
from npuc.compiler.pipeline import Options
from npuc.compiler.request import LEVELS
from npuc.dialects.core.errors import (
    PassError,
    ProgramError,
    UndefinedReadError,
    UnsupportedError,
)
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


def products(nodes: list[NodeProto], a: list[int], result: list[int], **weights: Array) -> bytes:
    """A model of int32 nodes that makes `c` of `a`."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("a", TensorProto.INT32, a)],
        [helper.make_tensor_value_info("c", TensorProto.INT32, result)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()


def chain() -> bytes:
    """Two products, the second one of a vector, so that a view follows it."""
    nodes = [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="first"),
        helper.make_node("MatMul", ["t", "v"], ["c"], name="second"),
    ]
    w, v = np.arange(35, dtype=np.int32).reshape(5, 7), np.arange(7, dtype=np.int32)
    return products(nodes, [3, 5], [3], w=w, v=v)


def test_strict_refuses_with_each_node_and_the_reason() -> None:
    with pytest.raises(PassError) as refusal:
        npuc.compile(chain(), strict=True)
    reason = HOST_FUNCTIONS["matmul"].reason
    lines = [f"node `{node}`: matmul, as {reason}" for node in ("first", "second")]
    assert refusal.value.why == "\n    ".join(("", *lines))


def test_strict_refuses_a_model_and_a_saved_program_on_the_command_line(tmp_path: Path) -> None:
    source, path = tmp_path / "m.onnx", tmp_path / "m.npu"
    source.write_bytes(chain())
    npuc.compile(chain()).save(path)
    for file in (source, path):
        refused = run("npuc", "run", file, "--strict")
        assert refused.code == 1
        assert b"node `first`: matmul, as the cube" in refused.log
        assert b"node `second`: matmul, as the cube" in refused.log


def test_the_report_counts_the_nodes_of_the_host_engine(tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    source.write_bytes(chain())
    report = json.loads(output("npuc", "run", source, "--json"))
    assert report["engine_nodes"] == {"cube": [], "vector": [], "host": ["first", "second"]}


def test_products_wrap_in_a_chain_and_again_on_the_same_memory() -> None:
    executable = npuc.Executable(compile_model(chain(), Options()).program, checks=True)
    session: Any = onnxruntime.InferenceSession(chain(), providers=["CPUExecutionProvider"])
    for seed in (1, 2):
        low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        a = np.random.default_rng(seed).integers(low, high, (3, 5), np.int32)
        (wanted,) = session.run(None, {"a": a})
        np.testing.assert_array_equal(executable.run(a=a).outputs["c"], wanted)


def test_bytes_that_a_host_call_wrote_are_defined_and_others_are_not() -> None:
    program = compile_model(chain(), Options()).program
    (entry,) = program.entries
    a = np.ones((3, 5), np.int32)
    npuc.Executable(program, checks=True).run(a=a)
    late = replace(program, entries=(replace(entry, tasks=entry.tasks[1:]),))
    with pytest.raises(UndefinedReadError, match="matmul reads bytes that were never written"):
        npuc.Executable(late, checks=True).run(a=a)


def test_a_plain_gemm_of_integers_is_a_product() -> None:
    node = helper.make_node("Gemm", ["a", "w"], ["c"], name="gemm", transB=1)
    w = np.arange(-20, 15, dtype=np.int32).reshape(7, 5)
    a = np.arange(15, dtype=np.int32).reshape(3, 5)
    executable = npuc.compile(products([node], [3, 5], [3, 7], w=w))
    np.testing.assert_array_equal(executable(a), a @ w.T)
    assert executable.program.source_engines == {"gemm": "host"}


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Gemm", ["a", "w", "w"], ["c"], name="addend"),
        helper.make_node("Gemm", ["a", "w"], ["c"], name="scaled", alpha=2.0),
    ],
    ids=lambda node: node.name,
)
def test_a_gemm_of_integers_that_does_more_is_refused(node: NodeProto) -> None:
    with pytest.raises(UnsupportedError, match="without addend and with alpha 1 only"):
        npuc.compile(products([node], [3, 3], [3, 3], w=np.eye(3, dtype=np.int32)))


def test_a_product_of_int64_is_refused() -> None:
    nodes = [
        helper.make_node("Cast", ["a"], ["b"], name="widen", to=TensorProto.INT64),
        helper.make_node("MatMul", ["b", "b"], ["t"], name="product"),
        helper.make_node("Cast", ["t"], ["c"], name="narrow", to=TensorProto.INT32),
    ]
    with pytest.raises(UnsupportedError, match="matrix products of i64 are not supported"):
        npuc.compile(products(nodes, [3, 3], [3, 3]))


def test_a_program_with_an_unknown_host_function_is_refused() -> None:
    program = compile_model(model(), Options()).program
    (call,) = [task for task in program.entries[0].tasks if isinstance(task, HostTask)]
    object.__setattr__(call, "function", "sort")
    with pytest.raises(ProgramError, match="has no function `sort`"):
        program.check()
