"""A model compiled and run once, to be looked at: what `explain` and `profile` tell about."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..backend.emulator.emulator import Emulator
from ..backend.emulator.result import Result
from ..backend.emulator.trace import TRACE_LIMIT
from ..backend.program import HostTask, Program
from ..backend.runtime.profile import Profile
from ..dialects.core.errors import InputError
from ..dialects.target import machine as machines
from .driver import Lowered, compile_model
from .kinds import PROGRAM, kind_of
from .pipeline import Options
from .progress import Tell
from .request import DEFAULT_PRECISION, Given, Request, by_name


@dataclass(frozen=True)
class Observation:
    """What was asked for, the program, the way to it, and a run on the emulator."""

    request: Request
    program: Program
    lowered: Lowered
    result: Result

    @property
    def precision(self) -> str:
        """How precisely it computes."""
        return self.request.precision or DEFAULT_PRECISION

    @property
    def profile(self) -> Profile:
        """Where the cycles of the run went, by kernel, the longest first."""
        return Profile.of(self.program, self.result)

    def nodes_of_task(self, number: int) -> tuple[str, ...]:
        """The nodes of the model that a task of the run computes."""
        task = self.program.entry().tasks[number]
        if isinstance(task, HostTask):
            return () if task.node is None else (task.node,)
        return self.program.kernels[task.kernel].nodes

    def operators_of(self, nodes: Collection[str]) -> str:
        """The operators of some nodes, like `Gemm+Relu`; empty if there are none."""
        known = self.lowered.operators
        return "+".join(known[node] for node in nodes if node in known)


def observe(
    request: Request, tell: Tell, *, keep: Collection[str] = (), trace: bool = False
) -> Observation:
    """Compile an ONNX model and run it on the emulator, on its given inputs or made-up ones.

    `keep` names the stages to copy the module at; `trace` records when each instruction ran.
    `InputError` for a file or an option that is wrong (found before anything is compiled), or what
    compiling and running raise.
    """
    if kind_of(request.model) == PROGRAM:
        raise InputError(
            f"{request.model} is a program already",
            why="how it was made is not in it",
            hint="give the .onnx model",
        )
    given = Given(request)
    if request.target is not None:
        machines.load(request.target)
    options = Options(request.target, request.precision, request.strict)
    compiled = compile_model(request.model, options, keep=keep, shapes=request.shapes, tell=tell)
    ports = compiled.lowered.inputs
    inputs = by_name(ports, given.inputs(ports))
    tell("emulating")
    result = Emulator(compiled.program, trace=trace, trace_limit=TRACE_LIMIT).run(inputs)
    return Observation(request, compiled.program, compiled.lowered, result)
