"""The base of passes: origins counted, losses and remarks kept, patterns that hand things on."""

from dataclasses import dataclass, replace

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.errors import InternalError, PassError
from npuc.dialects.core.locations import where
from npuc.dialects.core.origins import ORIGINS, all_origins
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.passes.base import NpucPass, apply_patterns

TEXT = """
%0 = "test.op"() {core.origins = [[#core.origin<"n", "a">]]} : () -> i32
%1 = "test.op"(%0) {core.origins = [[#core.origin<"n", "b">]]} : (i32) -> i32
"test.op"(%1) : (i32) -> ()
"""


def module() -> ModuleOp:
    return parse_module(make_context(), TEXT, "f.mlir")


@dataclass(frozen=True)
class EditPass(NpucPass):
    """Does to origins what its option says."""

    name = "test-edit"
    edit: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = next(iter(op.ops))
        self.remark(first, f"about to {self.edit}")
        origin = next(iter(all_origins(first).values()))
        if self.edit in ("drop", "list"):
            del first.attributes[ORIGINS]
        if self.edit in ("list", "list wrongly"):
            self.lose(origin, "nobody wants it")
        if self.edit == "invent":
            first.attributes["tap"] = OriginAttr.of("n", "c")
        if self.edit == "move elsewhere":
            first.attributes["tap"] = first.attributes.pop(ORIGINS)


@dataclass(frozen=True)
class OuterPass(EditPass):
    """Calls the pass it is made from."""

    name = "test-outer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.remark(None, "outer")
        super().apply(ctx, op)


@pytest.mark.parametrize("edit", ["keep", "list", "list wrongly", "move elsewhere"])
def test_every_origin_is_kept_or_listed(edit: str) -> None:
    pass_ = EditPass(edit)
    pass_.apply(make_context(), module())
    assert [r.text for r in pass_.report.remarks] == [f"about to {edit}"]
    assert pass_.report.remarks[0].where == 'f.mlir:2:1 (node "n")'
    lost = [("n", "a")] if edit == "list" else []
    assert [loss.origin.key for loss in pass_.report.losses] == lost


@pytest.mark.parametrize(
    ("edit", "message"),
    [("drop", "before but not after it: a of n"), ("invent", "after but not before it: c of n")],
)
def test_a_pass_that_drops_or_invents_an_origin_fails(edit: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        EditPass(edit).apply(make_context(), module())


def test_a_report_is_of_the_latest_run() -> None:
    pass_ = EditPass("list")
    with pytest.raises(InternalError, match="has not run"):
        _ = pass_.report
    for _ in range(2):
        pass_.apply(make_context(), module())
        assert len(pass_.report.losses) == 1
    assert pass_ == replace(pass_)


def test_a_pass_may_build_on_another() -> None:
    pass_ = OuterPass("list")
    pass_.apply(make_context(), module())
    assert [r.text for r in pass_.report.remarks] == ["outer", "about to list"]
    with pytest.raises(PassError, match="test-outer dropped origins"):
        OuterPass("drop").apply(make_context(), module())


def test_a_pass_needs_our_context() -> None:
    ctx = make_context()
    assert EditPass("keep").context(ctx) is ctx
    with pytest.raises(InternalError, match="make_context"):
        EditPass("keep").context(Context())


class RenewFirst(RewritePattern):
    """Replaces an op that has origins and is not marked by two new ops."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if "new" in op.attributes or ORIGINS not in op.attributes:
            return
        inner = op.clone()
        inner.attributes = {"new": StringAttr("inner")}
        outer = op.clone()
        outer.attributes = {"new": StringAttr("outer")}
        inner.location = outer.location = UnknownLoc()
        rewriter.replace(op, [inner, outer])


class Fail(RewritePattern):
    """Cannot proceed."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        raise PassError("no way", where=where(op))


def test_patterns_hand_on_origins_and_locations() -> None:
    op = module()
    assert apply_patterns(op, [RenewFirst()])
    assert not apply_patterns(op, [RenewFirst()])
    ops = list(op.ops)
    names = [str(x.attributes.get("new")) for x in ops]
    assert names == ['"inner"', '"outer"'] * 2 + ["None"]
    assert set(all_origins(ops[1])) == {("n", "a")}
    assert all_origins(ops[0]) == {}
    assert [where(x) for x in ops[:2]] == ["f.mlir:2:1", 'f.mlir:2:1 (node "n")']


def test_an_error_in_a_pattern_stays_what_it_is() -> None:
    with pytest.raises(PassError, match="no way") as failed:
        apply_patterns(module(), [Fail()])
    assert failed.value.__notes__ == []
    assert failed.value.where == 'f.mlir:2:1 (node "n")'
