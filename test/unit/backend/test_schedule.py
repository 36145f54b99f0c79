"""Random legal orders: right programs give the same bits in all of them, wrong ones do not."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from flag_checks import GM_BYTES, apply, kernel_of, parse_kernel
from hand_written import (
    ADD,
    Array,
    add_inputs,
    add_program,
    fixpipe_machine,
    matmul_program,
    program,
    scale_program,
    scale_text,
    small_machine,
    without,
)
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import IO, Entry, Kernel, Program, Task
from npuc.dialects.core.errors import (
    BoundsError,
    DeadlockError,
    ExecutionError,
    FlagError,
    InputError,
    RaceError,
)
from npuc.dialects.npu_isa.flatten import records
from npuc.dialects.target.attributes import machine_of
from npuc.passes.npu_isa.npu_isa_insert_sync import NpuIsaInsertSyncPass
from random_kernels import RandomKernel

SEEDS = range(8)


def run(built: Program, inputs: dict[str, Array], seed: int) -> dict[str, Array]:
    return dict(Emulator(built, schedule=f"random:{seed}").run(inputs).outputs)


def values_differ(built: Program, inputs: dict[str, Array], seeds: range = range(20)) -> int:
    """How many of the seeds give other values than program order."""
    usual = Emulator(built).run(inputs).outputs
    found = [run(built, inputs, seed) for seed in seeds]
    return sum(any(not np.array_equal(got[name], usual[name]) for name in usual) for got in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_small_programs_give_the_same_and_take_the_same_time(seed: int) -> None:
    for built, inputs in (
        (add_program(), add_inputs()),
        scale_program(7),
        matmul_program(24, 40, 48, cores=4),
    ):
        usual = Emulator(built, trace=True).run(inputs)
        other = Emulator(built, trace=True, schedule=f"random:{seed}").run(inputs)
        for name, array in usual.outputs.items():
            np.testing.assert_array_equal(other.outputs[name], array)
        assert (other.tasks, other.cycles) == (usual.tasks, usual.cycles)
        # Kept instructions are objects of their own, so only what is shown is compared.
        assert [(e.span, e.label) for e in other.trace.events] == [
            (e.span, e.label) for e in usual.trace.events
        ]


def random_program(seed: int, *, flags: bool) -> tuple[Program, dict[str, Array]]:
    """A random kernel on random bytes; both arguments are outputs as well."""
    module = parse_kernel(RandomKernel(Random(seed), budget=20, least_trips=2).text())
    if flags:
        module = apply(module, NpuIsaInsertSyncPass())
    tensors = tuple(IO(f"x{i}", "ui8", (GM_BYTES,), i * GM_BYTES) for i in range(2))
    task = Task("k", 1, tuple(tensor.address for tensor in tensors))
    built = Program(
        machine=machine_of(module),
        entries=(Entry("main", tensors, tensors, (task, task)),),
        kernels={"k": Kernel("k", tuple(records(kernel_of(module))), "vector")},
        gm_bytes=2 * GM_BYTES,
    )
    random = np.random.default_rng(seed)
    return built, {t.name: random.integers(0, 60, t.shape, dtype=np.uint8) for t in tensors}


@pytest.mark.parametrize("kernel", range(25))
def test_random_kernels_give_the_same(kernel: int) -> None:
    built, inputs = random_program(kernel, flags=True)
    assert values_differ(built, inputs, range(6)) == 0


def test_random_kernels_without_flags_do_not() -> None:
    differing = [
        values_differ(*random_program(kernel, flags=False), range(6)) for kernel in range(25)
    ]
    assert sum(count > 0 for count in differing) > 12


def test_a_race_gives_other_values_and_is_reported_as_ever() -> None:
    for pair in ("MTE2, dst = V", "V, dst = MTE3"):
        built = add_program(without(ADD, pair))
        assert values_differ(built, add_inputs()) > 3
        with pytest.raises(RaceError, match="race for byte"):
            Emulator(built, checks=True, schedule="random:1").run(add_inputs())
        collected = Emulator(built, checks=True, collect=True, schedule="random:1")
        kinds = {type(finding) for finding in collected.run(add_inputs()).report}
        assert RaceError in kinds


def test_a_missing_slot_gives_other_values() -> None:
    """Every round uses the bytes of the same slot."""
    text = scale_text(5).replace("r6 = s_mul lhs = r5", "r6 = s_mul lhs = 0")
    assert values_differ(*scale_program(5, text)) > 3


def test_checks_pass_in_a_random_order_too() -> None:
    result = Emulator(add_program(), checks=True, schedule="random:3").run(add_inputs())
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)
    assert len(result.report) == 0


def test_the_same_seed_gives_the_same_order() -> None:
    built, inputs = random_program(2, flags=False)
    for seed in range(10):
        first, second = run(built, inputs, seed), run(built, inputs, seed)
        assert all(np.array_equal(first[name], second[name]) for name in first)


SUM = """
r2 = s_core_id
r3 = s_mul lhs = r2, rhs = 256
r3 = s_add lhs = r3, rhs = r0
mov_gm_ub dst = [0], src = [r3], len = 256
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r1], src = [0], len = 256, atomic = add
end
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_float_sums_of_cores_keep_their_order(seed: int) -> None:
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    built = program(SUM, {"x": x}, {"y": x[0]}, grid=8)
    want = Emulator(built).run({"x": x}).outputs["y"]
    np.testing.assert_array_equal(run(built, {"x": x}, seed)["y"], want)


