"""Bad input: one paragraph on standard error, exit code 1, and no output that is half there."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, external_data_helper, helper, numpy_helper

from commands import output, run
from run_lines import Outcome
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
MODEL_COMMANDS = [("npuc", "run"), ("npuc", "info"), ("npuc", "compile", "-o", os.devnull)]
"""The commands that take a model; what they print goes to standard output or nowhere."""
UNSUPPORTED = ("Acosh", "first", "Det", "second")


def assert_refused(outcome: Outcome, *parts: str) -> None:
    """The command failed with one paragraph that has all `parts`, and printed nothing else."""
    message = outcome.log.decode()
    assert outcome.code == 1, message
    assert outcome.output == b""
    assert "Traceback" not in message
    assert "bug in npuc" not in message
    first, *rest = message.splitlines()
    assert ": error: " in first
    assert all(line.startswith("  ") for line in rest), message
    for part in parts:
        assert part in message


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The digits network as a program file."""
    path = tmp_path_factory.mktemp("program") / "digits.npu"
    imported = output("npu-translate", "--import-onnx", DIGITS)
    lowered = output("npu-opt", "--to=npu_isa", "--target=tiny", stdin=imported)
    output("npu-translate", "--mlir-to-binary", "-o", path, stdin=lowered)
    return path.read_bytes()


def save_model(path: Path, nodes: Sequence[onnx.NodeProto], weights: Sequence[Any] = ()) -> Path:
    """An ONNX file with the input `x` and the output `y`, both f32[4, 8]."""
    graph = helper.make_graph(
        list(nodes),
        "bad",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])],
        list(weights),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


# --- Models -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b"not a model at all", "not"),
        (b"PK\x03\x04" + bytes(64), "zip"),
        (b'{"model": 1}', "JSON"),
        (DIGITS.read_bytes()[:-1000], "truncated"),
        (DIGITS.read_bytes()[:100], "truncated"),
    ],
    ids=["empty", "text", "zip", "json", "tail", "head"],
)
@pytest.mark.parametrize("tool", [*MODEL_COMMANDS, ("npu-translate", "--import-onnx")], ids=str)
def test_files_that_are_no_onnx(
    tmp_path: Path, tool: tuple[str, ...], content: bytes, why: str
) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    assert_refused(run(*tool, path), "bad.onnx", why)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["none.onnx", "none.npu"])
@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_a_missing_file(tmp_path: Path, tool: tuple[str, ...], name: str) -> None:
    reason = "program already" if tool[1] == "compile" and name == "none.npu" else "No such file"
    assert_refused(run(*tool, tmp_path / name), name, reason)


@pytest.mark.parametrize("name", ["folder.onnx", "folder.npu"])
@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_a_folder(
    tmp_path: Path, tool: tuple[str, ...], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / name
    folder.mkdir()
    assert_refused(run(*tool, folder), name)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_a_file_of_another_kind(tmp_path: Path, tool: tuple[str, ...]) -> None:
    assert_refused(run(*tool, tmp_path / "model.pt"), "model.pt", ".onnx", ".npu")


@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_missing_external_data(tmp_path: Path, tool: tuple[str, ...]) -> None:
    weight = numpy_helper.from_array(np.ones((4, 8), np.float32), "w")
    external_data_helper.set_external_data(weight, "weights.bin", 0, 128)
    weight.ClearField("raw_data")
    node = helper.make_node("Add", ["x", "w"], ["y"], name="add")
    path = save_model(tmp_path / "external.onnx", [node], [weight])
    assert_refused(run(*tool, path), "weights.bin")


@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_unsupported_operators_are_all_listed(tmp_path: Path, tool: tuple[str, ...]) -> None:
    nodes = [
        helper.make_node("Acosh", ["x"], ["a"], name="first"),
        helper.make_node("Det", ["a"], ["y"], name="second"),
    ]
    path = save_model(tmp_path / "unsupported.onnx", nodes)
    outcome = run(*tool, path)
    if tool[1] != "info":
        assert_refused(outcome, *UNSUPPORTED)
        return
    assert (outcome.code, outcome.log) == (0, b"")
    for part in ("not supported", *UNSUPPORTED):
        assert part in outcome.output.decode()


@pytest.mark.parametrize("tool", MODEL_COMMANDS, ids=str)
def test_shapes_that_do_not_fit(tool: tuple[str, ...]) -> None:
    refused = run(*tool, DIGITS, "--shape", "image=32x65")
    assert_refused(refused, "image", "[32, 65]", "f32[32,64]")
    assert_refused(run(*tool, DIGITS, "--shape", "picture=32x64"), "picture", "image")


# --- Arguments ----------------------------------------------------------------------------------


def save_arrays(path: Path, **arrays: object) -> Path:
    np.savez(path, **cast(Any, arrays))
    return path


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"picture": np.zeros((32, 64), np.float32)}, ("image", "picture")),
        ({"image": np.zeros((31, 64), np.float32)}, ("f32[32,64]", "float32[31, 64]")),
        ({"image": np.zeros((32, 64), np.float64)}, ("f32[32,64]", "float64")),
        ({"image": np.zeros((32, 64), np.complex64)}, ("complex64",)),
        ({}, ("image",)),
    ],
    ids=["name", "shape", "dtype", "no type of ours", "nothing"],
)
def test_inputs_that_do_not_fit(
    tmp_path: Path, arrays: dict[str, Any], parts: tuple[str, ...]
) -> None:
    path = save_arrays(tmp_path / "input.npz", **arrays)
    assert_refused(run("npuc", "run", DIGITS, "--target", "tiny", "--input", path), *parts)


