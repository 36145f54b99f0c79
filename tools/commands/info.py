"""`npuc info`: what a model or a program is made of."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ...compiler.arguments import FileName
from ...compiler.command_line import say
from ...compiler.kinds import PROGRAM, kind_of
from .base import TOOL, add_command, add_json, add_shapes, progress, shapes_of, show

if TYPE_CHECKING:
    from .base import Subparsers

_EPILOG = """\
Of a model: inputs, outputs, operators, the engine that computes each node,
parameters, multiply-adds, and everything npuc does not support, all at once.
An engine is cube, vector, host (the AI CPU), or none for a node that costs
nothing: a constant, a reshape, what folds away.
Of a program: its machine, memory, inputs, outputs, kernels and their nodes.

exit code: 0 if the file could be read, even if it is a model that is not
supported (`npuc compile` then fails), 1 if not, 2 for a wrong command line,
130 after an interrupt"""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc info`."""
    parser = add_command(
        subparsers,
        "info",
        _run,
        help="what a model or a program is made of, and what of it is not supported",
        description="Show what a model or a program is made of.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=FileName((".onnx", ".npu")),
        help="an .onnx model, or an .npu program",
    )
    add_shapes(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    if kind_of(arguments.model) == PROGRAM:
        return _program(arguments)
    with progress() as tell:
        tell("loading the compiler")
        from ...compiler.model_info import model_info
        from ...compiler.model_report import model_as_json, model_as_text

        info = model_info(arguments.model, shapes_of(arguments), tell)
    for warning in info.warnings:
        say(f"{TOOL}: warning: {warning}")
    show(model_as_json(info) if arguments.json else model_as_text(info))
    return 0


def _program(arguments: argparse.Namespace) -> int:
    from ...compiler.program_info import program_as_json, program_as_text

    show(program_as_json(arguments.model) if arguments.json else program_as_text(arguments.model))
    return 0
