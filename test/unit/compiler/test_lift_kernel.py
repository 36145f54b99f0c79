"""Records become ops and the same records again, whatever registers live across loops."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.backend.assembler import parse, print_records
from npuc.backend.program import Kernel
from npuc.compiler.lift_kernel import lift_kernel
from npuc.dialects.core.errors import ProgramError
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.flatten import flatten
from npuc.dialects.npu_isa.structure import LoopOp

REGISTERS = st.integers(0, 6)
COUNTERS = 10
"""Counters of loops are r10, r11, ...: nothing else writes them."""


def lines(draw: Callable[..., int], depth: int) -> list[str]:
    """A block of scalar code and loops on few registers, so that they are reused a lot."""
    result: list[str] = []
    readable = [f"r{COUNTERS + i}" for i in range(depth)]
    for _ in range(draw(st.integers(0, 4))):
        choice = draw(st.integers(0, 5))
        if choice == 0 and depth < 3:
            count = draw(st.sampled_from(["3", "0", "r1"]))
            result += [f"loop r{COUNTERS + depth} in {count} {{", *lines(draw, depth + 1), "}"]
            continue
        sources = [f"r{draw(REGISTERS)}", *readable, "7"]
        left, right = (draw(st.sampled_from(sources)) for _ in range(2))
        result.append(f"r{draw(REGISTERS)} = s_add lhs = {left}, rhs = {right}")
        if choice == 1:
            result.append(
                f"vdup dst = [r{draw(REGISTERS)} + 32], scalar = 0.5, dtype = f32, "
                f"mask = 64, repeat = r{draw(REGISTERS)}"
            )
    return result


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """A random kernel."""
    records = parse("\n".join([*lines(draw, 0), "end"]))
    return Kernel("k", tuple(records), "vector", ("a",), {0: "a"})


@given(kernels())
def test_lifting_and_flattening_gives_the_same_records(kernel: Kernel) -> None:
    op = lift_kernel(kernel)
    verify(op)
    flat = flatten(op)
    assert print_records(flat.records) == print_records(kernel.records)
    assert tuple(flat.records) == kernel.records


def lift(text: str) -> list[LoopOp]:
    """The loops of a lifted kernel."""
    op = lift_kernel(Kernel("k", tuple(parse(text)), "vector"))
    return [inner for inner in op.walk() if isinstance(inner, LoopOp)]


def test_a_loop_carries_only_what_lives_on() -> None:
    (loop,) = lift(
        """r1 = s_mov src = 0
        r2 = s_mov src = 0
        loop r3 in 4 {
          r2 = s_mul lhs = r3, rhs = 2
          r1 = s_add lhs = r1, rhs = r2
        }
        r4 = s_add lhs = r1, rhs = 1
        end"""
    )
    assert len(loop.inits) == 1


def test_an_unwritten_register_is_an_argument() -> None:
    op = lift_kernel(Kernel("k", tuple(parse("r5 = s_add lhs = r3, rhs = r0\nend")), "vector"))
    assert len(op.body.block.args) == 4
    assert len(lift_kernel(Kernel("k", tuple(parse("end")), "vector"), 2).body.block.args) == 2


@pytest.mark.parametrize(
    "text",
    [
        "loop r1 in 4 {\n}\nr2 = s_add lhs = r1, rhs = 1\nend",
        "loop r1 in 4 {\nr1 = s_add lhs = r1, rhs = 1\n}\nend",
    ],
    ids=["read after", "written inside"],
)
def test_a_counter_that_is_used_for_something_else_is_refused(text: str) -> None:
    with pytest.raises(ProgramError, match="counter of a loop"):
        lift(text)
