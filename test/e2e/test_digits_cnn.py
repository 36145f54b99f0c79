"""The convolutional digits network from the ONNX file to the emulator, at every level."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest

import npuc
from commands import output
from npuc.backend.container import to_bytes
from npuc.compiler.driver import compile_model, lower_model
from npuc.compiler.pipeline import STAGES, Options, stage_passes
from npuc.compiler.request import LEVELS
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.tolerance import compare
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_cnn.onnx"
TARGETS = pytest.mark.parametrize("target", ["tiny", "ascend310p"])
PRECISIONS = pytest.mark.parametrize("precision", ["origin", "mixed", "f16"])
Array = np.ndarray[Any, Any]


@cache
def images() -> Array:
    with np.load(ROOT / "examples/digits/heldback_cnn.npz") as arrays:
        return arrays["image"]


@cache
def reference() -> Array:
    """What onnxruntime says."""
    session: Any = onnxruntime.InferenceSession(DIGITS, providers=["CPUExecutionProvider"])
    return cast(Array, session.run(None, {"image": images()})[0])


def assert_close(probabilities: Array, precision: str) -> None:
    comparison = compare(probabilities, reference(), precision)
    assert comparison.ok, comparison.why
    assert (probabilities.argmax(axis=1) == reference().argmax(axis=1)).all()


@TARGETS
@PRECISIONS
@pytest.mark.parametrize("level", ["graph", "tensor", "tile"])
def test_each_level_computes_the_model(target: str, precision: str, level: str) -> None:
    lowered = lower_model(DIGITS, Options(target, precision), LEVELS[level])
    (probabilities,) = Interpreter(lowered.module, lowered.store).call("main", images())
    assert_close(probabilities, precision)


@TARGETS
@PRECISIONS
def test_the_emulator_computes_the_model_and_finds_nothing(target: str, precision: str) -> None:
    program = compile_model(DIGITS, Options(target, precision)).program
    executable = npuc.Executable(program, checks=True)
    assert_close(cast(Array, executable(image=images())), precision)
    assert executable.cycles > 0


def test_no_activation_is_transposed() -> None:
    """The layout pass folds every transpose into a weight or a reshape."""
    lowered = lower_model(DIGITS, Options(), "graph")
    assert "graph.transpose" not in {op.name for op in lowered.module.walk()}


def test_one_process_or_one_a_pass_gives_the_same_bytes(tmp_path: Path) -> None:
    file, result = str(tmp_path / "module.mlir"), tmp_path / "model.npu"
    output("npu-translate", "--import-onnx", str(DIGITS), "-o", file)
    for stage in STAGES:
        for name, pass_ in zip(stage.passes, stage_passes(stage), strict=True):
            assert name.startswith(pass_.name)
            output("npu-opt", file, "-p", name, "-o", file)
    output("npu-translate", "--mlir-to-binary", file, "-o", str(result))
    assert result.read_bytes() == to_bytes(compile_model(DIGITS, Options()).program)
