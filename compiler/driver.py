"""From a model to a program in one process: the importer, the stages of the pipeline, emission.

The same passes as `npu-opt` runs, without text in between; IR is verified only at the two ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..backend.program import Program
from ..dialects.core.registry import make_context
from ..dialects.core.store import Store
from ..dialects.core.verify import verify
from ..passes.base import NpucPass, PassReport
from .emit import emit_program
from .frontends.onnx.importer import import_onnx
from .frontends.onnx.shapes import Port
from .pipeline import FIRST, STAGES, Options, run_stages, stages_between
from .progress import Tell, say_nothing


@dataclass(frozen=True)
class Lowered:
    """A model at a stage. `snapshots` are copies of the module at the stages asked for, by name,
    `operators` what the nodes of the model are, by their names.

    `warnings` say what was assumed on reading the model, `reports` what each pass said, in order.
    """

    module: ModuleOp
    store: Store
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    operators: Mapping[str, str]
    warnings: Sequence[str]
    snapshots: Mapping[str, ModuleOp]
    reports: Sequence[tuple[str, PassReport]]
    cpu_s: float
    """CPU seconds it took, reading included."""


@dataclass(frozen=True)
class Compiled:
    """A model as a program, and the way it took."""

    program: Program
    lowered: Lowered
    compile_cpu_s: float
    """CPU seconds from the model to the program."""


@dataclass
class _Reports:
    """Keeps what the passes say."""

    found: list[tuple[str, PassReport]] = field(default_factory=list[tuple[str, PassReport]])

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Nothing to note yet."""

    def after(self, pass_: ModulePass, module: ModuleOp, seconds: float) -> None:
        """Note the report of a pass that has one."""
        if isinstance(pass_, NpucPass):
            self.found.append((pass_.name, pass_.report))


def lower_model(
    source: object,
    options: Options,
    to: str,
    *,
    keep: Collection[str] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    tell: Tell = say_nothing,
) -> Lowered:
    """Take an ONNX model (path, bytes or `ModelProto`) to the stage `to`.

    `keep` names the stages to copy the module at, `shapes` gives open input sizes, `tell` is told
    what is being done. Raises `InputError` for the model or the options, or what a pass raises.
    """
    start = process_time()
    store, reports = Store(), _Reports()
    ctx = make_context(store)
    tell("reading the model")
    imported = import_onnx(source, store, shapes)
    module, snapshots = imported.module, dict[str, ModuleOp]()
    verify(module)
    stages = (STAGES[0], *stages_between(FIRST, to))
    for number, stage in enumerate(stages):
        tell(f"compiling, {number * 100 // len(stages)}%: {stage.name}")
        run_stages(module, ctx, stage.name, options=options, hooks=[reports], verify_each=False)
        if stage.name in keep:
            snapshots[stage.name] = module.clone()
    verify(module)
    return Lowered(
        module=module,
        store=store,
        inputs=imported.inputs,
        outputs=imported.outputs,
        operators=imported.operators,
        warnings=imported.warnings,
        snapshots=snapshots,
        reports=reports.found,
        cpu_s=process_time() - start,
    )


def compile_model(
    source: object,
    options: Options,
    *,
    keep: Collection[str] = (),
    shapes: Mapping[str, Sequence[int]] | None = None,
    tell: Tell = say_nothing,
) -> Compiled:
    """Compile an ONNX model to a program; arguments and errors as `lower_model`."""
    start = process_time()
    lowered = lower_model(source, options, STAGES[-1].name, keep=keep, shapes=shapes, tell=tell)
    tell("encoding the program")
    program = emit_program(lowered.module, lowered.store)
    program.check()
    return Compiled(program, lowered, process_time() - start)
