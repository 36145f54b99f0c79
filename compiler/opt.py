"""npu-opt: read IR, run passes or go to a stage, print IR.

Results go to standard output or `-o`, everything else to standard error. The exit code is 0 only if
all went well; a user never sees a traceback without `--debug`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..dialects.core.errors import InputError, InternalError, NpucError
from ..dialects.core.parser import parse_module
from ..dialects.core.printer import print_ir
from ..dialects.core.registry import NpucContext, make_context
from ..dialects.core.verify import verify
from ..passes.base import NpucPass
from .command_line import FAILED, STANDARD, read_text, run_guarded, say, write_output
from .diagnostics import Diagnostic, expectations, mismatches, of_error, of_report
from .pipeline import (
    FIRST,
    STAGES,
    Options,
    parse_passes,
    run_passes,
    run_stages,
    stage_of,
    stage_passes,
    stages_between,
)
from .weight_files import default_folder, spill_weights

TOOL = "npu-opt"
SEPARATOR = "// -----"
"""The line between the modules of a file for `--split-input-file`."""


class Part(NamedTuple):
    """A piece of the input that is a module of its own, and the number of its first line."""

    text: str
    first_line: int


class Outcome(NamedTuple):
    """What became of a part: its IR, None after an error, and what there is to say."""

    text: str | None
    diagnostics: list[Diagnostic]


@dataclass
class Watcher:
    """Looks on while passes run: prints IR as asked, keeps remarks and times."""

    file: str
    print_before: Sequence[str]
    print_after: Sequence[str]
    remarks: list[Diagnostic] = field(default_factory=list[Diagnostic])
    times: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Print the IR if asked for this pass."""
        _print_if(self.print_before, "before", pass_, module)

    def after(self, pass_: ModulePass, module: ModuleOp, seconds: float) -> None:
        """Print the IR if asked for this pass; keep what it said and took."""
        _print_if(self.print_after, "after", pass_, module)
        if isinstance(pass_, NpucPass):
            self.remarks += of_report(pass_.report, pass_.name, self.file)
        self.times.append((pass_.name, seconds))


def _print_if(names: Sequence[str], when: str, pass_: ModulePass, module: ModuleOp) -> None:
    if pass_.name in names or "all" in names:
        say(f"// ---- IR {when} {pass_} ---- //\n{print_ir(module)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run npu-opt with command-line arguments (`sys.argv` by default); the exit code."""
    arguments = _parser().parse_args(argv)
    return run_guarded(TOOL, lambda: _run(arguments), debug=arguments.debug)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        TOOL, description="Run passes on IR of npuc, or take it to a stage.", allow_abbrev=False
    )
    add = parser.add_argument
    add("input", nargs="?", default=STANDARD, help="file of IR; - is standard input")
    add("-o", dest="output", metavar="FILE", default=STANDARD, help="where to write the IR")
    add("-p", "--passes", metavar="PIPELINE", help="passes to run: 'a,b{option=1}'")
    stages = ", ".join(stage.name for stage in STAGES)
    add("--to", metavar="STAGE", help=f"go to a stage: {stages}")
    add("--from", dest="start", metavar="STAGE", help="the stage the input is at")
    add("--target", metavar="NAME|PATH", help="the machine, instead of the one in the pipeline")
    add("--precision", metavar="POLICY", help="origin, mixed or f16, instead of the pipeline's")
    for when in ("before", "after"):
        add(
            f"--print-ir-{when}",
            metavar="NAME|all",
            action="append",
            default=[],
            help=f"print the IR {when} a pass to standard error",
        )
    add("--dump-pass-pipeline", action="store_true", help="print the pipeline to standard error")
    add("--timing", action="store_true", help="print CPU seconds per pass to standard error")
    add("--verify-diagnostics", action="store_true", help="check `// expected-error {{...}}`")
    add("--split-input-file", action="store_true", help=f"modules between `{SEPARATOR}`")
    add("--print-op-generic", action="store_true", help="print every op in generic form")
    add("--allow-unregistered-dialect", action="store_true", help="take ops of unknown dialects")
    add("--debug", action="store_true", help="show the traceback of an error")
    add("--version", action="store_true", help="print the version")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    if arguments.passes is not None and arguments.to is not None:
        raise InputError("-p and --to exclude each other", hint="give one of them")
    if arguments.start is not None and arguments.to is None:
        raise InputError("--from says where --to starts", hint="give --to as well")
    text = read_text(arguments.input)
    file = "<stdin>" if arguments.input == STANDARD else arguments.input
    parts = split(text) if arguments.split_input_file else [Part(text, 1)]
    outcomes = [_process(part, file, arguments) for part in parts]
    diagnostics = [d for outcome in outcomes for d in outcome.diagnostics]
    if arguments.verify_diagnostics:
        diagnostics = mismatches(expectations(text), diagnostics, file)
    for diagnostic in diagnostics:
        say(str(diagnostic))
    if any(d.kind == "error" for d in diagnostics):
        return FAILED
    texts = [outcome.text for outcome in outcomes if outcome.text is not None]
    write_output(f"{SEPARATOR}\n".join(texts).encode(), arguments.output, text=True)
    return 0


