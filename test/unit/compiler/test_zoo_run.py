"""Running fetched models: inputs and outputs in order, made-up inputs, open sizes, errors."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_models
from commands import run
from npuc.compiler.run import Request, run_model
from npuc.compiler.zoo.run import read_tensor
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import InputError
from zoo_wheels import NAME, Zoo, fields, make_zoo, set_entry


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """A zoo whose model is in the cache."""
    zoo = make_zoo(tmp_path, monkeypatch)
    put(zoo, zoo.files)
    return zoo


def put(zoo: Zoo, files: Mapping[str, bytes]) -> None:
    """Put files into the cache."""
    zoo.folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (zoo.folder / name).write_bytes(data)


def report(*options: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the report of a run on the machine `tiny`."""
    outcome = run("npuc", "zoo", "run", NAME, "--target", "tiny", "--json", *options)
    assert outcome.output, outcome.log.decode()
    return outcome.code, json.loads(outcome.output)


@pytest.mark.parametrize("level", ["graph", "tensor", "tile", "npu_isa"])
def test_the_outputs_are_those_that_are_shipped(zoo: Zoo, level: str) -> None:
    code, found = report("--level", level, "--precision", "origin")
    assert (code, found["ok"], found["level"], found["precision"]) == (0, True, level, "origin")
    assert found["model"] == str(zoo.folder / "model.onnx")
    assert set(found["outputs"]) == {"y"}
    # Not exactly: the reference was not computed by the level that ran.
    assert found["max_rel_err"] < 1e-5


def test_a_model_is_fetched_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = make_zoo(tmp_path, monkeypatch)
    outcome = run("npuc", "zoo", "run", NAME, "--level", "graph")
    log = outcome.log.decode()
    assert outcome.code == 0, log
    assert "npuc: fetched model.onnx, x.pb, y.pb from toy_models 1.0 into" in log
    assert "npuc: note: none worth a word\n" in log
    assert str(zoo.folder / "model.onnx") in outcome.output.decode()
    assert "fetched" not in run("npuc", "zoo", "run", NAME, "--level", "graph").log.decode()


def test_other_outputs_than_shipped_fail(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = read_tensor(zoo.folder / "y.pb") + np.float32(1)
    files = {**zoo.files, "y.pb": onnx_models.tensor(wrong, "y").SerializeToString()}
    set_entry(tmp_path, monkeypatch, fields(files))
    put(zoo, files)
    code, found = report("--level", "graph")
    assert (code, found["ok"]) == (1, False)


def test_without_shipped_tensors(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_entry(tmp_path, monkeypatch, fields(zoo.files, inputs="random", outputs=[]))
    code, found = report()
    assert (code, found["ok"]) == (0, True)
    assert found["cycles"] > 0


def test_sizes_that_the_model_leaves_open(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, Any] = {"inputs": "random", "outputs": [], "shapes": {"x": [3, 16]}}
    set_entry(tmp_path, monkeypatch, fields(zoo.files, **changes))
    outcome = run("npuc", "zoo", "run", NAME, "--level", "graph")
    assert "float32[3, 8]" in outcome.output.decode()


def test_a_number_of_tensors_that_does_not_fit(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_entry(tmp_path, monkeypatch, fields(zoo.files, inputs=["x.pb", "x.pb"]))
    message = run("npuc", "zoo", "run", NAME, "--level", "graph").log.decode()
    assert (
        "error: the number of inputs does not fit\n  why: the model has 1, given are 2" in message
    )


def test_arrays_in_order_must_fit_the_model(zoo: Zoo) -> None:
    model, shapes = str(zoo.folder / "model.onnx"), {"x": (4, 16)}
    x = np.zeros((4, 16), np.float32)
    wrong: list[tuple[list[Array], list[Array]]] = [
        ([x.T], [x[:, :8]]),
        ([x.astype(np.float16)], [x[:, :8]]),
        ([x], [x]),
        ([x], [x[:, :8], x]),
    ]
    for inputs, expect in wrong:
        request = Request(model, inputs, expect, level="graph", shapes=shapes)
        with pytest.raises(InputError, match="fit") as caught:
            run_model(request, lambda _: None)
        assert "array(" not in str(caught.value)
    right = Request(model, [x], [x[:, :8]], level="graph", shapes=shapes)
    assert run_model(right, lambda _: None).ok


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8"])
def test_tensors_of_other_types(tmp_path: Path, dtype: str) -> None:
    array = onnx_models.random(5, 2, 3, dtype=dtype)
    (tmp_path / "t.pb").write_bytes(onnx_models.tensor(array, "t").SerializeToString())
    read = read_tensor(tmp_path / "t.pb")
    assert read.dtype == array.dtype
    assert np.array_equal(read, array)


@pytest.mark.usefixtures("zoo")
def test_without_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    outcome = run("npuc", "zoo", "run", NAME)
    assert outcome.code == 1
    assert "pip install npuc[onnx]" in outcome.log.decode()
