"""Kernels written as ops run as they stand, before registers and flags are settled."""

import re

import numpy as np

from hand_written import matmul_program, matmul_text, program
from npuc.backend.assembler import print_records
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import IO, Entry, Kernel, Program, Task
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.npu_isa.flatten import flatten
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.target import machine as machines

SUM = """
npu_isa.kernel @sum(%x, %y) {
  %zero = npu_isa.s_mov src = 0
  npu_isa.vdup dst = [512], scalar = 0.0, dtype = f32, mask = 64, repeat = 1
  %end = npu_isa.loop %i in 5 iter (%at = %zero) {
    %row = npu_isa.s_add lhs = %x, rhs = %at
    npu_isa.mov_gm_ub dst = [0], src = [%row], len = 256
    npu_isa.vadd dst = [512], src0 = [512], src1 = [0], dtype = f32, mask = 64, repeat = 1
    %next = npu_isa.s_add lhs = %at, rhs = 256
    npu_isa.yield %next
  }
  npu_isa.mov_ub_gm dst = [%y], src = [512], len = 256
  npu_isa.end
}
"""


def test_a_kernel_of_ops() -> None:
    module = NpucParser(make_context(), SUM).parse_module()
    (op,) = module.body.block.ops
    assert isinstance(op, KernelOp)
    kernel = Kernel("sum", tuple(flatten(op).records), "vector")
    x = IO("x", "f32", (5, 64), 0)
    y = IO("y", "f32", (64,), x.nbytes)
    entry = Entry("main", (x,), (y,), (Task("sum", 1, (x.address, y.address)),))
    built = Program(machines.load("tiny"), (entry,), {"sum": kernel}, y.address + y.nbytes)
    rows = np.random.default_rng(0).integers(-9, 9, (5, 64)).astype(np.float32)
    result = Emulator(built, checks=True, race_check=False).run({"x": rows})
    np.testing.assert_array_equal(result.outputs["y"], rows.sum(0))


def test_assembly_and_ops_are_one_notation() -> None:
    """The text of a kernel becomes that of its ops by naming registers and the dialect."""
    text = matmul_text(16, 32, 16)
    body = re.sub(r"^(\s*)(r\d+ = )?([a-z])", r"\1\2npu_isa.\3", text, flags=re.M)
    fresh = _single_assignment(body)
    ops = NpucParser(
        make_context(), f"npu_isa.kernel @k(%r0, %r1, %r2) {{\n{fresh}\n}}"
    ).parse_module()
    (op,) = ops.body.block.ops
    assert isinstance(op, KernelOp)
    built, inputs = matmul_program(16, 32, 16)
    text = print_records(flatten(op).records)
    again = program(text, inputs, {"c": np.zeros((16, 16), np.float32)})
    results = [Emulator(p, checks=True).run(inputs) for p in (built, again)]
    np.testing.assert_array_equal(results[0].outputs["c"], results[1].outputs["c"])
    assert results[0].cycles == results[1].cycles


def _single_assignment(text: str) -> str:
    """Registers as values; one that is written again gets a new name."""
    names: dict[str, str] = {}
    lines: list[str] = []
    for line in text.splitlines():
        written = re.match(r"\s*(r\d+) = |\s*npu_isa\.loop (r\d+)", line)
        head, equals, rest = line.partition(" = ") if written and written[1] else ("", "", line)
        target = written[1] or written[2] if written else None
        if target is not None and not equals:
            names[target] = target
        rest = re.sub(r"\br\d+\b", lambda m: "%" + names.get(m[0], m[0]), rest)
        if equals and target is not None:
            names[target] = names.get(target, target) + "x"
            head = head.replace(target, "%" + names[target])
        lines.append("npu_isa.yield\n}" if line.strip() == "}" else head + equals + rest)
    return "\n".join(lines)
