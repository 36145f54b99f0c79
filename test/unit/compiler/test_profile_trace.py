"""The timeline holds exactly what the emulator counted, in a form that viewers take."""

import io
import json
from collections import defaultdict
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from npuc.backend.emulator.result import Result
from npuc.compiler.observation import Observation, observe
from npuc.compiler.profile.trace import HOST, begin_of, gaps, microseconds, write_trace
from npuc.compiler.progress import say_nothing
from npuc.compiler.request import Request
from npuc.dialects.npu_isa.spec import PIPES
from observed import cut, digits, mixed_engines, save

Json = dict[str, Any]
TARGETS = ["tiny", "ascend310p"]


def document(observation: Observation) -> Json:
    """The trace, read back."""
    file = io.BytesIO()
    write_trace(observation, file)
    return json.loads(file.getvalue())


@cache
def timeline(target: str) -> list[Json]:
    """The events of the digits network."""
    return document(digits(target))["traceEvents"]


def slices(events: list[Json]) -> list[Json]:
    return [event for event in events if event["ph"] == "X"]


def cut_off(event: Json) -> tuple[int, int]:
    """Start and end in whole nanoseconds, as viewers read them."""
    start = int(event["ts"] * 1000)
    return start, start + int(event["dur"] * 1000)


def assert_in_order(events: list[Json]) -> None:
    """Events of a track follow each other without overlap, in cycles and in nanoseconds."""
    tracks: dict[tuple[int, int], list[Json]] = defaultdict(list)
    for event in slices(events):
        tracks[event["pid"], event["tid"]].append(event)
    for track in tracks.values():
        for before, after in pairwise(track):
            assert cut_off(before)[1] <= cut_off(after)[0]
            assert end_cycle(before) <= after["args"]["start_cycle"]
        assert all(cut_off(event)[1] > cut_off(event)[0] for event in track)


def end_cycle(event: Json) -> int:
    return event["args"]["start_cycle"] + event["args"]["cycles"]


def names(events: list[Json], what: str) -> dict[tuple[int, int], str]:
    """Names of processes or threads."""
    found = [event for event in events if event["name"] == what]
    assert all(event["ph"] == "M" for event in found)
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in found}


def busy(events: list[Json], result: Result) -> list[list[dict[str, int]]]:
    """Cycles each pipe worked, by task and core, from the events."""
    threads = names(events, "thread_name")
    found = [[dict.fromkeys(core, 0) for core in task.busy] for task in result.tasks]
    begins = [begin_of(task) for task in result.tasks]
    for event in slices(events):
        if event["pid"] == HOST:
            continue
        pipe = threads[event["pid"], event["tid"]]
        if event["cat"] in ("work", "scalar") or (event["cat"] == "set" and pipe == "S"):
            at = event["args"]["start_cycle"]
            task = max(number for number, begin in enumerate(begins) if begin <= at)
            found[task][event["pid"] - 2][pipe] += event["args"]["cycles"]
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_events_of_a_track_do_not_overlap(target: str) -> None:
    assert_in_order(timeline(target))


@pytest.mark.parametrize("target", TARGETS)
def test_busy_cycles_are_those_of_the_result(target: str) -> None:
    result = digits(target).result
    assert busy(timeline(target), result) == [list(map(dict, task.busy)) for task in result.tasks]


@pytest.mark.parametrize("target", TARGETS)
def test_times_are_those_of_the_result(target: str) -> None:
    result = digits(target).result
    host = [event for event in slices(timeline(target)) if event["pid"] == HOST]
    launches = [event for event in host if event["cat"] == "launch"]
    tasks = [event for event in host if event["cat"] == "task"]
    assert [event["args"]["start_cycle"] for event in tasks] == list(map(begin_of, result.tasks))
    assert [event["args"]["cycles"] for event in tasks] == [
        max(task.core_cycles) for task in result.tasks
    ]
    assert end_cycle(tasks[-1]) == result.cycles
    assert sum(event["args"]["cycles"] for event in (*launches, *tasks)) == result.cycles
    for event in slices(timeline(target)):
        clock = result.machine.core.clock
        assert event["ts"] == pytest.approx(event["args"]["start_cycle"] / clock, abs=0.02)
        assert event["dur"] == pytest.approx(event["args"]["cycles"] / clock, abs=0.002)
        assert end_cycle(event) <= result.cycles


