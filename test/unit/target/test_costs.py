"""Cycles from sizes."""

import pytest

from hand_written import fixpipe_machine
from npuc.dialects.npu_isa.instructions import MNEMONICS, OPCODES
from npuc.dialects.npu_isa.spec import Instruction, Operands
from npuc.dialects.target import costs
from npuc.dialects.target.costs import Cycles, Traffic
from npuc.dialects.target.machine import Machine, builtin_names, load
from npuc.dialects.target.machines import DEFAULT

DEFAULT_MACHINE = load(DEFAULT)
TINY = load("tiny")


@pytest.mark.parametrize(
    ("m", "k", "n", "dtype", "steps"),
    [
        (128, 128, 128, "f16", 512),
        (128, 128, 128, "bf16", 512),
        (128, 128, 128, "f32", 2048),
        (1, 1, 1, "f16", 1),
        (17, 16, 16, "f16", 2),
        (16, 17, 17, "f16", 4),
        (16, 8, 16, "f32", 2),
    ],
)
def test_products(m: int, k: int, n: int, dtype: str, steps: int) -> None:
    machine = DEFAULT_MACHINE
    assert costs.mmad(machine, m, k, n, dtype) == Cycles(3 + steps, 21)


@pytest.mark.parametrize(
    ("mnemonic", "dtype", "busy", "tail"),
    [
        ("vadd", "f32", 200, 24),
        ("vabs", "f32", 100, 26),
        ("vexp", "f32", 200, 36),
        ("vexp", "f16", 400, 36),
        ("vdiv", "f16", 400, 31),
        ("vcadd", "f32", 300, 46),
        ("vcmax", "f32", 700, 38),
    ],
)
def test_vector_work(mnemonic: str, dtype: str, busy: int, tail: int) -> None:
    spec = MNEMONICS[mnemonic]
    for repeat in (1, 100):
        known: dict[str, float | str] = {"dtype": dtype, "repeat": repeat}
        operands = spec.Operands(*(known.get(f.name, 0) for f in spec.fields))
        wanted = Cycles(max(3, busy * repeat // 100), tail)
        assert spec.cycles(operands, DEFAULT_MACHINE) == wanted


@pytest.mark.parametrize(
    ("rows", "start", "width", "stride", "rate"),
    [
        (160, 0, 16, 1, 256),
        (160, 0, 1 << 14, 1, 256),
        (16, 8, 16, 1, 128),
        (160, 0, 8, 1, 128),
        (160, 0, 2, 1, 512 / 10),
        (160, 0, 1, 1, 32),
        (160, 0, 16, 2, 128),
        (160, 0, 16, 4, 64),
        (160, 0, 16, 8, 32),
        (160, 0, 16, 3, 32),
        (160, 0, 4, 2, 512 / 6),
        (160, 0, 4, 4, 64),
    ],
)
def test_windows_of_an_image(rows: int, start: int, width: int, stride: int, rate: float) -> None:
    size = 8 * 512
    found = costs.im2col(TINY, rows, size, start=start, width=width, stride=stride)
    assert found == Cycles(round(rows // 16 * size / rate), 2)


def test_each_fractal_of_windows_takes_its_own_time() -> None:
    # 24 windows a row: of three fractals the second lies in two rows.
    found = costs.im2col(TINY, 48, 512, start=0, width=24, stride=1)
    assert found.busy == 2 + 4 + 2
    faster = costs.im2col(DEFAULT_MACHINE, 48, 512, start=0, width=24, stride=1)
    assert faster.busy == 1 + 2 + 1, "the path of this machine has twice the rate"


def test_gm_transfers() -> None:
    machine = TINY
    assert costs.gm_move(machine, "gm_ub", 1, 64 * 1000, 0, aligned=True) == Cycles(1000, 100)
    unaligned = costs.gm_move(machine, "gm_ub", 1, 64 * 1000, 0, aligned=False)
    assert unaligned == Cycles(1500, 100)
    tiny_rows = costs.gm_move(machine, "gm_l1", 100, 4, 4096, aligned=True)
    assert tiny_rows.busy == 100 * 128 // 64, "each row takes a whole request"
    packed = costs.gm_move(machine, "gm_l1", 100, 4, 4, aligned=True)
    assert packed == Cycles(20, 100), "rows without gaps are one run; the issue interval decides"


def test_shares_and_misses() -> None:
    machine = DEFAULT_MACHINE
    size = 114 * 128 * 10
    alone = costs.gm_move(machine, "gm_ub", 1, size, 0, aligned=True)
    assert alone.busy == 1280
    shared = Traffic(cores=8)
    assert costs.gm_move(machine, "gm_ub", 1, size, 0, aligned=True, traffic=shared) == alone
    missed = Traffic(cores=8, missed=size)
    slow = costs.gm_move(machine, "gm_ub", 1, size, 0, aligned=True, traffic=missed)
    assert slow.busy == -(-size * 8 * 1060 // 204_000)
    assert costs.dram_cycles(machine, Traffic(1, 204_000)) == 1060


@pytest.mark.parametrize(
    ("start", "rows", "row_bytes", "stride", "aligned"),
    [
        (0, 1, 100, 0, True),
        (512, 4, 100, 1024, True),
        (512, 4, 100, 1000, False),
        (32, 1, 512, 0, False),
        (0, 4, 100, 100, True),
    ],
)
def test_alignment(start: int, rows: int, row_bytes: int, stride: int, aligned: bool) -> None:
    assert costs.is_aligned(DEFAULT_MACHINE, start, rows, row_bytes, stride) == aligned


def test_local_moves() -> None:
    assert costs.local_move(DEFAULT_MACHINE, "l1_l0a", 32768) == Cycles(64, 2)
    assert costs.local_move(DEFAULT_MACHINE, "l1_l0b", 32768) == Cycles(128, 2)
    assert costs.local_move(DEFAULT_MACHINE, "l0c_ub", 1) == Cycles(1, 32)


def test_time() -> None:
    assert costs.nanoseconds(DEFAULT_MACHINE, 150) == 159
    assert costs.microseconds(DEFAULT_MACHINE, 1060) == 1.0


def with_counts(spec: type[Instruction], count: int) -> Operands:
    values: list[float | str] = []
    for field in spec.fields:
        if field.enum is not None:
            values.append(field.enum[0])
        elif field.kind == "ri":
            values.append(min(field.high, count))
        else:
            values.append(field.low if field.default is None else field.default)
    return spec.Operands(*values)


@pytest.mark.parametrize("spec", OPCODES.values(), ids=lambda spec: spec.mnemonic)
@pytest.mark.parametrize("name", builtin_names())
def test_more_never_takes_less(spec: type[Instruction], name: str) -> None:
    machine: Machine = load(name)
    if not set(spec.features(with_counts(spec, 16))) <= set(machine.features):
        machine = fixpipe_machine()
    before = Cycles(0, 0)
    for count in (1, 2, 15, 16, 17, 60, 100, 255, 1000, 4000):
        cycles = spec.cycles(with_counts(spec, count), machine)
        assert cycles.busy >= max(1, before.busy)
        assert cycles.tail >= before.tail
        before = cycles
