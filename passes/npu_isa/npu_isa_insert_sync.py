"""`npu-isa-insert-sync`: order the pipes of every kernel by flags."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects.core.errors import PassError
from ...dialects.core.locations import where
from ...dialects.npu_isa.conditional import IfOp
from ...dialects.npu_isa.instructions import MNEMONICS
from ...dialects.npu_isa.instructions.scalar import Scalar
from ...dialects.npu_isa.instructions.sync import Barrier, SetFlag, WaitFlag
from ...dialects.npu_isa.ops import InstrOp, Value, build
from ...dialects.npu_isa.spec import Instruction
from ...dialects.npu_isa.structure import KernelOp, instructions_of
from ...dialects.target.attributes import machine_of
from ..analysis.addresses import KernelModel, model_kernel
from ..analysis.affine import Affine, Symbol
from ..analysis.dependences import Loop, find_dependences
from ..analysis.event_ids import Flags, assign_event_ids
from ..analysis.flag_pairs import flag_pairs
from ..analysis.orderings import Sync
from ..analysis.sources import inherit_source
from ..base import NpucPass


@dataclass(frozen=True)
class NpuIsaInsertSyncPass(NpucPass):
    """Order the pipes by flags, so that every run gives what program order gives.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      npu_isa.kernel @copy(%x, %y) {
        npu_isa.loop %i in 8 {
          %slot = npu_isa.s_rem lhs = %i, rhs = 2
          %at = npu_isa.s_mul lhs = %slot, rhs = 256
          npu_isa.mov_gm_ub dst = [%at], src = [%x], len = 256
          npu_isa.mov_ub_gm dst = [%y], src = [%at], len = 256
        }
        npu_isa.end
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      npu_isa.kernel @copy(%x, %y) {
        npu_isa.set_flag src = MTE3, dst = MTE2, id = 0
        npu_isa.set_flag src = MTE3, dst = MTE2, id = 1
        npu_isa.loop %i in 8 {
          %slot = npu_isa.s_rem lhs = %i, rhs = 2
          %at = npu_isa.s_mul lhs = %slot, rhs = 256
          npu_isa.wait_flag src = MTE3, dst = MTE2, id = %slot
          npu_isa.mov_gm_ub dst = [%at], src = [%x], len = 256
          npu_isa.set_flag src = MTE2, dst = MTE3, id = %slot
          npu_isa.wait_flag src = MTE2, dst = MTE3, id = %slot
          npu_isa.mov_ub_gm dst = [%y], src = [%at], len = 256
          npu_isa.set_flag src = MTE3, dst = MTE2, id = %slot
        }
        npu_isa.wait_flag src = MTE3, dst = MTE2, id = 0
        npu_isa.wait_flag src = MTE3, dst = MTE2, id = 1
        npu_isa.end
      }
    }
    ```

    Assumes: addresses are physical; two kernel arguments do not overlap; no flags yet.
    Leaves alone: work on one pipe, which runs in order and interlocks.

    Algorithm, for each kernel:

    1. Evaluate every register as an affine expression and collect the bytes that every instruction
       may touch (`analysis/addresses`).
    2. Find the pairs of accesses that must keep their order, within an execution of the loop body
       they share and across executions, with the distance (`analysis/dependences`).
    3. Each becomes a forward pair (set after the first, wait before the second) and, in a loop, a
       carried pair back (set after the second, wait before the first of the execution `distance`
       later).  Drop every pair the others imply (`analysis/flag_pairs`, `analysis/orderings`).
    4. Give each pair event ids: one a slot, rotating with the buffer's own slot; where two pipes
       have too few, share, merge, give depth back, and as the last resort use a barrier
       (`analysis/event_ids`).  What costs overlap is remarked.
    5. Insert the flags.  The flags of carried pairs start set, at the top of the kernel, and are
       waited for at its end, so that every flag is clear again.

    Why it cannot deadlock: every wait answers a set that comes before it in program order (for a
    carried pair one of an earlier execution, or the one at the top).  Take the first wait in
    program order that never ends: all before it ends, so its set happened, and nothing else takes
    its flag.

    Why no flag is set twice: the order from each wait to the next set of the same id is itself a
    requirement that step 3 keeps, and step 4 shares an id only where that order holds.

    `barrier-everywhere` puts a barrier of all pipes after every instruction instead: slow, and
    right without any analysis, to find out whether flags are to blame for a wrong result.
    """

    name = "npu-isa-insert-sync"
    barrier_everywhere: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every kernel of the module."""
        kernels = [inner for inner in op.walk() if isinstance(inner, KernelOp)]
        for kernel in kernels:
            _check_unsynchronised(kernel)
        if self.barrier_everywhere:
            for kernel in kernels:
                _insert_barriers(kernel)
            return
        machine = machine_of(op) if kernels else None
        for kernel in kernels:
            assert machine is not None
            model = model_kernel(kernel, machine)
            pairs = flag_pairs(list(find_dependences(model.accesses)))
            flags = assign_event_ids(pairs, machine.sync.event_ids)
            for pair, what in flags.concessions:
                self.remark(pair.target.op, f"{what}: {describe(pair)}")
            insert_flags(kernel, model, flags)


def describe(pair: Sync) -> str:
    """A pair in words."""
    source, target = pair.source.op.name, pair.target.op.name
    later = f", {pair.distance} executions later" if pair.carried else ""
    return f"{pair.source_pipe} ({source}) before {pair.target_pipe} ({target}){later}"


def _check_unsynchronised(kernel: KernelOp) -> None:
    """PassError for a kernel that has flags or barriers: event ids would be used twice."""
    for op in instructions_of(kernel.body.block):
        if isinstance(op, InstrOp) and op.spec in (SetFlag, WaitFlag, Barrier):
            raise PassError(
                f"kernel @{kernel.sym_name.data} is ordered already",
                where=where(op),
                why=f"it has a {op.name}",
                hint="run npu-isa-insert-sync once, on instructions without flags and barriers",
            )
        if isinstance(op, IfOp):
            _check_scalar(kernel, op)


def _check_scalar(kernel: KernelOp, branch: IfOp) -> None:
    """PassError for anything but scalar work in a branch: its flags would depend on the condition
    too."""
    for op in (inner for body in branch.bodies for inner in instructions_of(body)):
        if isinstance(op, InstrOp) and not issubclass(op.spec, Scalar):
            raise PassError(
                f"kernel @{kernel.sym_name.data} cannot be ordered by flags",
                where=where(op),
                why=f"{op.name} runs on a condition",
                hint="make its counts depend on the condition instead: 0 where it is not to run",
            )


def _insert_barriers(kernel: KernelOp) -> None:
    for op in list(instructions_of(kernel.body.block)):
        if isinstance(op, InstrOp) and op.spec.pipe != "S":
            _insert(op, [], [build(Barrier, {"pipe": "ALL"})])


def _insert(op: Operation, before: list[InstrOp], after: list[InstrOp]) -> None:
    block = op.parent
    assert block is not None
    for new in (*before, *after):
        inherit_source(op, new)
    block.insert_ops_before(before, op)
    block.insert_ops_after(after, op)


def _flag(spec: type[Instruction], queue: tuple[str, str], event: Value) -> InstrOp:
    return build(spec, {"src": queue[0], "dst": queue[1], "id": event})


def insert_flags(kernel: KernelOp, model: KernelModel, flags: Flags) -> None:
    """Put flags, with the ids they were given, into the text of the kernel of `model`."""
    _Inserter(kernel, model, flags).run()


class _Inserter:
    """Puts the flags of one kernel into its text."""

    def __init__(self, kernel: KernelOp, model: KernelModel, flags: Flags) -> None:
        self.block = kernel.body.block
        self.model = model
        self.flags = flags
        self._ids: dict[tuple[Loop, Symbol, int], SSAValue] = {}

    def run(self) -> None:
        """Insert everything."""
        waits: dict[Operation, list[InstrOp]] = defaultdict(list)
        sets: dict[Operation, list[InstrOp]] = defaultdict(list)
        for pair in self.flags.barriers:
            waits[pair.target.op].append(build(Barrier, {"pipe": "ALL"}))
        for pair, base in self.flags.bases.items():
            event = self._event(pair, base)
            waits[pair.target.op].append(_flag(WaitFlag, pair.queue, event))
            sets[pair.source.op].append(_flag(SetFlag, pair.queue, event))
        for op in dict.fromkeys([*waits, *sets]):
            _insert(op, waits[op], sets[op])
        self._prime()

    def _prime(self) -> None:
        """Set the flags of carried pairs at the top, wait for them at the end."""
        started = sorted(
            {
                (pair.queue, base + slot)
                for pair, base in self.flags.bases.items()
                if pair.carried
                for slot in range(pair.slots)
            }
        )
        first, last = self.block.first_op, self.block.last_op
        assert first is not None
        assert last is not None
        _insert(first, [_flag(SetFlag, queue, event) for queue, event in started], [])
        _insert(last, [_flag(WaitFlag, queue, event) for queue, event in started], [])

    def _event(self, pair: Sync, base: int) -> Value:
        """The event id of a pair: its base, plus the slot in use when it has several."""
        if pair.slot is None:
            return base
        assert pair.loop is not None
        key = (pair.loop, pair.slot, base)
        if key not in self._ids and base == 0:
            self._ids[key] = self._slot(pair.loop, pair.slot)
        elif key not in self._ids:
            slot = self._event(pair, 0)
            assert isinstance(slot, OpResult)
            add = build(MNEMONICS["s_add"], {"lhs": slot, "rhs": base})
            _insert(slot.op, [], [add])
            self._ids[key] = add.result
        return self._ids[key]

    def _slot(self, loop: Loop, slot: Symbol) -> SSAValue:
        """A register of the body of `loop` that holds the slot in use, above all flags."""
        first = min(
            min(pair.wait_at, pair.set_at)
            for pair in self.flags.bases
            if pair.loop is loop and pair.slot == slot
        )
        for statement in self.model.statements:
            op = statement.op
            if statement.loop is not loop or statement.start > first or not op.results:
                continue
            if self.model.values.get(op.results[0]) == Affine.of(slot):
                return op.results[0]
        return self._recompute(loop, slot)

    def _recompute(self, loop: Loop, slot: Symbol) -> SSAValue:
        """Compute the slot at the start of the body: no register of the body holds it."""
        assert slot.modulo is not None
        count, depth = slot.modulo.count, slot.modulo.depth
        body = loop.statement.op.regions[0].block
        first = body.first_op
        assert first is not None
        new: list[InstrOp] = []

        def scalar(mnemonic: str, lhs: Value, rhs: Value) -> SSAValue:
            new.append(build(MNEMONICS[mnemonic], {"lhs": lhs, "rhs": rhs}))
            return new[-1].result

        total: Value = count.constant
        for enclosing in reversed(loop.enclosing):
            factor = count.coefficient(enclosing.symbol)
            if factor:
                iteration = enclosing.statement.op.regions[0].block.args[0]
                part = iteration if factor == 1 else scalar("s_mul", iteration, factor)
                total = part if total == 0 else scalar("s_add", part, total)
        total = scalar("s_rem", total, depth)
        _insert(first, new, [])
        return total
