"""Arithmetic of the vector unit on tiles.

Every op writes a destination buffer it is given and runs on whole UB buffers of rank 1 or 2; what
lies beyond a ragged tile's valid size is computed and never stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import Array
from ..core.kernels import elementwise, reduce
from ..core.kernels.cast import cast
from ..core.ops import EffectOp
from .kinds import (
    SCALAR_KINDS,
    Binary,
    BinaryAttr,
    Mode,
    ModeAttr,
    Reduce,
    ReduceAttr,
    Unary,
    UnaryAttr,
)
from .memory import buffer_type
from .types import FRACTAL_ROWS

if TYPE_CHECKING:
    from ..core.interpreter import Frame


def _same_shape(source: SSAValue, target: SSAValue) -> None:
    source_dims, target_dims = buffer_type(source).dims, buffer_type(target).dims
    if source_dims != target_dims:
        raise VerifyException(f"source is {list(source_dims)}, destination {list(target_dims)}")


def _in_ub(*values: SSAValue) -> None:
    for value in values:
        type_ = buffer_type(value)
        if type_.space.data != "ub" or len(type_.dims) not in (1, 2):
            raise VerifyException(f"a vector op takes UB buffers of rank 1 or 2, not {type_}")


class VectorOp(EffectOp):
    """Base of the vector ops: shared checks."""

    def buffers(self) -> tuple[SSAValue, ...]:
        """All buffer operands."""
        return tuple(self.operands)

    def verify_(self) -> None:
        """Operands lie in UB."""
        _in_ub(*self.buffers())


@irdl_op_definition
class UnaryOp(VectorOp):
    """One-source elementwise op; `copy` also turns a fractal (`nz`) buffer into rows.

    ```mlir
    tile.unary exp %x -> %y : !tile.buffer<16x64xf32, ub> to !tile.buffer<16x64xf32, ub>
    ```
    """

    name = "tile.unary"
    kind = prop_def(UnaryAttr)
    source = operand_def()
    target = operand_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kind $source `->` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, kind: Unary, source: SSAValue, target: SSAValue) -> None:
        super().__init__(operands=[source, target], properties={"kind": UnaryAttr(kind)})

    def verify_(self) -> None:
        """Same shape; only a copy changes the layout."""
        super().verify_()
        _same_shape(self.source, self.target)
        source, target = buffer_type(self.source), buffer_type(self.target)
        if source.element_type != target.element_type:
            raise VerifyException("tile.unary keeps the element type; use tile.cast")
        if source.layout != target.layout and self.kind.data != Unary.COPY:
            raise VerifyException(f"only a copy changes the layout, not {self.kind.data}")

    def run(self, frame: Frame) -> None:
        """Apply the kernel."""
        source = frame.get(self.source)
        kind = self.kind.data
        value = source if kind == Unary.COPY else getattr(elementwise, kind)(source)
        frame.get(self.target)[...] = value


@irdl_op_definition
class BinaryOp(VectorOp):
    """Two-source elementwise op with broadcast sources.

    ```mlir
    tile.binary add %x, %bias -> %y {rhs_mode = #tile<mode row>} : !tile.buffer<16x64xf32, ub>,
      !tile.buffer<64xf32, ub> to !tile.buffer<16x64xf32, ub>
    ```

    A source is `full` (the default: the destination's shape), `row` (rank 1, the same for every
    row) or `block` (`rows x 32 bytes`, each row filled with that row's value by `tile.broadcast`;
    a destination of rank 1 is one row).
    """

    name = "tile.binary"
    kind = prop_def(BinaryAttr)
    lhs = operand_def()
    rhs = operand_def()
    target = operand_def()
    lhs_mode = opt_prop_def(ModeAttr)
    rhs_mode = opt_prop_def(ModeAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $lhs `,` $rhs `->` $target attr-dict "
        "`:` type($lhs) `,` type($rhs) `to` type($target)"
    )

    def __init__(
        self,
        kind: Binary,
        lhs: SSAValue,
        rhs: SSAValue,
        target: SSAValue,
        *,
        lhs_mode: Mode = Mode.FULL,
        rhs_mode: Mode = Mode.FULL,
    ) -> None:
        super().__init__(
            operands=[lhs, rhs, target],
            properties={
                "kind": BinaryAttr(kind),
                "lhs_mode": None if lhs_mode == Mode.FULL else ModeAttr(lhs_mode),
                "rhs_mode": None if rhs_mode == Mode.FULL else ModeAttr(rhs_mode),
            },
        )

    @property
    def sources(self) -> tuple[tuple[SSAValue, Mode], tuple[SSAValue, Mode]]:
        """Both sources with their spread."""
        return (
            (self.lhs, self.lhs_mode.data if self.lhs_mode else Mode.FULL),
            (self.rhs, self.rhs_mode.data if self.rhs_mode else Mode.FULL),
        )

    def verify_(self) -> None:
        """Each source has the shape its mode asks for."""
        super().verify_()
        target = buffer_type(self.target)
        for source, mode in self.sources:
            type_ = buffer_type(source)
            want = {
                Mode.FULL: target.dims,
                Mode.ROW: target.dims[-1:],
                Mode.BLOCK: ((1, *target.dims)[-2], target.c0),
            }[mode]
            if type_.dims != want:
                raise VerifyException(
                    f"a '{mode}' source of {list(target.dims)} is {list(want)}, "
                    f"not {list(type_.dims)}"
                )
            if type_.element_type != target.element_type:
                raise VerifyException("sources and destination have one element type")

    def run(self, frame: Frame) -> None:
        """Apply the kernel to the spread sources."""
        lhs, rhs = (_spread(frame.get(source), mode) for source, mode in self.sources)
        frame.get(self.target)[...] = getattr(elementwise, self.kind.data)(lhs, rhs)


def _spread(array: Array, mode: Mode) -> Array:
    return array[:, :1] if mode == Mode.BLOCK else array


@irdl_op_definition
class ScalarOp(VectorOp):
    """Elementwise op with a constant as second source.

    ```mlir
    tile.scalar maximum %x, 0.0 : f32 -> %y
      : !tile.buffer<16x64xf32, ub> to !tile.buffer<16x64xf32, ub>
    ```
    """

    name = "tile.scalar"
    kind = prop_def(BinaryAttr)
    source = operand_def()
    value = prop_def(FloatAttr)
    target = operand_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $source `,` $value `->` $target attr-dict `:` type($source) `to` type($target)"
    )

    def __init__(self, kind: Binary, source: SSAValue, value: FloatAttr, target: SSAValue) -> None:
        super().__init__(
            operands=[source, target], properties={"kind": BinaryAttr(kind), "value": value}
        )

    def verify_(self) -> None:
        """The kind has a scalar form; shapes agree."""
        super().verify_()
        _same_shape(self.source, self.target)
        if self.kind.data not in SCALAR_KINDS:
            known = ", ".join(SCALAR_KINDS)
            raise VerifyException(f"'{self.kind.data}' has no scalar form; there are {known}")

    def run(self, frame: Frame) -> None:
        """Apply the kernel with the constant in the source's element type."""
        source = frame.get(self.source)
        scalar = np.asarray(self.value.value.data).astype(source.dtype)
        frame.get(self.target)[...] = getattr(elementwise, self.kind.data)(source, scalar)