@pytest.mark.parametrize("option", ["--input", "--expect"])
@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_arrays_that_cannot_be_read(tmp_path: Path, option: str, content: bytes) -> None:
    path = tmp_path / "arrays.npz"
    path.write_bytes(content)
    assert_refused(run("npuc", "run", DIGITS, "--target", "tiny", option, path), "arrays.npz")


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    path = save_arrays(tmp_path / "pickle.npz", image=np.array([object()]))
    assert_refused(run("npuc", "run", DIGITS, "--input", path), "pickle.npz")


def test_one_array_without_a_name(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.zeros((32, 64), np.float32))
    assert_refused(run("npuc", "run", DIGITS, "--input", tmp_path / "array.npy"), "without a name")


@pytest.mark.parametrize(
    ("arrays", "parts"),
    [
        ({"labels": np.zeros((32, 10))}, ("labels", "probabilities")),
        ({"probabilities": np.zeros((32, 9))}, ("f32[32,10]", "[32, 9]")),
    ],
    ids=["name", "shape"],
)
def test_expectations_that_do_not_fit(
    tmp_path: Path, arrays: dict[str, Any], parts: tuple[str, ...]
) -> None:
    path = save_arrays(tmp_path / "expect.npz", **arrays)
    assert_refused(run("npuc", "run", DIGITS, "--target", "tiny", "--expect", path), *parts)


def test_a_wrong_result_is_no_error_but_fails(tmp_path: Path) -> None:
    path = save_arrays(tmp_path / "expect.npz", probabilities=np.full((32, 10), 7.0, np.float32))
    outcome = run("npuc", "run", DIGITS, "--target", "tiny", "--expect", path)
    assert outcome.code == 1
    assert b"probabilities" in outcome.output
    assert b"error:" not in outcome.log


# --- Machines -----------------------------------------------------------------------------------


TARGET_COMMANDS = [("run", DIGITS, "--target"), ("compile", DIGITS, "--target"), ("targets",)]


@pytest.mark.parametrize("words", TARGET_COMMANDS, ids=lambda words: words[0])
def test_an_unknown_target(words: tuple[str, ...]) -> None:
    assert_refused(run("npuc", *words, "nothing"), "nothing", "ascend310p", "tiny")


@pytest.mark.parametrize(
    ("text", "why"),
    [("name = ", "Invalid value"), ('name = "mine"', "missing"), ("", "missing")],
    ids=["syntax", "one field", "empty"],
)
@pytest.mark.parametrize("words", TARGET_COMMANDS, ids=lambda words: words[0])
def test_a_machine_file_that_is_none(
    tmp_path: Path, words: tuple[str, ...], text: str, why: str
) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(text)
    assert_refused(run("npuc", *words, path), "machine.toml", why)


# --- Text and programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [b"", b"tile.program", b"builtin.module { %0 = \x00 }", b"\xff\xfe\x00", b"builtin.module {"],
    ids=["empty", "cut", "zero byte", "no utf-8", "open"],
)
def test_text_that_is_no_module(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "out.npu"
    outcome = run("npu-translate", "--mlir-to-binary", "-o", path, stdin=text)
    assert_refused(outcome)
    assert list(tmp_path.iterdir()) == []


def test_a_module_that_is_too_high_for_a_program() -> None:
    imported = output("npu-translate", "--import-onnx", DIGITS)
    refused = run("npu-translate", "--mlir-to-binary", stdin=imported)
    assert_refused(refused, "npu_isa")


def test_truncated_programs(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "cut.npu"
    for size in (0, 7, 20, 100, len(program) // 2, len(program) - 1):
        path.write_bytes(program[:size])
        assert_refused(run("npuc", "run", path), "cut.npu")
        assert_refused(run("npuc", "info", path), "cut.npu")
        assert_refused(run("npu-translate", "--binary-to-mlir", path), "cut.npu")


def test_corrupted_programs(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "bad.npu"
    for place in range(3, len(program), len(program) // 40):
        damaged = bytearray(program)
        damaged[place] ^= 0x10
        path.write_bytes(damaged)
        assert_refused(run("npuc", "run", path), "bad.npu")
        assert_refused(run("npuc", "info", path), "bad.npu")


@pytest.mark.parametrize(
    "options",
    [
        ("--level", "tile"),
        ("--precision", "f16"),
        ("--shape", "image=32x64"),
    ],
    ids=" ".join,
)
def test_options_that_mean_nothing_for_a_program(
    tmp_path: Path, program: bytes, options: tuple[str, ...]
) -> None:
    path = tmp_path / "digits.npu"
    path.write_bytes(program)
    assert_refused(run("npuc", "run", path, *options))


def test_a_program_for_another_machine(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "digits.npu"
    path.write_bytes(program)
    assert_refused(run("npuc", "run", path, "--target", "ascend310p"), "tiny", "ascend310p")


def test_output_to_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "out.mlir"
    outcome = run("npu-translate", "--import-onnx", DIGITS, "-o", path)
    assert_refused(outcome, "out.mlir")


def test_no_output_is_left_by_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "out.npu"
    path.write_bytes(b"what was there")
    assert_refused(run("npu-translate", "--mlir-to-binary", "-o", path, stdin=b"nonsense"))
    assert path.read_bytes() == b"what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "words",
    [
        ("npu_opt", "--version"),
        ("npu_translate", "--import-onnx", str(DIGITS)),
        ("npuc", "--version"),
        ("npuc", "--help"),
        ("npuc", "targets"),
        ("npuc", "info", str(DIGITS), "--json"),
        ("npuc", "completion", "bash"),
        ("npuc", "compile", str(DIGITS), "-o", "-"),
    ],
    ids=" ".join,
)
def test_a_full_device_as_standard_output(words: tuple[str, ...]) -> None:
    tool, *arguments = words
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", f"npuc.tools.{tool}", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert_refused(Outcome(done.returncode, b"", done.stderr), "standard output", "No space")
