"""`npuc explain`: what the compiler decided for each kernel, and what came of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...compiler.arguments import FileName
from ...compiler.command_line import say
from .base import (
    TOOL,
    add_command,
    add_json,
    add_precision,
    add_shapes,
    add_target,
    progress,
    shapes_of,
    show,
)

if TYPE_CHECKING:
    from .base import Subparsers

_EPILOG = """\
examples:
  npuc explain model.onnx              every kernel: tiles, cores, cycles, what limits it, and why
                                       fusion stopped
  npuc explain model.onnx conv1        the kernels that compute the node conv1, with their buffers
                                       and instructions

Cycles are without launching. `predicted` is what the schedule was chosen for, `emulated` what it
took; `bound` is the pipe that works for at least half of the time, or latency.

exit code: 0 if there was something to explain, 1 if not, 2 for a wrong command line, 130 on an
interrupt"""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc explain`."""
    parser = add_command(
        subparsers,
        "explain",
        _run,
        help="show what was decided for each kernel, and what came of it",
        description="Compile a model, run it on the emulator, and explain its kernels.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=FileName((".onnx",)), help="an .onnx model")
    add("node", metavar="NODE", nargs="?", help="a node of the model (default: all)")
    npz = FileName((".npz",))
    add("--input", metavar="NPZ", type=npz, help="inputs by tensor name (default: made up)")
    add_target(parser)
    add_precision(parser)
    add_shapes(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    with progress() as tell:
        tell("loading the compiler")
        from ...compiler.explain import explain
        from ...compiler.explain_report import explanation_as_json, explanation_as_text
        from ...compiler.request import Request

        request = Request(
            model=arguments.model,
            inputs=arguments.input,
            target=arguments.target,
            precision=arguments.precision,
            shapes=shapes_of(arguments),
        )
        explanation = explain(request, arguments.node, tell)
    for warning in explanation.observation.lowered.warnings:
        say(f"{TOOL}: warning: {warning}")
    show(explanation_as_json(explanation) if arguments.json else explanation_as_text(explanation))
    return 0
