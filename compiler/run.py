"""Run a model or a program at one level and compare what it gives with what it should give.

The reference is what the caller expects, or the model as it was imported: the graph in f32. A
program that comes without its model and without expectations is only run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from xdsl.dialects.builtin import ModuleOp

from ..backend.container import load
from ..backend.emulator.emulator import Emulator
from ..backend.emulator.result import Result
from ..backend.program import HostTask, Program
from ..dialects.core.dtypes import Array
from ..dialects.core.errors import InputError
from ..dialects.core.interpreter import Interpreter
from ..dialects.core.kernels.host import listing
from ..dialects.core.store import Store
from ..dialects.core.tolerance import Comparison, compare
from ..dialects.target import machine as machines
from .arrays import match_inputs, match_outputs, random_arrays, read_arrays
from .driver import compile_model, lower_model
from .frontends.onnx.shapes import Port
from .pipeline import FIRST, STAGES, Options

LEVELS = {"graph": "graph", "tensor": "scheduled", "tile": "planned", "npu_isa": STAGES[-1].name}
"""The stage at which each level is run: the last one of the level."""
DEFAULT_PRECISION = "mixed"
_MAIN = "main"


@dataclass(frozen=True)
class Request:
    """What to run: an `.onnx` or `.npu` file, `.npz` files with inputs and expected outputs.

    `target` and `precision` None mean the default, or what a program was compiled for.
    """

    model: str
    inputs: str | None = None
    expect: str | None = None
    target: str | None = None
    precision: str | None = None
    level: str = "npu_isa"
    strict: bool = False
    """Refuse what would run on the host engine."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave. `comparisons` is empty where there was nothing to compare with.

    `program` and `result` are None at levels above `npu_isa`, which take no time to speak of.
    """

    request: Request
    precision: str | None
    """Whose limit the comparisons had; None for a program of which nothing was expected."""
    outputs: Mapping[str, Array]
    comparisons: Mapping[str, Comparison]
    warnings: Sequence[str]
    program: Program | None
    result: Result | None
    compile_cpu_s: float
    emulate_cpu_s: float

    @property
    def ok(self) -> bool:
        """Whether every comparison is within its limit."""
        return all(comparison.ok for comparison in self.comparisons.values())


def run_model(request: Request, progress: Callable[[str], None]) -> Outcome:
    """Carry out a request; `progress` is told what is being done.

    `InputError` for a file or an option that is wrong, or what compiling and running raise.
    """
    suffix = Path(request.model).suffix
    if suffix == ".npu":
        return _run_program(request, progress)
    if suffix == ".onnx":
        return _run_onnx(request, progress)
    raise InputError(
        f"{request.model} is no model", why="its name ends neither in .onnx nor in .npu"
    )


def _run_program(request: Request, progress: Callable[[str], None]) -> Outcome:
    if request.level != "npu_isa":
        raise InputError("a program has only the level npu_isa", hint="run the model instead")
    if request.precision is not None and request.expect is None:
        raise InputError(
            "--precision has no effect on a program",
            why="it is compiled already, and nothing is expected of it",
        )
    given = _Given(request)
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
    progress("emulating")
    start = process_time()
    result = Emulator(program).run(_by_name(ports, inputs))
    emulated = process_time() - start
    outputs = [Port(io.name, io.dtype, io.shape) for io in entry.outputs]
    expected = given.expected(outputs)
    precision = request.precision or DEFAULT_PRECISION
    return Outcome(
        request=request,
        precision=precision if expected else None,
        outputs=result.outputs,
        comparisons=_compare(result.outputs, expected, precision),
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


def _run_onnx(request: Request, progress: Callable[[str], None]) -> Outcome:
    given, options = _Given(request), Options(request.target, request.precision, request.strict)
    precision = request.precision or DEFAULT_PRECISION
    if request.target is not None:
        machines.load(request.target)  # so that a wrong name is found at every level, and at once
    if request.strict and request.level in ("graph", "tensor"):
        raise InputError(
            f"--strict has no effect at the level {request.level}",
            why="the host engine is not called above the level tile",
            hint="use --level tile or npu_isa",
        )
    progress("compiling")
    program: Program | None = None
    result: Result | None = None
    if request.level == "npu_isa":
        compiled = compile_model(request.model, options, keep=[FIRST])
        lowered, program = compiled.lowered, compiled.program
        compile_cpu_s = compiled.compile_cpu_s
    else:
        lowered = lower_model(request.model, options, LEVELS[request.level], keep=[FIRST])
        compile_cpu_s = lowered.cpu_s
    inputs = given.inputs(lowered.inputs)
    expected = given.expected(lowered.outputs)
    progress("emulating" if program else "running")
    start = process_time()
    if program is not None:
        result = Emulator(program).run(_by_name(lowered.inputs, inputs))
        outputs = result.outputs
    else:
        outputs = _interpret(lowered.module, lowered.store, lowered.outputs, inputs)
    emulated = process_time() - start
    if not expected:
        progress("running the graph for comparison")
        expected = _interpret(lowered.snapshots[FIRST], lowered.store, lowered.outputs, inputs)
    return Outcome(
        request=request,
        precision=precision,
        outputs=outputs,
        comparisons=_compare(outputs, expected, precision),
        warnings=lowered.warnings,
        program=program,
        result=result,
        compile_cpu_s=compile_cpu_s,
        emulate_cpu_s=emulated,
    )


def evaluate_graph(source: object, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of an ONNX model by name, by numpy in the model's own precision.

    `InputError` for a model that cannot be read, or inputs that do not fit.
    """
    lowered = lower_model(source, Options(), FIRST)
    arrays = match_inputs(lowered.inputs, inputs, "the given inputs")
    return _interpret(lowered.module, lowered.store, lowered.outputs, arrays)


class _Given:
    """The arrays of a request, read at once so that a bad file is found before anything is done."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._inputs = None if request.inputs is None else read_arrays(request.inputs)
        self._expect = None if request.expect is None else read_arrays(request.expect)

    def inputs(self, ports: Sequence[Port]) -> list[Array]:
        """The given inputs in the order of `ports`, or made-up ones."""
        if self._inputs is None:
            return random_arrays(ports)
        return match_inputs(ports, self._inputs, str(self._request.inputs))

    def expected(self, ports: Sequence[Port]) -> Mapping[str, Array]:
        """The expected outputs, as far as they are given."""
        if self._expect is None:
            return {}
        return match_outputs(ports, self._expect, str(self._request.expect))


def _by_name(ports: Sequence[Port], arrays: Sequence[Array]) -> dict[str, Array]:
    return {port.name: array for port, array in zip(ports, arrays, strict=True)}


def _interpret(
    module: ModuleOp, store: Store, ports: Sequence[Port], inputs: Sequence[Array]
) -> dict[str, Array]:
    return _by_name(ports, Interpreter(module, store).call(_MAIN, *inputs))


def _compare(
    outputs: Mapping[str, Array], expected: Mapping[str, Array], precision: str
) -> dict[str, Comparison]:
    return {name: compare(outputs[name], array, precision) for name, array in expected.items()}
