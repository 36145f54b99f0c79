"""Compile a model into a program file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from ..backend import container
from ..backend.program import Program
from ..dialects.core.errors import InputError
from ..dialects.target import machine as machines
from .command_line import STANDARD, write_output
from .driver import compile_model
from .kinds import PROGRAM, kind_of
from .pipeline import Options
from .progress import Tell
from .request import DEFAULT_PRECISION
from .tables import count_of, size_of


@dataclass(frozen=True)
class Order:
    """What to compile: an `.onnx` file, for which machine, how precisely, and where to.

    `output` None is the name of the model with `.npu` in the current folder, `-` standard output.
    """

    model: str
    output: str | None = None
    target: str | None = None
    precision: str | None = None
    strict: bool = False
    shapes: Mapping[str, Sequence[int]] | None = None
    json: bool = False
    """Whether the report goes to standard output, which then cannot take the program."""

    @property
    def path(self) -> str:
        """Where the program goes."""
        return self.output or Path(Path(self.model).name).with_suffix(PROGRAM).name


@dataclass(frozen=True)
class Built:
    """A program that was written to `path`."""

    order: Order
    path: str
    nbytes: int
    program: Program
    warnings: Sequence[str]
    seconds: float
    """Wall time from the start to the file."""
    compile_cpu_s: float


def build(order: Order, tell: Tell) -> Built:
    """Compile and write; the file appears whole or not at all, and nothing is left of a failure.

    `InputError` for what is wrong with the order (found before anything is compiled), or what
    compiling raises.
    """
    start = monotonic()
    if kind_of(order.model) == PROGRAM:
        raise InputError(f"{order.model} is a program already", hint="give an .onnx model")
    path = order.path
    if path != STANDARD:
        _check_place(path, order.model)
    elif order.json:
        raise InputError("-o - and --json both write to standard output", hint="give one of them")
    if order.target is not None:
        machines.load(order.target)
    options = Options(order.target, order.precision, order.strict)
    compiled = compile_model(order.model, options, shapes=order.shapes, tell=tell)
    tell("writing the program")
    nbytes = _write(compiled.program, path)
    return Built(
        order=order,
        path=path,
        nbytes=nbytes,
        program=compiled.program,
        warnings=compiled.lowered.warnings,
        seconds=monotonic() - start,
        compile_cpu_s=compiled.compile_cpu_s,
    )


def _write(program: Program, path: str) -> int:
    """Write the program; its bytes."""
    if path == STANDARD:
        content = container.to_bytes(program)
        write_output(content, path, text=False)
        return len(content)
    container.save(program, path)
    return os.stat(path).st_size


def _check_place(path: str, model: str) -> None:
    """Find out early what writing would find out late, and keep the model."""
    # Functions of os.path answer False where pathlib's raise, for want of rights for instance.
    if os.path.exists(path) and os.path.exists(model) and os.path.samefile(path, model):
        raise InputError(f"{path} is the model itself", hint="give the program another name by -o")
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    wrong = None
    if os.path.isdir(target):
        wrong = "it is a folder"
    elif not os.path.isdir(folder):
        wrong = f"there is no folder {folder}"
    elif not os.access(folder, os.W_OK) and (os.path.isfile(target) or not os.path.exists(target)):
        wrong = f"the folder {folder} may not be written to"
    if wrong:
        raise InputError(
            f"cannot write {path}",
            why=wrong,
            hint="give a path that may be written to, in a folder that is there, by -o",
        )


def as_line(built: Built) -> str:
    """What was written, for a person."""
    program = built.program
    where = "standard output" if built.path == STANDARD else built.path
    return (
        f"wrote {where}: {size_of(built.nbytes)}, {count_of(len(program.kernels), 'kernel')} for "
        f"{program.machine.name} ({built.order.precision or DEFAULT_PRECISION}), "
        f"in {built.seconds:.1f} s"
    )


def as_json(built: Built) -> str:
    """One object in one line; docs/commands.md says what the keys mean."""
    program = built.program
    calls = sum(len(entry.tasks) for entry in program.entries)
    document: dict[str, Any] = {
        "model": built.order.model,
        "output": built.path,
        "bytes": built.nbytes,
        "target": program.machine.name,
        "validation": program.machine.validation,
        "precision": built.order.precision or DEFAULT_PRECISION,
        "kernels": len(program.kernels),
        "launches": calls,
        "gm_bytes": program.gm_bytes,
        "constant_bytes": sum(constant.data.nbytes for constant in program.constants),
        "modelled_features": list(program.modelled),
        "warnings": list(built.warnings),
        "seconds": built.seconds,
        "compile_cpu_s": built.compile_cpu_s,
    }
    return json.dumps(document, allow_nan=False)
