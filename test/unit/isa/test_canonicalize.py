"""npu-isa-canonicalize keeps what a kernel does, and does less for it."""

import random
from collections.abc import Sequence

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from bare_core import BareCore
from npuc.dialects.core.errors import ExecutionError, PassError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.flatten import records
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.instructions.scalar import End, Loop, Scalar, SCoreId, SMov
from npuc.dialects.npu_isa.ops import Address, build
from npuc.dialects.npu_isa.record import Addr, Operand, Record, Reg
from npuc.dialects.npu_isa.structure import KernelOp, LoopOp, YieldOp
from npuc.passes.npu_isa.npu_isa_canonicalize import NpuIsaCanonicalizePass

BINARY = [MNEMONICS[f"s_{n}"] for n in ("add", "sub", "mul", "div", "rem", "min", "max")]
NUMBERS = (0, 1, -1, 2, 3, 8, 64, 256, -(1 << 31), (1 << 31) - 1)
LONGEST = 20_000


class _Run:
    """Executes scalar records and notes what everything else is given."""

    def __init__(self, program: Sequence[Record]) -> None:
        self.core = BareCore(core_id=2)
        self.core.regs = [0] * 10_000
        self.core.regs[:2] = [1 << 20, 1 << 30]
        self.program = program
        self.seen: list[tuple[str, tuple[object, ...]]] = []
        self.scalars = 0

    def value(self, operand: Operand) -> object:
        if isinstance(operand, Reg):
            return self.core.regs[operand]
        if isinstance(operand, Addr):
            return operand.offset + (0 if operand.reg is None else self.core.regs[operand.reg])
        return operand

    def run(self, start: int, end: int) -> None:
        at = start
        while at < end:
            spec, operands = self.program[at]
            at += 1
            if spec is Loop:
                iteration, count, body = operands
                assert isinstance(iteration, Reg)
                assert isinstance(body, int)
                trips = self.value(count)
                assert isinstance(trips, int)
                for i in range(trips):
                    self.core.regs[iteration] = i
                    self.run(at, at + body)
                at += body
            elif issubclass(spec, Scalar):
                self.scalars += 1
                values = [
                    int(v) if f.kind == "out" and isinstance(v, Reg) else self.value(v)
                    for f, v in zip(spec.fields, operands, strict=True)
                ]
                spec.execute(self.core, spec.Operands(*values))  # pyright: ignore[reportArgumentType]
            else:
                self.seen.append((spec.mnemonic, tuple(self.value(v) for v in operands)))
            if len(self.seen) + self.scalars > LONGEST:
                raise ExecutionError("too long")


def run(kernel: KernelOp) -> _Run:
    program = records(kernel)
    executed = _Run(program)
    executed.run(0, len(program))
    return executed


class _Writer:
    """Writes a random kernel."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def kernel(self) -> KernelOp:
        kernel = KernelOp.empty("k", 2)
        self.body(kernel.body.block, list(kernel.body.block.args), 0)
        kernel.body.block.add_op(build(End, {}))
        return kernel

    def number(self, values: list[SSAValue]) -> SSAValue | int:
        if values and self.rng.random() < 0.7:
            return self.rng.choice(values[-6:])
        return self.rng.choice(NUMBERS)

    def body(self, block: Block, values: list[SSAValue], depth: int) -> None:
        for _ in range(self.rng.randint(3, 9)):
            kind = self.rng.random()
            if kind < 0.6:
                spec = self.rng.choice(BINARY)
                op = build(spec, {"lhs": self.number(values), "rhs": self.number(values)})
            elif kind < 0.68:
                op = build(SMov, {"src": self.number(values)})
            elif kind < 0.72:
                op = build(SCoreId, {})
            elif kind < 0.82 and depth < 3:
                values += self.loop(block, values, depth)
                continue
            else:
                op = build(MNEMONICS["mov_gm_ub"], self.move(values))
            block.add_op(op)
            values += op.results

    def move(self, values: list[SSAValue]) -> dict[str, SSAValue | int | Address]:
        base = self.rng.choice([None, self.rng.choice(values)])
        length = self.rng.choice([32, self.rng.choice(values)])
        source = Address(self.rng.choice(values), self.rng.choice([0, 64, 1 << 31]))
        return {"dst": Address(base, self.rng.choice([0, 32, 4096])), "src": source, "len": length}

    def loop(self, block: Block, values: list[SSAValue], depth: int) -> list[SSAValue]:
        inits = [self.rng.choice(values) for _ in range(self.rng.randint(0, 2))]
        loop = LoopOp.empty(self.rng.choice([0, 1, 3]), inits)
        inner = [*values, *loop.body.block.args]
        self.body(loop.body.block, inner, depth + 1)
        yielded = [self.rng.choice(inner) for _ in inits]
        loop.body.block.add_op(YieldOp(yielded))
        block.add_op(loop)
        return list(loop.results)


@pytest.mark.parametrize("seed", range(60))
def test_random_kernels_do_the_same(seed: int) -> None:
    kernel = _Writer(seed).kernel()
    module = ModuleOp([kernel])
    verify(module)
    error: str | None = None
    before = None
    try:
        before = run(kernel)
    except ExecutionError as raised:
        error = raised.what
    NpuIsaCanonicalizePass().apply(make_context(), module)
    verify(module)
    if before is None:
        # A division whose result nothing needs may go, and the failure with it.
        assert error is not None
    else:
        after = run(kernel)
        assert after.seen == before.seen
        # A loop that never runs may have lost work to the outside, no other.
        assert after.scalars <= before.scalars + len(records(kernel))
    text = print_ir(module)
    NpuIsaCanonicalizePass().apply(make_context(), module)
    assert print_ir(module) == text, "one run is enough"


def test_some_random_kernels_run_to_the_end() -> None:
    finished = 0
    for seed in range(60):
        try:
            finished += len(run(_Writer(seed).kernel().clone()).seen) > 0
        except ExecutionError:
            continue
    assert finished > 15


def test_physical_registers_are_refused() -> None:
    module = parse_module(
        make_context(),
        "npu_isa.kernel @k() { %a = npu_isa.s_mov src = 1 : !npu_isa.reg<3> npu_isa.end }",
    )
    with pytest.raises(PassError, match="works on virtual registers"):
        NpuIsaCanonicalizePass().apply(make_context(), module)
