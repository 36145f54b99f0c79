"""The table of passes, the table of stages, and the runner."""

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.pipeline import (
    FIRST,
    STAGE_ATTRIBUTE,
    STAGES,
    Options,
    check_fence,
    parse_passes,
    run_passes,
    run_stages,
    stage_named,
    stage_of,
    stage_passes,
    stages_between,
)
from npuc.dialects.core.errors import InputError, PassError, VerifyError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import dialect_names, load_dialect, make_context
from npuc.passes import table
from npuc.passes.table import class_path, load_pass, pass_names

GRAPH = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x {core.origins = [[#core.origin<"/relu", "y">]]} : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("name", pass_names())
def test_every_pass_of_the_table_loads(name: str) -> None:
    pass_class = load_pass(name)
    assert issubclass(pass_class, ModulePass)
    assert pass_class.name == name
    assert class_path(name).endswith(f":{pass_class.__name__}")


def test_an_unknown_pass_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no pass `graph-optimise`") as refused:
        load_pass("graph-optimise")
    assert "graph-canonicalize" in (refused.value.hint or "")


def test_passes_of_other_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    group = table.PLUGIN_GROUP
    entries = [
        EntryPoint("other-pass", f"{__name__}:no", group),
        EntryPoint("plug-in", "xdsl.passes:ModulePass", group),
        EntryPoint("twice", "a:B", group),
        EntryPoint("twice", "c:D", group),
    ]

    def entry_points(group: str, name: str | None = None) -> EntryPoints:
        found = [e for e in entries if e.group == group and name in (None, e.name)]
        return EntryPoints(found)

    monkeypatch.setattr(table, "entry_points", entry_points)
    assert load_pass("plug-in") is ModulePass
    with pytest.raises(InputError, match="defined more than once"):
        load_pass("twice")
    with pytest.raises(InputError, match="plug-in"):
        load_pass("nothing")


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_stage_names_passes_and_dialects_that_exist(stage: object) -> None:
    assert stage in STAGES
    stage = STAGES[STAGES.index(stage)]  # pyright: ignore[reportArgumentType]
    assert stage.sentence.endswith(".")
    assert len(stage_passes(stage)) == len(stage.passes)
    for allowed in stage.allowed:
        dialect, _, op = allowed.partition(".")
        assert dialect in dialect_names()
        assert not op or any(o.name == allowed for o in load_dialect(dialect).operations)


def test_stages_are_in_order() -> None:
    assert [stage.name for stage in stages_between("tensor", "tile")] == [
        "fused",
        "scheduled",
        "tile",
    ]
    assert stages_between("tile", "tile") == ()
    with pytest.raises(InputError, match="at stage `tile`, which is after `graph`"):
        stages_between("tile", "graph")
    with pytest.raises(InputError, match="no stage `final2`"):
        stage_named("final2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph-canonicalize{", "is not a pipeline"),
        ("graph-canonicalize,,", "is not a pipeline"),
        ("a, b", "is not a pipeline"),
        ("no-pass", "there is no pass `no-pass`"),
        ("graph-canonicalize{x=1}", "wrong options for pass `graph-canonicalize`"),
        ("graph-apply-precision{policy=1}", "wrong options for pass `graph-apply-precision`"),
    ],
)
def test_wrong_pipelines_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_passes(text)
    assert message in str(refused.value)


def test_options_replace_those_of_the_pipeline() -> None:
    options = Options(target="my machine.toml", precision="f16")
    text = "target-attach-machine{target=tiny},graph-apply-precision,graph-canonicalize"
    changed = ",".join(map(str, parse_passes(text, options)))
    assert changed == (
        'target-attach-machine{target="my machine.toml"},'
        'graph-apply-precision{policy="f16"},graph-canonicalize'
    )
    assert parse_passes(changed) == parse_passes(text, options)


@dataclass(frozen=True)
class BreakPass(ModulePass):
    """Fails in the way its option names."""

    name = "break"
    how: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.how == "refuse":
            raise PassFailedException("not today")
        if self.how == "break":
            function = next(iter(op.ops))
            end = function.regions[0].block.last_op
            assert end is not None
            end.detach()
            end.erase()


class Log:
    """Notes what it sees."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.seen.append(f"before {pass_.name}")

    def after(self, pass_: ModulePass, module: ModuleOp, seconds: float) -> None:
        assert seconds >= 0
        self.seen.append(f"after {pass_.name}")


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [("refuse", PassError, "pass break failed"), ("break", VerifyError, "terminator")],
)
def test_errors_name_the_pass(how: str, error: type[Exception], message: str) -> None:
    log = Log()
    module = parse_module(make_context(), GRAPH)
    with pytest.raises(error, match=message) as failed:
        run_passes(module, make_context(), [BreakPass(), BreakPass(how)], [log])
    assert failed.value.__notes__ == ["in pass break"]
    assert log.seen == ["before break", "after break", "before break"]


def test_the_mark_of_a_stage() -> None:
    ctx = make_context()
    module = parse_module(ctx, GRAPH)
    assert stage_of(module) is None
    run_stages(module, ctx, "graph")
    assert module.attributes[STAGE_ATTRIBUTE] == StringAttr("graph")
    log = Log()
    run_stages(module, ctx, "graph", hooks=[log])
    assert log.seen == []
    with pytest.raises(InputError, match="which is after"):
        run_stages(module, ctx, FIRST)
    run_passes(module, ctx, [BreakPass()])
    assert stage_of(module) is None
    module.attributes[STAGE_ATTRIBUTE] = StringAttr("nowhere")
    with pytest.raises(InputError, match="no stage `nowhere`"):
        run_stages(module, ctx, "graph")


def test_the_fence_names_every_straggler() -> None:
    module = parse_module(make_context(), GRAPH, "f.mlir")
    with pytest.raises(VerifyError) as refused:
        check_fence(module, stage_named("tile"))
    message = str(refused.value)
    assert "3 operations do not belong at stage `tile`" in message
    assert "`func.func` at f.mlir:2:1" in message
    assert '`graph.relu` at f.mlir:3:3 (node "/relu")' in message
    assert "`func.return` at f.mlir:4:3" in message
    check_fence(module, stage_named("graph"))


def test_ops_of_unknown_dialects_do_not_pass_the_fence() -> None:
    ctx = make_context(allow_unregistered=True)
    with pytest.raises(VerifyError, match=r"`vendor\.op`"):
        check_fence(parse_module(ctx, '"vendor.op"() : () -> ()'), stage_named("graph"))


def test_a_fence_stands_before_the_first_stage_too() -> None:
    ctx = make_context()
    module = parse_module(ctx, GRAPH)
    with pytest.raises(VerifyError, match="at stage `tensor`") as refused:
        run_stages(module, ctx, "fused", start="tensor")
    assert "--from" in (refused.value.hint or "")
