"""The line of progress: on a terminal, after a while, and gone in the end."""

import io
import time

import pytest

from npuc.compiler.progress import shown


class Terminal(io.StringIO):
    """Remembers what is written to it."""

    def isatty(self) -> bool:
        return True


class BrokenTerminal(Terminal):
    """A terminal that has been closed."""

    def write(self, text: str, /) -> int:
        raise OSError(text)


@pytest.fixture(autouse=True)
def _terminal_type(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("TERM", "xterm")


def wait_for(terminal: Terminal, text: str) -> None:
    """Until the text has been painted; the test runs into a limit if it never is."""
    deadline = time.monotonic() + 60
    while text not in terminal.getvalue():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_it_says_what_is_done_and_goes() -> None:
    terminal = Terminal()
    with shown(terminal, after=0) as tell:
        tell("compiling")
        wait_for(terminal, "compiling (0 s)")
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_is_shown_of_what_is_done_at_once() -> None:
    terminal = Terminal()
    with shown(terminal, after=60) as tell:
        tell("compiling")
    assert terminal.getvalue() == ""


def test_it_is_gone_after_an_error() -> None:
    terminal = Terminal()

    def work() -> None:
        with shown(terminal, after=0) as tell:
            tell("compiling")
            wait_for(terminal, "compiling")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_line_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    terminal = Terminal()
    with shown(terminal, after=0) as tell:
        tell("x" * 100)
        wait_for(terminal, "x (0 s)")
    lines = [line.removeprefix("\x1b[K") for line in terminal.getvalue().split("\r")]
    assert max(map(len, lines)) == 19


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["pipe", "closed"])
def test_nothing_goes_to_anything_but_a_terminal(stream: io.StringIO | None) -> None:
    with shown(stream, after=0) as tell:
        tell("compiling")
        time.sleep(0.05)
    assert stream is None or stream.getvalue() == ""


def test_nothing_goes_to_a_terminal_without_a_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    terminal = Terminal()
    with shown(terminal, after=0):
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_the_work_goes_on_when_the_terminal_has_gone() -> None:
    with shown(BrokenTerminal(), after=0) as tell:
        tell("compiling")
        time.sleep(0.05)
