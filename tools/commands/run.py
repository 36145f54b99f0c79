"""`npuc run`: compile a model, run it, compare."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...compiler.arguments import FileName
from ...compiler.command_line import FAILED, say
from .base import (
    TOOL,
    add_command,
    add_json,
    add_precision,
    add_shapes,
    add_strict,
    add_target,
    progress,
    shapes_of,
    show,
)

if TYPE_CHECKING:
    from ...compiler.request import Request
    from .base import Subparsers

_EPILOG = """\
examples:
  npuc run model.onnx
  npuc run model.onnx --input inputs.npz --expect outputs.npz
  npuc run model.npu

Without --expect the results of a model are compared with the model itself in
f32, computed by numpy; those of a program with nothing.

exit code: 0 if the results agree or there is nothing to compare them with, 1 if
they differ or something is wrong, 2 for a wrong command line, 130 after an
interrupt"""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc run`."""
    parser = add_command(
        subparsers,
        "run",
        _run,
        help="compile a model, run it on the emulator and compare the results",
        description="Compile a model or load a program, run it on the emulator, and compare.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        type=FileName((".onnx", ".npu")),
        help="an .onnx model, or an .npu program",
    )
    npz = FileName((".npz",))
    add("--input", metavar="NPZ", type=npz, help="inputs by tensor name (default: made up)")
    add("--expect", metavar="NPZ", type=npz, help="expected outputs by tensor name")
    add_choices(parser)
    add_strict(parser)
    add_shapes(parser)
    add_json(parser)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """Add the options that say on what machine, how precisely and at what level to run."""
    add_target(parser)
    add_precision(parser)
    parser.add_argument(
        "--level",
        choices=("graph", "tensor", "tile", "npu_isa"),
        default="npu_isa",
        help="the level of the compiler to run: npu_isa (the default) is the emulator",
    )


def _run(arguments: argparse.Namespace) -> int:
    from ...compiler.request import Request

    request = Request(
        model=arguments.model,
        inputs=arguments.input,
        expect=arguments.expect,
        target=arguments.target,
        precision=arguments.precision,
        level=arguments.level,
        strict=arguments.strict,
        shapes=shapes_of(arguments),
    )
    return carry_out(request, json=arguments.json)


def carry_out(request: Request, *, json: bool) -> int:
    """Run what is asked for and print the report, as one JSON object if so wished; exit code."""
    from ...compiler.report import as_json, as_text
    from ...compiler.run import run_model

    with progress() as tell:
        outcome = run_model(request, tell)
    for warning in outcome.warnings:
        say(f"{TOOL}: warning: {warning}")
    show(as_json(outcome) if json else as_text(outcome))
    return 0 if outcome.ok else FAILED
