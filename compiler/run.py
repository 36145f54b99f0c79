"""Run a model or a program and compare what it gives with what it should give.

A program that comes without its model and without expectations is only run; that needs no compiler,
and so no xDSL.
"""

from __future__ import annotations

from time import process_time

from ..backend.container import load
from ..backend.emulator.emulator import Emulator
from ..backend.program import HostTask, Program
from ..dialects.core.errors import InputError
from ..dialects.core.kernels.host import listing
from ..dialects.target import machine as machines
from .frontends.onnx.shapes import Port
from .kinds import PROGRAM, kind_of
from .progress import Tell
from .request import (
    DEFAULT_PRECISION,
    LEVELS,
    Given,
    Outcome,
    Request,
    by_name,
    compare_all,
)

__all__ = ["LEVELS", "Outcome", "Request", "run_model"]


def run_model(request: Request, tell: Tell) -> Outcome:
    """Carry out a request; `tell` is told what is being done.

    `InputError` for a file or an option that is wrong, or what compiling and running raise.
    """
    if kind_of(request.model) == PROGRAM:
        return _run_program(request, tell)
    from .run_onnx import run_onnx

    return run_onnx(request, tell)


def _run_program(request: Request, tell: Tell) -> Outcome:
    if request.level != "npu_isa":
        raise InputError("a program has only the level npu_isa", hint="run the model instead")
    if request.precision is not None and request.expect is None:
        raise InputError(
            "--precision has no effect on a program",
            why="it is compiled already, and nothing is expected of it",
        )
    if request.shapes:
        raise InputError("--shape has no effect on a program", why="its shapes are fixed")
    given = Given(request)
    program = load(request.model)
    if request.strict:
        _refuse_host(program, request.model)
    if request.target is not None and machines.load(request.target) != program.machine:
        raise InputError(
            f"{request.model} is a program for {program.machine.name}, not for {request.target}",
            hint="compile the model for that target",
        )
    entry = program.entry()
    ports = [Port(io.name, io.dtype, io.shape) for io in entry.inputs]
    inputs = given.inputs(ports)
    expected = given.expected([Port(io.name, io.dtype, io.shape) for io in entry.outputs])
    tell("emulating")
    start = process_time()
    result = Emulator(program).run(by_name(ports, inputs))
    emulated = process_time() - start
    precision = request.precision or DEFAULT_PRECISION
    return Outcome(
        request=request,
        precision=precision if expected else None,
        outputs=result.outputs,
        comparisons=compare_all(result.outputs, expected, precision),
        warnings=(),
        program=program,
        result=result,
        compile_cpu_s=0.0,
        emulate_cpu_s=emulated,
    )


def _refuse_host(program: Program, path: str) -> None:
    calls = [t for e in program.entries for t in e.tasks if isinstance(t, HostTask)]
    if calls:
        raise InputError(
            f"{path} runs functions on the host engine, which --strict forbids",
            why=listing((call.function, call.node) for call in calls),
            hint="leave --strict out, or change the model",
        )
