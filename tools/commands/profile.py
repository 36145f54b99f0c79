"""`npuc profile`: where the time of a run goes, as a timeline and tables."""

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
written into DIR:
  trace.json         every instruction on its pipe and core, with arrows from flag to flag; for
                     ui.perfetto.dev, or any viewer of Chrome traces
  op_summary.csv     a row a launch: start, duration, how busy each unit was
  op_statistic.csv   a row an operator type
  memory.csv         a row a launch: what it moved between the memories

Columns have the names of Ascend's profiler; docs/profiling.md says what they mean. A very long run
is recorded in part: the first instructions of each kernel.

exit code: 0 if the files were written, 1 if not, 2 for a wrong command line, 130 on an interrupt"""


def add(subparsers: Subparsers) -> None:
    """Add the parser of `npuc profile`."""
    parser = add_command(
        subparsers,
        "profile",
        _run,
        help="write a timeline of a run and tables of where its time goes",
        description="Compile a model, run it on the emulator, and write where the time goes.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("model", metavar="MODEL", type=FileName((".onnx",)), help="an .onnx model")
    add(
        "-o",
        "--output",
        metavar="DIR",
        type=FileName(),
        required=True,
        help="the folder for the files, which is made if need be",
    )
    npz = FileName((".npz",))
    add("--input", metavar="NPZ", type=npz, help="inputs by tensor name (default: made up)")
    add_target(parser)
    add_precision(parser)
    add_shapes(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    with progress() as tell:
        tell("loading the compiler")
        from ...compiler.profile.files import profile
        from ...compiler.profile.report import left_out, profile_as_json, profile_as_text
        from ...compiler.request import Request

        request = Request(
            model=arguments.model,
            inputs=arguments.input,
            target=arguments.target,
            precision=arguments.precision,
            shapes=shapes_of(arguments),
        )
        profiled = profile(request, arguments.output, tell)
    for warning in profiled.observation.lowered.warnings:
        say(f"{TOOL}: warning: {warning}")
    if (note := left_out(profiled)) is not None:
        say(f"{TOOL}: note: {note}")
    show(profile_as_json(profiled) if arguments.json else profile_as_text(profiled))
    return 0
