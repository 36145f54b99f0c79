"""The command npu-opt: its options, what it prints where, and its exit codes."""

import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from npuc.compiler import opt
from npuc.tools.npu_opt import main

GRAPH = """\
builtin.module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = graph.relu %x : tensor<4xf32>
    %1 = graph.relu %0 : tensor<4xf32>
    func.return %1 : tensor<4xf32>
  }
}
"""
LATE = """\
builtin.module {
  %0 = arith.addi %1, %1 : i32
  %1 = arith.constant 1 : i32
}
"""


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "g.mlir"
    path.write_text(GRAPH, encoding="utf-8")
    return str(path)


def file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "f.mlir"
    path.write_text(text, encoding="utf-8")
    return str(path)


Capture = pytest.CaptureFixture[str]


def test_it_reads_verifies_and_prints(graph: str, capsys: Capture) -> None:
    assert main([graph]) == 0
    assert capsys.readouterr() == (GRAPH, "")
    assert main([graph, "--print-op-generic"]) == 0
    assert '"graph.relu"(%x)' in capsys.readouterr().out


def test_it_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for text, code in ((GRAPH, 0), ("", 1)):
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(text.encode())))
        assert main(["-p", ""]) == code
    captured = capsys.readouterr()
    assert captured.out == GRAPH
    assert captured.err.startswith("<stdin>:1:1: error: ")


