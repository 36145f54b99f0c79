"""Races on chip and in GM are found and named; right programs are left alone."""

import numpy as np
import pytest

from hand_written import (
    ADD,
    Array,
    add_inputs,
    add_program,
    matmul_program,
    matmul_text,
    program,
    scale_program,
    scale_text,
    without,
)
from npuc.backend.emulator.checks.sharing import Touch, find_conflict
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.emulator.issue import Effect
from npuc.backend.program import Program
from npuc.dialects.core.errors import (
    RaceError,
)
from npuc.dialects.npu_isa.spec import Footprint


def check(built: Program, inputs: dict[str, Array] | None = None) -> None:
    Emulator(built, checks=True).run(add_inputs() if inputs is None else inputs)


PIPES = {"MTE2, dst = V": ("MTE2", "V"), "V, dst = MTE3": ("V", "MTE3")}


@pytest.mark.parametrize("pair", PIPES)
def test_a_missing_flag_is_a_race(pair: str) -> None:
    with pytest.raises(RaceError) as caught:
        check(add_program(without(ADD, pair)))
    src, dst = PIPES[pair]
    message = str(caught.value)
    assert f"{src} and {dst} race for byte" in message
    assert f"no set_flag({src} -> {dst})" in message
    for word, mnemonic in ((0, "mov_gm_ub"), (2, "vadd")) if dst == "V" else ((4, "vadd"),):
        assert f"{mnemonic} at word {word} of kernel k, for /node" in message


def test_the_paragraph_of_a_race() -> None:
    with pytest.raises(RaceError) as caught:
        check(add_program(without(ADD, "V, dst = MTE3")))
    assert str(caught.value).splitlines() == [
        "V and MTE3 race for byte 512 of ub",
        "  where: mov_ub_gm at word 5 of kernel k, for /node",
        "  why: vadd at word 4 of kernel k, for /node, on pipe V of core 0, writes it; "
        "mov_ub_gm at word 5 of kernel k, for /node, on pipe MTE3 of core 0, reads it; "
        "no set_flag(V -> MTE3) with its wait_flag, or barrier, stands between them",
        "  do: set a flag from V to MTE3 and wait for it",
    ]


def test_a_barrier_orders_as_well() -> None:
    text = without(ADD, "wait_flag").replace(
        "set_flag src = MTE2, dst = V, id = 0", "barrier pipe = ALL"
    )
    check(add_program(text.replace("set_flag src = V, dst = MTE3, id = 0", "barrier pipe = ALL")))
    one_pipe = text.replace("set_flag src = V, dst = MTE3, id = 0", "barrier pipe = V")
    with pytest.raises(RaceError, match="V and MTE3 race"):
        check(add_program(one_pipe))


@pytest.mark.parametrize(
    ("gone", "race"),
    [
        (("V, dst = MTE2",), "V and MTE2 race"),
        (("MTE2, dst = V",), "MTE2 and V race"),
        (("V, dst = MTE3",), "V and MTE3 race"),
        (("MTE3, dst = V",), "MTE3 and V race"),
    ],
)
def test_missing_flags_of_a_loop(gone: tuple[str, ...], race: str) -> None:
    built, inputs = scale_program(5, without(scale_text(5), *gone))
    with pytest.raises(RaceError, match=race):
        check(built, inputs)


def test_slots_that_do_not_rotate_with_their_ids() -> None:
    """The flags of both slots are there, but every round uses the bytes of the same slot."""
    text = scale_text(5).replace("r6 = s_mul lhs = r5", "r6 = s_mul lhs = 0")
    built, inputs = scale_program(5, text)
    with pytest.raises(RaceError, match="race for byte 0 of ub"):
        check(built, inputs)


@pytest.mark.parametrize(
    "pair", ["MTE2, dst = MTE1", "MTE1, dst = M", "M, dst = V", "V, dst = MTE3"]
)
def test_missing_flags_of_a_product(pair: str) -> None:
    _, inputs = matmul_program(16, 32, 16)
    text = without(matmul_text(16, 32, 16), pair)
    with pytest.raises(RaceError):
        check(program(text, inputs, {"c": np.zeros((16, 16), np.float32)}), inputs)