@irdl_op_definition
class CastOp(VectorOp):
    """Change the element type, rounding to nearest even, saturating to integers.

    ```mlir
    tile.cast %x -> %y : !tile.buffer<16x64xf32, ub> to !tile.buffer<16x64xf16, ub>
    tile.cast %x -> %i {toward_zero} : !tile.buffer<16x64xf32, ub> to !tile.buffer<16x64xi32, ub>
    ```

    `toward_zero` cuts the fraction off floats that become integers, as `arith.fptosi` does.
    """

    name = "tile.cast"
    source = operand_def()
    target = operand_def()
    irdl_options = (ParsePropInAttrDict(),)
    toward_zero = opt_prop_def(UnitAttr)
    assembly_format = "$source `->` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue, *, toward_zero: bool = False) -> None:
        super().__init__(
            operands=[source, target],
            properties={"toward_zero": UnitAttr() if toward_zero else None},
        )

    @property
    def rounding(self) -> Literal["even", "zero"]:
        """How the value is rounded."""
        return "even" if self.toward_zero is None else "zero"

    def verify_(self) -> None:
        """Same shape, other element type."""
        super().verify_()
        _same_shape(self.source, self.target)

    def run(self, frame: Frame) -> None:
        """Convert."""
        frame.get(self.target)[...] = cast(
            frame.get(self.source), buffer_type(self.target).dtype, self.rounding
        )


