"""What the importer says about files and models that it cannot take."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto
from onnx.external_data_helper import convert_model_to_external_data

from npuc.compiler.frontends.onnx.importer import import_onnx
from npuc.dialects.core.errors import InputError, UnsupportedError
from npuc.dialects.core.store import Store
from onnx_models import model, node, random, refused

DIGITS = Path(__file__).parents[3] / "examples/digits"


def small(*nodes: NodeProto, **options: Any) -> ModelProto:
    """A model of these nodes from `x` [2, 3] to `y`."""
    return model(nodes, {"x": random(1, 2, 3)}, ["y"], **options)


class TestFiles:
    def test_missing(self, tmp_path: Path) -> None:
        text = refused(tmp_path / "none.onnx")
        assert text.startswith(f"the model file `{tmp_path}/none.onnx` cannot be read")
        assert "No such file" in text

    def test_a_folder(self, tmp_path: Path) -> None:
        assert "Is a directory" in refused(tmp_path)

    @pytest.mark.parametrize(
        ("data", "why"),
        [
            (b"PK\x03\x04" + b"x" * 40, "zip archive"),
            (b"\x89HDF\r\n" + b"x" * 40, "HDF5"),
            (b"\x80\x02}q\x00.xyz", "pickle"),
            (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
            (b'{"a": 1}', "JSON"),
            (b"random text that is no model", "do not begin as a model does"),
            (b"", "it is empty"),
        ],
    )
    def test_other_formats(self, tmp_path: Path, data: bytes, why: str) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(data)
        assert why in refused(path)
        assert why in refused(data)

    def test_truncated_anywhere(self, tmp_path: Path) -> None:
        data = (DIGITS / "digits_mlp.onnx").read_bytes()
        path = tmp_path / "model.onnx"
        for length in [*range(0, 300, 7), *range(300, len(data), 997), len(data) - 1]:
            path.write_bytes(data[:length])
            refused(path)

    def test_damaged_anywhere(self) -> None:
        """Bytes of everything but the weights are changed; the model is read or refused."""
        data = (DIGITS / "digits_mlp.onnx").read_bytes()
        rng = np.random.default_rng(1)
        for at in [*range(0, 256), *range(16640, 16940), *range(19500, len(data))]:
            damaged = bytearray(data)
            damaged[at] = rng.integers(256)
            with suppress(InputError):
                import_onnx(bytes(damaged), Store())

    def test_names_that_are_no_text(self) -> None:
        data = (DIGITS / "digits_mlp.onnx").read_bytes()
        assert "not UTF-8" in refused(data.replace(b"hidden", b"hid\xffen"))

    def test_truncated_says_so(self) -> None:
        text = refused((DIGITS / "digits_mlp.onnx").read_bytes()[:5000])
        assert "the given bytes cannot be read as an ONNX model" in text
        assert "it is truncated: its 5000 bytes end in the middle of a field" in text

    @pytest.mark.parametrize("source", [None, 3, ["model.onnx"]])
    def test_other_types(self, source: object) -> None:
        assert "give a path, the bytes of an ONNX file, or an onnx.ModelProto" in refused(source)

    def test_without_the_onnx_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "onnx", None)
        assert "pip install npuc[onnx]" in refused(DIGITS / "digits_mlp.onnx")

    def test_an_empty_model(self) -> None:
        assert "it does not have an IR version" in refused(ModelProto())
        assert "it does not have a graph" in refused(ModelProto(ir_version=8))


class TestExternalData:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """A model whose weight is in `weights.bin` beside it."""
        constants = {"weight": random(1, 16, 16)}
        source = model(
            [node("MatMul", ["x", "weight"], ["y"])], {"x": (4, 16)}, ["y"], constants=constants
        )
        convert_model_to_external_data(source, location="weights.bin", size_threshold=0)
        cast(Any, onnx).save_model(source, tmp_path / "model.onnx")
        return tmp_path / "model.onnx"

    def test_missing_file(self, path: Path) -> None:
        weights = path.parent / "weights.bin"
        weights.unlink()
        text = refused(path)
        assert text.startswith("the data of the constant `weight` is missing")
        assert str(weights) in text

    def test_short_file(self, path: Path) -> None:
        (path.parent / "weights.bin").write_bytes(b"x" * 100)
        assert "bytes 0 to 1024 are meant, the file has 100" in refused(path)

    def test_model_without_a_place(self, path: Path) -> None:
        text = refused(path.read_bytes())
        assert "`weights.bin`, relative to a model file that is not known" in text

    @pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd"])
    def test_other_folders_are_not_read(self, path: Path, location: str) -> None:
        self.rewrite(path, "location", location)
        assert "only name files below its own folder" in refused(path)

    def test_bad_offset(self, path: Path) -> None:
        self.rewrite(path, "offset", "many")
        assert "is not a number" in refused(path)

    def test_no_location(self, path: Path) -> None:
        self.rewrite(path, "location", "")
        assert "no file is named" in refused(path)

    @staticmethod
    def rewrite(path: Path, key: str, value: str) -> None:
        """Change an entry of the description of the external data."""
        source = ModelProto()
        source.ParseFromString(path.read_bytes())
        for entry in source.graph.initializer[0].external_data:
            if entry.key == key:
                entry.value = value
        path.write_bytes(source.SerializeToString())


class TestUnsupported:
    def test_all_nodes_are_listed_at_once(self) -> None:
        nodes = [
            node("ConvTranspose", ["x", "w"], ["t"], name="up"),
            node("Relu", ["t"], ["u"]),
            node("LSTM", ["u", "w", "w"], ["y"], hidden_size=3),
        ]
        feeds = {"x": random(1, 1, 2, 5), "w": random(2, 2, 3, 3)}
        with pytest.raises(UnsupportedError) as caught:
            import_onnx(model(nodes, feeds, ["y"]), Store())
        text = str(caught.value)
        assert "2 of 3 nodes" in text
        assert (
            "node `up` (ConvTranspose, opset 17) of (f32[1,2,5], f32[2,3,3]): "
            "there is no such operator in npuc (nearest: Conv)" in text
        )
        assert "node `LSTM_2` (LSTM, opset 17)" in text
        assert "supported are Add, AveragePool, BatchNormalization, Cast," in text

    @pytest.mark.parametrize(
        ("nodes", "reason"),
        [
            ([node("LeakyRelu", ["x"], ["y"])], "(nearest: Relu)"),
            ([node("Softmax_", ["x"], ["y"])], "(nearest: Softmax)"),
            ([node("Zzz", ["x"], ["y"])], "there is no such operator in npuc"),
            ([node("Gelu", ["x"], ["y"], domain="my.ops")], "domain my.ops are not supported"),
            (
                [node("Shape", ["x"], ["s"]), node("Reshape", ["x", "s"], ["y"])],
                "its shape `s` is computed by the model, only constants are supported",
            ),
            ([node("Cast", ["x"], ["y"], to=TensorProto.STRING)], "no element type string"),
            ([node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)], "no element type float8e5m2"),
            (
                [
                    node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                    node("MatMul", ["i", "i"], ["y"]),
                ],
                "matrix products of i64 are not supported",
            ),
            ([node("Constant", [], ["y"], value_string="s")], "value_string) is not a tensor"),
            (
                [node("Dropout", ["x"], ["d", "m"]), node("Identity", ["m"], ["y"])],
                "its mask `m` is used",
            ),
        ],
    )
    def test_reasons(self, nodes: list[NodeProto], reason: str) -> None:
        with pytest.raises(UnsupportedError) as caught:
            import_onnx(small(*nodes), Store())
        assert reason in str(caught.value)

    def test_training(self) -> None:
        constants = {"ratio": np.array(0.5, np.float32), "training": np.array(True)}
        source = small(node("Dropout", ["x", "ratio", "training"], ["y"]), constants=constants)
        assert "its training mode `training` is not constantly false" in refused(source)

    def test_element_types(self) -> None:
        constants = {"u": np.array([1], np.uint32)}
        source = small(node("Add", ["u", "u"], ["y"]), constants=constants)
        assert "npuc has no element type uint32 (`u`)" in refused(source)


class TestInvalidModels:
    @pytest.mark.parametrize(
        ("made", "reason"),
        [
            (node("Relu", ["t"], ["y"]), "nothing before it makes its input `t`"),
            (node("Relu", ["x"], ["x"]), "its output `x` is already made before it"),
            (node("MatMul", ["x"], ["y"]), "it has 1 inputs"),
            (node("MatMul", ["x", ""], ["y"]), "an input that is not optional is left out"),
            (node("Relu", ["x"], ["y", "z"]), "it has 2 outputs"),
            (node("Relu", ["x"], ["y"], slope=1.0), "it has no attribute `slope` in opset 17"),
            (node("Cast", ["x"], ["y"]), "its attribute `to` is missing"),
            (node("Flatten", ["x"], ["y"], axis=1.5), "the attribute `axis` is not an integer"),
        ],
    )
    def test_nodes(self, made: NodeProto, reason: str) -> None:
        text = refused(small(made))
        assert reason in text
        assert made.op_type in text

    @pytest.mark.parametrize(
        ("made", "reason"),
        [
            (node("MatMul", ["x", "x"], ["y"]), "[2, 3] has 3 columns but [2, 3] has 2 rows"),
            (node("Flatten", ["x"], ["y"], axis=5), "its axis 5 is outside [2, 3]"),
            (node("Softmax", ["x"], ["y"], axis=-3), "its axis -3 is outside [2, 3]"),
            (node("Transpose", ["x"], ["y"], perm=[0]), "[0] is not a permutation of 2 dimensions"),
            (node("Add", ["x", "w"], ["y"]), "do not broadcast: 3 meets 4"),
            (node("Add", ["x", "h"], ["y"]), "element types `f32` and `f16`"),
            (node("Reshape", ["x", "t"], ["y"]), "[2, 3] has 6 elements, [4, 2] has 8"),
            (node("Reshape", ["x", "z"], ["y"]), "[2, 3] has no size 2 to copy"),
            (node("Reshape", ["x", "n"], ["y"]), "[-2, -3] has a negative size"),
            (node("Gemm", ["x", "x", "w"], ["y"], transB=1), "[2, 2] and [4] do not broadcast"),
            (node("Reshape", ["x", "s"], ["y"]), "[2, 3] cannot be reshaped to [4, -1]"),
        ],
    )
    def test_shapes_and_types(self, made: NodeProto, reason: str) -> None:
        constants = {
            "w": random(1, 4),
            "h": random(1, 3, dtype="float16"),
            "s": np.array([4, -1], np.int64),
            "t": np.array([4, 2], np.int64),
            "z": np.array([2, 3, 0], np.int64),
            "n": np.array([-2, -3], np.int64),
        }
        text = refused(small(made, constants=constants))
        assert reason in text
        assert f"where: node `{made.op_type}_0`" in text

    def test_an_output_that_is_never_made(self) -> None:
        assert "no node makes its output y" in refused(small(node("Relu", ["x"], ["z"])))

    def test_constants_of_the_wrong_size(self) -> None:
        source = small(node("Add", ["x", "w"], ["y"]), constants={"w": random(1, 3)})
        source.graph.initializer[0].raw_data = b"abc"
        assert "f32[3] takes 12 bytes, not 3" in refused(source)

    def test_sparse_initialisers(self) -> None:
        source = small(node("Relu", ["x"], ["y"]))
        source.graph.sparse_initializer.add()
        assert "sparse initialisers" in refused(source)


class TestShapes:
    SOURCE = small(node("Relu", ["x"], ["y"]))

    def test_unknown_names(self) -> None:
        text = refused(self.SOURCE, shapes={"image": (1, 2)})
        assert "does not have: image" in text
        assert "its inputs are x" in text

    @pytest.mark.parametrize(
        ("shape", "reason"),
        [
            ((2, 4), "the model says f32[2,3]"),
            ((2,), "the model says it has 2 dimensions"),
            ((2, 0), "every size must be at least 1"),
        ],
    )
    def test_contradictions(self, shape: tuple[int, ...], reason: str) -> None:
        assert reason in refused(self.SOURCE, shapes={"x": shape})

    def test_one_name_two_sizes(self) -> None:
        nodes = [node("Add", ["x", "z"], ["y"])]
        source = model(nodes, {"x": ("batch",), "z": ("batch",)}, ["y"])
        text = refused(source, shapes={"x": (2,), "z": (3,)})
        assert "its size `batch` is 2 elsewhere" in text

    def test_unknown_rank(self) -> None:
        source = small(node("Relu", ["x"], ["y"]))
        source.graph.input[0].type.tensor_type.ClearField("shape")
        assert "does not say how many dimensions the input `x` has" in refused(source)

    def test_inputs_that_are_no_tensors(self) -> None:
        source = small(node("Relu", ["x"], ["y"]))
        helper = cast(Any, onnx.helper)
        sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
        source.graph.input.append(sequence)
        assert "it is a sequence" in refused(source)

    def test_inputs_of_strings(self) -> None:
        source = small(node("Relu", ["x"], ["y"]))
        source.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
        assert "it is a tensor of string" in refused(source)
