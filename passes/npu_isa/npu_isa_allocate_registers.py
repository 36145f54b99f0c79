"""`npu-isa-allocate-registers`: give every register of a kernel one of the machine's."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.core.errors import PassError
from ...dialects.core.locations import where
from ...dialects.npu_isa.conditional import IfOp
from ...dialects.npu_isa.instructions.scalar import SMov
from ...dialects.npu_isa.ops import InstrOp, build
from ...dialects.npu_isa.spec import REGISTERS
from ...dialects.npu_isa.structure import KernelOp, LoopOp, instructions_of
from ...dialects.npu_isa.types import RegType
from ..analysis.sources import inherit_source
from ..base import NpucPass

STEP = 4
"""Distance of two ops in the numbering of a kernel."""


@dataclass(frozen=True)
class NpuIsaAllocateRegistersPass(NpucPass):
    """Put every virtual register into one of the 64 of the machine.

    Before:
    ```mlir
    npu_isa.kernel @double(%x, %y) {
      npu_isa.loop %i in 8 {
        %skip = npu_isa.s_mul lhs = %i, rhs = 256
        %from = npu_isa.s_add lhs = %x, rhs = %skip
        %to = npu_isa.s_add lhs = %y, rhs = %skip
        npu_isa.mov_gm_ub dst = [0], src = [%from], len = 256
        npu_isa.mov_ub_gm dst = [%to], src = [0], len = 256
      }
      npu_isa.end
    }
    ```
    After:
    ```mlir
    npu_isa.kernel @double(%x : !npu_isa.reg<0>, %y : !npu_isa.reg<1>) {
      npu_isa.loop %i : !npu_isa.reg<2> in 8 {
        %skip = npu_isa.s_mul lhs = %i, rhs = 256 : !npu_isa.reg<3>
        %from = npu_isa.s_add lhs = %x, rhs = %skip : !npu_isa.reg<4>
        %to = npu_isa.s_add lhs = %y, rhs = %skip : !npu_isa.reg<3>
        npu_isa.mov_gm_ub dst = [0], src = [%from], len = 256
        npu_isa.mov_ub_gm dst = [%to], src = [0], len = 256
      }
      npu_isa.end
    }
    ```

    Assumes: loops and branches are the only structure; argument i arrives in register i.

    Algorithm, for each kernel:

    1. Number the ops in program order, and give each value the span from its definition to its last
       use. A use inside a loop that does not hold the definition lasts until that loop ends: the
       next iteration needs the value again. A carried register is one value: its initial moves, its
       uses in the body and those of the result after the loop.
    2. Scan the spans by their start and take the lowest register that is free. Spans have no holes,
       so this needs exactly as many registers as there are values alive at once.
    3. If that is more than there are, repeat constants where they are used instead of keeping them
       in registers, as immediates where the instruction takes one, and scan again.

    An op may write the register of an operand that it reads last. The moves that carry a register
    around a loop happen at once, so initial values and yielded ones need no register of their own
    apart from their spans (`dialects/npu_isa/flatten` orders the moves).
    """

    name = "npu-isa-allocate-registers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every kernel of the module."""
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                _allocate(kernel)


def _allocate(kernel: KernelOp) -> None:
    spans = _spans(kernel)
    pressure = _pressure(spans)
    if pressure > REGISTERS:
        _repeat_constants(kernel)
        spans = _spans(kernel)
        pressure = _pressure(spans)
    if pressure > REGISTERS:
        raise PassError(
            f"kernel @{kernel.sym_name.data} needs {pressure} scalar registers at once",
            where=where(kernel),
            why=f"the machine has {REGISTERS}",
            hint="take a schedule with fewer buffers or fewer loops",
        )
    free = list(range(REGISTERS))
    heapify(free)
    active: list[tuple[int, int]] = []
    for span in spans:
        while active and active[0][0] < span.start:
            heappush(free, heappop(active)[1])
        register = heappop(free)
        heappush(active, (span.end, register))
        for value in span.values:
            Rewriter.replace_value_with_new_type(value, RegType.of(register))


@dataclass(slots=True)
class _Span:
    """Values that share a register, and the positions between which it is in use."""

    values: list[SSAValue]
    start: int
    end: int


