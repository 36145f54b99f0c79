"""Branches in assembly text, words and execution; scalar loads and stores."""

import numpy as np
import pytest

from hand_written import program, small_machine
from npuc.backend.assembler import parse, print_records
from npuc.backend.decoder import decode
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.encoder import encode
from npuc.backend.program import Program
from npuc.dialects.core.errors import ExecutionError, NpucError, ProgramError, RaceError
from npuc.dialects.npu_isa.memory import Array

GCD = """
r3 = s_load_gm src = [r0], dtype = i32
r4 = s_load_gm src = [r0 + 4], dtype = i32
branch cond = eq, lhs = r4, rhs = 0, offset = 5
r5 = s_rem lhs = r3, rhs = r4
r3 = s_mov src = r4
r4 = s_mov src = r5
jump offset = -4
s_store_gm dst = [r1], value = r3, dtype = i32
end
"""
"""Euclid's algorithm."""


def gcd_program(a: int, b: int, text: str = GCD) -> tuple[Program, dict[str, Array]]:
    x = np.array([a, b], np.int32).view(np.float32)
    return program(text, {"x": x}, {"y": x[:1]}), {"x": x}


@pytest.mark.parametrize(("a", "b"), [(48, 18), (17, 5), (7, 0), (1071, 462)])
def test_a_while_loop(a: int, b: int) -> None:
    built, inputs = gcd_program(a, b)
    result = Emulator(built, checks=True).run(inputs)
    assert result.outputs["y"].view(np.int32).tolist() == [np.gcd(a, b)]


def test_words_and_text_hold_branches() -> None:
    kernel = parse(GCD)
    assert decode(encode(kernel)) == kernel
    assert print_records(kernel).strip() == GCD.strip()


def test_every_branch_costs_a_test() -> None:
    base, branch, step = (7, 0), small_machine().scalar.branch, small_machine().scalar.step
    cycles = [
        Emulator(built).run(inputs).tasks[0].cycles
        for built, inputs in (gcd_program(*base), gcd_program(0, 7))
    ]
    # One more round: a test that is not taken, three instructions, a jump.
    assert cycles[1] - cycles[0] == 2 * branch + 3 * step


SELECT = """
r5 = s_mov src = 0
loop r3 in 6 {
  branch cond = ge, lhs = r3, rhs = 4, offset = 3
  r5 = s_add lhs = r5, rhs = 1
  jump offset = 2
  r5 = s_add lhs = r5, rhs = 100
  branch cond = ne, lhs = r3, rhs = 2, offset = 4
  loop r6 in 3 {
    branch cond = eq, lhs = r6, rhs = 1, offset = 2
    r5 = s_add lhs = r5, rhs = 1000
  }
}
s_store_gm dst = [r1], value = r5, dtype = i32
end
"""


def test_branches_within_loops() -> None:
    built, inputs = gcd_program(1, 1, SELECT)
    found = Emulator(built).run(inputs).outputs["y"].view(np.int32)[0]
    assert found == 4 * 1 + 2 * 100 + 2 * 1000


def test_a_loop_that_never_ends_uses_up_its_budget() -> None:
    built, inputs = gcd_program(1, 1, "jump offset = 0\nend")
    with pytest.raises(ExecutionError, match="does not come to an end"):
        Emulator(built, budget=1000).run(inputs)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("jump offset = 2\nend", "the branch goes to word 2"),
        ("jump offset = -1\nend", "the branch goes to word -1"),
        ("loop r1 in 2 {\n  jump offset = 3\n  r2 = s_mov src = 1\n}\nend", "goes to word 4"),
        ("loop r1 in 2 {\n  jump offset = -1\n}\nend", "goes to word 0"),
        ("jump offset = 2\nloop r1 in 2 {\n  r2 = s_mov src = 1\n}\nend", "goes to word 2"),
    ],
)
def test_branches_stay_in_their_body(text: str, why: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert why in (caught.value.why or "")
    assert "which is not of the same body" in (caught.value.why or "")


ELEMENTS = """
mov_gm_ub dst = [0], src = [r0], len = 64
set_flag src = MTE2, dst = S, id = 0
wait_flag src = MTE2, dst = S, id = 0
r3 = s_load_ub src = [0], dtype = i64
r4 = s_load_ub src = [8], dtype = i32
r5 = s_load_ub src = [12], dtype = i16
r6 = s_load_ub src = [14], dtype = i8
r7 = s_load_ub src = [15], dtype = ui8
s_store_ub dst = [32], value = r3, dtype = i32
s_store_ub dst = [36], value = r5, dtype = i32
s_store_ub dst = [40], value = r6, dtype = i32
s_store_ub dst = [44], value = r7, dtype = i32
s_store_ub dst = [48], value = -1, dtype = i16
s_store_ub dst = [50], value = r4, dtype = i8
s_store_ub dst = [56], value = -2, dtype = i64
set_flag src = S, dst = MTE3, id = 0
wait_flag src = S, dst = MTE3, id = 0
mov_ub_gm dst = [r1], src = [32], len = 32
end
"""


def elements(text: str = ELEMENTS) -> tuple[Program, dict[str, Array]]:
    raw = np.random.default_rng(1).integers(128, 255, 64, np.uint8)
    x = raw.view(np.float32)
    return program(text, {"x": x}, {"y": x[:8]}), {"x": x}


def test_elements_of_ub() -> None:
    built, inputs = elements()
    found = Emulator(built, checks=True).run(inputs)
    raw, y = inputs["x"].view(np.uint8), found.outputs["y"].view(np.uint8)
    assert y.view(np.int32)[0] == raw.view(np.int64)[0].astype(np.int32)
    assert y.view(np.int32)[1] == raw[12:14].view(np.int16)[0]
    assert y.view(np.int32)[2:4].tolist() == [int(raw.view(np.int8)[14]), int(raw[15])]
    assert y.view(np.int16)[8] == -1
    assert y[18] == raw[8]
    assert y.view(np.int64)[3] == -2


def test_a_load_races_with_the_move_it_does_not_wait_for() -> None:
    text = ELEMENTS.replace("set_flag src = MTE2, dst = S, id = 0\n", "")
    built, inputs = elements(text.replace("wait_flag src = MTE2, dst = S, id = 0\n", ""))
    with pytest.raises(RaceError, match="MTE2 and S race for byte 0 of ub"):
        Emulator(built, checks=True).run(inputs)


@pytest.mark.parametrize(
    "line",
    [
        "r3 = s_load_ub src = [4], dtype = i64",
        "r3 = s_load_gm src = [r0 + 2], dtype = i32",
        "s_store_ub dst = [r9], value = 1, dtype = i16",
    ],
)
def test_misaligned_elements_are_refused(line: str) -> None:
    text = f"r9 = s_mov src = 1\n{line}\nend"

    def build_and_run() -> None:
        built, inputs = elements(text)
        Emulator(built).run(inputs)

    with pytest.raises(NpucError, match="is not a multiple of"):
        build_and_run()


def test_a_load_from_gm_takes_the_latency_of_the_path() -> None:
    built, inputs = elements("r3 = s_load_gm src = [r0], dtype = i32\nend")
    other, _ = elements("r3 = s_load_ub src = [0], dtype = i32\nend")
    machine = built.machine
    slow, fast = (Emulator(p).run(inputs).tasks[0].cycles for p in (built, other))
    assert slow - fast >= machine.paths.gm_ub.latency
