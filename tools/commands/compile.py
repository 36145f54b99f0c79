"""`npuc compile`: a model becomes a program file."""

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
    add_strict,
    add_target,
    progress,
    shapes_of,
    show,
)

if TYPE_CHECKING:
    from .base import Subparsers

_EPILOG = """\
examples:
  npuc compile models/net.onnx         writes net.npu in the current folder
  npuc compile net.onnx -o out.npu --target mine.toml --precision f16

The program appears under its name whole or not at all. `npuc run`, `npuc info`
and the Python function `npuc.load` take it, and need the model no more.

exit code: 0 if the program was written, 1 if not, 2 for a wrong command line,
130 after an interrupt"""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc compile`."""
    parser = add_command(
        subparsers,
        "compile",
        _run,
        help="compile a model to a program file",
        description="Compile a model to a program file for one machine.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=FileName((".onnx",)), help="an .onnx model")
    add(
        "-o",
        "--output",
        metavar="FILE",
        type=FileName((".npu",)),
        help="the program file; - is standard output (default: the name of the model with .npu, "
        "in the current folder)",
    )
    add_target(parser)
    add_precision(parser)
    add_strict(parser)
    add_shapes(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from ...compiler.build import Order, as_json, as_line, build

    order = Order(
        model=arguments.model,
        output=arguments.output,
        target=arguments.target,
        precision=arguments.precision,
        strict=arguments.strict,
        shapes=shapes_of(arguments),
        json=arguments.json,
    )
    with progress() as tell:
        built = build(order, tell)
    for warning in built.warnings:
        say(f"{TOOL}: warning: {warning}")
    if arguments.json:
        show(as_json(built))
    else:
        say(f"{TOOL}: {as_line(built)}")
    return 0