def test_a_count_that_an_instruction_leaves_is_there() -> None:
    """Nothing orders the register but the instruction itself."""
    text = """
mov_gm_ub dst = [0], src = [r0], len = 256
set_flag src = MTE2, dst = V, id = 0
wait_flag src = MTE2, dst = V, id = 0
r5 = vreducev2 dst = [512], src0 = [0], dtype = f32, pattern = odd, mask = 64, repeat = 1
r5 = s_mul lhs = r5, rhs = 4
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
mov_ub_gm dst = [r1], src = [512], len = r5
end
"""
    x = np.arange(64, dtype=np.float32)
    built = program(text.replace("odd", _pattern()), {"x": x}, {"y": x})
    assert values_differ(built, {"x": x}) == 0


def _pattern() -> str:
    from npuc.dialects.npu_isa.instructions import MNEMONICS

    names = MNEMONICS["vreducev2"].field("pattern").enum
    assert names is not None
    return names[1]


WAIT_FIRST = """
wait_flag src = V, dst = MTE2, id = 0
mov_gm_ub dst = [0], src = [r0], len = 256
set_flag src = MTE2, dst = V, id = 0
wait_flag src = MTE2, dst = V, id = 0
set_flag src = V, dst = MTE2, id = 0
end
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cycle_of_flags_is_a_deadlock(seed: int) -> None:
    built = program(WAIT_FIRST, {"x": add_inputs()["a"]}, {})
    with pytest.raises(DeadlockError) as caught:
        run(built, {"x": add_inputs()["a"]}, seed)
    assert "MTE2 waits in wait_flag at word 0 of kernel k" in (caught.value.why or "")
    assert "V waits in wait_flag at word 3 of kernel k" in (caught.value.why or "")
    assert "the flag is set only by set_flag at word 4 of kernel k" in (caught.value.why or "")


def test_a_set_after_its_wait_is_refused_as_ever() -> None:
    """Another pipe could set the flag in time, but program order is to be a legal order."""
    text = "wait_flag src = V, dst = MTE2, id = 0\nset_flag src = V, dst = MTE2, id = 0\nend"
    with pytest.raises(DeadlockError, match="which nothing sets before it"):
        run(program(text, {}, {}), {}, 0)


def test_a_flag_set_twice_is_an_error_in_some_order() -> None:
    """V sets the flag again without knowing that MTE2 has waited for it."""
    text = "\n".join(
        ["set_flag src = V, dst = MTE2, id = 0", "wait_flag src = V, dst = MTE2, id = 0"] * 2
    )
    built = program(f"{text}\nend", {}, {})
    Emulator(built).run({})
    found: list[str] = []
    for seed in range(20):
        try:
            run(built, {}, seed)
        except FlagError as error:
            found.append(str(error))
    assert 3 < len(found) < 20
    assert "flag 0 from V to MTE2 is set while it is still set" in found[0]
    assert "set_flag at word 2 of kernel k, for /node, on core 0" in found[0]


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
r6 = s_rem lhs = r6, rhs = 4
r6 = s_mul lhs = r6, rhs = 256
r6 = s_add lhs = r6, rhs = r1
mov_gm_ub dst = [256], src = [r6], len = 256
AGAIN
set_flag src = MTE2, dst = MTE3, id = 0
wait_flag src = MTE2, dst = MTE3, id = 0
mov_ub_gm dst = [r5], src = [256], len = 256
end
"""
"""Each core stores its row, then the row of the next core in its place."""
FLAGS = "cross_set mode = 0, pipe = MTE3, id = 3\ncross_wait mode = 0, pipe = MTE2, id = 3"
AGAIN = "cross_set mode = 0, pipe = MTE2, id = 4\ncross_wait mode = 0, pipe = MTE3, id = 4"


