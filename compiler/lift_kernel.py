"""The records of a kernel as ops again: registers become values, loops carry what lives on.

1. A walk backwards finds the registers that are alive after each loop and at the start of each of
   its iterations.
2. A walk forwards makes an op a record. A read takes the value last written to the register; a
   register nobody has written is an argument, since argument i arrives in register i.
3. A loop carries the registers that its body writes and that live at its start or after it. All
   stay in their physical register, so that flattening the ops gives the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Block, Region, SSAValue

from ..backend.program import Kernel
from ..backend.structure import items
from ..dialects.core.errors import ProgramError
from ..dialects.core.origins import NODE
from ..dialects.npu_isa.instructions.branches import Redirection
from ..dialects.npu_isa.instructions.scalar import Loop
from ..dialects.npu_isa.ops import Value, build
from ..dialects.npu_isa.record import Addr, Operand, Record, Reg
from ..dialects.npu_isa.structure import KernelOp, LoopOp, YieldOp
from ..dialects.npu_isa.types import RegType
from .emit import ENGINE, NODES

_Registers = frozenset[int]


def lift_kernel(kernel: Kernel, arguments: int = 0) -> KernelOp:
    """The kernel as an op in physical registers, with at least so many arguments.

    `ProgramError` for code that reads a loop's counter after the loop, which no op can say, and for
    branches, which are not looked through.
    """
    for index, record in enumerate(kernel.records):
        if issubclass(record.spec, Redirection):
            raise ProgramError(
                f"kernel {kernel.name} branches, and cannot be shown as ops",
                where=f"word {index} of kernel {kernel.name}",
                hint="show it as assembly text",
            )
    lifting = _Lifting(kernel)
    wanted = max(arguments, 1 + max(lifting.unwritten(), default=-1))
    block = Block(arg_types=[RegType.of(i) for i in range(wanted)])
    lifting.run(block, dict(enumerate(block.args)))
    op = KernelOp(kernel.name, Region(block))
    op.attributes[ENGINE] = StringAttr(kernel.engine)
    if kernel.nodes:
        op.attributes[NODES] = ArrayAttr(StringAttr(node) for node in kernel.nodes)
    return op


def _reads(record: Record) -> Iterable[int]:
    for field, value in zip(record.spec.fields, record.operands, strict=True):
        if isinstance(value, Addr):
            if value.reg is not None:
                yield int(value.reg)
        elif isinstance(value, Reg) and field.kind != "out":
            yield int(value)


def _written(record: Record) -> int | None:
    for field, value in zip(record.spec.fields, record.operands, strict=True):
        if field.kind == "out" and isinstance(value, Reg):
            return int(value)
    return None


class _Liveness:
    """For each loop, by its index: the registers alive after it, and before each iteration."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self.after: dict[int, _Registers] = {}
        self.before_iteration: dict[int, _Registers] = {}
        self.entry = self._block(0, len(records), frozenset())

    def _block(self, start: int, stop: int, alive: _Registers) -> _Registers:
        for index, following in reversed(list(items(self._records, start, stop))):
            record = self._records[index]
            if record.spec is Loop:
                alive = self._loop(index, following, alive)
            else:
                alive -= {_written(record)}
            alive = alive | frozenset(_reads(record))
        return alive

    def _loop(self, index: int, stop: int, after: _Registers) -> _Registers:
        """What is alive before the loop; the second round adds what iterations hand on."""
        iteration = _written(self._records[index])
        head = after
        for _ in range(2):
            head = head | (self._block(index + 1, stop, head) - {iteration})
        self.after[index] = self.after.get(index, frozenset()) | after
        self.before_iteration[index] = self.before_iteration.get(index, frozenset()) | head
        return head


class _Lifting:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._records = kernel.records
        self._live = _Liveness(kernel.records)

    def unwritten(self) -> _Registers:
        """The registers that are read before anything is written to them."""
        return self._live.entry

    def run(self, block: Block, values: dict[int, SSAValue]) -> None:
        """Fill the block of the kernel; `values` has the arguments by register."""
        self._block(block, 0, len(self._records), values)

    def _block(self, block: Block, start: int, stop: int, values: dict[int, SSAValue]) -> None:
        for index, following in items(self._records, start, stop):
            record = self._records[index]
            if record.spec is Loop:
                op = self._loop(index, following, values)
            else:
                op = build(record.spec, self._operands(record, values), _result_type(record))
                written = _written(record)
                if written is not None:
                    values[written] = op.results[0]
            node = self._kernel.source_map.get(index)
            if node is not None:
                op.attributes[NODE] = StringAttr(node)
            block.add_op(op)

    def _operands(self, record: Record, values: Mapping[int, SSAValue]) -> dict[str, Value]:
        return {
            field.name: _value(operand, values)
            for field, operand in zip(record.spec.fields, record.operands, strict=True)
            if field.kind != "out"
        }

    def _loop(self, index: int, stop: int, values: dict[int, SSAValue]) -> LoopOp:
        iteration, count, _ = self._records[index].operands
        assert isinstance(iteration, Reg)
        inside = {_written(self._records[i]) for i in range(index + 1, stop)}
        self._check_counter(index, int(iteration), inside)
        after, head = self._live.after[index], self._live.before_iteration[index]
        carried = sorted(r for r in inside if r is not None and (r in after or r in head))
        inits = [values[register] for register in carried]
        types = [RegType.of(register) for register in carried]
        body = Block(arg_types=[RegType.of(int(iteration)), *types])
        within = {**values, **dict(zip([int(iteration), *carried], body.args, strict=True))}
        self._block(body, index + 1, stop, within)
        body.add_op(YieldOp([within[register] for register in carried]))
        trips = values[int(count)] if isinstance(count, Reg) else count
        assert isinstance(trips, int | SSAValue)
        op = LoopOp(trips, inits, Region(body), types)
        values.update(zip(carried, op.results, strict=True))
        return op

    def _check_counter(self, index: int, iteration: int, inside: set[int | None]) -> None:
        if iteration in self._live.after[index] or iteration in inside:
            raise ProgramError(
                f"kernel {self._kernel.name} uses the counter of a loop for something else",
                where=f"word {index} of kernel {self._kernel.name}",
                why=f"r{iteration} counts the loop and is written in it or read after it",
            )


def _result_type(record: Record) -> RegType | None:
    written = _written(record)
    return None if written is None else RegType.of(written)


def _value(operand: Operand, values: Mapping[int, SSAValue]) -> Value:
    """The operand of an op that says what the operand of a record says."""
    if isinstance(operand, Reg):
        return values[int(operand)]
    if isinstance(operand, Addr):
        return (None if operand.reg is None else values[int(operand.reg)], operand.offset)
    return operand
