"""What an imported model looks like: names, shapes, constants, weights that stay in their file."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.frontends.onnx.shapes import Port
from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.ops import ConstantOp, WeightOp
from npuc.dialects.core.origins import name_of, origins_of
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.store import Store
from npuc.dialects.graph.elementwise import ReluOp
from npuc.dialects.graph.movement import ReshapeOp
from onnx_models import imported, model, node, random, reference, run, tensor

DIGITS = Path(__file__).parents[3] / "examples/digits"


def ops(module: ModuleOp, kind: type[Operation]) -> list[Any]:
    """The ops of one class, in order."""
    return [op for op in module.walk() if isinstance(op, kind)]


def names(origins: tuple[OriginAttr, ...]) -> list[tuple[str, str]]:
    """Node and tensor of each origin."""
    return [origin.key for origin in origins]


def save(source: onnx.ModelProto, path: Path) -> Path:
    """Write the model to a file."""
    path.write_bytes(source.SerializeToString())
    return path


def test_names_of_nodes_and_tensors_survive() -> None:
    nodes = [
        node("Relu", ["in:0"], ["/layer1/relu:0"], name="/layer1/Relu"),
        node("Add", ["/layer1/relu:0", "in:0"], ["out"]),
    ]
    result = imported(model(nodes, {"in:0": random(1, 2, 3)}, ["out"]))
    (relu,) = ops(result.module, ReluOp)
    assert names(origins_of(relu.out)) == [("/layer1/Relu", "/layer1/relu:0")]
    argument = relu.x
    assert names(origins_of(argument)) == [("input", "in:0")]
    assert name_of(argument) == "in:0"
    (add,) = relu.out.uses
    assert names(origins_of(add.operation.results[0])) == [("Add_1", "out")]
    assert result.inputs == [Port("in:0", "f32", (2, 3))]
    assert result.outputs == [Port("out", "f32", (2, 3))]
    assert 'core.name = "out"' in str(result.module)


def test_removed_nodes_leave_their_names() -> None:
    nodes = [
        node("Identity", ["x"], ["a"], name="same"),
        node("Dropout", ["a"], ["b"], name="drop"),
        node("Relu", ["b"], ["c"], name="relu"),
        node("Identity", ["c"], ["y"], name="last"),
    ]
    result = imported(model(nodes, {"x": random(1, 4)}, ["y"]))
    (relu,) = ops(result.module, ReluOp)
    assert names(origins_of(relu.x)) == [("input", "x"), ("same", "a"), ("drop", "b")]
    assert names(origins_of(relu.out)) == [("relu", "c"), ("last", "y")]


def test_an_output_may_be_an_input_or_a_constant() -> None:
    x, w = random(1, 2, 2), random(2, 2, 2)
    source = model([], {"x": x}, ["x", "w", "x"], constants={"w": w})
    got = run(source, {"x": x})
    for array, expected in zip(got, (x, w, x), strict=True):
        np.testing.assert_array_equal(array, expected)


def test_an_initialiser_that_is_also_an_input_is_a_constant() -> None:
    nodes = [node("Mul", ["x", "w"], ["y"])]
    x, w = random(1, 3), random(2, 3)
    source = model(nodes, {"x": x, "w": w}, ["y"], constants={"w": w})
    assert [port.name for port in imported(source).inputs] == ["x"]
    np.testing.assert_allclose(run(source, {"x": x})[0], x * w)


def test_the_text_parses_back() -> None:
    result = imported(DIGITS / "digits_mlp.onnx")
    text = str(result.module)
    assert str(parse_module(make_context(), text)) == text


def test_the_digits_model_classifies() -> None:
    store = Store()
    module = imported(DIGITS / "digits_mlp.onnx", store).module
    with np.load(DIGITS / "heldback.npz") as data:
        (probabilities,) = Interpreter(module, store).call("main", data["image"])
        right = probabilities.argmax(axis=1) == data["label"]
    assert right.mean() > 0.9


def test_the_digits_network_of_convolutions_agrees_with_onnxruntime() -> None:
    source = cast(Any, onnx).load(DIGITS / "digits_cnn.onnx")
    feeds = {"image": np.load(DIGITS / "heldback.npz")["image"].reshape(32, 1, 8, 8)}
    (got,), (expected,) = run(source, feeds), reference(source, feeds)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


class TestConstants:
    def test_weights_stay_in_the_file(self) -> None:
        path = DIGITS / "digits_mlp.onnx"
        data = path.read_bytes()
        store = Store()
        weights = ops(imported(path, store).module, WeightOp)
        assert len(weights) == 4
        stored = cast(Any, onnx).load(path).graph.initializer
        for weight, initializer in zip(weights, stored, strict=True):
            place = weight.blob.uri.data.removeprefix(f"file:{path.resolve()}#")
            offset, length = map(int, place.split("+"))
            assert data[offset : offset + length] == initializer.raw_data
        assert store.spill("/nowhere") == {}  # nothing is held in memory

    def test_weights_of_bytes_are_held_in_memory(self) -> None:
        data = (DIGITS / "digits_mlp.onnx").read_bytes()
        weights = ops(imported(data).module, WeightOp)
        assert {weight.blob.uri.data for weight in weights} == {"mem:"}

    def test_a_weight_is_one_op_however_often_it_is_used(self) -> None:
        nodes = [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "w"], ["y"])]
        constants = {"w": random(1, 16, 16), "unused": random(2, 16, 16)}
        source = model(nodes, {"x": random(3, 4, 16)}, ["y"], constants=constants)
        (weight,) = ops(imported(source).module, WeightOp)
        assert names(origins_of(weight.result)) == [("initializer", "w")]

    @pytest.mark.parametrize(
        "array",
        [np.float32(2).reshape(()), np.zeros((4, 8), np.float32), np.arange(128, dtype=np.int64)],
    )
    def test_small_and_plain_constants_are_inline(self, array: Any) -> None:
        source = model([node("Identity", ["c"], ["y"])], {}, ["y"], constants={"c": array})
        (constant,) = ops(imported(source).module, ConstantOp)
        np.testing.assert_array_equal(constant.value.array(), array)

    def test_numbers_in_typed_fields_are_read(self, tmp_path: Path) -> None:
        values = random(1, 9, 7)
        source = model([node("Add", ["x", "w"], ["y"])], {"x": values}, ["y"])
        helper = cast(Any, onnx.helper)
        source.graph.initializer.append(helper.make_tensor("w", 1, [9, 7], values.ravel()))
        path = save(source, tmp_path / "typed.onnx")
        (weight,) = ops(imported(path).module, WeightOp)
        assert weight.blob.uri.data.startswith("file:")  # packed floats are bytes in the file too
        np.testing.assert_array_equal(run(path, {"x": values})[0], values + values)

    @pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8", "int16", "bool"])
    def test_all_element_types_of_typed_fields(self, dtype: str) -> None:
        helper = cast(Any, onnx.helper)
        values = np.array([0, 1, 1, 0, 1, 0]).astype(dtype)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        source = model([], {"x": values}, ["w"])
        source.graph.initializer.append(helper.make_tensor("w", kind, [6], values))
        (got,) = run(source, {"x": values})
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got, values)

    def test_weights_in_constant_nodes_stay_in_the_file_too(self, tmp_path: Path) -> None:
        w = random(1, 16, 16)
        nodes = [
            node("Relu", ["x"], ["r"]),
            node("Constant", [], ["w"], name="const", value=tensor(w, "w")),
            node("MatMul", ["r", "w"], ["y"]),
        ]
        path = save(model(nodes, {"x": random(2, 4, 16)}, ["y"]), tmp_path / "nodes.onnx")
        store = Store()
        (weight,) = ops(imported(path, store).module, WeightOp)
        assert weight.blob.uri.data.startswith("file:")
        assert names(origins_of(weight.result)) == [("const", "w")]
        uri, digest = weight.blob.uri.data, weight.blob.digest.data
        np.testing.assert_array_equal(store.read(digest, uri, "f32", (16, 16)), w)

    def test_external_data_stays_where_it_is(self, tmp_path: Path) -> None:
        x, w = random(1, 4, 16), random(2, 16, 16)
        source = model([node("MatMul", ["x", "w"], ["y"])], {"x": x}, ["y"], constants={"w": w})
        convert_model_to_external_data(source, location="weights.bin", size_threshold=0)
        cast(Any, onnx).save_model(source, tmp_path / "model.onnx")
        (weight,) = ops(imported(tmp_path / "model.onnx").module, WeightOp)
        assert weight.blob.uri.data.startswith(f"file:{tmp_path.resolve() / 'weights.bin'}#")
        np.testing.assert_allclose(run(tmp_path / "model.onnx", {"x": x})[0], x @ w, rtol=1e-5)

    def test_a_shape_may_stand_behind_an_identity(self) -> None:
        nodes = [
            node("Constant", [], ["s"], value_ints=[3, -1]),
            node("Identity", ["s"], ["t"]),
            node("Reshape", ["x", "t"], ["y"]),
        ]
        result = imported(model(nodes, {"x": random(1, 2, 6)}, ["y"]))
        assert len(ops(result.module, ReshapeOp)) == 1
        assert not ops(result.module, ConstantOp)  # nobody asks for the shape itself
        assert result.outputs == [Port("y", "f32", (3, 4))]


class TestShapes:
    NODES = (node("Add", ["x", "z"], ["y"]),)

    def test_open_sizes_are_one_with_a_warning(self) -> None:
        result = imported(model(self.NODES, {"x": ("batch", 3), "z": (3,)}, ["y"]))
        assert result.inputs[0].shape == (1, 3)
        assert result.warnings == ["input `x`: size 0 (`batch`) is open, 1 is assumed"]

    def test_a_given_shape_fixes_the_same_name_elsewhere(self) -> None:
        source = model(self.NODES, {"x": ("batch", 3), "z": ("batch", "other")}, ["y"])
        result = imported(source, shapes={"z": (5, 1)})
        assert [port.shape for port in result.inputs] == [(5, 3), (5, 1)]
        assert result.warnings == []

    def test_a_given_shape_serves_an_input_without_rank(self) -> None:
        source = model(self.NODES, {"x": (2, 3), "z": (3,)}, ["y"])
        source.graph.input[0].type.tensor_type.ClearField("shape")
        assert imported(source, shapes={"x": [2, 3]}).outputs == [Port("y", "f32", (2, 3))]

    def test_an_output_said_to_be_something_else_is_a_warning(self) -> None:
        source = model(self.NODES, {"x": (2, 3), "z": (3,)}, ["y"])
        kind = source.graph.output[0].type.tensor_type
        kind.elem_type = onnx.TensorProto.FLOAT
        kind.shape.dim.add().dim_value = 7
        (warning,) = [w for w in imported(source).warnings if w.startswith("output")]
        assert warning == "output `y` is said to be f32[7], but its nodes give y f32[2,3]"


def test_a_newer_opset_is_read_with_a_warning() -> None:
    newest = onnx.defs.onnx_opset_version()
    source = model([node("Relu", ["x"], ["y"])], {"x": (2,)}, ["y"], opset=newest + 1)
    assert f"opset {newest + 1} is newer than" in imported(source).warnings[0]
