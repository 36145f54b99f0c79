"""`npuc.compile` and what it gives, as a user of the Python API meets it."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest

import npuc
from npuc.dialects.core.errors import InputError, NpucError
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
TINY = ROOT / "dialects/target/machines/tiny.toml"


@pytest.fixture(scope="module")
def images() -> np.ndarray[Any, Any]:
    with np.load(ROOT / "examples/digits/heldback.npz") as arrays:
        return arrays["image"]


def test_a_model_is_a_path_bytes_or_a_message(images: np.ndarray[Any, Any]) -> None:
    models = (DIGITS, str(DIGITS), DIGITS.read_bytes(), cast(Any, onnx).load(DIGITS))
    outputs = [npuc.compile(model, machine="tiny")(images) for model in models]
    assert all(np.array_equal(output, outputs[0]) for output in outputs)


def test_a_machine_of_the_user(tmp_path: Path, images: np.ndarray[Any, Any]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(TINY.read_text().replace('name = "tiny"', 'name = "mine"'))
    executable = npuc.compile(DIGITS, machine=path)
    expected = npuc.compile(DIGITS, machine="tiny")(images)
    assert np.array_equal(executable(image=images), expected)
    assert executable.program.machine.name == "mine"
    executable.save(tmp_path / "digits.npu")
    path.unlink()
    assert np.array_equal(npuc.load(tmp_path / "digits.npu")(images), expected)


def test_the_profile_names_machine_and_nodes(images: np.ndarray[Any, Any]) -> None:
    executable = npuc.compile(DIGITS)
    executable(images)
    text = str(executable.profile())
    assert "scaled, not validated" in text
    assert "softmax" in text
    assert str(executable.cycles) in text


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (DIGITS, {"precision": "f8"}),
        (DIGITS, {"machine": "nothing"}),
        (ROOT / "none.onnx", {}),
        (3, {}),
    ],
    ids=["precision", "machine", "file", "no model"],
)
def test_errors_of_the_caller(model: object, options: dict[str, Any]) -> None:
    with pytest.raises(NpucError) as raised:
        npuc.compile(model, **options)
    assert isinstance(raised.value, InputError)