def test_passes_and_stages(graph: str, tmp_path: Path, capsys: Capture) -> None:
    assert main([graph, "-p", "graph-canonicalize"]) == 0
    once = capsys.readouterr().out
    assert once.count("graph.relu") == 1
    out = tmp_path / "out.mlir"
    assert main([graph, "--to=graph", "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert 'attributes {core.stage = "graph"}' in out.read_text(encoding="utf-8")
    assert main([str(out), "--to=tensor", "--target=tiny"]) == 0
    text = capsys.readouterr().out
    assert 'core.stage = "tensor"' in text
    assert '"tiny"' in text
    assert main([str(out), "-p", "graph-canonicalize"]) == 0
    assert "core.stage" not in capsys.readouterr().out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["g.mlir", "out.mlir"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to=graph", "-p", "graph-canonicalize"], "-p and --to exclude each other"),
        (["--from=graph"], "--from says where --to starts"),
        (["--to=nowhere"], "there is no stage `nowhere`"),
        (["-p", "nothing"], "there is no pass `nothing`"),
        (["--from=tile", "--to=graph"], "which is after `graph`"),
        (["--from=tile", "--to=planned"], "do not belong at stage `tile`"),
        (["-p", "graph-canonicalize", "--target=tiny"], "--target or --precision has no effect"),
        (["--to=graph", "--precision=fast"], "fast"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], message: str, graph: str, capsys: Capture
) -> None:
    assert main([graph, *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_errors_have_places_and_no_traceback(tmp_path: Path, capsys: Capture) -> None:
    path = file(tmp_path, LATE)
    assert main([path]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{path}:2:3: error: `arith.addi` uses operand #0 where it")
    assert "Traceback" not in captured.err
    assert main([str(tmp_path / "none.mlir")]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_a_file_is_not_touched_after_an_error(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("before", encoding="utf-8")
    assert main([file(tmp_path, LATE), "-o", str(out)]) == 1
    assert out.read_text(encoding="utf-8") == "before"
    assert main([file(tmp_path, GRAPH), "-o", str(tmp_path / "no" / "out")]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_bugs_are_told_apart_and_debug_shows_them(
    graph: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def broken(module: ModuleOp) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(opt, "verify", broken)
    assert main([graph]) == 1
    assert "this is a bug in npuc: ZeroDivisionError: oops" in capsys.readouterr().err
    with pytest.raises(ZeroDivisionError):
        main([graph, "--debug"])


def test_debug_raises_errors_of_the_input(tmp_path: Path) -> None:
    with pytest.raises(opt.NpucError):
        main([file(tmp_path, LATE), "--debug"])


def test_ir_is_printed_around_passes(graph: str, capsys: Capture) -> None:
    passes = ["-p", "graph-canonicalize,graph-legalize-dtypes"]
    assert main([graph, *passes, "--print-ir-before=graph-canonicalize"]) == 0
    log = capsys.readouterr().err
    assert log.startswith("// ---- IR before graph-canonicalize ---- //\nbuiltin.module {")
    assert log.count("// ---- IR") == 1
    assert main([graph, *passes, "--print-ir-after=all"]) == 0
    log = capsys.readouterr().err
    assert log.count("// ---- IR after graph-") == 2
    assert log.count("graph.relu") == 2


def test_pipeline_and_times_are_printed(graph: str, capsys: Capture) -> None:
    assert main([graph, "--to=graph", "--precision=f16", "--dump-pass-pipeline", "--timing"]) == 0
    log = capsys.readouterr().err.splitlines()
    assert log[0].startswith("graph-canonicalize,")
    assert 'graph-apply-precision{policy="f16"},' in log[0]
    assert [line.split()[0] for line in log[1:]] == [*map(first_word, log[0].split(",")), "total"]
    assert all(line.endswith(" s") for line in log[1:])


def first_word(spec: str) -> str:
    return spec.partition("{")[0]


def test_a_file_of_several_modules(tmp_path: Path, capsys: Capture) -> None:
    path = file(tmp_path, f"{GRAPH}// -----\n{GRAPH}")
    assert main([path, "--split-input-file"]) == 0
    assert capsys.readouterr().out == f"{GRAPH}// -----\n{GRAPH}"
    path = file(tmp_path, f"{GRAPH}// ----- with words\n{LATE}// -----\n{LATE}")
    assert main([path, "--split-input-file"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"{path}:10:3: error" in captured.err
    assert f"{path}:15:3: error" in captured.err


def test_expected_errors(tmp_path: Path, capsys: Capture) -> None:
    expected = LATE.replace(" : i32\n  %1", " : i32 // expected-error {{not defined}}\n  %1")
    path = file(tmp_path, f"{GRAPH}// -----\n{expected}")
    assert main([path, "--split-input-file", "--verify-diagnostics"]) == 0
    assert capsys.readouterr() == (GRAPH, "")
    path = file(tmp_path, expected.replace("not defined", "something else"))
    assert main([path, "--verify-diagnostics"]) == 1
    log = capsys.readouterr().err
    assert f'{path}:2:1: error: expected error "something else" was not produced' in log
    assert f"{path}:2:3: error: unexpected error" in log
    assert main([file(tmp_path, LATE), "--verify-diagnostics"]) == 1
    assert main([file(tmp_path, GRAPH), "--verify-diagnostics"]) == 0


def test_unregistered_ops_need_a_word(tmp_path: Path, capsys: Capture) -> None:
    path = file(tmp_path, 'builtin.module {\n  "vendor.op"() : () -> ()\n}\n')
    assert main([path]) == 1
    assert "operation `vendor.op` is not registered" in capsys.readouterr().err
    assert main([path, "--allow-unregistered-dialect"]) == 0
    assert '"vendor.op"() : () -> ()' in capsys.readouterr().out


def test_remarks_go_to_standard_error(tmp_path: Path, capsys: Capture) -> None:
    text = GRAPH.replace("%1 :", "%x :").replace(
        "%0 = graph.relu %x", '%0 = graph.relu %x {core.origins = [[#core.origin<"n", "t">]]}'
    )
    assert main([file(tmp_path, text), "-p", "graph-canonicalize"]) == 0
    captured = capsys.readouterr()
    assert 'remark: graph-canonicalize: not observable from here on: "t"' in captured.err


def test_the_version_is_fast_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, npuc.tools.npu_opt as tool\n"
        "assert tool.main(['--version']) == 0\n"
        "heavy = {m.partition('.')[0] for m in sys.modules} & {'xdsl', 'numpy', 'ml_dtypes'}\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("npu-opt ")


def test_wrong_options_exit_with_usage(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["--no-such-option"])
    assert "usage: npu-opt" in capsys.readouterr().err
