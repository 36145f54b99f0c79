"""What `npuc info` finds out about a model: figures, engines, everything that is not supported."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto

from npuc.compiler import model_info as module
from npuc.compiler.driver import compile_model
from npuc.compiler.model_info import ModelInfo, model_info
from npuc.compiler.pipeline import Options
from npuc.compiler.program_info import engine_nodes
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import InputError
from onnx_models import model, node, random
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
SHAPE = np.array([2, 2, 8], np.int64)


def save(path: Path, proto: ModelProto) -> Path:
    path.write_bytes(proto.SerializeToString())
    return path


def info_of(
    folder: Path,
    nodes: Sequence[NodeProto],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    **options: Any,
) -> ModelInfo:
    """What is found out about a model with the input x of f32[4, 8]."""
    proto = model(nodes, {"x": (4, 8)}, outputs, constants=constants, **options)
    return model_info(str(save(folder / "model.onnx", proto)))


def engines(info: ModelInfo) -> dict[str, str | None]:
    return {node.name: node.engine for node in info.nodes}


def test_the_digits_network() -> None:
    info = model_info(str(DIGITS))
    assert info.supported
    assert {name: str(type_) for name, type_ in info.inputs.items()} == {"image": "f32[32,64]"}
    assert {name: str(t) for name, t in info.outputs.items()} == {"probabilities": "f32[32,10]"}
    assert info.opsets == {"ai.onnx": 17}
    assert info.nbytes == DIGITS.stat().st_size
    assert info.parameters == 64 * 64 + 64 + 64 * 10 + 10
    assert info.parameter_bytes == 4 * info.parameters
    assert info.multiply_adds == 32 * (64 * 64 + 64 * 10)
    assert {node.name: node.multiply_adds for node in info.nodes}["fc2"] == 32 * 64 * 10


def test_engines_are_those_of_the_program() -> None:
    found = model_info(str(DIGITS))
    program = compile_model(DIGITS, Options()).program
    known = {name: e for name, e in engines(found).items() if e != "none"}
    assert known == program.source_engines
    assert sum(map(len, engine_nodes(program).values())) == len(known)


def test_a_reshape_costs_nothing_and_integers_multiply_on_the_host(tmp_path: Path) -> None:
    nodes = [
        node("Reshape", ["x", "shape"], ["r"], name="reshape"),
        node("Relu", ["r"], ["y"], name="relu"),
        node("Cast", ["x"], ["i"], name="cast", to=6),
        node("MatMul", ["i", "w"], ["z"], name="product"),
    ]
    weight = random(0, 8, 3, dtype="int32")
    info = info_of(tmp_path, nodes, ["y", "z"], {"shape": SHAPE, "w": weight})
    assert engines(info) == {
        "reshape": "none",
        "relu": "vector",
        "cast": "vector",
        "product": "host",
    }
    assert info.multiply_adds == 4 * 8 * 3
    assert info.parameters == 24  # a shape is no parameter


def test_the_addend_of_a_gemm_is_no_product(tmp_path: Path) -> None:
    nodes = [node("Gemm", ["x", "w", "c"], ["y"], name="gemm")]
    info = info_of(tmp_path, nodes, ["y"], {"w": random(0, 8, 3), "c": random(1, 3)})
    assert info.multiply_adds == 4 * 8 * 3
    assert info.flops == 2 * 4 * 8 * 3 + 4 * 3


def test_everything_unsupported_is_told_and_the_rest_is_known(tmp_path: Path) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["a"], name="before"),
        node("Det", ["m"], ["d"], name="det"),
        node("MatMul", ["a", "w"], ["b"], name="between"),
        node("Acosh", ["b"], ["c"], name="acosh"),
        node("Relu", ["c"], ["y"], name="after"),
    ]
    constants = {"w": random(0, 8, 8), "m": random(1, 8, 8)}
    info = info_of(tmp_path, nodes, ["y", "d"], constants)
    assert not info.supported
    assert [node.name for node in info.problems] == ["det", "acosh"]
    assert all("no such operator" in str(node.problem) for node in info.problems)
    assert info.multiply_adds == 2 * 4 * 8 * 8
    assert engines(info) == {
        "before": "cube",
        "det": None,
        "between": "cube",
        "acosh": None,
        "after": "vector",
    }


def test_nothing_is_said_of_what_reads_a_result_of_unknown_type(tmp_path: Path) -> None:
    nodes = [
        node("NonZero", ["x"], ["n"], name="nonzero"),  # its size depends on the values
        node("Relu", ["n"], ["m"], name="relu"),
        node("Softmax", ["x"], ["y"], name="softmax"),
    ]
    info = info_of(tmp_path, nodes, ["m", "y"])
    assert engines(info) == {"nonzero": None, "relu": None, "softmax": "vector"}


def test_in_a_large_model_that_cannot_be_compiled_no_engines_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MANY", 1)
    nodes = [
        node("MatMul", ["x", "w"], ["a"], name="product"),
        node("Acosh", ["a"], ["y"], name="acosh"),
    ]
    info = info_of(tmp_path, nodes, ["y"], {"w": random(0, 8, 8)})
    assert engines(info) == {"product": None, "acosh": None}
    assert info.multiply_adds == 4 * 8 * 8


def test_a_node_of_another_domain_has_its_name(tmp_path: Path) -> None:
    nodes = [node("Gelu", ["x"], ["y"], name="gelu", domain="com.microsoft")]
    info = info_of(tmp_path, nodes, ["y"])
    assert [node.op for node in info.problems] == ["com.microsoft.Gelu"]


def test_a_model_without_nodes(tmp_path: Path) -> None:
    info = info_of(tmp_path, [], ["x"])
    assert info.supported
    assert (info.parameters, info.multiply_adds, list(info.nodes)) == (0, 0, [])


def test_what_only_lowering_refuses_is_told(tmp_path: Path) -> None:
    x = np.zeros((4, 8), np.float64)
    proto = model([node("Relu", ["x"], ["y"], name="relu")], {"x": x}, ["y"])
    info = model_info(str(save(tmp_path / "model.onnx", proto)))
    assert not info.supported
    assert not info.problems
    assert "f64" in str(info.refusal)
    assert engines(info) == {"relu": None}


def test_inputs_that_do_not_fit_an_operator_are_an_error(tmp_path: Path) -> None:
    x = np.zeros((4, 8), np.int32)
    proto = model([node("Softmax", ["x"], ["y"], name="soft")], {"x": x}, ["y"])
    with pytest.raises(InputError, match="Softmax"):
        model_info(str(save(tmp_path / "model.onnx", proto)))


def test_open_sizes_are_given(tmp_path: Path) -> None:
    proto = model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": ("n", 8)},
        ["y"],
        constants={"w": random(0, 8, 3)},
    )
    path = str(save(tmp_path / "model.onnx", proto))
    assert model_info(path).multiply_adds == 24
    assert any("1 is assumed" in warning for warning in model_info(path).warnings)
    assert model_info(path, {"x": (5, 8)}).multiply_adds == 5 * 24
    with pytest.raises(InputError, match="cannot have the shape"):
        model_info(path, {"x": (5, 9)})
