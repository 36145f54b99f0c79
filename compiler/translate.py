"""`npu-translate`: between models, IR as text, assembly text and program files.

Text that leaves the process names its weights by file: what is only in memory is written to the
weight folder first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue

from ..backend.container import to_bytes
from ..dialects.core.errors import InputError
from ..dialects.core.parser import parse_module
from ..dialects.core.printer import print_ir
from ..dialects.core.registry import NpucContext, make_context
from ..dialects.core.store import Store
from ..dialects.core.verify import verify
from ..dialects.npu_isa.instructions.sync import Barrier, SetFlag, WaitFlag
from ..dialects.npu_isa.ops import InstrOp
from ..dialects.npu_isa.structure import KernelOp
from ..dialects.npu_isa.types import RegType
from ..dialects.tile.program import ProgramOp
from .assembly import parse_assembly, print_assembly
from .command_line import STANDARD, read_bytes, read_text, run_guarded, say, write_output
from .emit import emit_program
from .frontends.onnx.importer import import_onnx
from .lift import lift_bytes, lift_file
from .pipeline import FIRST, STAGE_ATTRIBUTE, STAGES, run_stages, stage_of, stages_between
from .weight_files import default_folder, spill_weights

TOOL = "npu-translate"
LOWEST = "npu_isa"
"""The first stage from which a module becomes a program without anything to choose."""

_TRANSLATIONS = {
    "import_onnx": "an ONNX model to IR at stage `import`",
    "mlir_to_binary": f"IR at stage `{LOWEST}` or later to a program; what is left to stage "
    f"`{STAGES[-1].name}` is done first",
    "binary_to_mlir": f"a program to IR at stage `{STAGES[-1].name}`",
    "mlir_to_asm": f"the kernels of IR at stage `{LOWEST}` or later to assembly text",
    "asm_to_mlir": "assembly text to IR with its kernels",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run npu-translate with command-line arguments (`sys.argv` by default); the exit code."""
    arguments = _parser().parse_args(argv)
    return run_guarded(TOOL, lambda: _run(arguments), debug=arguments.debug)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        TOOL, description="Translate between models, IR, assembly and programs.", allow_abbrev=False
    )
    add = parser.add_argument
    add("input", nargs="?", default=STANDARD, help="file to read; - is standard input")
    add("-o", dest="output", metavar="FILE", default=STANDARD, help="file to write")
    which = parser.add_mutually_exclusive_group(required=True)
    for name, sentence in _TRANSLATIONS.items():
        flag = f"--{name.replace('_', '-')}"
        which.add_argument(flag, dest="kind", action="store_const", const=name, help=sentence)
    add(
        "--shape",
        metavar="NAME=N,N,..",
        action="append",
        default=[],
        help="shape of an input of the model that leaves sizes open",
    )
    add(
        "--store",
        metavar="FOLDER",
        help="where weights go that are in no file (default: npuc's folder in the user's cache)",
    )
    add("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _run(arguments: argparse.Namespace) -> int:
    kind, name = arguments.kind, arguments.input
    if arguments.shape and kind != "import_onnx":
        raise InputError("--shape has no effect", why="only --import-onnx reads a model")
    store = Store()
    text = True
    match kind:
        case "import_onnx":
            result = _import_onnx(arguments, store)
        case "binary_to_mlir":
            module = (
                lift_bytes(read_bytes(name), store, "standard input")
                if name == STANDARD
                else lift_file(name, store)
            )
            result = _text(module, store, arguments)
        case "mlir_to_binary":
            ctx = make_context(store)
            result, text = to_bytes(emit_program(_final(_read(ctx, name), ctx), store)), False
        case "mlir_to_asm":
            result = print_assembly(_read(make_context(store), name)).encode()
        case _:
            result = print_ir(parse_assembly(read_text(name))).encode()
    write_output(result, arguments.output, text=text)
    return 0


def _read(ctx: NpucContext, name: str) -> ModuleOp:
    module = parse_module(ctx, read_text(name), "<stdin>" if name == STANDARD else name)
    verify(module)
    return module


def _import_onnx(arguments: argparse.Namespace, store: Store) -> bytes:
    name = arguments.input
    source = read_bytes(name) if name == STANDARD else name
    imported = import_onnx(source, store, parse_shapes(arguments.shape))
    for warning in imported.warnings:
        say(f"{TOOL}: warning: {warning}")
    module = imported.module
    module.attributes[STAGE_ATTRIBUTE] = StringAttr(FIRST)
    verify(module)
    return _text(module, store, arguments)


def parse_shapes(given: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The shapes in texts like `x=1,3,224,224`, by input; `InputError` for any other text."""
    shapes: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, _, sizes = text.rpartition("=")
        parts = sizes.split(",")
        if not name or not all(part.strip().isdecimal() for part in parts):
            raise InputError(f"`{text}` is not the shape of an input", hint="write x=1,3,224,224")
        shapes[name] = tuple(int(part) for part in parts)
    return shapes


def _text(module: ModuleOp, store: Store, arguments: argparse.Namespace) -> bytes:
    spill_weights(module, store, arguments.store or default_folder())
    return print_ir(module).encode()


def _final(module: ModuleOp, ctx: NpucContext) -> ModuleOp:
    """Take a module that is at `LOWEST` or later to the last stage, in place."""
    start = stage_of(module) or _stage_by_content(module)
    if start not in {LOWEST, *(stage.name for stage in stages_between(LOWEST, STAGES[-1].name))}:
        raise InputError(
            f"a module at stage `{start}` is no program yet",
            why=f"it must be at stage `{LOWEST}` or later",
            hint=f"run npu-opt --to={LOWEST} first",
        )
    run_stages(module, ctx, STAGES[-1].name, start=start)
    return module


def _stage_by_content(module: ModuleOp) -> str:
    """The stage of a module without a mark, as after `npu-opt -p`, by its registers and flags."""
    kernels = [op for op in module.ops if isinstance(op, KernelOp)]
    if not kernels and any(not isinstance(op, ProgramOp) for op in module.ops):
        return FIRST
    ops = [op for kernel in kernels for op in kernel.walk()]
    if all(_is_physical(value) for op in ops for value in op.results):
        return STAGES[-1].name
    flags = (SetFlag, WaitFlag, Barrier)
    synced = any(isinstance(op, InstrOp) and op.spec in flags for op in ops)
    return "synced" if synced else LOWEST


def _is_physical(value: SSAValue) -> bool:
    """Whether a value is a register of the machine, and not a virtual one."""
    return isinstance(value.type, RegType) and value.type.physical is not None
