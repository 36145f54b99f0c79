"""`npuc run`: compile a model, run it, compare."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...compiler.command_line import FAILED, say, standard_output
from .base import TOOL, progress

if TYPE_CHECKING:
    from .base import Subparsers


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc run`."""
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
    from ...compiler.report import as_json, as_text
    from ...compiler.run import Request, run_model

    request = Request(
        model=arguments.model,
        inputs=arguments.input,
        expect=arguments.expect,
        target=arguments.target,
        precision=arguments.precision,
        level=arguments.level,
        strict=arguments.strict,
    )
    with progress() as tell:
        outcome = run_model(request, tell)
    for warning in outcome.warnings:
        say(f"{TOOL}: warning: {warning}")
    with standard_output() as out:
        if arguments.json:
            print(as_json(outcome), file=out)
        else:
            from rich.console import Console

            Console(file=out, highlight=False, soft_wrap=True).print(as_text(outcome))
    return 0 if outcome.ok else FAILED
