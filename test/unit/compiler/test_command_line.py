"""Exit codes, messages and whole files of every command."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from npuc.compiler.command_line import run_guarded, write_output
from npuc.dialects.core.errors import InputError, InternalError


def failing(error: BaseException) -> Callable[[], int]:
    """Work that raises `error`."""

    def work() -> int:
        raise error

    return work


def test_the_exit_code_is_that_of_the_work() -> None:
    assert run_guarded("tool", lambda: 0) == 0
    assert run_guarded("tool", lambda: 1) == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            InputError("no such thing", where="m.onnx", why="1 is not 2", hint="use 2"),
            1,
            "tool: error: no such thing\n  where: m.onnx\n  why: 1 is not 2\n  do: use 2\n",
        ),
        (KeyboardInterrupt(), 130, "tool: interrupted\n"),
    ],
)
def test_errors_are_paragraphs(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_guarded("tool", failing(error)) == code
    captured = capsys.readouterr()
    assert captured.err == message
    assert captured.out == ""


@pytest.mark.parametrize("error", [ValueError("what"), InternalError("what")])
def test_anything_else_is_a_bug(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded("tool", failing(error)) == 1
    message = capsys.readouterr().err
    assert "this is a bug in npuc" in message
    assert "--debug" in message
    assert "Traceback" not in message
    with pytest.raises(type(error)):
        run_guarded("tool", failing(error), debug=True)


def test_a_file_appears_whole_with_usual_rights(tmp_path: Path) -> None:
    path = tmp_path / "out.npu"
    write_output(b"content", str(path), text=False)
    assert path.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [path]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_device_is_not_replaced() -> None:
    write_output(b"content", os.devnull, text=True)
    assert not Path(os.devnull).is_file()


def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.npu"
    path.write_bytes(b"old")

    def interrupted(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_output(b"new", str(path), text=False)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