@irdl_op_definition
class ReduceOp(VectorOp):
    """Reduce the first `cols` elements of each row to one (a rank-1 source is one row).

    ```mlir
    tile.reduce max %x scratch %s -> %y {cols = 10 : i64}
      : !tile.buffer<32x16xf32, ub>, !tile.buffer<32xf32, ub> to !tile.buffer<32xf32, ub>
    ```

    `scratch` (the destination's type) holds the partial results of rows wider than one vector.
    """

    name = "tile.reduce"
    kind = prop_def(ReduceAttr)
    source = operand_def()
    scratch = opt_operand_def()
    target = operand_def()
    cols = prop_def(IntegerAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kind $source (`scratch` $scratch^ `:` type($scratch))? `->` $target attr-dict "
        "`:` type($source) `to` type($target)"
    )

    def __init__(
        self,
        kind: Reduce,
        source: SSAValue,
        target: SSAValue,
        *,
        cols: int,
        scratch: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[source, scratch, target],
            properties={"kind": ReduceAttr(kind), "cols": IntegerAttr(cols, i64)},
        )

    def verify_(self) -> None:
        """The destination has one element a row."""
        super().verify_()
        source, target = buffer_type(self.source), buffer_type(self.target)
        if target.dims != (1, *source.dims)[-2:-1]:
            raise VerifyException(f"{list(source.dims)} does not reduce to {list(target.dims)}")
        if not 0 < self.cols.value.data <= source.dims[-1]:
            raise VerifyException(f"cols = {self.cols.value.data} of {source.dims[-1]} columns")
        if self.scratch and self.scratch.type != self.target.type:
            raise VerifyException("scratch has the destination's type")

    def run(self, frame: Frame) -> None:
        """Reduce along the last axis."""
        source = frame.get(self.source)[..., : self.cols.value.data]
        frame.get(self.target)[...] = getattr(reduce, f"reduce_{self.kind.data}")(source)


@irdl_op_definition
class BroadcastOp(VectorOp):
    """Fill one 32-byte block with each element: `[rows]` becomes `[rows, 32 bytes]`.

    ```mlir
    tile.broadcast %x -> %y : !tile.buffer<32xf32, ub> to !tile.buffer<32x8xf32, ub>
    ```
    """

    name = "tile.broadcast"
    source = operand_def()
    target = operand_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `->` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue) -> None:
        super().__init__(operands=[source, target])

    def verify_(self) -> None:
        """Destination is rows x one block."""
        super().verify_()
        source, target = buffer_type(self.source), buffer_type(self.target)
        if target.dims != (*source.dims, source.c0):
            raise VerifyException(f"{list(source.dims)} does not spread to {list(target.dims)}")

    def run(self, frame: Frame) -> None:
        """Repeat each element."""
        frame.get(self.target)[...] = frame.get(self.source)[:, None]


@irdl_op_definition
class TransposeOp(VectorOp):
    """Rows become columns, 16 by 16 (by 8 of 32 bits) elements at a time.

    ```mlir
    tile.transpose %x -> %y : !tile.buffer<16x64xf32, ub> to !tile.buffer<64x16xf32, ub>
    ```

    The source has a multiple of 16 rows, and columns that fill whole blocks of 32 bytes.
    """

    name = "tile.transpose"
    source = operand_def()
    target = operand_def()
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `->` $target attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, target: SSAValue) -> None:
        super().__init__(operands=[source, target])

    def verify_(self) -> None:
        """The sizes are swapped, and fill what one step takes."""
        super().verify_()
        source, target = buffer_type(self.source), buffer_type(self.target)
        if source.dims[::-1] != target.dims or source.element_type != target.element_type:
            raise VerifyException(f"{target} is not the transpose of {source}")
        if len(source.dims) != 2 or source.dims[0] % FRACTAL_ROWS or source.dims[1] % source.c0:
            raise VerifyException(
                f"a transpose takes rows by {FRACTAL_ROWS} and columns by {source.c0}, "
                f"not {list(source.dims)}"
            )

    def run(self, frame: Frame) -> None:
        """Swap the axes."""
        frame.get(self.target)[...] = frame.get(self.source).T
