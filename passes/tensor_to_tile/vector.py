"""Emit the vector part of a tile: a scalar body becomes vector ops on whole tiles.

Each op of the body becomes one tile op that writes a fresh buffer. A value of the body that has
only the tile's columns is a row spread over all rows; one that has only the rows is spread through
32-byte blocks. Constants become the scalar form of an op where it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.kinds import SCALAR_KINDS, Binary, Mode, Reduce, Unary
from ...dialects.tile.memory import FillOp
from ...dialects.tile.types import BufferType
from ...dialects.tile.vector import BinaryOp, BroadcastOp, CastOp, ReduceOp, ScalarOp, UnaryOp
from .spread import Spread, Tile

if TYPE_CHECKING:
    from .kernel import KernelEmitter

BINARY: dict[type[Operation], Binary] = {
    arith.AddfOp: Binary.ADD,
    arith.SubfOp: Binary.SUB,
    arith.MulfOp: Binary.MUL,
    arith.DivfOp: Binary.DIV,
    arith.MaximumfOp: Binary.MAXIMUM,
    arith.MinimumfOp: Binary.MINIMUM,
    arith.AddiOp: Binary.ADD,
    arith.SubiOp: Binary.SUB,
    arith.MuliOp: Binary.MUL,
    arith.MaxSIOp: Binary.MAXIMUM,
    arith.MinSIOp: Binary.MINIMUM,
}
UNARY: dict[type[Operation], Unary] = {
    math.ExpOp: Unary.EXP,
    math.LogOp: Unary.LN,
    math.SqrtOp: Unary.SQRT,
    math.RsqrtOp: Unary.RSQRT,
    math.AbsFOp: Unary.ABSOLUTE,
}
CASTS: tuple[type[Operation], ...] = (
    arith.ExtFOp,
    arith.TruncFOp,
    arith.SIToFPOp,
    arith.FPToSIOp,
)
"""Scalar ops with a vector instruction; every other must have been expanded into these."""


@dataclass(frozen=True)
class Constant:
    """A number in a body."""

    value: FloatAttr


Operand = Tile | Constant


def emit_vector(kernel: KernelEmitter, op: StructuredOp) -> Tile:
    """Emit one structured op on the current tile."""
    spread = kernel.spread_of(kernel.space.axes_of(op.output))
    if op.combiner is None:
        return emit_body(kernel, op, spread)
    source = emit_body(kernel, op, Spread(spread.row, True))
    return _Body(kernel, {}).reduce(op, source)


def emit_body(
    kernel: KernelEmitter,
    op: StructuredOp,
    spread: Spread,
    known: Mapping[SSAValue, Tile | None] | None = None,
) -> Tile:
    """Emit the scalar body of an op; what it yields, with exactly the dims of `spread`.

    `known` are values of the body that need not be loaded or computed, and their tiles (None for
    those that are not asked for).
    """
    known = known or {}
    values: dict[SSAValue, Operand] = {v: tile for v, tile in known.items() if tile is not None}
    for index, argument in enumerate(op.body.args):
        if argument not in known and argument.uses.get_length():
            values[argument] = kernel.input_tile(op, index)
    open_ = [s for s in op.body.ops if s.results and s.results[0] not in known]
    emit_scalars(kernel, open_, values)
    return _Body(kernel, values).tile(values[op.yielded], spread, op.yielded.type)


def emit_scalars(
    kernel: KernelEmitter, scalars: Iterable[Operation], values: dict[SSAValue, Operand]
) -> None:
    """Emit ops of a scalar body on the tiles in `values`, and add their results to it."""
    body = _Body(kernel, values)
    for scalar in scalars:
        values[scalar.results[0]] = body.emit(scalar)


class _Body:
    """Emits the ops of one scalar body."""

    def __init__(self, kernel: KernelEmitter, values: dict[SSAValue, Operand]) -> None:
        self.kernel, self.emit_op, self.values = kernel, kernel.emit_op, values

    def emit(self, scalar: Operation) -> Operand:
        """Emit one scalar op; PassError for one without a vector instruction."""
        kind = type(scalar)
        if isinstance(scalar, arith.ConstantOp) and isinstance(scalar.value, FloatAttr):
            return Constant(scalar.value)
        if isinstance(scalar, arith.ConstantOp):
            raise PassError(
                f"the integer constant {scalar.value} has no vector form yet",
                where=self.kernel.where,
                hint="make it an input of the model, or compute in floats",
            )
        operands = [self.values[o] for o in scalar.operands]
        type_ = scalar.results[0].type
        if kind in BINARY:
            return self.binary(BINARY[kind], operands[0], operands[1], type_)
        if kind is arith.NegfOp:
            minus_one = Constant(FloatAttr(-1.0, self.float_type(type_)))
            return self.binary(Binary.MUL, operands[0], minus_one, type_)
        if kind in UNARY:
            source = self.materialised(operands[0], scalar.operands[0].type)
            target = self.kernel.alloc(type_, source.spread)
            self.emit_op(UnaryOp(UNARY[kind], source.buffer, target))
            return Tile(target, source.spread)
        if kind in CASTS:
            source = self.materialised(operands[0], scalar.operands[0].type)
            target = self.kernel.alloc(type_, source.spread)
            self.emit_op(CastOp(source.buffer, target, toward_zero=kind is arith.FPToSIOp))
            return Tile(target, source.spread)
        known = ", ".join(sorted(k.name for k in (*BINARY, *UNARY, *CASTS)))
        raise PassError(
            f"'{scalar.name}' has no vector instruction",
            where=self.kernel.where,
            hint=f"expand it first into {known}",
        )

    def binary(self, kind: Binary, lhs: Operand, rhs: Operand, type_: Attribute) -> Tile:
        """Emit `lhs kind rhs`, in the scalar form where one is a constant and there is a form."""
        if kind == Binary.SUB and isinstance(rhs, Constant):
            kind, rhs = Binary.ADD, Constant(FloatAttr(-rhs.value.value.data, rhs.value.type))
        if kind in SCALAR_KINDS and isinstance(lhs, Constant):
            lhs, rhs = rhs, lhs
        if kind in SCALAR_KINDS and isinstance(rhs, Constant):
            source = self.materialised(lhs, type_)
            target = self.kernel.alloc(type_, source.spread)
            self.emit_op(ScalarOp(kind, source.buffer, rhs.value, target))
            return Tile(target, source.spread)
        left = self.materialised(lhs, type_, beside=rhs)
        right = self.materialised(rhs, type_, beside=lhs)
        spread = left.spread.join(right.spread)
        target = self.kernel.alloc(type_, spread)
        left_buffer, left_mode = self.spread_source(left, spread)
        right_buffer, right_mode = self.spread_source(right, spread)
        self.emit_op(
            BinaryOp(
                kind, left_buffer, right_buffer, target, lhs_mode=left_mode, rhs_mode=right_mode
            )
        )
        return Tile(target, spread)

    def spread_source(self, tile: Tile, spread: Spread) -> tuple[SSAValue, Mode]:
        """The buffer and mode by which a tile is read in an op over a wider tile."""
        if tile.spread == spread:
            return tile.buffer, Mode.FULL
        if tile.spread.col:
            return tile.buffer, Mode.ROW
        blocks = self.kernel.blocks
        if tile.buffer not in blocks:
            source = tile.buffer.type
            assert isinstance(source, BufferType)
            shape = (*source.dims, source.c0)
            target = self.emit_op.alloc(BufferType.of(shape, source.element_type, "ub"))
            self.emit_op(BroadcastOp(tile.buffer, target))
            blocks[tile.buffer] = target
        return blocks[tile.buffer], Mode.BLOCK

    def materialised(
        self, operand: Operand, type_: Attribute, beside: Operand | None = None
    ) -> Tile:
        """A buffer for the operand; a constant becomes a row, or a column if `beside` is one."""
        if isinstance(operand, Tile):
            return operand
        spread = Spread(False, True)
        if isinstance(beside, Tile) and not beside.spread.col:
            spread = beside.spread
        target = self.kernel.alloc(type_, spread)
        self.emit_op(FillOp(target, operand.value))
        return Tile(target, spread)

    def tile(self, operand: Operand, spread: Spread, type_: Attribute) -> Tile:
        """The operand with exactly these dims: spread by adding it to zeros of the full shape.

        The zeros are negative, so that a negative zero keeps its sign.
        """
        source = self.materialised(operand, type_)
        if source.spread == spread:
            return source
        zeros = self.kernel.alloc(type_, spread)
        self.emit_op(FillOp(zeros, FloatAttr(-0.0, self.float_type(type_))))
        return self.binary(Binary.ADD, Tile(zeros, spread), source, type_)

    def float_type(self, type_: Attribute) -> AnyFloat:
        """The type, which must be a float's: PassError for what has no integer form yet."""
        if not isinstance(type_, AnyFloat):
            raise PassError(
                f"a value of type {type_} cannot be spread over a tile yet",
                where=self.kernel.where,
                hint="compute in floats, or expand the tensor in the model",
            )
        return type_

    def reduce(self, op: StructuredOp, source: Tile) -> Tile:
        """Reduce along the columns, which are in one piece."""
        assert op.combiner is not None
        if op.combiner not in tuple(Reduce):
            raise PassError(
                f"a reduction by '{op.combiner}' has no vector instruction",
                where=self.kernel.where,
                hint=f"there are {', '.join(Reduce)}",
            )
        spread = Spread(source.spread.row, False)
        type_ = BufferType.of(self.kernel.dims(spread), op.yielded.type, "ub")
        target, scratch = self.emit_op.alloc(type_), self.emit_op.alloc(type_)
        cols = self.kernel.space.extents[self.kernel.geometry.col]
        self.emit_op(
            ReduceOp(Reduce(op.combiner), source.buffer, target, cols=cols, scratch=scratch)
        )
        return Tile(target, spread)
