"""The stages a module goes through on its way to a program, as a table, and the runner of passes.

A module records the stage it is at in the attribute `core.stage`, so that the next process can go
on from it. After each stage a fence checks that nothing of an earlier level is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr, UnregisteredOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException

from ..dialects.core.errors import InputError, NpucError, PassError, VerifyError
from ..dialects.core.locations import where
from ..dialects.core.registry import NpucContext
from ..dialects.core.verify import verify
from ..passes.table import load_pass

STAGE_ATTRIBUTE = "core.stage"
"""The module's attribute with the name of the last stage it went through."""

_TENSOR_LEVEL = ("builtin", "func", "core", "tensor", "arith", "math")
_TILE_LEVEL = ("builtin", "core", "tile", "scf", "arith")
_PROGRAM_OPS = ("program", "return", "constant", "view", "launch", "host_call", "alloc")
_INSTRUCTION_LEVEL = ("builtin", "npu_isa", *(f"tile.{op}" for op in _PROGRAM_OPS))


@dataclass(frozen=True)
class Stage:
    """A point where a module may stop: what it is then, how it gets there, what it may hold."""

    name: str
    sentence: str
    passes: tuple[str, ...]
    """The passes from the stage before, with options in xDSL's pipeline syntax."""
    allowed: tuple[str, ...]
    """Dialects, and single ops by their full name, that may be left."""


STAGES: tuple[Stage, ...] = (
    Stage(
        "import",
        "The graph as the frontend read it.",
        (),
        ("builtin", "func", "core", "graph"),
    ),
    Stage(
        "graph",
        "Simplified, with the precision of every operation and the type of every tensor explicit.",
        (
            "graph-canonicalize",
            "graph-fold-batch-norm",
            "graph-assign-layout",
            "graph-apply-precision{policy=mixed}",
            "graph-legalize-dtypes",
            "graph-canonicalize",
        ),
        ("builtin", "func", "core", "graph"),
    ),
    Stage(
        "tensor",
        "Every operator decomposed into computations over explicit iteration spaces.",
        (
            "target-attach-machine",
            "convert-graph-to-tensor",
            "tensor-canonicalize",
        ),
        _TENSOR_LEVEL,
    ),
    Stage(
        "fused",
        "What runs as one kernel stands in one group.",
        ("tensor-fuse-groups",),
        _TENSOR_LEVEL,
    ),
    Stage(
        "scheduled",
        "Every group says how it will be tiled, and why.",
        ("tensor-choose-schedule",),
        _TENSOR_LEVEL,
    ),
    Stage(
        "tile",
        "A program of launches, and kernels of loops over buffers in named memories.",
        ("convert-tensor-to-tile",),
        _TILE_LEVEL,
    ),
    Stage(
        "planned",
        "Every buffer has its depth and its address.",
        ("tile-assign-depth", "tile-plan-memory", "tile-plan-gm"),
        _TILE_LEVEL,
    ),
    Stage(
        "npu_isa",
        "Kernels are instructions on virtual registers.",
        ("convert-tile-to-npu-isa", "npu-isa-canonicalize"),
        _INSTRUCTION_LEVEL,
    ),
    Stage(
        "synced",
        "Flags order the pipes wherever one waits for another.",
        ("npu-isa-insert-sync",),
        _INSTRUCTION_LEVEL,
    ),
    Stage(
        "final",
        "Registers are physical: ready to be encoded.",
        ("npu-isa-allocate-registers",),
        _INSTRUCTION_LEVEL,
    ),
)
"""All stages, in order."""

FIRST = STAGES[0].name
"""The stage of a module that does not say where it is."""


@dataclass(frozen=True)
class Options:
    """What a user chooses for the whole pipeline; None leaves the option of the pass as written."""

    target: str | None = None
    """Name or file of the machine: the option of `target-attach-machine`."""
    precision: str | None = None
    """`origin`, `mixed` or `f16`: the option of `graph-apply-precision`."""
    strict: bool = False
    """Refuse what only the host engine can do: the option of `convert-tensor-to-tile`."""

    def overrides(self) -> dict[str, tuple[str, str | bool]]:
        """For each pass that a choice concerns, the option and its value."""
        chosen = {
            "target-attach-machine": ("target", self.target),
            "graph-apply-precision": ("policy", self.precision),
            "convert-tensor-to-tile": ("strict", self.strict or None),
        }
        return {name: (key, value) for name, (key, value) in chosen.items() if value is not None}


