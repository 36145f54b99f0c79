"""Cores that wait for each other: values, order, time, and what is wrong with some."""

import re

import numpy as np
import pytest

from hand_written import fixpipe_machine, program, small_machine
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Program
from npuc.dialects.core.errors import (
    DeadlockError,
    ExecutionError,
    FlagError,
    ProgramError,
    RaceError,
)
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.target.machine import Machine

EXCHANGE = """
r2 = s_core_id
r3 = s_mul lhs = r2, rhs = 256
r4 = s_add lhs = r0, rhs = r3
r5 = s_add lhs = r1, rhs = r3
mov_gm_ub dst = [0], src = [r4], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r5], src = [0], len = 256
SYNC
r6 = s_add lhs = r2, rhs = 1
r6 = s_rem lhs = r6, rhs = CORES
r6 = s_mul lhs = r6, rhs = 256
r6 = s_add lhs = r6, rhs = r1
mov_gm_ub dst = [256], src = [r6], len = 256
set_flag src = MTE2, dst = V, id = 0
wait_flag src = MTE2, dst = V, id = 0
vmuls dst = [512], src0 = [256], scalar = 2.0, dtype = f32, mask = 64, repeat = 1
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
AGAIN
mov_ub_gm dst = [r5], src = [512], len = 256
end
"""
"""Each core stores its row, then twice the row of the next core in its place."""
FLAGS = "cross_set mode = 0, pipe = MTE3, id = 3\ncross_wait mode = 0, pipe = MTE2, id = 3"
AGAIN = "cross_set mode = 0, pipe = MTE2, id = 4\ncross_wait mode = 0, pipe = MTE3, id = 4"
CORES = 4


def exchange(
    sync: str, again: str, cores: int = CORES, machine: Machine | None = None
) -> tuple[Program, dict[str, Array]]:
    text = EXCHANGE.replace("SYNC", sync).replace("AGAIN", again).replace("CORES", str(cores))
    x = np.random.default_rng(cores).standard_normal((cores, 64)).astype(np.float32)
    built = program(text, {"x": x}, {"y": x}, grid=cores, machine=machine or fixpipe_machine(cores))
    return built, {"x": x}


@pytest.mark.parametrize(("sync", "again"), [(FLAGS, AGAIN), ("sync_all", "sync_all")])
@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize("checks", [False, True])
def test_cores_exchange_rows(sync: str, again: str, cores: int, checks: bool) -> None:
    built, inputs = exchange(sync, again, cores)
    for _ in range(3):
        result = Emulator(built, checks=checks).run(inputs)
        want = 2 * np.roll(inputs["x"], -1, axis=0)
        np.testing.assert_array_equal(result.outputs["y"], want)


@pytest.mark.parametrize(
    ("sync", "again", "bytes_of"),
    [("", AGAIN, "reads"), (FLAGS, "", "writes"), ("sync_all", "", "writes")],
)
def test_what_is_not_waited_for_races(sync: str, again: str, bytes_of: str) -> None:
    built, inputs = exchange(sync, again)
    report = Emulator(built, checks=True, collect=True).run(inputs).report
    races = [str(finding) for finding in report if isinstance(finding, RaceError)]
    assert len(races) == 1
    assert re.match(r"cores \d and \d race for byte", races[0])
    assert bytes_of in races[0]
    assert "no order among each other" in races[0]


def test_a_wait_on_another_pipe_does_not_order() -> None:
    wrong = FLAGS.replace("pipe = MTE2", "pipe = V")
    built, inputs = exchange(wrong, AGAIN)
    with pytest.raises(RaceError, match="race for byte"):
        Emulator(built, checks=True).run(inputs)


def test_order_goes_on_through_flags_within_a_core() -> None:
    """The wait holds V, and a flag from V holds MTE2."""
    longer = FLAGS.replace("pipe = MTE2", "pipe = V")
    longer += "\nset_flag src = V, dst = MTE2, id = 1\nwait_flag src = V, dst = MTE2, id = 1"
    built, inputs = exchange(longer, AGAIN)
    Emulator(built, checks=True).run(inputs)


