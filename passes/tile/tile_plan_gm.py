"""The pass `tile-plan-gm`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.core.errors import CapacityError
from ...dialects.core.locations import where
from ...dialects.target.attributes import machine_of
from ...dialects.target.machine import Machine
from ...dialects.tile.memory import AllocOp, buffer_type
from ...dialects.tile.program import ConstantOp, ProgramOp, ViewOp
from ...dialects.tile.types import round_up
from ..base import NpucPass

ALIGNMENT = 512
"""Bytes at which a GM buffer starts: full-rate transfers need it (Ascend C guide)."""


@dataclass(frozen=True)
class TilePlanGmPass(NpucPass):
    """Give every GM buffer of a program its address.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.program @main(%x: !tile.buffer<8x8xf32, gm>) -> (!tile.buffer<8x8xf32, gm>) {
        %y = tile.alloc : !tile.buffer<8x8xf32, gm>
        tile.launch @k grid 1 (%x, %y) : !tile.buffer<8x8xf32, gm>, !tile.buffer<8x8xf32, gm>
        tile.return %y : !tile.buffer<8x8xf32, gm>
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.program @main(%x: !tile.buffer<8x8xf32, gm>) -> (!tile.buffer<8x8xf32, gm>)
          attributes {arg_attrs = [{address = 0 : i64}]} {
        %y = tile.alloc {address = 512 : i64} : !tile.buffer<8x8xf32, gm>
        tile.launch @k grid 1 (%x, %y) : !tile.buffer<8x8xf32, gm>, !tile.buffer<8x8xf32, gm>
        tile.return %y : !tile.buffer<8x8xf32, gm>
      }
    }
    ```

    Arguments and constants keep their bytes for the whole program, and so do returned buffers; the
    rest is workspace that lives from its first launch to its last, and shares bytes by first fit.
    More than the machine has is a CapacityError that names the largest buffers.
    """

    name: ClassVar[str] = "tile-plan-gm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every program."""
        machine = machine_of(op)
        for program in op.walk():
            if isinstance(program, ProgramOp):
                _check_capacity(program, _plan_program(program), machine)


@dataclass
class _Span:
    """Bytes of one buffer, needed from one op of the program to another."""

    buffer: SSAValue
    start: int
    end: int
    address: int = 0

    @property
    def nbytes(self) -> int:
        return buffer_type(self.buffer).nbytes


def _plan_program(program: ProgramOp) -> list[_Span]:
    """Decide all addresses; where everything lies."""
    block = program.body.block
    order = {op: i for i, op in enumerate(block.ops)}
    last, placed = len(order), list[_Span]()
    entries = [dict(e.data) for e in program.arg_attrs] if program.arg_attrs else []
    entries += [{} for _ in range(len(block.args) - len(entries))]
    for argument, entry in zip(block.args, entries, strict=True):
        span = _place(_Span(argument, 0, last), placed)
        entry["address"] = IntegerAttr(span.address, i64)
    program.arg_attrs = ArrayAttr([DictionaryAttr(e) for e in entries])
    returned = {_root(v) for v in program.returned}
    for op in block.ops:
        if isinstance(op, ConstantOp):
            span = _place(_Span(op.buffer, 0, last), placed)
            op.address = IntegerAttr(span.address, i64)
        elif isinstance(op, AllocOp):
            numbers = [order[user] for user in _users(op.buffer)] or [order[op]]
            end = last if op.buffer in returned else max(numbers)
            span = _Span(op.buffer, min(numbers), end)
            op.decide(address=_place(span, placed).address)
    return placed


def _check_capacity(program: ProgramOp, placed: Sequence[_Span], machine: Machine) -> None:
    used, room = max((s.address + s.nbytes for s in placed), default=0), machine.size("gm")
    if used <= room:
        return
    largest = sorted(placed, key=lambda span: -span.nbytes)[:6]
    listed = ", ".join(f"{buffer_type(s.buffer)} = {s.nbytes} bytes" for s in largest)
    raise CapacityError(
        f"program @{program.sym_name.data} needs {used} bytes of gm",
        where=where(program),
        why=f"{machine.name} has {room}; the largest buffers are {listed}",
        hint="make the model or its batch smaller, or take a machine with more memory",
    )


def _root(value: SSAValue) -> SSAValue:
    """The buffer behind views."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.source
    return value


def _users(value: SSAValue) -> Iterable[Operation]:
    """The ops that touch a buffer, through views too."""
    for use in value.uses:
        if isinstance(use.operation, ViewOp):
            yield from _users(use.operation.target)
        else:
            yield use.operation


def _place(span: _Span, placed: list[_Span]) -> _Span:
    """Give the span the lowest address clear of all spans that live at the same time."""
    live = (p for p in placed if p.start <= span.end and span.start <= p.end)
    for other in sorted(live, key=lambda p: p.address):
        if span.address + span.nbytes <= other.address:
            break
        span.address = max(span.address, round_up(other.address + other.nbytes, ALIGNMENT))
    placed.append(span)
    return span
