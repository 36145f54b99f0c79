"""The command line of npuc: help, mistakes, JSON as documented, and what starting it costs."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commands import output, run
from npuc import __version__
from npuc.compiler.completion import SHELLS
from npuc.dialects.target.machine import builtin_names
from npuc.tools.command_parser import command_parser
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
DOCUMENTED = ROOT / "docs/commands.md"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network as a program file."""
    path = tmp_path_factory.mktemp("program") / "digits.npu"
    output("npuc", "compile", DIGITS, "-o", path, "--target", "tiny")
    return path


# --- Help and mistakes --------------------------------------------------------------------------


def test_without_a_command_help_goes_to_standard_error() -> None:
    outcome = run("npuc")
    assert (outcome.code, outcome.output) == (2, b"")
    for command in command_parser()[1]:
        assert f"    {command}".encode() in outcome.log


@pytest.mark.parametrize("command", list(command_parser()[1]))
def test_every_command_has_help(command: str) -> None:
    text = output("npuc", command, "--help").decode()
    assert text.startswith(f"usage: npuc {command}")
    assert max(map(len, text.splitlines())) <= 100


def test_the_version() -> None:
    assert output("npuc", "--version").decode() == f"npuc {__version__}\n"


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["inof"], ["`inof`", "did you mean `info`?"]),
        (["complie", "net.onnx"], ["did you mean `compile`?"]),
        (["zzzz"], ["`zzzz`", "npuc --help"]),
        (["run", "net.onnx", "--taget", "tiny"], ["usage: npuc run", "did you mean `--target`?"]),
        (["info", "a.onnx", "b.onnx"], ["usage: npuc info", "`b.onnx`"]),
        (["--nothing"], ["COMMAND"]),
        (["--debug"], ["COMMAND"]),
        (["run"], ["usage: npuc run", "MODEL"]),
        (["run", "net.onnx", "--target"], ["--target", "expected one argument"]),
        (["run", "net.onnx", "--level", "isa"], ["'isa'", "npu_isa"]),
        (["compile", "net.onnx", "--shape", "x"], ["'x'", "x=1x3x224x224"]),
        (["compile", "net.onnx", "--shape", "x=1xa"], ["'x=1xa'"]),
        (["targets", "tiny", "tiny"], ["usage: npuc targets"]),
        (["completion"], ["SHELL"]),
    ],
    ids=str,
)
def test_a_command_line_that_cannot_be_understood(
    words: Sequence[str], parts: Sequence[str]
) -> None:
    outcome = run("npuc", *words)
    message = outcome.log.decode()
    assert (outcome.code, outcome.output) == (2, b"")
    assert "Traceback" not in message
    for part in parts:
        assert part in message


# --- JSON ---------------------------------------------------------------------------------------


def documented_keys(title: str) -> set[str]:
    """The keys in the table of a section of the documentation."""
    section = DOCUMENTED.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


def report(*words: str | Path) -> dict[str, Any]:
    """The object a command prints, which must be one line."""
    text = output("npuc", *words).decode()
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return json.loads(text)


def test_json_of_compile_is_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "out.npu"
    found = report("compile", DIGITS, "-o", path, "--target", "tiny", "--json")
    assert set(found) == documented_keys("npuc compile --json")
    assert found["bytes"] == path.stat().st_size
    assert found["launches"] == found["kernels"] == 4


@pytest.mark.parametrize("level", ["graph", "npu_isa"])
def test_json_of_run_is_as_documented(level: str) -> None:
    found = report("run", DIGITS, "--target", "tiny", "--level", level, "--json")
    assert set(found) == documented_keys("npuc run --json")


def test_json_of_info_is_as_documented(program: Path) -> None:
    model, compiled = report("info", DIGITS, "--json"), report("info", program, "--json")
    assert set(model) == documented_keys("npuc info MODEL.onnx --json")
    assert set(compiled) == documented_keys("npuc info PROGRAM.npu --json")
    assert model["inputs"] == compiled["inputs"]
    assert model["inputs"] == [{"name": "image", "dtype": "f32", "shape": [32, 64]}]
    assert model["outputs"] == compiled["outputs"]
    placed = {engine: sorted(nodes) for engine, nodes in model["engine_nodes"].items()}
    assert placed == {**compiled["engine_nodes"], "none": []}
    assert model["operators"]["Gemm"] == {
        "count": 2,
        "engines": {"cube": 2, "vector": 0, "host": 0, "none": 0},
        "unsupported": 0,
        "multiply_adds": 32 * (64 * 64 + 64 * 10),
    }


def test_json_of_targets_is_as_documented() -> None:
    found = report("targets", "--json")
    assert set(found) == documented_keys("npuc targets --json")
    keys = documented_keys("npuc targets NAME --json")
    assert {machine["name"] for machine in found["machines"]} == set(builtin_names())
    assert [m["name"] for m in found["machines"] if m["default"]] == ["ascend310p"]
    for machine in found["machines"]:
        single = report("targets", machine["name"], "--json")
        assert set(single) == keys
        assert set(machine) == keys - {"values", "features"}
        for value in single["values"].values():
            assert set(value) == {"value", "unit", "source", "confidence"}


# --- Reports for people -------------------------------------------------------------------------


def test_targets_are_a_table() -> None:
    head, *rows = output("npuc", "targets").decode().splitlines()
    assert [row.split()[0] for row in rows] == list(builtin_names())
    end = head.index("validation")
    assert all(row[end - 1] == " " and row[end] != " " for row in rows)


def test_a_target_in_detail() -> None:
    text = output("npuc", "targets", "ascend310p").decode()
    for part in ("not validated", "memory.l0c", "262,144", "bytes", "INI", "modelled", "real"):
        assert part in text


def test_a_machine_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (ROOT / "dialects/target/machines/tiny.toml").read_text(encoding="utf-8")
    path.write_text(text.replace('name = "tiny"', 'name = "mine"'), encoding="utf-8")
    assert b"mine" in output("npuc", "targets", path)


def test_info_of_a_model_and_of_its_program(program: Path) -> None:
    model = output("npuc", "info", DIGITS).decode()
    for part in ("f32[32,64]", "Gemm", "151,552", "4,810 (18.8 KB)"):
        assert part in model
    compiled = output("npuc", "info", program).decode()
    for part in ("tiny (invented)", "f32[32,64]", "softmax", "4 launches"):
        assert part in compiled


def test_reports_to_a_pipe_have_no_colour(program: Path) -> None:
    for words in (("run", program), ("info", DIGITS), ("targets", "tiny")):
        outcome = run("npuc", *words)
        assert b"\x1b" not in outcome.output + outcome.log


# --- What starting costs ------------------------------------------------------------------------

WITHOUT = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in sys.argv[1].split(","):
            raise SystemExit(f"{name} is imported")

sys.meta_path.insert(0, Block())
from npuc.tools.npuc import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("blocked", "words"),
    [
        ("xdsl,numpy,onnx,rich,shtab", ["--help"]),
        ("xdsl,numpy,onnx,rich,shtab", ["compile", "--help"]),
        ("xdsl,numpy,onnx,rich,shtab", ["targets"]),
        ("xdsl,numpy,onnx", ["completion", SHELLS[0]]),
        ("xdsl,onnx", ["info", "PROGRAM"]),
        ("xdsl,onnx", ["run", "PROGRAM"]),
    ],
    ids=["help", "help of a command", "targets", "completion", "info", "run"],
)
def test_nothing_is_imported_that_is_not_needed(
    blocked: str, words: Sequence[str], program: Path
) -> None:
    words = [str(program) if word == "PROGRAM" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, blocked, *words], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
