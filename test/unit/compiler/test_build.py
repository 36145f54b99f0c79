"""`npuc compile`: where the program goes, and that it is whole or not there."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import output, run
from npuc.backend.container import load, to_bytes
from npuc.compiler import build as module
from npuc.compiler.api import compile as compile_to_executable
from npuc.dialects.core import files
from npuc.dialects.core.errors import InternalError
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
COMPILE = ("npuc", "compile", DIGITS, "--target", "tiny")


@pytest.fixture(scope="module")
def program() -> bytes:
    """The program of the digits network."""
    return to_bytes(compile_to_executable(DIGITS, "tiny").program)


def test_the_program_goes_where_it_is_told(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "out.npu"
    outcome = run(*COMPILE, "-o", path)
    assert outcome.code == 0
    assert outcome.output == b""
    line = outcome.log.decode()
    assert line.startswith(f"npuc: wrote {path}: ")
    assert "kernels for tiny (mixed), in " in line
    assert line.count("\n") == 1
    assert path.read_bytes() == program
    assert os.listdir(tmp_path) == ["out.npu"]


def test_by_default_it_goes_into_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    assert b"wrote digits_mlp.npu: " in run(*COMPILE).log
    assert (tmp_path / "digits_mlp.npu").read_bytes() == program


def test_a_dash_is_standard_output(program: bytes) -> None:
    assert output(*COMPILE, "-o", "-") == program


def test_the_options_reach_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "out.npu"
    command = ("npuc", "compile", DIGITS, "-o", path, "--target", "ascend310")
    report = json.loads(output(*command, "--precision", "f16", "--json"))
    assert (report["target"], report["precision"]) == ("ascend310", "f16")
    assert load(path).machine.name == "ascend310"


def test_what_was_there_is_replaced_whole(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "out.npu"
    path.write_bytes(b"old")
    with path.open("rb") as before:
        output(*COMPILE, "-o", path)
        assert before.read() == b"old"
    assert path.read_bytes() == program


def test_the_model_is_not_overwritten(tmp_path: Path) -> None:
    model, link = tmp_path / "net.onnx", tmp_path / "link.npu"
    model.write_bytes(DIGITS.read_bytes())
    link.symlink_to(model)
    for path in (model, link):
        outcome = run("npuc", "compile", model, "-o", path)
        assert outcome.code == 1
        assert b"is the model itself" in outcome.log
    assert model.read_bytes() == DIGITS.read_bytes()


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (".", "it is a folder"),
        ("none/out.npu", "there is no folder"),
        ("file/out.npu", "no folder"),
    ],
)
def test_a_wrong_place_is_found_before_anything_is_compiled(
    tmp_path: Path, place: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(*_: object, **__: object) -> None:
        raise InternalError("nothing is to be compiled")

    monkeypatch.setattr(module, "compile_model", compiled)
    (tmp_path / "file").touch()
    outcome = run(*COMPILE, "-o", tmp_path / place)
    assert outcome.code == 1
    assert why in outcome.log.decode()
    assert os.listdir(tmp_path) == ["file"]


def test_two_writers_of_one_file_never_corrupt_it(tmp_path: Path, program: bytes) -> None:
    path = tmp_path / "out.npu"
    command = [sys.executable, "-m", "npuc.tools.npuc", "compile", str(DIGITS)]
    command += ["--target", "tiny", "-o", str(path)]
    seen: set[bytes] = set()
    writers = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            seen.add(path.read_bytes())
        time.sleep(0.01)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen <= {program}
    assert path.read_bytes() == program
    assert os.listdir(tmp_path) == ["out.npu"]


def test_an_interrupt_while_writing_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.npu"
    path.write_bytes(b"old")

    def interrupted(_: int) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(files.os, "fsync", interrupted)
    outcome = run(*COMPILE, "-o", path)
    assert outcome.code == 130
    assert outcome.log == b"npuc: interrupted\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.npu"]
