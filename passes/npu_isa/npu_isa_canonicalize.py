"""`npu-isa-canonicalize`: less scalar work for the same instructions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.core.errors import PassError
from ...dialects.core.locations import where
from ...dialects.core.origins import move_location
from ...dialects.npu_isa.conditional import IfOp
from ...dialects.npu_isa.instructions.branches import Branch
from ...dialects.npu_isa.instructions.scalar import Loop, Scalar, SDiv, SMov, SRem
from ...dialects.npu_isa.ops import Address, InstrOp, Value, build
from ...dialects.npu_isa.record import Addr, Reg
from ...dialects.npu_isa.spec import Field, Instruction
from ...dialects.npu_isa.structure import KernelOp, LoopOp, YieldOp, instructions_of
from ...dialects.npu_isa.types import RegType
from ..analysis.scalar_identities import COMMUTATIVE, Constant, Copy, Number, Sum, simplify
from ..base import NpucPass


@dataclass(frozen=True)
class NpuIsaCanonicalizePass(NpucPass):
    """Fold, share, hoist and drop scalar instructions.

    Before:
    ```mlir
    npu_isa.kernel @k(%x, %y) {
      %size = npu_isa.s_mov src = 256
      npu_isa.loop %i in 8 {
        %half = npu_isa.s_div lhs = %size, rhs = 2
        %at = npu_isa.s_mul lhs = %i, rhs = %half
        %from = npu_isa.s_add lhs = %x, rhs = %at
        %next = npu_isa.s_add lhs = %from, rhs = 64
        %again = npu_isa.s_mul lhs = %i, rhs = 128
        %to = npu_isa.s_add lhs = %y, rhs = %again
        npu_isa.mov_gm_ub dst = [0], src = [%next], len = %half
        npu_isa.mov_ub_gm dst = [%to], src = [0], len = %half
      }
      npu_isa.end
    }
    ```
    After:
    ```mlir
    npu_isa.kernel @k(%x, %y) {
      npu_isa.loop %i in 8 {
        %at = npu_isa.s_mul lhs = %i, rhs = 128
        %from = npu_isa.s_add lhs = %x, rhs = %at
        %to = npu_isa.s_add lhs = %y, rhs = %at
        npu_isa.mov_gm_ub dst = [0], src = [%from + 64], len = 128
        npu_isa.mov_ub_gm dst = [%to], src = [0], len = 128
      }
      npu_isa.end
    }
    ```

    Assumes: virtual registers.
    Leaves alone: which loops there are and what else they do, whatever their count, so that the
    number of instructions does not depend on the number of tiles.

    Algorithm, one walk over each kernel that rebuilds it, then one back over the result:

    1. Each operand is a number where it is known, else the register that now holds it.
    2. A scalar instruction becomes a number, another register, or its simplest form
       (`analysis/scalar_identities`).  If an equal one stands where this one can see it, that one
       is used.  Otherwise it goes to the end of the outermost body that has its operands, which is
       before the loop being rebuilt; a division by a register stays, because it may fail.
    3. Other instructions take numbers as immediates and `register + number` as an address with an
       offset, where the field has room.
    4. Back from the end, scalar instructions nothing uses are removed.
    """

    name = "npu-isa-canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every kernel of the module."""
        for kernel in [inner for inner in op.walk() if isinstance(inner, KernelOp)]:
            _refuse_physical(kernel)
            _Rebuilder(kernel).run()
            _remove_unused(kernel)


def _refuse_physical(kernel: KernelOp) -> None:
    for op in instructions_of(kernel.body.block):
        if any(result.type != RegType.of() for result in op.results):
            raise PassError(
                "npu-isa-canonicalize works on virtual registers",
                where=where(op),
                why=f"{op.name} writes {op.results[0].type}",
                hint="run it before npu-isa-allocate-registers",
            )


def _remove_unused(kernel: KernelOp) -> None:
    for op in reversed(list(instructions_of(kernel.body.block))):
        if not isinstance(op, InstrOp) or not issubclass(op.spec, Scalar):
            continue
        if all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()


_Key = tuple[type[Instruction], tuple[Number, ...] | frozenset[Number]]


