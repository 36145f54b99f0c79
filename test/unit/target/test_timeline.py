"""When pipes work and when they wait.

On this machine issuing takes 1 cycle, setting and waiting for a flag 1 each, a barrier 20.
"""

from collections.abc import Callable

import pytest

from npuc.dialects.core.errors import DeadlockError, FlagError
from npuc.dialects.target.machine import load
from npuc.dialects.target.timeline import RecordingTimeline, Span, Timeline

MACHINE = load("tiny")


def test_one_pipe_works_in_order_and_overlaps_tails() -> None:
    line = Timeline(MACHINE)
    assert line.issue("V", 100, 30) == 1
    assert line.issue("V", 50, 30) == 101
    assert line.finish() == 181
    assert line.busy() == {"S": 2, "V": 150, "M": 0, "MTE1": 0, "MTE2": 0, "MTE3": 0}


def test_two_pipes_overlap() -> None:
    line = Timeline(MACHINE)
    line.issue("MTE2", 100)
    line.issue("V", 100)
    assert line.finish() == 102


def test_a_flag_orders_two_pipes_by_completion() -> None:
    line = Timeline(MACHINE)
    line.issue("MTE2", 100, 40)
    line.set_flag("MTE2", "V", 0)
    line.wait_flag("MTE2", "V", 0)
    # Started at 1, complete at 141; set there, seen a cycle later.
    assert line.issue("V", 10) == 142
    assert line.finish() == 152


def test_a_flag_does_not_hold_the_pipe_that_sets_it() -> None:
    line = Timeline(MACHINE)
    line.issue("MTE2", 100, 40)
    line.set_flag("MTE2", "V", 0)
    assert line.issue("MTE2", 100) == 102
    line.wait_flag("MTE2", "V", 0)
    line.finish()


def test_double_buffering_hides_loads() -> None:
    def run(slots: int) -> int:
        line = Timeline(MACHINE)
        for slot in range(slots):
            line.set_flag("V", "MTE2", slot)
        for i in range(10):
            slot = i % slots
            line.wait_flag("V", "MTE2", slot)
            line.issue("MTE2", 100)
            line.set_flag("MTE2", "V", slot)
            line.wait_flag("MTE2", "V", slot)
            line.issue("V", 100)
            line.set_flag("V", "MTE2", slot)
        for slot in range(slots):
            line.wait_flag("V", "MTE2", slot)
        return line.finish()

    one, two = run(1), run(2)
    assert 2000 <= one <= 2100
    assert 1100 <= two <= 1200


def test_flags_with_the_scalar_thread() -> None:
    line = Timeline(MACHINE)
    line.issue("V", 100, 20)
    line.set_flag("V", "S", 3)
    line.wait_flag("V", "S", 3)
    assert line.now == 122
    line.set_flag("S", "M", 0)
    line.wait_flag("S", "M", 0)
    assert line.issue("M", 1) == 126


def test_a_barrier_of_one_pipe_drains_it() -> None:
    line = Timeline(MACHINE)
    line.issue("V", 100, 30)
    line.issue("M", 5)
    line.barrier("V")
    assert line.issue("V", 10) == 151
    assert line.issue("M", 5) == 7


def test_a_barrier_of_all_holds_everything() -> None:
    line = Timeline(MACHINE)
    line.issue("V", 100, 30)
    line.barrier("ALL")
    assert line.now == 151
    assert line.issue("M", 5) == 152


def test_a_full_queue_stalls_the_thread() -> None:
    line = Timeline(MACHINE)
    depth = MACHINE.core.queue
    for _ in range(depth):
        line.issue("V", 1000)
    assert line.now == depth
    line.issue("V", 1000)
    # The first entry has left the queue long ago, the next to leave starts at 1001.
    assert line.now == depth + 1
    line.issue("V", 1000)
    assert line.now == 1001


def test_scalar_work_delays_issue() -> None:
    line = Timeline(MACHINE, start=1000)
    line.scalar(50)
    assert line.issue("V", 1) == 1051
    assert line.busy()["S"] == 51


def test_recording() -> None:
    line = RecordingTimeline(MACHINE)
    calls: list[Callable[[], object]] = [
        lambda: line.scalar(3),
        lambda: line.issue("MTE2", 100, 40),
        lambda: line.set_flag("MTE2", "V", 0),
        lambda: line.wait_flag("MTE2", "V", 0),
        lambda: line.issue("V", 10, 5),
        lambda: line.set_flag("V", "S", 1),
        lambda: line.wait_flag("V", "S", 1),
        lambda: line.set_flag("S", "V", 2),
        lambda: line.wait_flag("S", "V", 2),
        lambda: line.barrier("V"),
        lambda: line.barrier("ALL"),
    ]
    for line.number, call in enumerate(calls):
        call()
    line.finish()
    assert line.spans == [
        Span("MTE2", "work", 4, 104, 144, 1),
        Span("MTE2", "set", 104, 105, 144, 2, flag=1),
        Span("V", "wait", 6, 145, 144, 3, flag=1),
        Span("V", "work", 145, 155, 160, 4),
        Span("V", "set", 155, 156, 160, 5, flag=2),
        Span("S", "scalar", 0, 9, 9, 0, 7),
        Span("S", "wait", 9, 161, 160, 6, flag=2),
        Span("S", "set", 161, 163, 163, 7, flag=3),
        Span("V", "wait", 164, 165, 163, 8, flag=3),
        Span("V", "barrier", 165, 185, 185, 9),
        Span("S", "scalar", 163, 166, 166, 8, 3),
        Span("S", "barrier", 166, 205, 205, 10),
    ]


def test_recording_changes_no_time() -> None:
    lines = Timeline(MACHINE), RecordingTimeline(MACHINE)
    for line in lines:
        for slot in range(40):
            line.issue("MTE2", 50 + slot, 7)
            line.set_flag("MTE2", "V", 0)
            line.wait_flag("MTE2", "V", 0)
            line.issue("V", 10)
            line.scalar(2)
            if slot == 30 and isinstance(line, RecordingTimeline):
                line.stop()
    assert lines[0].finish() == lines[1].finish()
    assert lines[0].busy() == lines[1].busy()
    assert sum(span.kind == "work" for span in lines[1].spans) == 62


def test_a_flag_set_twice() -> None:
    line = Timeline(MACHINE)
    line.set_flag("V", "M", 1)
    line.set_flag("V", "M", 2)
    with pytest.raises(FlagError, match="flag 1 from V to M is set twice"):
        line.set_flag("V", "M", 1)


def test_a_flag_left_set() -> None:
    line = Timeline(MACHINE)
    line.set_flag("V", "M", 1)
    with pytest.raises(FlagError, match="left set at the end: 1 from V to M"):
        line.finish()


def test_a_wait_for_nothing() -> None:
    line = Timeline(MACHINE)
    line.set_flag("V", "M", 1)
    with pytest.raises(DeadlockError, match="M waits for flag 0 from V"):
        line.wait_flag("V", "M", 0)
