"""Values and times of small programs."""

import threading

import numpy as np
import pytest

from hand_written import (
    ADD,
    add_inputs,
    add_program,
    matmul_program,
    program,
    scale_program,
    small_machine,
)
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Entry, Program
from npuc.dialects.core.errors import ExecutionError, InputError, ProgramError
from npuc.dialects.target.costs import nanoseconds


def test_elementwise_work() -> None:
    result = Emulator(add_program(), checks=True).run(add_inputs())
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)
    assert len(result.report) == 0


@pytest.mark.parametrize(("m", "k", "n"), [(16, 16, 16), (24, 40, 48), (5, 33, 16)])
def test_product_on_two_cores(m: int, k: int, n: int) -> None:
    built, inputs = matmul_program(m, k, n, cores=2)
    result = Emulator(built, checks=True).run(inputs)
    a, b = inputs["a"].astype(np.float32), inputs["b"].astype(np.float32)
    np.testing.assert_allclose(result.outputs["c"], a @ b, rtol=1e-5, atol=1e-5)
    assert result.work.macs == 2 * m * k * n


@pytest.mark.parametrize("rounds", [1, 2, 7])
def test_loop_over_two_slots(rounds: int) -> None:
    built, inputs = scale_program(rounds)
    result = Emulator(built, checks=True).run(inputs)
    np.testing.assert_array_equal(result.outputs["y"], inputs["x"] * 2)


def test_the_same_with_checks_without_and_in_threads() -> None:
    built, inputs = matmul_program(32, 32, 32, cores=4)
    results = [
        Emulator(built, checks=True).run(inputs),
        Emulator(built, threads=1).run(inputs),
        Emulator(built, threads=3, trace=True).run(inputs),
    ]
    for result in results[1:]:
        np.testing.assert_array_equal(result.outputs["c"], results[0].outputs["c"])
        assert result.tasks == results[0].tasks


def test_an_emulator_is_called_from_many_threads() -> None:
    emulator = Emulator(add_program(), threads=1)
    wrong: list[int] = []

    def call(factor: int) -> None:
        inputs = {name: array * factor for name, array in add_inputs().items()}
        for _ in range(20):
            got = emulator.run(inputs).outputs["y"]
            if not np.array_equal(got, add_inputs()["a"] * 3 * factor):
                wrong.append(factor)

    threads = [threading.Thread(target=call, args=(factor,)) for factor in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_registers_may_be_virtual() -> None:
    text = ADD.replace("dst = [512]", "dst = [r700]")
    text = text.replace("set_flag src = MTE2", "r700 = s_mov src = 512\nset_flag src = MTE2")
    built = program(text, add_inputs(), {"y": add_inputs()["a"]}, physical=False)
    result = Emulator(built, checks=True).run(add_inputs())
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)


def test_programs_without_flags_run_in_program_order() -> None:
    text = "\n".join(line for line in ADD.splitlines() if "flag" not in line)
    result = Emulator(add_program(text), checks=True, race_check=False).run(add_inputs())
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)


def test_a_loop_of_no_iterations_does_nothing() -> None:
    text = "r9 = s_sub lhs = 3, rhs = 5\nloop r5 in r9 {\n  r6 = s_div lhs = 1, rhs = 0\n}\nend"
    assert Emulator(program(text, {}, {})).run({}).work.instructions == 3


def test_the_budget_ends_endless_programs() -> None:
    text = "loop r5 in 2000000000 {\n  loop r6 in 2000000000 {\n    r7 = s_mov src = 1\n  }\n}\nend"
    with pytest.raises(ExecutionError, match="does not come to an end") as caught:
        Emulator(program(text, {}, {}), budget=10_000).run({})
    assert "kernel k, for /node, on core 0" in str(caught.value)


def test_errors_name_the_instruction() -> None:
    text = "r4 = s_mov src = 1\nr5 = s_div lhs = r4, rhs = 0\nend"
    with pytest.raises(ExecutionError, match="division by zero") as caught:
        Emulator(program(text, {}, {})).run({})
    assert caught.value.where == "s_div at word 1 of kernel k, for /node, on core 0"


