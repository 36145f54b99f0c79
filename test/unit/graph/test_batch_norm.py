"""`graph-fold-batch-norm` on weights that are not in the text."""

from pathlib import Path

import numpy as np
import pytest

from npuc.compiler.opt import main
from npuc.compiler.weight_files import spill_weights
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare
from npuc.dialects.core.verify import verify
from npuc.dialects.graph.elementwise import MulOp
from npuc.passes.graph.graph_fold_batch_norm import GraphFoldBatchNormPass
from onnx_models import imported, model, node, random

STATISTICS = ("scale", "offset", "mean", "variance")


@pytest.mark.parametrize("kind", ["float32", "float16", "float64"])
@pytest.mark.parametrize("biased", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_folding_keeps_values(groups: int, biased: bool, kind: str) -> None:
    feeds = {"x": random(1, 2, 4, 5, 6, dtype=kind)}
    constants = {"w": random(2, 8, 4 // groups, 3, 3, dtype=kind)}
    if biased:
        constants["b"] = random(3, 8, dtype=kind)
    conv = node("Conv", ["x", *constants], ["t"], group=groups)
    constants |= {name: np.abs(random(4, 8, dtype=kind)) + 0.5 for name in STATISTICS}
    norm = node("BatchNormalization", ["t", *STATISTICS], ["y"])
    ctx = make_context()
    module = imported(model([conv, norm], feeds, ["y"], constants=constants), ctx.store).module
    (expected,) = Interpreter(module, ctx.store).call("main", *feeds.values())
    folding = GraphFoldBatchNormPass()
    folding.apply(ctx, module)
    verify(module)
    assert not any(isinstance(op, MulOp) for op in module.walk())
    assert [loss.origin.tensor.data for loss in folding.report.losses] == ["t"]
    (got,) = Interpreter(module, ctx.store).call("main", *feeds.values())
    result = compare(got, expected, "f16" if kind == "float16" else "origin")
    assert got.dtype == kind
    assert result.ok, result.why


def test_one_process_for_each_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a pass computes is in a file by the time the text is printed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "model.mlir"
    constants = {"w": random(2, 8, 4, 3)} | {name: random(4, 8) ** 2 + 1 for name in STATISTICS}
    nodes = [
        node("Conv", ["x", "w"], ["t"]),
        node("BatchNormalization", ["t", *STATISTICS], ["y"]),
    ]
    ctx = make_context()
    feeds = {"x": random(1, 2, 4, 6)}
    module = imported(model(nodes, feeds, ["y"], constants=constants), ctx.store).module
    spill_weights(module, ctx.store, tmp_path / "given")
    (expected,) = Interpreter(module, ctx.store).call("main", *feeds.values())
    path.write_text(print_ir(module))
    assert main([str(path), "-p", "graph-fold-batch-norm,graph-assign-layout"]) == 0
    once = capsys.readouterr().out
    for name in ("graph-fold-batch-norm", "graph-assign-layout"):
        assert main([str(path), "-p", name]) == 0
        path.write_text(capsys.readouterr().out)
    assert path.read_text() == once
    assert "mem:" not in once
    fresh = make_context()
    (got,) = Interpreter(parse_module(fresh, once), fresh.store).call("main", *feeds.values())
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
