"""An interrupt from the keyboard: exit code 130, one line, nothing half done, for every command."""

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from commands import output, run
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network as a program file."""
    path = tmp_path_factory.mktemp("program") / "digits.npu"
    output("npuc", "compile", DIGITS, "-o", path, "--target", "tiny")
    return path


def interrupting(*_: object, **__: object) -> Any:
    """Stands for any function: the user presses Ctrl-C in the midst of it."""
    signal.raise_signal(signal.SIGINT)


def interrupted_import(*_: object, **__: object) -> Any:
    """As modules in C do when they are interrupted while they import others."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("it could not import another module") from None


@pytest.mark.parametrize("how", [interrupting, interrupted_import])
@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("compile", "MODEL"), "npuc.compiler.driver.import_onnx"),
        (("compile", "MODEL"), "npuc.compiler.driver.run_stages"),
        (("compile", "MODEL"), "npuc.compiler.driver.emit_program"),
        (("compile", "MODEL"), "npuc.backend.container.write_header"),
        (("run", "MODEL"), "npuc.compiler.driver.run_stages"),
        (("run", "MODEL"), "npuc.compiler.run_onnx.Emulator"),
        (("run", "PROGRAM"), "npuc.compiler.run.load"),
        (("run", "PROGRAM"), "npuc.compiler.run.Emulator"),
        (("info", "MODEL"), "npuc.compiler.model_info.survey"),
        (("info", "MODEL"), "npuc.compiler.model_info.run_stages"),
        (("info", "PROGRAM"), "npuc.compiler.program_info.load"),
        (("targets",), "npuc.compiler.targets.load"),
        (("targets", "tiny"), "npuc.compiler.targets.load"),
        (("completion", "bash"), "npuc.compiler.completion.builtin_names"),
    ],
    ids=str,
)
def test_an_interrupt(
    words: tuple[str, ...],
    place: str,
    how: Callable[..., Any],
    program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, _, name = place.rpartition(".")
    monkeypatch.setattr(import_module(module), name, how)
    monkeypatch.chdir(tmp_path)
    files = {"MODEL": str(DIGITS), "PROGRAM": str(program)}
    outcome = run("npuc", *(files.get(word, word) for word in words))
    assert outcome.code == 130
    assert outcome.output == b""
    assert outcome.log == b"npuc: interrupted\n"
    assert os.listdir(tmp_path) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_is_not_heard_by_who_ignores_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for what a shell starts in the background."""
    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr("npuc.backend.container.os.urandom", _interrupted_random)
        output("npuc", "compile", DIGITS, "--target", "tiny")
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.listdir(tmp_path) == ["digits_mlp.npu"]


def _interrupted_random(count: int) -> bytes:
    signal.raise_signal(signal.SIGINT)
    return bytes(count)
