"""The in-process runner of RUN lines: what it understands, and what it refuses."""

import sys
from pathlib import Path

import pytest

import run_lines
from run_lines import (
    Command,
    Outcome,
    Redirect,
    RunLine,
    RunLineError,
    parse_pipeline,
    read_run_lines,
    run_command,
    run_file,
)


def shout(arguments: list[str]) -> int:
    """A stand-in for a tool: input in capitals, the arguments as messages, exit code by name."""
    sys.stdout.write(sys.stdin.read().upper())
    sys.stderr.write(" ".join(arguments) + "\n")
    return 3 if "fail" in arguments else 0


def leave(arguments: list[str]) -> int:
    """A stand-in for a tool that leaves as argparse does."""
    raise SystemExit(" ".join(arguments) or None)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(run_lines.COMMANDS, "shout", shout)
    monkeypatch.setitem(run_lines.COMMANDS, "leave", leave)


def write(folder: Path, text: str) -> Path:
    path = folder / "case.mlir"
    path.write_text(text)
    return path


class TestRead:
    def test_joins_continuations_and_keeps_the_first_number(self) -> None:
        text = "\n// RUN: npu-opt %s \\\n// RUN:   | filecheck %s\nop\n  // RUN: cat %s\n"
        assert read_run_lines(text) == [
            RunLine(2, "npu-opt %s | filecheck %s"),
            RunLine(5, "cat %s"),
        ]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("// CHECK: x\n", "no RUN line"),
            ("// RUN: cat \\\nop\n", "line 1: the last RUN line ends in a backslash"),
            ("// RUN: cat\n// REQUIRES: x\n", "line 2: lit's REQUIRES: is not supported"),
        ],
    )
    def test_refuses(self, text: str, message: str) -> None:
        with pytest.raises(RunLineError, match=message):
            read_run_lines(text)


class TestParse:
    def test_quotes_pipes_and_redirections(self) -> None:
        line = "not npu-opt -p 'a{b=1 c=\"x|y\"}' %s 2>&1 > %t.out | filecheck %s < in"
        assert parse_pipeline(line, {"%s": "/f", "%t": "/tmp/t"}) == [
            Command(
                ("not", "npu-opt", "-p", 'a{b=1 c="x|y"}', "/f"),
                (Redirect("2>&", "1"), Redirect(">", "/tmp/t.out")),
            ),
            Command(("filecheck", "/f"), (Redirect("<", "in"),)),
        ]

    def test_replaces_inside_a_word_and_leaves_other_percents(self) -> None:
        commands = parse_pipeline("cat --x=%s %%s %q", {"%s": "/f", "%%": "%"})
        assert commands == [Command(("cat", "--x=/f", "%s", "%q"), ())]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("cat a && cat b", "&& is not supported"),
            ("cat a; cat b", "; is not supported"),
            ("cat a >> b", ">> is not supported"),
            ("cat *.mlir", r"quote the pattern \*.mlir"),
            ("cat a | | cat", "a pipe without a command"),
            ("cat a |", "a pipe without a command"),
            ("cat >", "a redirection without a file"),
        ],
    )
    def test_refuses(self, line: str, message: str) -> None:
        with pytest.raises(RunLineError, match=message):
            parse_pipeline(line, {"%s": "/f"})


class TestRunCommand:
    def test_streams(self) -> None:
        assert run_command(Command(("shout", "a", "b"), ()), b"in") == Outcome(0, b"IN", b"a b\n")

    def test_bytes_pass_unchanged(self) -> None:
        assert run_command(Command(("cat", "-"), ()), b"\x00\xff\r\n").output == b"\x00\xff\r\n"

    def test_streams_are_restored(self) -> None:
        before = (sys.stdin, sys.stdout, sys.stderr)
        run_command(Command(("shout",), ()), b"")
        assert before == (sys.stdin, sys.stdout, sys.stderr)

    def test_not_turns_the_code_round(self) -> None:
        assert run_command(Command(("not", "shout", "fail"), ()), b"").code == 0
        assert run_command(Command(("not", "shout"), ()), b"").code == 1
        assert run_command(Command(("not", "not", "shout"), ()), b"").code == 0

    def test_messages_join_the_output(self) -> None:
        command = Command(("shout", "told"), (Redirect("2>&", "1"),))
        assert run_command(command, b"in") == Outcome(0, b"INtold\n", b"")

    def test_redirections_work_in_order_as_in_a_shell(self, tmp_path: Path) -> None:
        both, output = str(tmp_path / "both"), str(tmp_path / "output")
        after = Command(("shout", "told"), (Redirect(">", both), Redirect("2>&", "1")))
        assert run_command(after, b"in") == Outcome(0, b"", b"")
        assert Path(both).read_bytes() == b"INtold\n"
        before = Command(("shout", "told"), (Redirect("2>&", "1"), Redirect(">", output)))
        assert run_command(before, b"in") == Outcome(0, b"told\n", b"")
        assert Path(output).read_bytes() == b"IN"

    def test_input_from_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "in").write_text("x")
        command = Command(("shout",), (Redirect("<", str(tmp_path / "in")),))
        assert run_command(command, b"ignored").output == b"X"

    def test_system_exit_is_an_exit_code(self) -> None:
        assert run_command(Command(("leave",), ()), b"") == Outcome(0, b"", b"")
        assert run_command(Command(("leave", "bad"), ()), b"") == Outcome(1, b"", b"bad\n")

    def test_an_unknown_command_is_an_error(self) -> None:
        with pytest.raises(RunLineError, match="unknown command `sed`; known: not, npu-opt"):
            run_command(Command(("sed", "x"), ()), b"")

    def test_even_below_not(self) -> None:
        with pytest.raises(RunLineError, match="unknown command `sed`"):
            run_command(Command(("not", "sed"), ()), b"")

    def test_a_crash_is_not_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def crash(arguments: list[str]) -> int:
            raise KeyError(*arguments)

        monkeypatch.setitem(run_lines.COMMANDS, "crash", crash)
        with pytest.raises(KeyError):
            run_command(Command(("not", "crash", "x"), ()), b"")


class TestRunFile:
    def test_filecheck_passes(self, tmp_path: Path) -> None:
        path = write(tmp_path, "// RUN: cat %s | filecheck %s\n// CHECK: {{^}}op.b\nop.b\n")
        run_file(path, tmp_path)

    def test_filecheck_failure_names_line_and_reason(self, tmp_path: Path) -> None:
        path = write(tmp_path, "op\n// RUN: cat %s | filecheck %s\n// CHECK: {{^}}op.b\n")
        with pytest.raises(RunLineError, match=r"case.mlir:2: `filecheck .*` gave 1") as caught:
            run_file(path, tmp_path)
        assert "case.mlir:3" in str(caught.value)

    def test_a_failure_in_the_middle_of_a_pipe_counts(self, tmp_path: Path) -> None:
        path = write(tmp_path, "// RUN: shout fail | cat\n")
        with pytest.raises(RunLineError, match="`shout fail` gave 3\nfail"):
            run_file(path, tmp_path)

    def test_lines_share_scratch_files(self, tmp_path: Path) -> None:
        check = "// RUN: filecheck %s --input-file %t.x --check-prefix=UP\n"
        path = write(tmp_path, f"// RUN: cat %s | shout > %t.x\n{check}// up: op\n// UP: OP\n")
        run_file(path, tmp_path)