@pytest.mark.parametrize("target", TARGETS)
def test_arrows_go_from_each_flag_to_its_wait(target: str) -> None:
    events = timeline(target)
    arrows = [event for event in events if event["name"] == "flag"]
    sources = {event["id"]: event for event in arrows if event["ph"] == "s"}
    targets = {event["id"]: event for event in arrows if event["ph"] == "f"}
    waits = [event for event in slices(events) if event["cat"] == "wait"]
    sets = [event for event in slices(events) if event["cat"] == "set"]
    assert len(arrows) == 2 * len(sources)
    assert sources.keys() == targets.keys()
    assert len(sources) == len(waits) == len(sets) > 0
    for number, source in sources.items():
        target_ = targets[number]
        assert target_["bp"] == "e"
        assert source["pid"] == target_["pid"]
        assert int(source["ts"] * 1000) <= int(target_["ts"] * 1000)
        assert (
            enclosing(source, sets)["args"]["operands"]
            == enclosing(target_, waits)["args"]["operands"]
        )


def enclosing(end: Json, events: list[Json]) -> Json:
    """The event at the end of an arrow."""
    at = int(end["ts"] * 1000)
    (found,) = (
        event
        for event in events
        if (event["pid"], event["tid"]) == (end["pid"], end["tid"])
        and cut_off(event)[0] <= at < cut_off(event)[1]
    )
    return found


def test_processes_are_cores_and_threads_are_pipes() -> None:
    events = timeline("ascend310p")
    cores = max(len(task.busy) for task in digits("ascend310p").result.tasks)
    processes = names(events, "process_name")
    assert processes == {(HOST, 0): "host"} | {(i + 2, 0): f"core {i}" for i in range(cores)}
    threads = names(events, "thread_name")
    used = {threads[event["pid"], event["tid"]] for event in slices(events)}
    assert {"S", "V", "M", "MTE1", "MTE2", "MTE3", "launches", "tasks"} <= used
    assert used <= {*PIPES, "launches", "tasks"}


def test_events_say_what_they_are() -> None:
    events = slices(timeline("tiny"))
    (load, *_) = (event for event in events if event["name"] == "nd2nz_gm_l1")
    assert load["args"]["node"] == "fc1"
    assert load["args"]["kernel"] == "main_1"
    assert load["args"]["bytes"] > 0
    assert "rows=" in load["args"]["operands"]
    assert load["args"]["done_cycle"] > end_cycle(load)
    (product, *_) = (event for event in events if event["name"] == "mmad")
    assert "bytes" not in product["args"]
    (task,) = (event for event in events if event["name"] == "main_1: fc1, relu")
    assert task["args"]["operators"] == "Gemm+Relu"


def test_the_head_says_what_the_run_was() -> None:
    head = document(digits("tiny"))
    assert head["displayTimeUnit"] == "ns"
    about = head["otherData"]
    assert about["cycles"] == digits("tiny").result.cycles
    assert (about["target"], about["precision"], about["clock_mhz"]) == ("tiny", "mixed", 1000)
    assert about["left_out"] == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("limit", [0, 5, 60, 300])
def test_a_long_run_is_recorded_in_part(target: str, limit: int) -> None:
    observation = cut(digits(target), limit)
    head = document(observation)
    events = head["traceEvents"]
    assert_in_order(events)
    left = gaps(observation)
    assert head["otherData"]["left_out"] == [gap._asdict() for gap in left]
    assert sum(gap.recorded for gap in left) <= limit
    arrows = [event for event in events if event["name"] == "flag"]
    starts = [event["id"] for event in arrows if event["ph"] == "s"]
    assert starts == [event["id"] for event in arrows if event["ph"] == "f"]
    missing = [event for event in events if event["name"] == "not recorded"]
    cores = [core for task in observation.result.trace.coverage for core in task]
    assert len(missing) == sum(core.recorded < core.issued for core in cores) > 0
    assert sum(event["args"]["instructions"] for event in missing) == sum(
        core.issued - core.recorded for core in cores
    )
    assert observation.result.tasks == digits(target).result.tasks


def test_a_function_of_the_host_is_a_task(tmp_path: Path) -> None:
    request = Request(str(save(mixed_engines(), tmp_path)), target="tiny")
    observation = observe(request, say_nothing, trace=True)
    events = document(observation)["traceEvents"]
    assert_in_order(events)
    (task,) = (event for event in events if event["name"] == "host matmul: integers")
    assert task["pid"] == HOST
    assert task["args"]["cores"] == 0
    result = observation.result
    assert busy(events, result) == [list(map(dict, task.busy)) for task in result.tasks]
    number = [task.kernel for task in result.tasks].index("host matmul")
    assert result.trace.coverage[number] == ()


def test_times_survive_being_cut_off() -> None:
    for nanoseconds in (*range(3000), 10**9 + 7, 123_456_789_011):
        assert int(microseconds(nanoseconds) * 1000) == nanoseconds
        assert round(microseconds(nanoseconds) * 1000) == nanoseconds
