"""Append ops to a kernel: constants made once, index arithmetic without the trivial cases."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.core.origins import NODE
from ...dialects.tile.memory import AllocOp
from ...dialects.tile.program import CoreIdOp
from ...dialects.tile.types import BufferType

INDEX = IndexType()
OpT = TypeVar("OpT", bound=Operation)


class Emitter:
    """Appends to the innermost open block; constants go to the top of the kernel."""

    def __init__(self, top: Block) -> None:
        self._top = top
        self._blocks = [top]
        self._constants: dict[int, SSAValue] = {}
        self._last_constant: Operation | None = None
        self.node: StringAttr | None = None

    def __call__(self, op: OpT) -> OpT:
        """Append an op and mark the source node it works for."""
        if self.node is not None and op.name.startswith("tile."):
            op.attributes[NODE] = self.node
        self._blocks[-1].add_op(op)
        return op

    def constant(self, value: int) -> SSAValue:
        """An index constant at the top of the kernel."""
        if value not in self._constants:
            op = arith.ConstantOp(IntegerAttr(value, INDEX))
            if self._last_constant is not None:
                self._top.insert_op_after(op, self._last_constant)
            elif self._top.first_op is not None:
                self._top.insert_op_before(op, self._top.first_op)
            else:
                self._top.add_op(op)
            op.result.name_hint = f"c{value}"
            self._last_constant = op
            self._constants[value] = op.result
        return self._constants[value]

    def alloc(self, type_: BufferType) -> SSAValue:
        """A fresh buffer."""
        buffer = self(AllocOp(type_)).buffer
        buffer.name_hint = type_.space.data
        return buffer

    def core_id(self) -> SSAValue:
        """The number of the core that runs the kernel."""
        return self(CoreIdOp()).result

    def mul(self, value: SSAValue, factor: int) -> SSAValue:
        """`value * factor`."""
        return value if factor == 1 else self(arith.MuliOp(value, self.constant(factor))).result

    def div(self, value: SSAValue, divisor: int) -> SSAValue:
        """`value / divisor`, rounded down; value is not negative."""
        return value if divisor == 1 else self(arith.DivSIOp(value, self.constant(divisor))).result

    def rem(self, value: SSAValue, divisor: int) -> SSAValue:
        """`value mod divisor`; value is not negative."""
        return self(arith.RemSIOp(value, self.constant(divisor))).result

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs + rhs`."""
        return self(arith.AddiOp(lhs, rhs)).result

    def product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs * rhs`."""
        return self(arith.MuliOp(lhs, rhs)).result

    def sub(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`lhs - rhs`."""
        return self(arith.SubiOp(lhs, rhs)).result

    def minimum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The smaller one."""
        return self(arith.MinSIOp(lhs, rhs)).result

    def maximum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The larger one."""
        return self(arith.MaxSIOp(lhs, rhs)).result

    def clipped(self, tile: int, extent: int, offset: SSAValue) -> SSAValue:
        """How much of a tile is inside: `min(tile, extent - offset)`, or just `tile`."""
        if extent % tile == 0:
            return self.constant(tile)
        return self.minimum(self.constant(tile), self.sub(self.constant(extent), offset))

    @contextmanager
    def loop(
        self, name: str, start: SSAValue, stop: SSAValue, step: SSAValue
    ) -> Generator[SSAValue]:
        """Open an `scf.for`; ops go into its body until the block is left. Gives the variable."""
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = name
        self(scf.ForOp(start, stop, step, [], Region(body)))
        self._blocks.append(body)
        yield body.args[0]
        body.add_op(scf.YieldOp())
        self._blocks.pop()