def _pressure(spans: list[_Span]) -> int:
    """Most spans that are open at one position."""
    changes = [(span.start, 1) for span in spans] + [(span.end + 1, -1) for span in spans]
    alive = most = 0
    for _, change in sorted(changes):
        alive += change
        most = max(most, alive)
    return most


def _spans(kernel: KernelOp) -> list[_Span]:
    """The spans of all values by their start; arguments first and in order."""
    numbering = _Numbering()
    for argument in kernel.body.block.args:
        numbering.define([argument], 0)
    numbering.block(kernel.body.block)
    return sorted(numbering.spans, key=lambda span: span.start)


@dataclass
class _Numbering:
    """Walks a kernel in program order and opens and extends spans.

    An op at position p reads at p and writes at p + 1. A loop at position p reads initial values at
    p, writes its carried registers at p + 1, reads its count and writes its iteration at p + 2.
    """

    spans: list[_Span] = field(default_factory=list[_Span])
    _of: dict[SSAValue, _Span] = field(default_factory=dict[SSAValue, _Span])
    _outside: list[set[int]] = field(default_factory=list[set[int]])
    _position: int = STEP

    def define(self, values: list[SSAValue], position: int) -> None:
        """Open the span of values that share a register."""
        span = _Span(values, position, position)
        self.spans.append(span)
        self._of.update(dict.fromkeys(values, span))

    def use(self, value: SSAValue, position: int) -> None:
        """Extend the span of a value."""
        self._of[value].end = max(self._of[value].end, position)

    def block(self, block: Block) -> None:
        """Number the ops of a body."""
        for op in block.ops:
            position = self._position
            self._position += STEP
            if isinstance(op, LoopOp):
                self._loop(op, position)
                continue
            if isinstance(op, IfOp):
                self._branch(op, position)
                continue
            for operand in op.operands:
                self.use(operand, position)
            for result in op.results:
                self.define([result], position + 1)

    def _branch(self, op: IfOp, position: int) -> None:
        """Results are open through both bodies, each of which writes them at its end."""
        for operand in op.operands:
            self.use(operand, position)
        for result in op.results:
            self.define([result], position + 1)
        for body in op.bodies:
            self.block(body)
        for result in op.results:
            self.use(result, self._position)

    def _loop(self, op: LoopOp, position: int) -> None:
        for value in op.inits:
            self.use(value, position)
        if isinstance(op.count, SSAValue):
            self.use(op.count, position + 2)
        for argument, result in zip(op.iter_args, op.results, strict=True):
            self.define([argument, result], position + 1)
        self.define([op.iteration], position + 2)
        before = {id(span): span.end for span in self.spans}
        self.block(op.body.block)
        end = self._position
        self._position += STEP
        for span in self.spans:
            known = before.get(id(span))
            if known is not None and span.end > known:
                span.end = end
        for value in (op.iteration, *op.iter_args):
            self.use(value, end)


def _repeat_constants(kernel: KernelOp) -> None:
    """Replace every register that holds a constant by an immediate or a copy at each use."""
    for op in list(instructions_of(kernel.body.block)):
        if not isinstance(op, InstrOp) or op.spec is not SMov:
            continue
        constant = op.field("src")
        if not isinstance(constant, int):
            continue
        for user in dict.fromkeys(use.operation for use in list(op.result.uses)):
            _use_constant(user, op, constant)
        if not op.result.uses.get_length():
            op.detach()
            op.erase()


def _use_constant(user: Operation, source: InstrOp, constant: int) -> None:
    """Give one user of a constant an immediate where it takes one, else a register of its own."""
    register = source.result
    if isinstance(user, InstrOp):
        for taken, value in list(user.items()):
            if value is register and taken.check(constant) is None:
                user.set_field(taken.name, constant)
    if register not in user.operands or user.prev_op is source:
        return
    copy = build(SMov, {"src": constant})
    inherit_source(source, copy)
    block = user.parent
    assert block is not None
    block.insert_op_before(copy, user)
    for index, operand in enumerate(user.operands):
        if operand is register:
            user.operands[index] = copy.result