def test_order_goes_on_through_a_third_core() -> None:
    """Core 0 stores; 1 waits for it and tells 2, which loads."""
    text = """
r2 = s_core_id
branch cond = eq, lhs = r2, rhs = 1, offset = 10
branch cond = eq, lhs = r2, rhs = 2, offset = 12
mov_gm_ub dst = [0], src = [r0], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r1], src = [0], len = 256
barrier pipe = ALL
ib_set event = 5
jump offset = 12
jump offset = 11
ib_wait core = 0, event = 5
ib_set event = 6
jump offset = 8
ib_wait core = 1, event = 6
mov_gm_ub dst = [0], src = [r1], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r1 + 512], src = [0], len = 256
jump offset = 2
barrier pipe = ALL
end
"""
    x = np.arange(64, dtype=np.float32)
    y = np.zeros((3, 64), np.float32)
    built = program(text, {"x": x}, {"y": y}, grid=3, machine=small_machine(3))
    result = Emulator(built, checks=True).run({"x": x})
    np.testing.assert_array_equal(result.outputs["y"][2], x)
    broken = text.replace("ib_wait core = 0, event = 5", "barrier pipe = V")
    built = program(
        broken.replace("ib_set event = 5", "barrier pipe = V"),
        {"x": x}, {"y": y}, grid=3, machine=small_machine(3),
    )  # fmt: skip
    with pytest.raises(RaceError, match="cores 0 and 2 race"):
        Emulator(built, checks=True).run({"x": x})


GROUPS = """
r2 = s_core_id
r3 = s_rem lhs = r2, rhs = 3
branch cond = ne, lhs = r3, rhs = 0, offset = 4
cross_wait mode = 2, pipe = S, id = 1
cross_set mode = 2, pipe = S, id = 2
jump offset = 5
cross_set mode = 2, pipe = S, id = 1
cross_set mode = 1, pipe = S, id = 3
cross_wait mode = 1, pipe = S, id = 3
cross_wait mode = 2, pipe = S, id = 2
end
"""


@pytest.mark.parametrize("cores", [3, 5, 6])
def test_modes_of_groups(cores: int) -> None:
    machine = fixpipe_machine(cores)
    x = np.zeros(8, np.float32)
    built = program(GROUPS, {"x": x}, {"y": x}, grid=cores, machine=machine)
    result = Emulator(built, checks=True).run({"x": x})
    assert len(result.tasks[0].core_cycles) == cores


def run(text: str, cores: int = 2, *, checks: bool = False) -> None:
    x = np.zeros(8, np.float32)
    built = program(text, {"x": x}, {"y": x}, grid=cores, machine=fixpipe_machine(cores))
    Emulator(built, checks=checks).run({"x": x})


@pytest.mark.parametrize("checks", [False, True])
def test_a_deadlock_names_every_wait(checks: bool) -> None:
    text = """
r2 = s_core_id
branch cond = eq, lhs = r2, rhs = 2, offset = 5
r3 = s_sub lhs = 1, rhs = r2
ib_wait core = r3, event = 0
ib_set event = 0
jump offset = 1
end
"""
    with pytest.raises(DeadlockError, match="cores of kernel k wait for each other") as caught:
        run(text, 3, checks=checks)
    assert caught.value.why == (
        "core 0 waits in ib_wait at word 3 of kernel k, for /node for event 0 of core 1; "
        "core 1 waits in ib_wait at word 3 of kernel k, for /node for event 0 of core 0; "
        "cores 2 are through"
    )


def test_a_core_that_never_comes() -> None:
    text = "r2 = s_core_id\nbranch cond = eq, lhs = r2, rhs = 1, offset = 2\nsync_all\nend"
    with pytest.raises(DeadlockError) as caught:
        run(text)
    assert "for core 1 to come to sync_all; cores 1 are through" in (caught.value.why or "")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("cross_set mode = 0, pipe = V, id = 1\nend", "left set at the end"),
        ("cross_set mode = 0, pipe = V, id = 11\nend", "flag 11 between cores does not exist"),
        ("ib_set event = 1\nib_set event = 1\nend", "event 1 of core 0 is set more than 1 times"),
        (
            "loop r1 in 16 {\n  cross_set mode = 0, pipe = V, id = 1\n}\nend",
            r"flag 1 \(mode 0\) of core 0 for core 0 is set more than 15 times",
        ),
    ],
)
def test_flags_between_cores_that_are_misused(text: str, what: str) -> None:
    with pytest.raises(FlagError, match=what):
        run(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("r1 = s_core_id\nib_wait core = r1, event = 0\nend", "ib_wait waits for core 0"),
        ("ib_wait core = 7, event = 0\nend", "ib_wait waits for core 7"),
        ("cross_set mode = 1, pipe = V, id = 0\nend", "first core of a group takes part in mode 1"),
    ],
)
def test_cores_that_cannot_be_waited_for(text: str, what: str) -> None:
    with pytest.raises(ExecutionError, match=what):
        run(text)


