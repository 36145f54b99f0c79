"""Buffers and the ops that move bytes between memory spaces."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import Array, to_numpy
from ..core.errors import ExecutionError
from ..core.kernels.cast import cast
from ..core.ops import EffectOp
from .types import BufferType

if TYPE_CHECKING:
    from ..core.interpreter import Frame

PIPES: dict[tuple[str, str], str] = {
    ("gm", "l1"): "MTE2",
    ("gm", "ub"): "MTE2",
    ("l1", "l0a"): "MTE1",
    ("l1", "l0b"): "MTE1",
    ("l0c", "ub"): "V",
    ("ub", "ub"): "V",
    ("ub", "gm"): "MTE3",
}
"""Pipe that carries a copy, by source and destination space."""


def buffer_type(value: SSAValue) -> BufferType:
    """Type of a buffer operand; the op definitions guarantee it."""
    assert isinstance(value.type, BufferType)
    return value.type


def unwritten(type_: BufferType) -> Array:
    """A fresh buffer's value: NaN, or the smallest integer, so that a read before a write shows."""
    dtype = to_numpy(type_.dtype)
    poison = np.iinfo(dtype).min if dtype.kind in "iu" else np.nan
    return np.full(type_.dims, poison, dtype)


@irdl_op_definition
class AllocOp(EffectOp):
    """A buffer; in a kernel, each execution takes the next of `depth` slots.

    ```mlir
    %b = tile.alloc {depth = 2 : i64, address = 4096 : i64} : !tile.buffer<16x64xf16, ub>
    ```

    `depth` and `address` (bytes) are absent until the passes that decide them. The slot is the
    number of executions so far, counted over the whole enclosing loop nest, modulo `depth`.
    """

    name = "tile.alloc"
    depth = opt_prop_def(IntegerAttr)
    address = opt_prop_def(IntegerAttr)
    buffer = result_def(BufferType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($buffer)"

    def __init__(self, type_: BufferType) -> None:
        super().__init__(result_types=[type_])

    @property
    def slots(self) -> int:
        """Number of slots; 1 until a pass decides otherwise."""
        return self.depth.value.data if self.depth else 1

    def decide(self, *, depth: int | None = None, address: int | None = None) -> None:
        """Record a planning decision: slots, first byte."""
        if depth is not None:
            self.depth = IntegerAttr(depth, i64)
        if address is not None:
            self.address = IntegerAttr(address, i64)

    def verify_(self) -> None:
        """Depth and address are in range."""
        if self.slots < 1:
            raise VerifyException(f"a buffer has at least one slot, not {self.slots}")
        if self.address and self.address.value.data % 32:
            raise VerifyException(f"address {self.address.value.data} is not a multiple of 32")

    def run(self, frame: "Frame") -> None:
        """A fresh buffer, whatever slot it takes."""
        frame.set(self.buffer, unwritten(buffer_type(self.buffer)))


@irdl_op_definition
class SubviewOp(EffectOp):
    """Rows of a UB buffer under a name of their own: no copy, no code but the address.

    ```mlir
    %v = tile.subview %u[%row]
      : !tile.buffer<26x64xf32, ub> to !tile.buffer<12x64xf32, ub, strides [128, 1]>
    ```

    The result starts at row `row`, which may be known at run time only; its type says how many rows
    there are and, by their stride, which ones: here every second. A result of rank 1 is one row.
    """

    name = "tile.subview"
    source = operand_def(BufferType)
    row = operand_def(IndexType())
    target = result_def(BufferType)
    assembly_format = "$source `[` $row `]` attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, row: SSAValue, rows: int | None, step: int = 1) -> None:
        type_ = buffer_type(source)
        cols = type_.dims[-1]
        target = BufferType.of(
            (cols,) if rows is None else (rows, cols),
            type_.element_type,
            "ub",
            strides=() if step == 1 else (step * type_.padded_cols, 1),
        )
        super().__init__(operands=[source, row], result_types=[target])

    @property
    def step(self) -> int:
        """Rows of the source from one row of the result to the next."""
        return buffer_type(self.target).row_bytes // buffer_type(self.source).row_bytes

    def verify_(self) -> None:
        """Rows of a plain buffer in UB, whole ones, not more than there are."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        for type_ in (source, target):
            if type_.space.data != "ub" or type_.layout.data != "nd":
                raise VerifyException(f"a sub-view is of rows in ub, not {type_}")
        if len(source.dims) != 2 or source.strides.data:
            raise VerifyException(f"a sub-view is of a whole buffer of rank 2, not {source}")
        if target.dims[-1] != source.dims[-1] or target.element_type != source.element_type:
            raise VerifyException(f"the rows of {source} are not those of {target}")
        rows = target.dims[0] if len(target.dims) == 2 else 1
        if target.row_bytes % source.row_bytes or (rows - 1) * self.step >= source.dims[0]:
            raise VerifyException(f"{source} has no {rows} rows {target.row_bytes} bytes apart")

    def run(self, frame: "Frame") -> None:
        """An alias: what is written to it is written to the source."""
        source, start = frame.get(self.source), int(frame.get(self.row))
        dims = buffer_type(self.target).dims
        rows, step = dims[0] if len(dims) == 2 else 1, self.step
        taken = source[start : start + (rows - 1) * step + 1 : step]
        if start < 0 or len(taken) != rows:
            raise ExecutionError(f"rows {start} and on, {rows} of them, are not in {source.shape}")
        frame.set(self.target, taken if len(dims) == 2 else taken[0])


def uses_of(buffer: SSAValue) -> Iterator[Operation]:
    """The ops that touch a buffer, also through sub-views."""
    for use in buffer.uses:
        if isinstance(use.operation, SubviewOp):
            yield from uses_of(use.operation.target)
        else:
            yield use.operation


@irdl_op_definition
class CopyOp(EffectOp):
    """Copy a rectangle between two buffers; the two spaces say the path.

    ```mlir
    tile.copy %gm[%i, %k] -> %l1[%c0, %c0] valid [%m, %n]
      : !tile.buffer<64x64xf16, gm> to !tile.buffer<16x32xf16, l1>
    ```

    * Offsets and sizes are in elements; no offsets means zeros, no `valid` the whole destination.
      Elements outside the valid rectangle of a fresh destination stay unwritten.
    * A GM side may have more axes than the rectangle: `axes` names the GM axis of each axis of the
      rectangle (default: the last ones); the other GM axes have size 1 there.
    * `transpose` swaps the two axes on the way (l1 to l0a or l0b): `valid` is in the destination's
      axes, the source offsets in the source's.
    * The drain (l0c to ub) may narrow the element type, rounding to nearest even.
    """

    name = "tile.copy"
    source = operand_def(BufferType)
    source_offsets = var_operand_def(IndexType())
    target = operand_def(BufferType)
    target_offsets = var_operand_def(IndexType())
    valid = var_operand_def(IndexType())
    axes = opt_prop_def(DenseArrayBase.constr(i64))
    transpose = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$source (`[` $source_offsets^ `]`)? `->` $target (`[` $target_offsets^ `]`)? "
        "(`valid` `[` $valid^ `]`)? attr-dict `:` type($source) `to` type($target)"
    )

    def __init__(
        self,
        source: SSAValue,
        target: SSAValue,
        *,
        source_offsets: Sequence[SSAValue] = (),
        target_offsets: Sequence[SSAValue] = (),
        valid: Sequence[SSAValue] = (),
        axes: Sequence[int] | None = None,
        transpose: bool = False,
    ) -> None:
        super().__init__(
            operands=[source, source_offsets, target, target_offsets, valid],
            properties={
                "axes": None if axes is None else DenseArrayBase.from_list(i64, axes),
                "transpose": UnitAttr() if transpose else None,
            },
        )

    @property
    def pipe(self) -> str:
        """Pipe that carries the copy."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        return PIPES[source.space.data, target.space.data]

    @property
    def rectangle_rank(self) -> int:
        """Axes of the copied rectangle: those of the on-chip side."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        return len(target.dims if source.space.data == "gm" else source.dims)

    @property
    def gm_axes(self) -> tuple[int, ...]:
        """GM axis of each axis of the rectangle."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        gm = source if source.space.data == "gm" else target
        if self.axes is not None:
            return tuple(self.axes.get_values())
        rank = len(gm.dims)
        return tuple(range(rank - self.rectangle_rank, rank))

    def verify_(self) -> None:
        """The path exists; offsets, sizes and axes fit the ranks; only a drain converts."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        path = (source.space.data, target.space.data)
        if path not in PIPES:
            known = ", ".join(f"{a} to {b}" for a, b in PIPES)
            raise VerifyException(
                f"there is no copy from {path[0]} to {path[1]}; there are {known}"
            )
        for what, values, rank in (
            ("source offsets", self.source_offsets, len(source.dims)),
            ("target offsets", self.target_offsets, len(target.dims)),
            ("valid sizes", self.valid, self.rectangle_rank),
        ):
            if values and len(values) != rank:
                raise VerifyException(f"{len(values)} {what} for {rank} axes")
        if source.element_type != target.element_type and path != ("l0c", "ub"):
            raise VerifyException(f"only a drain converts, not {path[0]} to {path[1]}")
        if self.transpose is not None and path not in (("l1", "l0a"), ("l1", "l0b")):
            raise VerifyException(f"{path[0]} to {path[1]} does not transpose")
        if self.axes is not None and len(self.gm_axes) != self.rectangle_rank:
            raise VerifyException(f"{len(self.gm_axes)} axes for {self.rectangle_rank} axes")

    def run(self, frame: "Frame") -> None:
        """Copy the valid rectangle."""
        source, target = frame.get(self.source), frame.get(self.target)
        sizes = [int(frame.get(v)) for v in self.valid] or list(
            source.shape if self.source_is_rectangle else target.shape
        )
        source_sizes = sizes[::-1] if self.transpose is not None else sizes
        taken = self._window(frame, source, self.source, self.source_offsets, source_sizes)
        if self.transpose is not None:
            taken = taken.T
        room = self._window(frame, target, self.target, self.target_offsets, sizes)
        dtype = buffer_type(self.target).dtype
        same = buffer_type(self.source).dtype == dtype
        room[...] = taken if same else cast(taken, dtype)

    @property
    def source_is_rectangle(self) -> bool:
        """Whether the rectangle has the source's axes (the destination is in GM)."""
        return buffer_type(self.target).space.data == "gm"

    def _window(
        self,
        frame: "Frame",
        array: Array,
        value: SSAValue,
        offsets: Sequence[SSAValue],
        sizes: Sequence[int],
    ) -> Array:
        """View of `sizes` elements of one side from its offsets on, in the rectangle's axes."""
        starts = [int(frame.get(o)) for o in offsets] or [0] * array.ndim
        if buffer_type(value).space.data != "gm":
            return array[tuple(slice(s, s + n) for s, n in zip(starts, sizes, strict=True))]
        axes = self.gm_axes
        index: list[int | slice] = list(starts)
        for axis, size in zip(axes, sizes, strict=True):
            index[axis] = slice(starts[axis], starts[axis] + size)
        window = array[tuple(index)]
        order = sorted(axes)
        return window.transpose([order.index(a) for a in axes])


@irdl_op_definition
class FillOp(EffectOp):
    """Write one value to every element of a UB buffer.

    ```mlir
    tile.fill %b, 0.0 : f32 : !tile.buffer<16x64xf32, ub>
    ```
    """

    name = "tile.fill"
    target = operand_def(BufferType)
    value = prop_def(FloatAttr)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$target `,` $value attr-dict `:` type($target)"

    def __init__(self, target: SSAValue, value: FloatAttr) -> None:
        super().__init__(operands=[target], properties={"value": value})

    def run(self, frame: "Frame") -> None:
        """Fill the buffer."""
        frame.get(self.target)[...] = self.value.value.data


@irdl_op_definition
class TapOp(EffectOp):
    """Says that a rectangle of a buffer is a part of a source tensor: no code, no cycles.

    ```mlir
    tile.tap %b at [%i, %j] valid [%m, %n]
      {core.origins = [[#core.origin<"fc1", "fc1_out">]]} : !tile.buffer<16x64xf32, ub>
    ```

    `at` is where the rectangle starts in the tensor (elements), with one entry an axis of the
    tensor; the buffer's axes are the tensor's axes `axes` (default: the last ones). From taps the
    checker puts tensors together again at the tile level.
    """

    name = "tile.tap"
    buffer = operand_def(BufferType)
    at = var_operand_def(IndexType())
    valid = var_operand_def(IndexType())
    axes = opt_prop_def(DenseArrayBase.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$buffer (`at` `[` $at^ `]`)? (`valid` `[` $valid^ `]`)? attr-dict `:` type($buffer)"
    )

    def __init__(
        self,
        buffer: SSAValue,
        at: Sequence[SSAValue],
        valid: Sequence[SSAValue],
        axes: Sequence[int],
        origins: Attribute,
    ) -> None:
        super().__init__(
            operands=[buffer, at, valid],
            properties={"axes": DenseArrayBase.from_list(i64, axes)},
            attributes={"core.origins": origins},
        )

    def run(self, frame: "Frame") -> None:
        """A mark: nothing happens."""
