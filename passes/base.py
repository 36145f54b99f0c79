"""The base of npuc's passes: origins are counted, losses and remarks are reported.

A pass overrides `apply`; the base wraps it, so that it cannot be left out. After it the origins in
the module are those before it minus the ones listed by `lose`; anything else is a `PassError`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)

from ..dialects.core.attributes import OriginAttr
from ..dialects.core.errors import InternalError, NpucError, PassError
from ..dialects.core.locations import where
from ..dialects.core.origins import all_origins, move_location, move_origins
from ..dialects.core.registry import NpucContext


class Remark(NamedTuple):
    """Something a person should know of what a pass decided; `where` as in `NpucError`."""

    where: str | None
    text: str


class Loss(NamedTuple):
    """An origin that nothing stands for any more, and why."""

    origin: OriginAttr
    why: str


@dataclass
class PassReport:
    """What one run of a pass said."""

    remarks: list[Remark] = field(default_factory=list[Remark])
    losses: list[Loss] = field(default_factory=list[Loss])


def _counted(apply: Any) -> Any:
    """The `apply` of a pass, with a fresh report before and the count of origins around it."""

    @wraps(apply)
    def run(self: NpucPass, ctx: Context, op: ModuleOp) -> None:
        if self.__dict__.get("_running", False):
            apply(self, ctx, op)  # called by a subclass, which counts
            return
        object.__setattr__(self, "_report", PassReport())
        object.__setattr__(self, "_running", True)
        try:
            before = all_origins(op)
            apply(self, ctx, op)
            self.check_origins(before, all_origins(op))
        finally:
            object.__setattr__(self, "_running", False)

    return run


@dataclass(frozen=True)
class NpucPass(ModulePass):
    """A pass of npuc: a frozen dataclass whose fields are its options, with a `name` and `apply`.

    `apply(ctx, op)` rewrites the module in place, finds weights in `self.context(ctx).store`, and
    raises `PassError` (or `UnsupportedError`) if it cannot proceed. Options without default are
    required.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "apply" in cls.__dict__:
            cls.apply = _counted(cls.apply)

    @abstractmethod
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place."""

    @property
    def report(self) -> PassReport:
        """What the latest run of this pass said; `InternalError` if it never ran."""
        report = self.__dict__.get("_report")
        if report is None:
            raise InternalError(f"pass {self.name} has not run")
        return report

    def remark(self, op: Operation | None, text: str) -> None:
        """Report what was decided at `op` and why (None for the whole module)."""
        self.report.remarks.append(Remark(None if op is None else where(op), text))

    def lose(self, origin: OriginAttr, why: str) -> None:
        """List an origin as not observable from here on."""
        self.report.losses.append(Loss(origin, why))

    def context(self, ctx: Context) -> NpucContext:
        """The context as npuc's own, which has the store; `InternalError` for a plain one."""
        if not isinstance(ctx, NpucContext):
            raise InternalError(f"pass {self.name} needs a context made by make_context()")
        return ctx

    def check_origins(
        self, before: dict[tuple[str, str], OriginAttr], after: dict[tuple[str, str], OriginAttr]
    ) -> None:
        """`PassError` unless `before` is `after` plus losses; drops losses that have an heir."""
        self.report.losses[:] = [x for x in self.report.losses if x.origin.key not in after]
        listed = {loss.origin.key for loss in self.report.losses}
        vanished = [key for key in before if key not in after and key not in listed]
        appeared = [key for key in after if key not in before]
        if vanished or appeared:
            names = ", ".join(f"{tensor} of {node}" for node, tensor in vanished or appeared)
            raise PassError(
                f"pass {self.name} {'dropped' if vanished else 'invented'} origins",
                why=f"{'before but not after' if vanished else 'after but not before'} it: {names}",
                hint="move origins with the value that replaces theirs, or list them by `lose`",
            )


_REWRITES = 1000
_REWRITES_PER_OP = 100
"""How many rewrites are taken for an endless loop; real pipelines need a few for each op."""


class _Tracker(RewritePattern):
    """Runs a pattern and lets what it makes inherit location and origins from what it matched."""

    def __init__(self, pattern: RewritePattern, budget: int) -> None:
        self.pattern = pattern
        self.budget = budget
        self.matched: Operation | None = None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Run the inner pattern with `op` known to the listener."""
        self.matched = op
        self.pattern.match_and_rewrite(op, rewriter)
        self.matched = None
        self.budget -= rewriter.has_done_action
        if self.budget < 0:
            raise InternalError(
                f"rewriting does not come to an end at `{op.name}`",
                why="two patterns undo each other, or one applies to what it makes",
            )

    def inserted(self, op: Operation) -> None:
        """Give an inserted op the location of the matched one."""
        if self.matched is not None and self.matched is not op:
            move_location(self.matched, op)

    def replaced(self, op: Operation, results: Sequence[SSAValue | None]) -> None:
        """Move the origins of a replaced op to the values that replace it."""
        for old, new in zip(op.results, results, strict=True):
            if new is not None:
                move_origins(old, new)


def apply_patterns(op: Operation, patterns: Sequence[RewritePattern]) -> bool:
    """Rewrite `op` greedily by `patterns`, in their order; whether anything changed.

    New ops get the location of the op that matched, and the values that replace a result by
    `rewriter.replace` get its origins. Nothing is folded or removed that no pattern removes.
    Raises `InternalError` if it does not come to an end.
    """
    budget = _REWRITES + _REWRITES_PER_OP * sum(1 for _ in op.walk())
    applier = GreedyRewritePatternApplier(list(patterns), folding_enabled=False, dce_enabled=False)
    tracker = _Tracker(applier, budget)
    listener = PatternRewriterListener(
        operation_insertion_handler=[tracker.inserted],
        operation_replacement_handler=[tracker.replaced],
    )
    walker = PatternRewriteWalker(tracker, listener=listener)
    try:
        return any([walker.rewrite_region(region) for region in op.regions])
    except NpucError as error:
        # xDSL adds the text of the whole module to whatever a pattern raises.
        error.__notes__.clear()
        raise
