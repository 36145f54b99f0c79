"""Physical registers compute what virtual ones do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flag_checks import apply, kernel_of, parse_kernel
from npuc.dialects.core.errors import PassError
from npuc.dialects.npu_isa.flatten import records
from npuc.dialects.npu_isa.instructions.scalar import Loop, ScalarBinary, SMov, wrap
from npuc.dialects.npu_isa.record import Addr, Operand, Record, Reg
from npuc.dialects.npu_isa.spec import REGISTERS
from npuc.passes.npu_isa.npu_isa_allocate_registers import NpuIsaAllocateRegistersPass


@dataclass
class Scalars:
    """Runs the scalar part of records; logs the operands of everything else."""

    registers: dict[int, int]
    log: list[list[int]] = field(default_factory=list[list[int]])

    def value(self, operand: Operand) -> int:
        """A register's value, or the integer itself."""
        if isinstance(operand, Addr):
            return operand.offset + (0 if operand.reg is None else self.registers[operand.reg])
        return self.registers[operand] if isinstance(operand, Reg) else cast(int, operand)

    def run(self, program: Sequence[Record]) -> None:
        """Run records from the first to the last."""
        at = 0
        while at < len(program):
            spec, operands = program[at]
            at += 1
            if spec is Loop:
                size = cast(int, operands[2])
                for iteration in range(self.value(operands[1])):
                    self.registers[cast(int, operands[0])] = iteration
                    self.run(program[at : at + size])
                at += size
            elif spec is SMov:
                self.registers[cast(int, operands[0])] = self.value(operands[1])
            elif issubclass(spec, ScalarBinary):
                left, right = map(self.value, operands[1:])
                self.registers[cast(int, operands[0])] = wrap(spec.value(left, right))
            elif operands:
                self.log.append([self.value(o) for o in operands if isinstance(o, Reg | Addr)])


def logged(text: str, *, physical: bool) -> list[list[int]]:
    """What the instructions of a kernel see, with or without register allocation."""
    module = parse_kernel(text)
    if physical:
        apply(module, NpuIsaAllocateRegistersPass())
    program = records(kernel_of(module))
    if physical:
        registers = [o for r in program for o in r.operands if isinstance(o, Reg)]
        assert max(registers, default=Reg(0)) < REGISTERS
    scalars = Scalars({i: 1000 * (i + 1) for i in range(len(kernel_of(module).body.block.args))})
    scalars.run(program)
    return scalars.log


@dataclass
class ScalarKernel:
    """Writes a random kernel of scalar work, loops that carry registers, and moves that show it."""

    rng: Random
    lines: list[str] = field(default_factory=list[str])
    counter: int = 0

    def text(self) -> str:
        """The kernel."""
        self.body(["%x", "%y"], 0)
        return "\n".join(["npu_isa.kernel @k(%x, %y) {", *self.lines, "npu_isa.end", "}"])

    def name(self) -> str:
        """A fresh name."""
        self.counter += 1
        return f"%v{self.counter}"

    def body(self, visible: list[str], depth: int) -> list[str]:
        """Emit a body; the registers it can see at its end."""
        visible = list(visible)
        for _ in range(self.rng.randint(1, 6)):
            kind = self.rng.random()
            one, two = self.rng.choice(visible), self.rng.choice(visible)
            if kind < 0.5:
                result, op = self.name(), self.rng.choice(("s_add", "s_sub", "s_min", "s_max"))
                rhs = two if self.rng.random() < 0.7 else str(self.rng.randint(-9, 9))
                self.lines.append(f"{result} = npu_isa.{op} lhs = {one}, rhs = {rhs}")
                visible.append(result)
            elif kind < 0.6:
                result = self.name()
                self.lines.append(f"{result} = npu_isa.s_mov src = {self.rng.randint(0, 3)}")
                visible.append(result)
            elif kind < 0.8 or depth == 3:
                self.lines.append(f"npu_isa.mov_gm_ub dst = [{one}], src = [{two}], len = 32")
            else:
                visible += self.loop(visible, depth)
        return visible

    def loop(self, visible: list[str], depth: int) -> list[str]:
        """Emit a loop that carries some registers; its results."""
        carried = [self.name() for _ in range(self.rng.randint(0, 3))]
        results, count = [self.name() for _ in carried], self.rng.randint(0, 3)
        iteration = self.name()
        inits = ", ".join(f"{name} = {self.rng.choice(visible)}" for name in carried)
        head = f"{', '.join(results)} = " if results else ""
        tail = f" iter ({inits})" if inits else ""
        self.lines.append(f"{head}npu_isa.loop {iteration} in {count}{tail} {{")
        inside = self.body([*visible, iteration, *carried], depth + 1)
        if carried:
            yielded = ", ".join(self.rng.choice(inside[-4:] + carried) for _ in carried)
            self.lines.append(f"npu_isa.yield {yielded}")
        self.lines.append("}")
        return results


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_random_kernels_compute_the_same(seed: int) -> None:
    text = ScalarKernel(Random(seed)).text()
    assert logged(text, physical=True) == logged(text, physical=False)


def test_carried_registers_that_change_places() -> None:
    text = """
    npu_isa.kernel @k(%x, %y) {
      %a, %b = npu_isa.loop %i in 3 iter (%p = %x, %q = %y) {
        npu_isa.mov_gm_ub dst = [%p], src = [%q], len = 32
        npu_isa.yield %q, %p
      }
      npu_isa.mov_gm_ub dst = [%a], src = [%b], len = 32
      npu_isa.end
    }
    """
    assert logged(text, physical=True) == [[1000, 2000], [2000, 1000], [1000, 2000], [2000, 1000]]


def many(define: str, count: int) -> str:
    """A kernel with `count` registers alive at once."""
    lines = [f"%v{i} = {define.format(i)}" for i in range(count)]
    lines += [f"npu_isa.mov_gm_ub dst = [%v{i}], src = [%x], len = 32" for i in range(count)]
    return "\n".join(["npu_isa.kernel @wide(%x) {", *lines, "npu_isa.end", "}"])


def test_constants_are_repeated_before_registers_run_out() -> None:
    text = many("npu_isa.s_mov src = {}", 80)
    assert logged(text, physical=True) == logged(text, physical=False)


def test_constants_become_immediates_where_they_can() -> None:
    lines = [f"%v{i} = npu_isa.s_mov src = {i}" for i in range(80)]
    lines += [
        f"npu_isa.mov_gm_ub dst = [0], src = [%x], nburst = %v{i}, len = 32, dst_stride = 1, "
        "src_stride = 32"
        for i in range(80)
    ]
    text = "\n".join(["npu_isa.kernel @k(%x) {", *lines, "npu_isa.end", "}"])
    module = apply(parse_kernel(text), NpuIsaAllocateRegistersPass())
    assert {op.name for op in kernel_of(module).body.block.ops} == {
        "npu_isa.mov_gm_ub",
        "npu_isa.end",
    }


def test_too_many_registers_are_counted() -> None:
    text = many("npu_isa.s_add lhs = %x, rhs = {}", 70)
    with pytest.raises(PassError, match=r"kernel @wide needs 71 scalar registers at once"):
        apply(parse_kernel(text), NpuIsaAllocateRegistersPass())
