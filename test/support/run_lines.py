"""Run the `// RUN:` lines of a lit file inside this process.

Starting a tool costs a few tenths of a second, nearly all of it imports, and a lit file starts
several. Here each command of a pipeline is a function call with its standard streams redirected.
The files stay files for the real lit: the lexer is lit's own, and whatever this runner does not
know (a command, an operator, a keyword) is an error rather than a guess.

Known: `%s` `%S` `%t` `%%`, continuation by a backslash, `|`, `>`, `2>`, `2>&1`, `<`, `not`, and the
commands in `COMMANDS`. As in lit, every command of a pipeline must succeed.
"""

import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple, cast

from filecheck.main import main as filecheck_main
from lit.ShUtil import ShLexer

RUN = re.compile(r"\s*//\s*RUN:\s*(.*?)\s*")
OTHER_KEYWORD = re.compile(r"\s*//\s*((?:XFAIL|REQUIRES|UNSUPPORTED|ALLOW_RETRIES|DEFINE|END)[:.])")
OPERATORS = ("|", "<", ">", "2>", "2>&")
PIPE = "<pipe>"
LOG = "<log>"


class RunLineError(Exception):
    """A RUN line failed, or is not one that this runner understands."""


class RunLine(NamedTuple):
    """One command line, its continuations joined, and the number of its first line."""

    number: int
    text: str


class Operator(NamedTuple):
    """A token that is not a word: one of OPERATORS."""

    text: str


class Redirect(NamedTuple):
    """A redirection: `<`, `>`, `2>` or `2>&`, and a file name (for `2>&`: a descriptor)."""

    operator: str
    target: str


class Command(NamedTuple):
    """One stage of a pipeline."""

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...]


class Outcome(NamedTuple):
    """What a command left: 0 if it did what the line expects, its output, its messages."""

    code: int
    output: bytes
    log: bytes


def read_run_lines(text: str) -> list[RunLine]:
    """The RUN lines of a file, in order; at least one, or RunLineError."""
    lines: list[RunLine] = []
    open_line: RunLine | None = None
    for number, source in enumerate(text.splitlines(), start=1):
        if keyword := OTHER_KEYWORD.match(source):
            raise RunLineError(f"line {number}: lit's {keyword[1]} is not supported here")
        if not (match := RUN.fullmatch(source)):
            continue
        start, before = open_line or RunLine(number, "")
        joined = RunLine(start, before + match[1].removesuffix("\\"))
        open_line = joined if match[1].endswith("\\") else None
        if open_line is None:
            lines.append(joined)
    if open_line is not None:
        raise RunLineError(f"line {open_line.number}: the last RUN line ends in a backslash")
    if not lines:
        raise RunLineError("no RUN line")
    return lines


def parse_pipeline(text: str, substitutions: Mapping[str, str]) -> list[Command]:
    """Split a command line at its pipes and replace `%x` in every word."""
    commands: list[Command] = []
    words: list[str] = []
    redirects: list[Redirect] = []
    tokens = iter([*_lex(text), Operator("|")])
    for token in tokens:
        if isinstance(token, str):
            words.append(_substitute(token, substitutions))
        elif token.text != "|":
            target = next(tokens)
            if not isinstance(target, str):
                raise RunLineError(f"a redirection without a file: {text}")
            redirects.append(Redirect(token.text, _substitute(target, substitutions)))
        elif words:
            commands.append(Command(tuple(words), tuple(redirects)))
            words, redirects = [], []
        else:
            raise RunLineError(f"a pipe without a command: {text}")
    return commands


def _lex(text: str) -> list[str | Operator]:
    """Words, and operators with their descriptor in front (`2>&`)."""
    tokens: list[str | Operator] = []
    lexer = ShLexer(f"{text} ")  # the space: it reads past an operator at the very end
    for token in cast(list[object], list(lexer.lex())):  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(token, str):
            tokens.append(token)
            continue
        if not isinstance(token, tuple):
            raise RunLineError(f"quote the pattern {token}: {text}")
        operator = "".join(map(str, reversed(cast(tuple[object, ...], token))))
        if operator not in OPERATORS:
            raise RunLineError(f"{operator} is not supported here: {text}")
        tokens.append(Operator(operator))
    return tokens