class Hook(Protocol):
    """Something that looks on while passes run."""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Called with the module a pass is about to rewrite."""
        ...

    def after(self, pass_: ModulePass, module: ModuleOp, seconds: float) -> None:
        """Called with the module a pass has rewritten, verified, and its CPU seconds."""
        ...


def stage_named(name: str) -> Stage:
    """The stage `name`; `InputError` listing the stages if there is none."""
    for stage in STAGES:
        if stage.name == name:
            return stage
    known = ", ".join(stage.name for stage in STAGES)
    raise InputError(f"there is no stage `{name}`", hint=f"use one of {known}")


def stage_of(module: ModuleOp) -> str | None:
    """The stage a module says it is at, if it does; `InputError` for one that does not exist."""
    mark = module.attributes.get(STAGE_ATTRIBUTE)
    return stage_named(mark.data).name if isinstance(mark, StringAttr) else None


def stages_between(start: str, end: str) -> tuple[Stage, ...]:
    """The stages after `start` up to and including `end`; `InputError` if that goes backwards."""
    first, last = STAGES.index(stage_named(start)), STAGES.index(stage_named(end))
    if last < first:
        raise InputError(f"the module is at stage `{start}`, which is after `{end}`")
    return STAGES[first + 1 : last + 1]


def parse_passes(text: str, options: Options | None = None) -> tuple[ModulePass, ...]:
    """The passes of a pipeline in xDSL's syntax, `a,b{option=1}`, with `options` in place.

    `InputError` for a syntax error, an unknown pass or a wrong option.
    """
    try:
        specs = tuple(parse_pipeline(text))
    except ArgSpecParseError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        what = f"`{text}` is not a pipeline"
        raise InputError(what, why=reason, hint="write a,b{option=1}") from error
    return tuple(_make_pass(spec, {} if options is None else options.overrides()) for spec in specs)


def _make_pass(spec: ArgSpec, overrides: dict[str, tuple[str, str | bool]]) -> ModulePass:
    if spec.name in overrides:
        key, value = overrides[spec.name]
        spec = replace(spec, parameters={**spec.parameters, key: (value,)})
    pass_class = load_pass(spec.name)
    try:
        return pass_class.from_spec(spec)
    except ValueError as error:
        raise InputError(f"wrong options for pass `{spec.name}`", why=str(error)) from error


def stage_passes(stage: Stage, options: Options | None = None) -> tuple[ModulePass, ...]:
    """The passes that lead to `stage`, with `options` in place."""
    return parse_passes(",".join(stage.passes), options) if stage.passes else ()


def run_passes(
    module: ModuleOp,
    ctx: NpucContext,
    passes: Sequence[ModulePass],
    hooks: Sequence[Hook] = (),
    *,
    verify_each: bool = True,
) -> None:
    """Run passes on a module in place, verifying after each unless told not to.

    An error carries a note with the pass it came from; the module is then in an unknown state. The
    mark of a stage is taken off, since the module leaves it.
    """
    for pass_ in passes:
        module.attributes.pop(STAGE_ATTRIBUTE, None)
        for hook in hooks:
            hook.before(pass_, module)
        try:
            start = process_time()
            _apply(pass_, ctx, module)
            seconds = process_time() - start
            if verify_each:
                verify(module)
        except NpucError as error:
            error.add_note(f"in pass {pass_.name}")
            raise
        for hook in hooks:
            hook.after(pass_, module, seconds)


def _apply(pass_: ModulePass, ctx: NpucContext, module: ModuleOp) -> None:
    """Run one pass; what a pass made for xDSL raises becomes a `PassError`."""
    try:
        pass_.apply(ctx, module)
    except DiagnosticException as error:
        raise PassError(f"pass {pass_.name} failed", why=str(error)) from error


def run_stages(
    module: ModuleOp,
    ctx: NpucContext,
    to: str,
    *,
    start: str | None = None,
    options: Options | None = None,
    hooks: Sequence[Hook] = (),
    verify_each: bool = True,
) -> None:
    """Take a module, in place, from the stage it is at to the stage `to`, with a fence after each.

    It is at `start` if given, else where its mark says, else at the first stage. `InputError` if
    `to` is behind it, `VerifyError` from a fence, or what a pass raises.
    """
    begin = start or stage_of(module) or FIRST
    check_fence(module, stage_named(begin))
    for stage in stages_between(begin, to):
        run_passes(module, ctx, stage_passes(stage, options), hooks, verify_each=verify_each)
        check_fence(module, stage)
        module.attributes[STAGE_ATTRIBUTE] = StringAttr(stage.name)


def check_fence(module: ModuleOp, stage: Stage) -> None:
    """Raise `VerifyError` naming every op that must not be left at `stage`, with its place."""
    stragglers = list(_stragglers(module, set(stage.allowed)))
    if not stragglers:
        return
    listed = "; ".join(f"`{_name(op)}` at {where(op) or 'an unknown place'}" for op in stragglers)
    raise VerifyError(
        f"{len(stragglers)} operations do not belong at stage `{stage.name}`",
        where=where(stragglers[0]),
        why=f"{listed}; allowed are {', '.join(stage.allowed)}",
        hint="say by --from at which stage the module is, or report the pass that left them",
    )


def _stragglers(module: ModuleOp, allowed: set[str]) -> Iterator[Operation]:
    for op in module.walk():
        name = _name(op)
        if name not in allowed and name.partition(".")[0] not in allowed:
            yield op


def _name(op: Operation) -> str:
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