def split(text: str) -> list[Part]:
    """The modules of a file between lines that start with the separator."""
    parts: list[Part] = []
    first, lines = 1, list[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith(SEPARATOR):
            parts.append(Part("\n".join(lines), first))
            first, lines = number + 1, []
        else:
            lines.append(line)
    return [*parts, Part("\n".join(lines), first)]


def _process(part: Part, file: str, arguments: argparse.Namespace) -> Outcome:
    """Parse, verify and transform one module; an error of the input or a pass is a diagnostic."""
    watcher = Watcher(file, arguments.print_ir_before, arguments.print_ir_after)
    ctx = make_context(allow_unregistered=arguments.allow_unregistered_dialect)
    try:
        module = parse_module(ctx, part.text, file, part.first_line)
        verify(module)
        _transform(module, ctx, watcher, arguments)
        spill_weights(module, ctx.store, default_folder())  # those that passes computed
        text = print_ir(module, generic=arguments.print_op_generic)
    except InternalError:
        raise
    except NpucError as error:
        if arguments.debug and not arguments.verify_diagnostics:
            raise
        return Outcome(None, [*watcher.remarks, of_error(error, file)])
    if arguments.timing:
        _print_times(watcher.times)
    return Outcome(text, watcher.remarks)


def _transform(
    module: ModuleOp, ctx: NpucContext, watcher: Watcher, arguments: argparse.Namespace
) -> None:
    options = Options(arguments.target, arguments.precision)
    start: str | None = None
    if arguments.to is None:
        passes = parse_passes(arguments.passes, options) if arguments.passes else ()
    else:
        start = str(arguments.start or stage_of(module) or FIRST)
        stages = stages_between(start, arguments.to)
        passes = tuple(p for stage in stages for p in stage_passes(stage, options))
    unused = options.overrides().keys() - {pass_.name for pass_ in passes}
    if unused:
        raise InputError(
            "--target or --precision has no effect",
            why=f"the pipeline does not run {', '.join(sorted(unused))}",
            hint="leave it out, or start at an earlier stage",
        )
    if arguments.dump_pass_pipeline:
        say(",".join(map(str, passes)))
    if arguments.to is None:
        run_passes(module, ctx, passes, [watcher])
    else:
        run_stages(module, ctx, arguments.to, start=start, options=options, hooks=[watcher])


def _print_times(times: Sequence[tuple[str, float]]) -> None:
    width = max((len(name) for name, _ in times), default=0)
    for name, seconds in times:
        say(f"{name:<{width}}  {seconds:8.4f} s")
    say(f"{'total':<{width}}  {sum(seconds for _, seconds in times):8.4f} s")
