"""An explanation is made of what stands in the IR and what the emulator counted."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from npuc.compiler.explain import Explanation, explain
from npuc.compiler.explain_report import explanation_as_json, explanation_as_text
from npuc.compiler.progress import say_nothing
from npuc.compiler.request import Request
from npuc.dialects.core.errors import InputError
from npuc.dialects.target import machine as machines
from npuc.dialects.tile.schedule import ScheduleAttr
from observed import DIGITS, digits, mixed_engines, save


@cache
def explained(node: str | None = None, target: str = "tiny") -> Explanation:
    """The digits network, or one node of it."""
    return explain(Request(str(DIGITS), target=target), node, say_nothing)


def test_kernels_are_in_the_order_of_launches() -> None:
    result = digits("tiny").result
    kernels = explained().kernels
    assert [kernel.profile.kernel for kernel in kernels] == [k.kernel for k in result.kernels]
    assert [kernel.engine for kernel in kernels] == ["vector", "cube", "cube", "vector"]
    assert [kernel.operators for kernel in kernels] == ["", "Gemm+Relu", "Gemm", "Softmax"]


@pytest.mark.parametrize("target", ["tiny", "ascend310p"])
def test_figures_are_those_of_the_run(target: str) -> None:
    result = digits(target).result
    for kernel, task in zip(explained(target=target).kernels, result.tasks, strict=True):
        assert kernel.emulated == max(task.core_cycles)
        assert kernel.profile.cycles == task.cycles
        assert kernel.profile.cores == len(task.busy)
        moved = task.work.moved
        assert kernel.read == moved.get("gm_l1", 0) + moved.get("gm_ub", 0)
        assert kernel.written == moved["ub_gm"]
        assert kernel.profile.busiest in max(
            (sum(core[pipe] for core in task.busy), pipe) for pipe in task.busy[0]
        )


def test_decisions_are_those_of_the_ir() -> None:
    kernels = explained().kernels
    assert [kernel.stopped for kernel in kernels][-1] == "its result is returned"
    assert all(kernel.stopped for kernel in kernels)
    for kernel in kernels:
        assert kernel.schedule is not None
        assert kernel.schedule.cores.data == kernel.profile.cores
        assert kernel.predicted == kernel.schedule.predicted


def test_the_estimate_is_a_field_of_the_schedule() -> None:
    kernel = explained().kernels[0]
    schedule = ScheduleAttr.of((8,), (8,), 1, "by hand", 316)
    assert replace(kernel, schedule=schedule).predicted == 316
    assert replace(kernel, schedule=ScheduleAttr.of((8,), (8,), 1, "by hand")).predicted is None
    assert replace(kernel, schedule=None).predicted is None
    told = replace(explained(), kernels=[replace(kernel, schedule=schedule)])
    assert json.loads(explanation_as_json(told))["kernels"][0]["predicted_cycles"] == 316
    assert "  316  " in explanation_as_text(told)


def test_one_node() -> None:
    whole, part = explained(), explained("relu")
    (kernel,) = part.kernels
    assert kernel.profile == whole.kernels[1].profile
    spaces = {buffer.space for buffer in kernel.buffers}
    assert spaces == {"l1", "l0a", "l0b", "l0c", "ub"}
    machine = machines.load("tiny")
    assert all(0 < buffer.end <= machine.size(buffer.space) for buffer in kernel.buffers)
    assert {buffer.depth for buffer in kernel.buffers} == {1, 2}
    assert {buffer.node for buffer in kernel.buffers} >= {"fc1", "relu"}
    assert kernel.instructions["M"] == {"mmad": 1}
    words = sum(sum(counts.values()) for counts in kernel.instructions.values())
    assert words == len(part.observation.program.kernels["main_1"].records)


def test_details_are_for_one_node_only() -> None:
    assert "l0a" in explanation_as_text(explained("fc1"))
    assert "l0a" not in explanation_as_text(explained())
    assert "buffers" in json.loads(explanation_as_json(explained("fc1")))["kernels"][0]
    assert "buffers" not in json.loads(explanation_as_json(explained()))["kernels"][0]


def test_an_unknown_node() -> None:
    with pytest.raises(InputError) as caught:
        explained("softmx")
    assert caught.value.what == "there is no node softmx"
    assert caught.value.hint == "did you mean softmax?"
    with pytest.raises(InputError, match="`npuc info` lists them"):
        explained("/////")


def test_the_host_and_nodes_that_cost_nothing(tmp_path: Path) -> None:
    request = Request(str(save(mixed_engines(), tmp_path)), target="tiny")
    whole = explain(request, None, say_nothing)
    (call,) = (kernel for kernel in whole.kernels if kernel.engine == "host")
    assert (call.profile.nodes, call.operators) == (("integers",), "MatMul")
    assert (call.schedule, call.stopped, call.profile.cores) == (None, None, 0)
    assert "runs on the host engine" in explanation_as_text(whole)
    nothing = explain(request, "flat", say_nothing)
    assert nothing.kernels == []
    assert "no kernel computes flat (Reshape): " in explanation_as_text(nothing)
    assert json.loads(explanation_as_json(nothing))["kernels"] == []


def test_the_table_lines_up() -> None:
    blocks = explanation_as_text(explained(target="ascend310p")).split("\n\n")
    head, *lines = blocks[1].splitlines()
    assert len(lines) == 4
    column = head.index("nodes")
    assert [line[column:] for line in lines] == ["-", "fc1, relu", "fc2", "softmax"]
    assert all(line[column - 1] == " " for line in lines)
