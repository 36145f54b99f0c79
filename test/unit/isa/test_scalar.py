"""Scalar instructions."""

import pytest

from bare_core import BareCore, execute
from npuc.dialects.core.errors import ExecutionError
from npuc.dialects.npu_isa.instructions import MNEMONICS

LOW, HIGH = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("mnemonic", "lhs", "rhs", "result"),
    [
        ("s_add", 3, 4, 7),
        ("s_add", HIGH, 1, LOW),
        ("s_sub", 3, 4, -1),
        ("s_sub", LOW, 1, HIGH),
        ("s_mul", 1 << 40, 1 << 40, 0),
        ("s_mul", -3, 5, -15),
        ("s_div", 7, 2, 3),
        ("s_div", -7, 2, -3),
        ("s_div", 7, -2, -3),
        ("s_div", LOW, -1, LOW),
        ("s_rem", 7, 2, 1),
        ("s_rem", -7, 2, -1),
        ("s_rem", 7, -2, 1),
        ("s_min", -1, 1, -1),
        ("s_max", -1, 1, 1),
    ],
)
def test_arithmetic(mnemonic: str, lhs: int, rhs: int, result: int) -> None:
    core = BareCore()
    execute(core, mnemonic, dst=5, lhs=lhs, rhs=rhs)
    assert core.regs[5] == result


@pytest.mark.parametrize("mnemonic", ["s_div", "s_rem"])
def test_division_by_zero_stops(mnemonic: str) -> None:
    with pytest.raises(ExecutionError, match="division by zero"):
        execute(BareCore(), mnemonic, dst=0, lhs=1, rhs=0)


def test_moves_and_core_number() -> None:
    core = BareCore(core_id=3)
    execute(core, "s_mov", dst=1, src=-5)
    execute(core, "s_core_id", dst=2)
    assert core.regs[1:3] == [-5, 3]


@pytest.mark.parametrize("mnemonic", ["set_flag", "wait_flag"])
def test_a_pipe_does_not_signal_itself(mnemonic: str) -> None:
    spec = MNEMONICS[mnemonic]
    assert spec.constraint(spec.Operands("V", "V", 0)) == "src and dst are the same pipe"
    assert spec.constraint(spec.Operands("V", "M", None)) is None