def test_accesses_beside_each_other_do_not_race() -> None:
    """V writes the second half of a block of which MTE3 stores the first."""
    text = """
vdup dst = [0], scalar = 1.0, dtype = f32, mask = 4, repeat = 1
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
mov_ub_gm dst = [r0], src = [0], len = 16
vcadd dst = [16], src0 = [0], dtype = f32, mask = 4, repeat = 1
end
"""
    outputs: dict[str, Array] = {"y": np.zeros(4, np.float32)}
    check(program(text, {}, outputs), {})
    closer = program(text.replace("vcadd dst = [16]", "vcadd dst = [12]"), {}, outputs)
    with pytest.raises(RaceError, match="byte 12 of ub"):
        check(closer, {})


def test_gm_on_one_core() -> None:
    """What MTE3 stored, MTE2 loads again."""
    again = "mov_gm_ub dst = [1024], src = [r2 + 64], len = 64\nend"
    flags = "set_flag src = MTE3, dst = MTE2, id = 0\nwait_flag src = MTE3, dst = MTE2, id = 0\n"
    check(add_program(ADD.replace("end", flags + again)))
    with pytest.raises(RaceError) as caught:
        check(add_program(ADD.replace("end", again)))
    assert caught.value.what == "MTE3 and MTE2 race for byte 1088 of gm"
    assert "no set_flag(MTE3 -> MTE2)" in str(caught.value)


def test_cores_that_store_the_same_bytes() -> None:
    with pytest.raises(RaceError) as caught:
        check(add_program(grid=2))
    assert caught.value.what == "cores 0 and 1 race for byte 1024 of gm"
    assert "the cores of a task have no order among each other" in (caught.value.why or "")


@pytest.mark.parametrize(("shift", "races"), [(256, False), (252, True), (-4, True), (0, True)])
def test_cores_that_store_nearby(shift: int, races: bool) -> None:
    """Core 1 stores `shift` bytes behind core 0."""
    text = ADD.replace("dst = [r2]", "dst = [r4]").replace(
        "mov_ub_gm",
        f"r3 = s_core_id\nr4 = s_mul lhs = r3, rhs = {shift}\n"
        "r4 = s_add lhs = r4, rhs = r2\nmov_ub_gm",
    )
    built = program(text, add_inputs(), {"y": np.zeros(128, np.float32)}, grid=2)
    if races:
        with pytest.raises(RaceError, match="cores 0 and 1 race"):
            check(built)
    else:
        check(built)


def test_interleaved_rows_do_not_race() -> None:
    touches = [
        Touch(Effect("w", Footprint("gm", core * 8, 8, 100, 32)), core, 5, 0, (0, 0, 0, 0, 0, 1))
        for core in range(4)
    ]
    assert find_conflict(touches) is None
    late = Touch(Effect("r", Footprint("gm", 39, 1)), 2, 4, 9, (0, 0, 0, 0, 1, 0))
    conflict = find_conflict([*touches, late])
    assert conflict is not None
    assert (conflict.earlier.core, conflict.later, conflict.address) == (0, late, 39)


@pytest.mark.parametrize("seed", range(30))
def test_gm_conflicts_are_those_of_comparing_all_pairs(seed: int) -> None:
    random = np.random.default_rng(seed)
    touches: list[Touch] = []
    for core in range(2):
        counts = [0] * 6
        for word in range(12):
            pipe = int(random.choice((4, 5)))
            counts[pipe] += 1
            seen = [int(random.integers(0, count + 1)) for count in counts]
            seen[pipe] = counts[pipe]
            rows, width = random.integers(0, 4), random.integers(0, 9)
            shape = Footprint("gm", int(random.integers(0, 300)), int(width), int(rows), 16)
            mode = "w" if random.random() < 0.4 else "r"
            touches.append(Touch(Effect(mode, shape), core, pipe, word, tuple(seen)))
    expected = any(
        _bytes(a) & _bytes(b) and "w" in (a.effect.mode, b.effect.mode) and not _ordered(a, b)
        for index, a in enumerate(touches)
        for b in touches[index + 1 :]
    )
    conflict = find_conflict(touches)
    assert (conflict is not None) == expected
    if conflict:
        assert conflict.address in _bytes(conflict.earlier) & _bytes(conflict.later)
        assert not _ordered(conflict.earlier, conflict.later)


def _bytes(touch: Touch) -> set[int]:
    shape = touch.effect.shape
    starts = [shape.start + row * shape.stride for row in range(shape.rows)]
    return {start + byte for start in starts for byte in range(shape.row_bytes)}


def _ordered(a: Touch, b: Touch) -> bool:
    return a.core == b.core and (a.pipe == b.pipe or b.seen[a.pipe] >= a.number)