class _Rebuilder:
    """Rebuilds one kernel; `_blocks` are the bodies being written, outermost first."""

    def __init__(self, kernel: KernelOp) -> None:
        self._kernel = kernel
        self._blocks: list[Block] = []
        self._tables: list[dict[_Key, SSAValue]] = []
        """Per body: the scalar instructions written there so far."""
        self._now: dict[SSAValue, Number] = {}
        """What each old register is now."""
        self._level: dict[SSAValue, int] = {}
        """The body that writes each new register."""
        self._sums: dict[SSAValue, Sum] = {}
        """New registers that are another plus a number."""

    def run(self) -> None:
        """Replace the kernel's body."""
        old = self._kernel.body.block
        new = self._open(old)
        self._body(old)
        self._close()
        for op in reversed(list(old.ops)):
            op.detach()
            op.drop_all_references()
            op.erase(safe_erase=False)
        # The kernel keeps its region; its block is exchanged, uses of old arguments are gone.
        self._kernel.body.detach_block(old)
        self._kernel.body.add_block(new)

    def _open(self, old: Block) -> Block:
        new = Block(arg_types=old.arg_types)
        for before, after in zip(old.args, new.args, strict=True):
            after.name_hint = before.name_hint
            after.location = before.location
            self._now[before] = after
            self._level[after] = len(self._blocks)
        self._blocks.append(new)
        self._tables.append({})
        return new

    def _close(self) -> Block:
        self._tables.pop()
        return self._blocks.pop()

    def _body(self, old: Block) -> None:
        for op in old.ops:
            if isinstance(op, LoopOp):
                self._loop(op)
            elif isinstance(op, IfOp):
                self._branch(op)
            elif isinstance(op, YieldOp):
                self._emit(op, YieldOp([self._register(op, v) for v in op.operands]))
            elif isinstance(op, InstrOp) and issubclass(op.spec, Scalar):
                self._now[op.result] = self._scalar(op, op.spec)
            elif isinstance(op, InstrOp):
                self._instruction(op)
            else:
                raise PassError(f"{op.name} is no instruction", where=where(op))

    def _emit(self, old: Operation, new: Operation, level: int = -1) -> None:
        """Append to a body, by default the innermost."""
        if type(new) is type(old):
            new.attributes.update(old.attributes)
        self._blocks[level].add_op(new)
        move_location(old, new)
        for result in new.results:
            self._level[result] = len(self._blocks) - 1 if level < 0 else level

    def _loop(self, op: LoopOp) -> None:
        inits = [self._register(op, value) for value in op.inits]
        count = self._operand(op, Loop.field("count"), op.count)
        assert isinstance(count, (SSAValue, int))
        self._open(op.body.block)
        self._body(op.body.block)
        new = LoopOp(count, inits, Region(self._close()), [r.type for r in op.results])
        self._emit(op, new)
        self._replace(op, new)

    def _branch(self, op: IfOp) -> None:
        """A branch with both bodies rebuilt; what they share with each other goes before it."""
        numbers: list[SSAValue | int] = []
        for name, value in (("lhs", op.lhs), ("rhs", op.rhs)):
            found = self._operand(op, Branch.field(name), value)
            assert isinstance(found, (SSAValue, int))
            numbers.append(found)
        bodies: list[Region] = []
        for body in op.bodies:
            self._open(body)
            self._body(body)
            bodies.append(Region(self._close()))
        lhs, rhs = numbers
        types = [result.type for result in op.results]
        new = IfOp(op.condition.data, lhs, rhs, (bodies[0], bodies[1]), types)
        self._emit(op, new)
        self._replace(op, new)

    def _replace(self, old: Operation, new: Operation) -> None:
        for before, after in zip(old.results, new.results, strict=True):
            after.name_hint = before.name_hint
            self._now[before] = after

    def _scalar(self, op: InstrOp, spec: type[Scalar]) -> Number:
        """What the result of a scalar instruction is now."""
        operands = tuple(self._number(v) for v in op.values if isinstance(v, (SSAValue, int)))
        match simplify(spec, operands, self._sums):
            case Constant(value) | Copy(value):
                return value
            case simplest:
                return self._share(op, simplest.spec, simplest.operands, op.result.name_hint)

    def _share(
        self,
        op: Operation,
        spec: type[Scalar],
        operands: tuple[Number, ...],
        name_hint: str | None = None,
    ) -> SSAValue:
        """The register of a scalar instruction: of an equal one in sight, else of a new one."""
        names = [f for f in spec.fields if f.kind != "out"]
        values = {f.name: self._fitting(op, f, v) for f, v in zip(names, operands, strict=True)}
        placed = tuple(values.values())
        level = max((self._level[v] for v in placed if isinstance(v, SSAValue)), default=0)
        may_fail = spec in (SDiv, SRem) and not (isinstance(placed[1], int) and placed[1])
        if may_fail:
            level = len(self._blocks) - 1
        key = (spec, frozenset(placed) if spec in COMMUTATIVE else placed)
        for table in self._tables:
            if key in table:
                return table[key]
        new = build(spec, dict(values))
        self._emit(op, new, level)
        new.result.name_hint = name_hint
        self._tables[level][key] = new.result
        total = Sum.of(spec, placed)
        if total is not None:
            self._sums[new.result] = total
        return new.result

    def _number(self, value: SSAValue | int) -> Number:
        return self._now[value] if isinstance(value, SSAValue) else value

    def _register(self, op: Operation, value: SSAValue) -> SSAValue:
        """The register that now holds an old one, moving a number into one if need be."""
        now = self._now[value]
        return now if isinstance(now, SSAValue) else self._share(op, SMov, (now,))

    def _fitting(self, op: Operation, field: Field, value: Number) -> Number:
        """The number itself if the field takes it, else a register that holds it."""
        if isinstance(value, SSAValue) or field.check(value) is None:
            return value
        return self._share(op, SMov, (value,))

    def _instruction(self, op: InstrOp) -> None:
        values = {field.name: self._operand(op, field, value) for field, value in op.items()}
        new = build(op.spec, values)
        self._emit(op, new)
        self._replace(op, new)

    def _operand(self, op: Operation, field: Field, value: Value) -> Value:
        """The operand of a field, with numbers and sums folded into it where it has room."""
        if isinstance(value, SSAValue):
            if field.kind == "in":
                return self._register(op, value)
            return self._fitting(op, field, self._now[value])
        if isinstance(value, tuple):
            base, offset = value
            return value if base is None else self._address(op, field, base, offset)
        return value

    def _address(self, op: Operation, field: Field, base: SSAValue, offset: int) -> Address:
        now = self._now[base]
        if isinstance(now, int):
            folded = now + offset
            if field.check(Addr(None, folded)) is None:
                return Address(None, folded)
            return Address(self._share(op, SMov, (now,)), offset)
        total = self._sums.get(now)
        if total is not None and field.check(Addr(Reg(0), offset + total.number)) is None:
            return Address(total.base, offset + total.number)
        return Address(now, offset)
