"""The completion script, run by a real bash; and what those for other shells must hold."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from commands import output, run

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")

# Calls the function that `complete` names for npuc as bash does on a press of the tabulator.
PRESS_TAB = """
source ./script
spec=$(complete -p npuc) || exit 1
[[ $spec =~ -F[[:space:]]([^[:space:]]+) ]] || exit 1
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"${BASH_REMATCH[1]}" npuc "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and some files."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "script").write_bytes(output("npuc", "completion", "bash"))
    for name in ("net.onnx", "two words.onnx", "net.npu", "in.npz", "mine.toml", "notes.txt"):
        (folder / name).touch()
    (folder / "models").mkdir()
    return folder


def candidates(folder: Path, words: Sequence[str]) -> set[str]:
    """What bash offers for the last of the words after `npuc`."""
    done = subprocess.run(
        [str(BASH), "--norc", "-c", PRESS_TAB, "bash", "npuc", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return {line for line in done.stdout.splitlines() if line}


@needs_bash
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["com"], ["compile", "completion"]),
        (["targets", "--j"], ["--json"]),
        (["run", "--pre"], ["--precision"]),
        (["run", "--precision", ""], ["mixed", "f16", "origin"]),
        (["run", "net.onnx", "--level", "t"], ["tensor", "tile"]),
        (["compile", ""], ["net.onnx", "two words.onnx", "models"]),
        (["compile", "net.onnx", "-o", ""], ["net.npu", "models"]),
        (["run", "net"], ["net.onnx", "net.npu"]),
        (["run", "net.onnx", "--input", ""], ["in.npz", "models"]),
        (["compile", "--target", "as"], ["ascend310", "ascend310p", "ascend910"]),
        (["compile", "--target", "mi"], ["mine.toml"]),
        (["targets", "t"], ["tiny"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
    ],
    ids=" ".join,
)
def test_what_bash_offers(folder: Path, words: Sequence[str], expected: list[str]) -> None:
    assert candidates(folder, words) == set(expected)


@needs_bash
def test_every_command_is_offered(folder: Path) -> None:
    offered = candidates(folder, [""])
    assert {"compile", "run", "info", "targets", "completion"} <= offered
    help_text = output("npuc", "--help").decode()
    assert all(f"    {command}" in help_text for command in offered)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_for_other_shells_have_commands_options_and_machines(shell: str) -> None:
    script = output("npuc", "completion", shell).decode()
    for word in ("compile", "targets", "precision", "origin", "ascend310p", "*.onnx", "*.toml"):
        assert word in script


def test_another_shell_is_a_wrong_command_line() -> None:
    outcome = run("npuc", "completion", "tcsh")
    assert outcome.code == 2
    assert b"zsh" in outcome.log
