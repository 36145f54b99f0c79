"""`npuc explain` and `npuc profile` as commands: what they print, write, refuse and leave."""

import csv
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from commands import output, run
from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.observation import Observation
from npuc.compiler.profile import files
from npuc.compiler.profile.files import FILES
from observed import DIGITS, mixed_engines, save

HELDBACK = DIGITS.parent / "heldback.npz"
TINY = ("--target", "tiny")


def refusal(*words: str | Path) -> str:
    """The paragraph of a command that must fail, and prints nothing else."""
    outcome = run(*words)
    message = outcome.log.decode()
    assert (outcome.code, outcome.output) == (1, b""), message
    assert message.startswith("npuc: error: ")
    assert "Traceback" not in message
    return message


def profiled(folder: Path, *words: str | Path) -> dict[str, Any]:
    """What `npuc profile --json` prints."""
    return json.loads(output("npuc", "profile", DIGITS, "-o", folder, *TINY, "--json", *words))


def test_explain_prints_tables_or_one_object() -> None:
    text = output("npuc", "explain", DIGITS, *TINY, "--input", HELDBACK).decode()
    assert "main_1: fc1, relu (Gemm+Relu)" in text
    assert "fusion stopped   its result is returned" in text
    printed = output("npuc", "explain", DIGITS, "fc2", *TINY, "--json", "--precision", "f16")
    assert printed.count(b"\n") == 1
    told = json.loads(printed)
    assert (told["node"], told["target"], told["precision"]) == ("fc2", "tiny", "f16")
    assert [kernel["nodes"] for kernel in told["kernels"]] == [["fc2"]]


def test_profile_writes_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    told = profiled(folder, "--input", HELDBACK)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert told["files"] == [str(folder / name) for name in FILES]
    assert told["instructions"] == told["instructions_in_trace"] > 0
    assert json.loads((folder / "trace.json").read_bytes())["otherData"]["cycles"] == told["cycles"]
    for name in FILES:
        if name.endswith(".csv"):
            with (folder / name).open(newline="") as file:
                assert len(list(csv.DictReader(file))) == 4


def test_profile_says_where_to_look(tmp_path: Path) -> None:
    text = output("npuc", "profile", DIGITS, "-o", tmp_path, *TINY).decode()
    assert "bound by latency; launching takes" in text
    assert text.endswith(f"open {tmp_path}/trace.json in ui.perfetto.dev\n")


def test_the_trace_says_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npuc.compiler.observation.TRACE_LIMIT", 100)
    outcome = run("npuc", "profile", DIGITS, "-o", tmp_path, *TINY)
    assert outcome.code == 0
    assert outcome.log.decode().startswith("npuc: note: the trace holds the first ")
    assert json.loads((tmp_path / "trace.json").read_bytes())["otherData"]["left_out"]


def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    profiled(tmp_path / "a")
    profiled(tmp_path / "b")
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("command", ["explain", "profile"])
def test_bad_input(tmp_path: Path, command: str) -> None:
    folder = tmp_path / "out"
    place = ("-o", folder) if command == "profile" else ()
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(DIGITS.read_bytes()[:-1000])
    wrong = tmp_path / "wrong.npz"
    np.savez(wrong, image=np.zeros((31, 64), np.float32))
    assert "No such file" in refusal("npuc", command, tmp_path / "none.onnx", *place)
    assert "truncated" in refusal("npuc", command, bad, *place)
    assert "is a program already" in refusal("npuc", command, tmp_path / "x.npu", *place)
    assert ".onnx" in refusal("npuc", command, tmp_path / "x.pt", *place)
    assert "image" in refusal("npuc", command, DIGITS, *place, "--input", wrong)
    assert "none.npz" in refusal("npuc", command, DIGITS, *place, "--input", tmp_path / "none.npz")
    assert "nochip" in refusal("npuc", command, DIGITS, *place, "--target", "nochip")
    assert not folder.exists()


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"kept")
    for folder in (file, file / "below"):
        assert "is no folder" in refusal("npuc", "profile", DIGITS, "-o", folder)
    assert file.read_bytes() == b"kept"
    (tmp_path / "memory.csv").mkdir()
    assert "memory.csv in it is a folder" in refusal("npuc", "profile", DIGITS, "-o", tmp_path)
    assert run("npuc", "profile", DIGITS).code == 2


def test_an_unknown_node() -> None:
    assert "did you mean relu?" in refusal("npuc", "explain", DIGITS, "rel", *TINY)


def test_the_host_engine(tmp_path: Path) -> None:
    model = save(mixed_engines(), tmp_path)
    text = output("npuc", "explain", model, *TINY).decode()
    assert "host matmul: integers (MatMul)\n  runs on the host engine" in text
    output("npuc", "profile", model, "-o", tmp_path / "out", *TINY)
    assert "AI_CPU" in (tmp_path / "out" / "op_summary.csv").read_text()


def interrupted(observation: Observation, file: BinaryIO) -> None:
    """Writing that is interrupted in the middle."""
    file.write(b"half of it")
    raise KeyboardInterrupt


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(files.FILES, "trace.json", interrupted)
    folder = tmp_path / "new" / "out"
    outcome = run("npuc", "profile", DIGITS, "-o", folder, *TINY)
    assert (outcome.code, outcome.output, outcome.log) == (130, b"", b"npuc: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiled(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setitem(files.FILES, "trace.json", interrupted)
    assert run("npuc", "profile", DIGITS, "-o", tmp_path, "--target", "ascend310").code == 130
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", ["explain", "profile"])
def test_an_interrupted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    def stopped(emulator: Emulator, inputs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Emulator, "run", stopped)
    place = ("-o", tmp_path / "out") if command == "profile" else ()
    outcome = run("npuc", command, DIGITS, *place, *TINY)
    assert (outcome.code, outcome.output, outcome.log) == (130, b"", b"npuc: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_two_runs_into_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "npuc.tools.npuc", "profile", str(DIGITS), "-o", str(tmp_path)]
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(subprocess.run, command, capture_output=True) for _ in range(2)]
    assert [done.result().returncode for done in runs] == [0, 0]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    json.loads((tmp_path / "trace.json").read_bytes())


def test_a_full_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(observation: Observation, file: BinaryIO) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FILES, "op_statistic.csv", full)
    assert "No space" in refusal("npuc", "profile", DIGITS, "-o", tmp_path / "out", *TINY)
    assert list(tmp_path.iterdir()) == []
