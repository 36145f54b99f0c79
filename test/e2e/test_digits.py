"""The digits network from the ONNX file to the emulator, at every level and along every way."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest

import npuc
from commands import output
from npuc.backend.container import from_bytes, to_bytes
from npuc.compiler.driver import compile_model, lower_model
from npuc.compiler.pipeline import STAGES, Options
from npuc.compiler.request import LEVELS
from npuc.compiler.run_onnx import evaluate_graph
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.tolerance import compare
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
TARGETS = ("tiny", "ascend310p")
PRECISIONS = ("origin", "mixed", "f16")
Array = np.ndarray[Any, Any]


@cache
def images() -> Array:
    with np.load(ROOT / "examples/digits/heldback.npz") as arrays:
        return arrays["image"]


@cache
def reference() -> Array:
    """What onnxruntime says."""
    session: Any = onnxruntime.InferenceSession(DIGITS, providers=["CPUExecutionProvider"])
    return cast(Array, session.run(None, {"image": images()})[0])


@cache
def program_bytes(target: str, precision: str = "mixed") -> bytes:
    """The program, compiled in one process."""
    return to_bytes(compile_model(DIGITS, Options(target, precision)).program)


def assert_close(probabilities: Array, precision: str) -> None:
    comparison = compare(probabilities, reference(), precision)
    assert comparison.ok, comparison.why
    assert (probabilities.argmax(axis=1) == reference().argmax(axis=1)).all()


def test_the_imported_graph_is_the_model() -> None:
    assert_close(evaluate_graph(DIGITS, {"image": images()})["probabilities"], "origin")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("level", ["graph", "tensor", "tile"])
def test_each_level_computes_the_model(target: str, precision: str, level: str) -> None:
    lowered = lower_model(DIGITS, Options(target, precision), LEVELS[level])
    (probabilities,) = Interpreter(lowered.module, lowered.store).call("main", images())
    assert_close(probabilities, precision)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_emulator_computes_the_model_and_finds_nothing(target: str, precision: str) -> None:
    program = from_bytes(program_bytes(target, precision))
    executable = npuc.Executable(program, checks=True)
    assert_close(cast(Array, executable(image=images())), precision)
    assert executable.cycles > 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_one_process_or_one_a_pass_gives_the_same_bytes(
    tmp_path: Path, target: str, precision: str
) -> None:
    options = {
        "target-attach-machine": f"target-attach-machine{{target={target}}}",
        "policy=mixed": f"policy={precision}",
    }
    text = output("npu-translate", "--import-onnx", DIGITS)
    for stage in STAGES:
        for name in stage.passes:
            for written, wanted in options.items():
                name = name.replace(written, wanted)
            text = output("npu-opt", "-p", name, stdin=text)
    path = tmp_path / "digits.npu"
    output("npu-translate", "--mlir-to-binary", "-o", path, stdin=text)
    assert path.read_bytes() == program_bytes(target, precision)


@pytest.mark.parametrize("stage", ["npu_isa", "synced", "final"])
def test_pipes_of_the_commands(stage: str) -> None:
    imported = output("npu-translate", "--import-onnx", DIGITS)
    lowered = output("npu-opt", f"--to={stage}", stdin=imported)
    assert output("npu-translate", "--mlir-to-binary", stdin=lowered) == program_bytes("ascend310p")


@pytest.mark.parametrize("target", TARGETS)
def test_a_program_becomes_a_module_and_the_same_program(tmp_path: Path, target: str) -> None:
    path = tmp_path / "digits.npu"
    path.write_bytes(program_bytes(target))
    module = output("npu-translate", "--binary-to-mlir", path)
    assert f"{path}#".encode() in module  # weights are not copied
    assert output("npu-translate", "--mlir-to-binary", stdin=module) == program_bytes(target)


def test_a_program_from_standard_input_becomes_the_same_program(tmp_path: Path) -> None:
    whole = program_bytes("tiny")
    module = output("npu-translate", "--binary-to-mlir", "--store", tmp_path, stdin=whole)
    assert f"{tmp_path}/".encode() in module
    assert output("npu-translate", "--mlir-to-binary", stdin=module) == whole


@pytest.mark.parametrize("target", TARGETS)
def test_assembly_text_and_back(target: str) -> None:
    imported = output("npu-translate", "--import-onnx", DIGITS)
    lowered = output("npu-opt", "--to=final", f"--target={target}", stdin=imported)
    assembly = output("npu-translate", "--mlir-to-asm", stdin=lowered)
    module = output("npu-translate", "--asm-to-mlir", stdin=assembly)
    assert output("npu-translate", "--mlir-to-asm", stdin=module) == assembly


def test_compiling_twice_gives_the_same_bytes() -> None:
    again = compile_model(DIGITS.read_bytes(), Options("tiny", "mixed"))
    assert to_bytes(again.program) == program_bytes("tiny", "mixed")