@pytest.mark.parametrize(
    ("mask", "why"), [(0, "mask = 0 is outside 1..256"), (65, "mask = 65 is outside 1..64")]
)
def test_register_values_have_the_ranges_of_fields(mask: int, why: str) -> None:
    text = f"r4 = s_mov src = {mask}\n" + ADD.replace("mask = 64", "mask = r4")
    with pytest.raises(ExecutionError, match=why) as caught:
        Emulator(add_program(text)).run(add_inputs())
    assert "vadd at word 5 of kernel k" in str(caught.value)


def test_inputs_must_fit() -> None:
    emulator = Emulator(add_program())
    inputs = {"a": np.zeros((8, 8), np.float32), "c": np.zeros(64, np.float32)}
    with pytest.raises(InputError) as caught:
        emulator.run(inputs)
    assert caught.value.why == "b is missing; there is no input c; a is float32[8, 8]"
    assert caught.value.hint == "pass numpy arrays a: float32[64], b: float32[64]"
    with pytest.raises(ProgramError, match="no entry other"):
        emulator.run(add_inputs(), "other")


def test_runs_do_not_see_each_other() -> None:
    """What one run leaves in GM is gone in the next."""
    text = "mov_gm_ub dst = [0], src = [r2], len = 256\nbarrier pipe = ALL\n" + ADD.replace(
        "src1 = [256]", "src1 = [0]"
    ).replace("dst = [0], src = [r0]", "dst = [1024], src = [r0]")
    emulator = Emulator(add_program(text))
    for _ in range(2):
        np.testing.assert_array_equal(emulator.run(add_inputs()).outputs["y"], 0)


def test_time_of_one_task_adds_up() -> None:
    built = add_program()
    result = Emulator(built, trace=True).run(add_inputs())
    launch = built.machine.launch
    (task,) = result.tasks
    assert task.start == nanoseconds(built.machine, launch.host)
    assert task.cycles == nanoseconds(built.machine, launch.task) + max(task.core_cycles)
    assert result.cycles == task.start + task.cycles
    assert result.time_us == result.cycles / built.machine.core.clock
    paths = built.machine.paths
    latencies = paths.gm_ub.latency + paths.ub_gm.latency
    assert latencies < task.core_cycles[0] < latencies + 200


def test_the_trace_shows_each_instruction_in_its_order() -> None:
    result = Emulator(add_program(), trace=True).run(add_inputs())
    work = [event for event in result.trace.events if event.span.kind == "work"]
    assert [event.label for event in work] == [
        "mov_gm_ub @0",
        "mov_gm_ub @1",
        "vadd @4",
        "mov_ub_gm @7",
    ]
    assert work[2].span.start >= work[1].span.done
    assert work[3].span.start >= work[2].span.done
    assert max(event.span.done for event in work) == result.cycles


def test_two_slots_overlap_load_and_store() -> None:
    """Twice the rounds take less than twice the latencies."""
    cycles: list[int] = []
    for rounds in (10, 20):
        built, inputs = scale_program(rounds)
        cycles.append(Emulator(built).run(inputs).tasks[0].core_cycles[0])
    latency = built.machine.paths.gm_ub.latency + built.machine.paths.ub_gm.latency
    assert cycles[1] - cycles[0] < 10 * latency * 3 // 4


def test_what_one_task_loads_the_next_finds_in_l2() -> None:
    built, inputs = scale_program(64)
    (entry,) = built.entries
    twice = Entry("main", entry.inputs, entry.outputs, entry.tasks * 2)
    again = Program(built.machine, (twice,), built.kernels, built.gm_bytes)
    result = Emulator(again).run(inputs)
    first, second = result.tasks
    assert first.work.missed > 0
    assert second.work.missed == 0
    assert second.start == first.start + first.cycles
    (stats,) = result.kernels
    assert (stats.launches, stats.cycles) == (2, first.cycles + second.cycles)
    assert stats.work.moved == {"gm_ub": 2 * 64 * 256, "ub_gm": 2 * 64 * 256}


def test_cores_pay_for_shared_loads_together() -> None:
    built, inputs = matmul_program(16, 64, 64, cores=4)
    (task,) = Emulator(built).run(inputs).tasks
    assert max(task.core_cycles) < 1.2 * min(task.core_cycles)
    assert task.utilisation("M") == sum(core["M"] for core in task.busy) / (4 * task.cycles)


def test_a_grid_larger_than_the_machine_is_refused() -> None:
    with pytest.raises(ProgramError, match="its grid is 3, tiny has 2 cores"):
        Emulator(add_program(grid=3, machine=small_machine(2)))
