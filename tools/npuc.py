"""The command `npuc`: what a person does with a model.

Each subcommand adds a parser and names the function that does its work; compiler and emulator are
imported only by the subcommand that needs them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from npuc import __version__

from ..compiler.command_line import FAILED, run_guarded, say, standard_output

if TYPE_CHECKING:
    from argparse import _SubParsersAction  # pyright: ignore[reportPrivateUsage]

    Subparsers = _SubParsersAction[argparse.ArgumentParser]

TOOL = "npuc"


def main(argv: Sequence[str] | None = None) -> int:
    """Run `npuc` with arguments (those of the process by default); the exit code."""
    arguments = _parser().parse_args(argv)
    return run_guarded(TOOL, lambda: arguments.work(arguments), debug=arguments.debug)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        TOOL, description="Compile neural networks for NPUs and run them.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"npuc {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_run(subparsers)
    return parser


def _add_run(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "run",
        help="compile a model, run it on the emulator and compare the results",
        description="Compile a model, run it on the emulator and compare what it gives with what "
        "is expected, or with the model itself in f32. The exit code is 1 if they differ.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="an .onnx model, or an .npu program")
    add("--input", metavar="NPZ", help="inputs by tensor name (default: random, always the same)")
    add("--expect", metavar="NPZ", help="expected outputs by tensor name (default: the model's)")
    add("--target", metavar="NAME|PATH", help="the machine: a name, or a .toml file")
    add("--precision", choices=("mixed", "f16", "origin"), help="default: mixed")
    add(
        "--level",
        choices=("graph", "tensor", "tile", "npu_isa"),
        default="npu_isa",
        help="the level to run: npu_isa (the default) is the emulator",
    )
    add("--strict", action="store_true", help="refuse what would run on the host engine (AI CPU)")
    add("--json", action="store_true", help="print one JSON object")
    add("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(work=_run)


def _run(arguments: argparse.Namespace) -> int:
    from ..compiler.report import as_json, as_text
    from ..compiler.run import Request, run_model

    request = Request(
        model=arguments.model,
        inputs=arguments.input,
        expect=arguments.expect,
        target=arguments.target,
        precision=arguments.precision,
        level=arguments.level,
        strict=arguments.strict,
    )
    with _progress() as progress:
        outcome = run_model(request, progress)
    for warning in outcome.warnings:
        say(f"{TOOL}: warning: {warning}")
    with standard_output() as out:
        if arguments.json:
            print(as_json(outcome), file=out)
        else:
            from rich.console import Console

            Console(file=out, highlight=False, soft_wrap=True).print(as_text(outcome))
    return 0 if outcome.ok else FAILED


@contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """Shows what is being done while it is done; on a terminal only."""
    err: TextIO | None = sys.stderr
    if err is None or not err.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda text: status.update(text)


if __name__ == "__main__":
    sys.exit(main())
