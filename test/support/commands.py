"""Running the commands of npuc inside a test, without starting processes."""

from pathlib import Path

from run_lines import Command, Outcome, run_command


def run(*words: str | Path, stdin: bytes = b"") -> Outcome:
    """Run one command in this process; an exception that it lets out fails the test."""
    return run_command(Command(tuple(map(str, words)), ()), stdin)


def output(*words: str | Path, stdin: bytes = b"") -> bytes:
    """What a command that must succeed prints."""
    outcome = run(*words, stdin=stdin)
    assert outcome.code == 0, outcome.log.decode()
    return outcome.output
