"""The tables have the columns users of Ascend's profiler know, and figures that add up."""

import csv
import io
from collections.abc import Callable
from typing import BinaryIO

import pytest

from npuc.compiler.observation import Observation, observe
from npuc.compiler.profile.tables import UNITS, write_memory, write_statistic, write_summary
from npuc.compiler.progress import say_nothing
from npuc.compiler.request import Request
from npuc.dialects.npu_isa.spec import PIPES
from npuc.dialects.target.costs import microseconds
from observed import digits, mixed_engines, save

Rows = list[dict[str, str]]


def rows(write: Callable[[Observation, BinaryIO], None], observation: Observation) -> Rows:
    """A table, read back."""
    file = io.BytesIO()
    write(observation, file)
    return list(csv.DictReader(io.StringIO(file.getvalue().decode(), newline="")))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Observation:
    """A run with a function of the host engine."""
    path = save(mixed_engines(), tmp_path_factory.mktemp("host"))
    return observe(Request(str(path), target="tiny"), say_nothing)


def test_a_row_a_launch() -> None:
    result = digits("ascend310p").result
    table = rows(write_summary, digits("ascend310p"))
    assert [row["Op Name"] for row in table] == ["main_0", "fc1+relu", "fc2", "softmax"]
    assert [row["OP Type"] for row in table] == ["vector", "Gemm+Relu", "Gemm", "Softmax"]
    assert [row["Task ID"] for row in table] == ["0", "1", "2", "3"]
    assert {row["Task Type"] for row in table} == {"AI_CORE"}
    for row, task in zip(table, result.tasks, strict=True):
        assert int(row["Block Num"]) == len(task.busy)
        assert int(row["total_cycles"]) == sum(task.core_cycles)
        assert float(row["mte2_ratio"]) == pytest.approx(
            sum(core["MTE2"] for core in task.busy) / sum(task.core_cycles), abs=1e-4
        )
        ratio = float(row["vec_time(us)"]) / float(row["aicore_time(us)"])
        assert ratio == pytest.approx(float(row["vec_ratio"]), abs=2e-3)


def test_every_pipe_has_its_columns() -> None:
    assert set(UNITS.values()) == set(PIPES)


def test_times_add_up_to_the_run() -> None:
    result = digits("ascend310p").result
    table = rows(write_summary, digits("ascend310p"))
    end = 0.0
    for row in table:
        end += float(row["Task Wait Time(us)"])
        assert float(row["Task Start Time(us)"]) == pytest.approx(end, abs=0.005)
        end += float(row["Task Duration(us)"])
    assert end == pytest.approx(microseconds(result.machine, result.cycles), abs=0.005)


def test_memory_bound_is_the_published_quotient() -> None:
    for row in rows(write_summary, digits("tiny")):
        computing = max(float(row["mac_ratio"]), float(row["vec_ratio"]))
        quotient = float(row["mte2_ratio"]) / computing
        assert float(row["memory_bound"]) == pytest.approx(quotient, rel=0.01)


def test_the_cube_is_used_by_products_only() -> None:
    used = [float(row["cube_utilization(%)"]) for row in rows(write_summary, digits("tiny"))]
    assert [0 < share <= 100 for share in used] == [False, True, True, False]


def test_a_row_an_operator_type() -> None:
    table = rows(write_statistic, digits("tiny"))
    assert sum(float(row["Ratio(%)"]) for row in table) == pytest.approx(100, abs=0.01)
    totals = [float(row["Total Time(us)"]) for row in table]
    assert totals == sorted(totals, reverse=True)
    for row in table:
        times = [float(row[f"{which} Time(us)"]) for which in ("Min", "Avg", "Max")]
        assert times == sorted(times)
        assert float(row["Total Time(us)"]) == pytest.approx(times[1] * int(row["Count"]))


def test_bytes_by_path() -> None:
    observation = digits("ascend310p")
    table = rows(write_memory, observation)
    work = observation.result.work
    columns = {
        "GM_to_L1_datas(KB)": work.moved["gm_l1"],
        "GM_to_UB_datas(KB)": work.moved["gm_ub"],
        "UB_to_GM_datas(KB)": work.moved["ub_gm"],
        "L1_to_L0A_datas(KB)": work.moved["l1_l0a"],
        "main_memory_datas(KB)": work.missed,
    }
    for column, size in columns.items():
        total = sum(float(row[column]) for row in table)
        assert total == pytest.approx(size / 1024, abs=0.01), column


def test_the_host_has_no_units(host: Observation) -> None:
    (row,) = (row for row in rows(write_summary, host) if row["Task Type"] == "AI_CPU")
    assert (row["Op Name"], row["OP Type"], row["Kernel"]) == ("integers", "MatMul", "host matmul")
    assert float(row["Task Duration(us)"]) > 0
    assert {row["Block Num"], row["total_cycles"], row["mac_ratio"], row["memory_bound"]} == {"N/A"}
    (row,) = (row for row in rows(write_memory, host) if row["Op Name"] == "integers")
    assert row["GM_to_UB_datas(KB)"] == "N/A"
    types = {(row["OP Type"], row["Core Type"]) for row in rows(write_statistic, host)}
    assert {("MatMul", "AI_CPU"), ("MatMul", "AI_CORE")} <= types