def exchange(sync: str, again: str) -> tuple[Program, dict[str, Array]]:
    x = np.random.default_rng(1).standard_normal((4, 64)).astype(np.float32)
    text = EXCHANGE.replace("SYNC", sync).replace("AGAIN", again)
    return program(text, {"x": x}, {"y": x}, grid=4, machine=fixpipe_machine(4)), {"x": x}


@pytest.mark.parametrize(("sync", "again"), [(FLAGS, AGAIN), ("sync_all", "sync_all")])
def test_cores_that_wait_for_each_other(sync: str, again: str) -> None:
    built, inputs = exchange(sync, again)
    usual = Emulator(built).run(inputs)
    np.testing.assert_array_equal(usual.outputs["y"], np.roll(inputs["x"], -1, axis=0))
    for seed in SEEDS:
        other = Emulator(built, schedule=f"random:{seed}").run(inputs)
        np.testing.assert_array_equal(other.outputs["y"], usual.outputs["y"])
        assert other.tasks == usual.tasks


@pytest.mark.parametrize(("sync", "again"), [("sync_all", ""), ("", "sync_all")])
def test_cores_that_do_not_wait_enough(sync: str, again: str) -> None:
    built, inputs = exchange(sync, again)
    want, differing = np.roll(inputs["x"], -1, axis=0), 0
    for seed in range(20):
        differing += not np.array_equal(run(built, inputs, seed)["y"], want)
    assert differing > 3


@pytest.mark.parametrize("seed", SEEDS)
def test_cores_that_hang(seed: int) -> None:
    text = "ib_wait core = 1, event = 0\nib_set event = 0\nend"
    built = program(f"r0 = s_core_id\n{text}".replace("core = 1", "core = r1"), {}, {}, grid=2)
    text = "r0 = s_core_id\nr1 = s_sub lhs = 1, rhs = r0\nib_wait core = r1, event = 0\n"
    built = program(text + "ib_set event = 0\nend", {}, {}, grid=2)
    with pytest.raises(DeadlockError) as caught:
        run(built, {}, seed)
    for core in (0, 1):
        where = f"core {core}: S waits in ib_wait at word 2 of kernel k, for /node, for event 0"
        assert f"{where} of core {1 - core}" in (caught.value.why or "")


def test_errors_name_instruction_and_core() -> None:
    text = "r4 = s_mov src = 1\nr5 = s_div lhs = r4, rhs = 0\nend"
    with pytest.raises(ExecutionError, match="division by zero") as caught:
        run(program(text, {}, {}), {}, 0)
    assert caught.value.where == "s_div at word 1 of kernel k, for /node, on core 0"
    late = ADD.replace("src0 = [0]", "src0 = [65536]")
    with pytest.raises(BoundsError) as outside:
        run(add_program(late), add_inputs(), 0)
    assert outside.value.where == "vadd at word 4 of kernel k, for /node, on core 0"


def test_the_budget_holds_in_every_order() -> None:
    text = "loop r5 in 3 {\n  jump offset = 1\n  jump offset = -1\n}\nend"
    with pytest.raises(ExecutionError, match="does not come to an end") as caught:
        Emulator(program(text, {}, {}), budget=1000, schedule="random:0").run({})
    assert "jump at word 2 of kernel k" in str(caught.value)


@pytest.mark.parametrize("schedule", ["", "random", "random:", "random:-1", "random:x", "other"])
def test_what_is_no_schedule(schedule: str) -> None:
    with pytest.raises(InputError, match="there is no schedule"):
        Emulator(add_program(), schedule=schedule)


def test_program_order_may_be_named() -> None:
    machine = small_machine(1)
    result = Emulator(add_program(machine=machine), schedule="program").run(add_inputs())
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)
