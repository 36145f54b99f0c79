"""Loops, index arithmetic and buffers: what gives a kernel its registers."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation

from ...dialects.npu_isa.ops import Address
from ...dialects.tile.memory import AllocOp, SubviewOp, buffer_type
from ...dialects.tile.program import CoreIdOp, EndOp, ViewOp
from .lowering import Lowering, Place, Scalar, Turn

ARITHMETIC: dict[type[Operation], Callable[[Lowering, Scalar, Scalar], Scalar]] = {
    arith.AddiOp: Lowering.add,
    arith.SubiOp: Lowering.sub,
    arith.MuliOp: Lowering.mul,
    arith.DivSIOp: lambda low, lhs, rhs: low.binary("s_div", lhs, rhs),
    arith.RemSIOp: lambda low, lhs, rhs: low.binary("s_rem", lhs, rhs),
    arith.MinSIOp: lambda low, lhs, rhs: low.binary("s_min", lhs, rhs),
    arith.MaxSIOp: lambda low, lhs, rhs: low.binary("s_max", lhs, rhs),
}
"""Scalar instruction of each index op."""


def lower_constant(low: Lowering, op: arith.ConstantOp) -> None:
    """A known value: no instruction."""
    if not isinstance(op.value, IntegerAttr):
        raise low.refuse("a kernel computes on indices only", f"the constant is {op.value}")
    low.scalars[op.result] = op.value.value.data


def lower_arithmetic(low: Lowering, op: Operation) -> None:
    """One scalar instruction."""
    lhs, rhs = (low.index(operand) for operand in op.operands)
    low.scalars[op.results[0]] = ARITHMETIC[type(op)](low, lhs, rhs)


def lower_core_id(low: Lowering, op: CoreIdOp) -> None:
    """Read the core number."""
    low.scalars[op.result] = low.emit("s_core_id").result


def lower_view(low: Lowering, op: ViewOp) -> None:
    """The same bytes of GM: no instruction."""
    low.places[op.target] = Place(buffer_type(op.target), low.places[op.source].address)


def lower_subview(low: Lowering, op: SubviewOp) -> None:
    """The same bytes of UB: at most the address takes an instruction."""
    source = low.places[op.source]
    skipped = low.mul(low.index(op.row), source.type.row_bytes)
    low.places[op.target] = Place(buffer_type(op.target), low.shifted(source.address, skipped))


def lower_end(low: Lowering, op: EndOp) -> None:
    """The last word."""
    del op
    low.emit("end")


def lower_for(low: Lowering, op: scf.ForOp, lower_block: Callable[[Lowering, Block], None]) -> None:
    """A loop over 0, 1, ...: the variable is `start + iteration * step`.

    The iteration count is `ceil((stop - start) / step)`; none or a negative one runs nothing.
    """
    if op.iter_args:
        raise low.refuse("a loop of a kernel carries no values", f"it carries {len(op.iter_args)}")
    start, stop, step = (low.index(bound) for bound in (op.lb, op.ub, op.step))
    count = low.ceil_div(low.sub(stop, start), step)
    trips = max(count, 0) if isinstance(count, int) else None
    with low.loop(count if trips is None else trips) as iteration:
        low.nest.append(Turn(iteration, trips))
        variable = op.body.block.args[0]
        if variable.uses.get_length():
            low.scalars[variable] = low.add(start, low.mul(iteration, step))
        lower_block(low, op.body.block)
        low.op = op
        low.nest.pop()


def lower_alloc(low: Lowering, op: AllocOp) -> None:
    """The slot in use: `address + (count mod depth) * slot bytes`."""
    type_ = buffer_type(op.buffer)
    if op.address is None:
        raise low.refuse("the buffer has no address", hint="run tile-plan-memory first")
    address = Address(None, op.address.value.data)
    if op.slots > 1 and low.nest:
        slot = low.binary("s_rem", _count(low), op.slots)
        address = low.shifted(address, low.binary("s_mul", slot, type_.nbytes))
    low.places[op.buffer] = Place(type_, address)


def _count(low: Lowering) -> Scalar:
    """How often the body of the innermost loop has run so far, over the whole nest.

    Nothing is left out for a loop that runs once, so that the code does not depend on trip counts.
    """
    count: Scalar = low.nest[0].iteration
    for turn in low.nest[1:]:
        if turn.trips is None:
            raise low.refuse(
                "a buffer with several slots stands in a loop whose count is not constant",
                hint="only the outermost loop may run a number of times known at run time",
            )
        count = low.binary("s_add", low.binary("s_mul", count, turn.trips), turn.iteration)
    return count