def _substitute(word: str, substitutions: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, substitutions)), lambda m: substitutions[m[0]], word)


def run_command(command: Command, stdin: bytes) -> Outcome:
    """Run one stage in this process; an exception that a tool lets out is a crash and goes on."""
    output, log = PIPE, LOG
    for operator, target in command.redirects:
        match operator, target:
            case "<", _:
                stdin = Path(target).read_bytes()
            case ">", _:
                output = target
            case "2>", _:
                log = target
            case "2>&", "1":
                log = output
            case _:
                raise RunLineError(f"redirection {operator}{target} is not supported here")
    buffers = {name: BytesIO() for name in (output, log)}
    code = _call(command.words, stdin, buffers[output], buffers[log])
    written = {name: buffer.getvalue() for name, buffer in buffers.items()}
    for name in written.keys() - {PIPE, LOG}:
        Path(name).write_bytes(written[name])
    return Outcome(code, written.get(PIPE, b""), written.get(LOG, b""))


def _call(words: Sequence[str], stdin: bytes, output: BytesIO, log: BytesIO) -> int:
    """Call the tool that `words` names; `not` turns its exit code round."""
    name, *arguments = words
    if name == "not":
        if not arguments:
            raise RunLineError("`not` needs a command")
        return int(_call(arguments, stdin, output, log) == 0)
    if name not in COMMANDS:
        raise RunLineError(f"unknown command `{name}`; known: not, {', '.join(COMMANDS)}")
    with _streams(stdin, output, log):
        try:
            return COMMANDS[name](arguments)
        except SystemExit as stop:
            if isinstance(stop.code, str):
                print(stop.code, file=sys.stderr)  # noqa: T201  (what the interpreter does)
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


@contextmanager
def _streams(stdin: bytes, output: BytesIO, log: BytesIO) -> Generator[None]:
    """Give sys.stdin, sys.stdout and sys.stderr these bytes, as text and as `.buffer`."""
    text_out = TextIOWrapper(output, encoding="utf-8", write_through=True)
    same = log is output
    text_log = text_out if same else TextIOWrapper(log, encoding="utf-8", write_through=True)
    before, sys.stdin = sys.stdin, TextIOWrapper(BytesIO(stdin), encoding="utf-8")
    try:
        with redirect_stdout(text_out), redirect_stderr(text_log):
            yield
    finally:
        sys.stdin = before
        for stream in {text_out, text_log}:
            stream.detach()  # so that the bytes outlive the text wrapper


def _tool(module: str) -> Callable[[list[str]], int]:
    return lambda arguments: import_module(module).main(arguments)


def _filecheck(arguments: list[str]) -> int:
    filecheck_main(["filecheck", *arguments])
    return 0


def _cat(arguments: list[str]) -> int:
    for name in arguments or ["-"]:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        sys.stdout.buffer.write(data)
    return 0


COMMANDS: Mapping[str, Callable[[list[str]], int]] = {
    "npu-opt": _tool("npuc.tools.npu_opt"),
    "npu-translate": _tool("npuc.tools.npu_translate"),
    "npuc": _tool("npuc.tools.npuc"),
    "filecheck": _filecheck,
    "cat": _cat,
}


def run_file(path: Path, scratch: Path) -> None:
    """Run every RUN line of `path`; `%t` names a file in the folder `scratch`.

    Raises RunLineError with the command, its exit code and its messages at the first failure.
    """
    substitutions = {
        "%s": str(path),
        "%S": str(path.parent),
        "%t": str(scratch / f"{path.name}.tmp"),
        "%%": "%",
    }
    for line in read_run_lines(path.read_text(encoding="utf-8")):
        data = b""
        for command in parse_pipeline(line.text, substitutions):
            outcome = run_command(command, data)
            if outcome.code != 0:
                raise RunLineError(_describe(path, line, command, outcome))
            data = outcome.output


def _describe(path: Path, line: RunLine, command: Command, outcome: Outcome) -> str:
    messages = (outcome.log + outcome.output).decode("utf-8", errors="replace")
    return f"{path}:{line.number}: `{' '.join(command.words)}` gave {outcome.code}\n{messages}"
