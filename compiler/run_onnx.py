"""Run a model at one level and compare what it gives with what it should give.

The reference is what the caller expects, or the model as it was imported: the graph in f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from ..backend.emulator.emulator import Emulator
from ..backend.emulator.result import Result
from ..backend.program import Program
from ..dialects.core.dtypes import Array
from ..dialects.core.errors import InputError
from ..dialects.core.interpreter import Interpreter
from ..dialects.core.store import Store
from ..dialects.target import machine as machines
from .arrays import match_inputs
from .driver import Lowered, compile_model, lower_model
from .frontends.onnx.shapes import Port
from .pipeline import FIRST, Options
from .progress import Tell
from .request import DEFAULT_PRECISION, LEVELS, Given, Outcome, Request, by_name, compare_all

_MAIN = "main"


def run_onnx(request: Request, tell: Tell) -> Outcome:
    """Carry out a request for an `.onnx` file, as `run_model`."""
    given, options = Given(request), Options(request.target, request.precision, request.strict)
    precision = request.precision or DEFAULT_PRECISION
    if request.target is not None:
        machines.load(request.target)  # so that a wrong name is found at every level, and at once
    if request.strict and request.level in ("graph", "tensor"):
        raise InputError(
            f"--strict has no effect at the level {request.level}",
            why="the host engine is not called above the level tile",
            hint="use --level tile or npu_isa",
        )
    lowered, program, compile_cpu_s = _prepared(request, options, tell)
    result: Result | None = None
    inputs = given.inputs(lowered.inputs)
    expected = given.expected(lowered.outputs)
    tell("emulating" if program else "running")
    start = process_time()
    if program is not None:
        result = Emulator(program).run(by_name(lowered.inputs, inputs))
        outputs = result.outputs
    else:
        outputs = _interpret(lowered.module, lowered.store, lowered.outputs, inputs)
    emulated = process_time() - start
    if not expected:
        tell("running the graph for comparison")
        expected = _interpret(lowered.snapshots[FIRST], lowered.store, lowered.outputs, inputs)
    return Outcome(
        request=request,
        precision=precision,
        outputs=outputs,
        comparisons=compare_all(outputs, expected, precision),
        warnings=lowered.warnings,
        program=program,
        result=result,
        compile_cpu_s=compile_cpu_s,
        emulate_cpu_s=emulated,
    )


def _prepared(
    request: Request, options: Options, tell: Tell
) -> tuple[Lowered, Program | None, float]:
    """The model at the level to run, the program if that is a program, and the CPU seconds."""
    keep, shapes = [FIRST], request.shapes
    if request.level == "npu_isa":
        compiled = compile_model(request.model, options, keep=keep, shapes=shapes, tell=tell)
        return compiled.lowered, compiled.program, compiled.compile_cpu_s
    stage = LEVELS[request.level]
    lowered = lower_model(request.model, options, stage, keep=keep, shapes=shapes, tell=tell)
    return lowered, None, lowered.cpu_s


def evaluate_graph(source: object, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of an ONNX model by name, by numpy in the model's own precision.

    `InputError` for a model that cannot be read, or inputs that do not fit.
    """
    lowered = lower_model(source, Options(), FIRST)
    arrays = match_inputs(lowered.inputs, inputs, "the given inputs")
    return _interpret(lowered.module, lowered.store, lowered.outputs, arrays)


def _interpret(
    module: ModuleOp, store: Store, ports: Sequence[Port], inputs: Sequence[Array]
) -> dict[str, Array]:
    return by_name(ports, Interpreter(module, store).call(_MAIN, *inputs))
