"""Exit codes, messages and whole files of every command."""

import os
import stat
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.abc import MetaPathFinder
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType

import pytest

import npuc.compiler
from commands import run
from npuc.compiler.command_line import run_guarded, standard_output, write_output
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


class InterruptedImport(MetaPathFinder):
    """Finds one module by an interrupt from the keyboard."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> None:
        if fullname == self.name:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("tool", "module"), [("npu-opt", "opt"), ("npu-translate", "translate"), ("npuc", "run")]
)
def test_an_interrupt_while_the_compiler_is_imported(
    tool: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"npuc.compiler.{module}"
    import_module(name)
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(npuc.compiler, module)
    monkeypatch.setattr(sys, "meta_path", [InterruptedImport(name), *sys.meta_path])
    words = ("run", "model.onnx") if tool == "npuc" else ()
    outcome = run(tool, *words)
    assert outcome.code == 130
    assert outcome.log.decode() == f"{tool}: interrupted\n"


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


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.npu", tmp_path / "latest.npu"
    path.write_bytes(b"old")
    link.symlink_to(path)
    write_output(b"new", str(link), text=False)
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_names_may_be_as_long_as_the_system_takes(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)
    write_output(b"content", str(path), text=False)
    assert path.read_bytes() == b"content"


def test_files_written_by_threads_leave_the_rights_of_new_files_alone(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(20):
            write_output(b"content", str(tmp_path / str(number)), text=False)

    before = os.umask(0o022)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o644}


def test_closed_standard_output_is_an_error_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(InputError, match="standard output"):
        write_output(b"content", "-", text=True)


def test_messages_never_go_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert run_guarded("tool", failing(InputError("no such thing"))) == 1
    assert capsys.readouterr().out == ""


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


def test_characters_that_standard_output_does_not_have_are_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffer = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(buffer, encoding="ascii"))
    with standard_output() as out:
        out.write("█ 层 \udcff\n")
    assert buffer.getvalue() == b"? ? ?\n"


def test_control_characters_in_messages_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    run_guarded("tool", failing(InputError("no file \x1b[31mred", why="a\rb")))
    assert capsys.readouterr().err == "tool: error: no file \\x1b[31mred\n  why: a\\rb\n"