def test_an_error_of_one_core_ends_the_others() -> None:
    text = "r1 = s_core_id\nr2 = s_div lhs = 1, rhs = r1\nsync_all\nend"
    with pytest.raises(ExecutionError, match="division by zero") as caught:
        run(text, 4)
    assert "on core 0" in (caught.value.where or "")


def test_machines_without_flags_between_cores_refuse_them() -> None:
    with pytest.raises(ProgramError) as caught:
        exchange(FLAGS, AGAIN, 2, small_machine(2))[0].check()
    assert "it needs the feature cross_core, which tiny lacks" in (caught.value.why or "")
    exchange("sync_all", "sync_all", 2, small_machine(2))[0].check()


def test_a_core_waits_until_the_slowest_has_come() -> None:
    add = "vadds dst = [0], src0 = [0], scalar = 1.0, dtype = f32, mask = 64, repeat = 100"
    work = "\n".join([add] * 10)
    text = f"""
r2 = s_core_id
branch cond = eq, lhs = r2, rhs = 0, offset = 11
{work}
sync_all
end
"""
    x = np.zeros(8, np.float32)
    machine = small_machine(3)
    built = program(text, {"x": x}, {"y": x}, grid=3, machine=machine)
    result = Emulator(built, trace=True).run({"x": x})
    slow = machine.vector.single.slope_b32 * 100 * 10
    through_gm = machine.paths.ub_gm.latency + machine.paths.gm_ub.latency
    for cycles in result.tasks[0].core_cycles:
        assert slow + through_gm < cycles < slow + through_gm + 200
    waits = [event for event in result.trace.events if event.span.kind == "barrier"]
    assert max(event.span.end - event.span.start for event in waits if event.core == 0) > slow


def test_atomic_stores_of_cores_do_not_race() -> None:
    text = """
mov_gm_ub dst = [0], src = [r0], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r0], src = [0], len = 256, atomic = add
end
"""
    x = np.arange(64, dtype=np.float32)
    split = """
mov_gm_ub dst = [0], src = [r0], len = 256
mov_gm_ub dst = [256], src = [r1], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
sync_all
mov_ub_gm dst = [r1], src = [0], len = 256, atomic = add
end
"""
    built = program(text, {"x": x}, {"y": x}, grid=4, machine=small_machine(4))
    with pytest.raises(RaceError):
        Emulator(built, checks=True).run({"x": x})
    built = program(split, {"x": x, "y": 0 * x}, {}, grid=4, machine=small_machine(4))
    Emulator(built, checks=True).run({"x": x, "y": 0 * x})
    mixed = split.replace("sync_all\n", "sync_all\nmov_ub_gm dst = [r1], src = [0], len = 256\n")
    built = program(mixed, {"x": x, "y": 0 * x}, {}, grid=2, machine=small_machine(2))
    with pytest.raises(RaceError, match="cores 0 and 1 race"):
        Emulator(built, checks=True).run({"x": x, "y": 0 * x})


def test_atomic_sums_do_not_depend_on_threads() -> None:
    text = """
r2 = s_core_id
r2 = s_mul lhs = r2, rhs = 4096
r2 = s_add lhs = r2, rhs = r0
mov_gm_ub dst = [0], src = [r2], len = 4096
barrier pipe = ALL
loop r3 in 20 {
  mov_ub_gm dst = [r1], src = [0], len = 4096, atomic = add
}
end
"""
    x = np.random.default_rng(0).standard_normal((8, 1024)).astype(np.float32)
    built = program(text, {"x": x}, {"y": x[0]}, grid=8, machine=small_machine(8))
    want = np.zeros(1024, np.float32)
    for row in x:
        for _ in range(20):
            want = want + row
    for threads in (1, 4):
        found = Emulator(built, threads=threads).run({"x": x}).outputs["y"]
        np.testing.assert_array_equal(found, want)
