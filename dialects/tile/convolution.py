"""What a convolution adds to a matrix product: its filter in L1, and im2col from L1 to L0A.

The reduced dim of the product runs over `(channel block, kernel row, kernel column, channel in the
block)`, a block being the channels in 32 bytes. That is the order in which the hardware's im2col
gives the columns of its matrix; `tile.load_filter` brings the filter's rows into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import Array
from ..core.ops import EffectOp
from .memory import PIPES, buffer_type
from .types import BufferType, round_up

if TYPE_CHECKING:
    from ..core.interpreter import Frame


def in_blocks(channels: Array, c0: int) -> Array:
    """`[taps, channels, ..]` as `[block, tap, channel in block, ..]`, filled up with zeros."""
    taps, count, *rest = channels.shape
    padded = np.zeros((taps, round_up(count, c0), *rest), channels.dtype)
    padded[:, :count] = channels
    return np.moveaxis(padded.reshape(taps, -1, c0, *rest), 1, 0)


@irdl_op_definition
class LoadFilterOp(EffectOp):
    """Load a filter from GM into L1 as a matrix with the rows in the order of im2col.

    ```mlir
    tile.load_filter %w[%zero, %c, %n] -> %l1 valid [%channels, %columns]
      : !tile.buffer<9x64x128xf16, gm> to !tile.buffer<288x128xf16, l1>
    ```

    The last axes of the source are taps (taken whole), channels and columns; offsets are in
    elements, one an axis. Channels that do not fill a block are filled up with zeros.
    """

    name = "tile.load_filter"
    source = operand_def(BufferType)
    source_offsets = var_operand_def(IndexType())
    target = operand_def(BufferType)
    channels = operand_def(IndexType())
    columns = operand_def(IndexType())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `[` $source_offsets `]` `->` $target `valid` `[` $channels `,` $columns `]` "
        "attr-dict `:` type($source) `to` type($target)"
    )

    def __init__(
        self,
        source: SSAValue,
        source_offsets: Sequence[SSAValue],
        target: SSAValue,
        valid: Sequence[SSAValue],
    ) -> None:
        super().__init__(operands=[source, source_offsets, target, *valid])

    @property
    def pipe(self) -> str:
        """Pipe that carries the load."""
        return PIPES["gm", "l1"]

    @property
    def taps(self) -> int:
        """Positions of the kernel."""
        return buffer_type(self.source).dims[-3]

    def verify_(self) -> None:
        """From GM to L1, whole blocks of channels for every tap."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        if (source.space.data, target.space.data) != ("gm", "l1") or len(source.dims) < 3:
            raise VerifyException("a filter is loaded from three or more axes in gm to l1")
        if len(self.source_offsets) != len(source.dims):
            raise VerifyException(f"{len(self.source_offsets)} offsets for {len(source.dims)} axes")
        if target.dims[0] % (self.taps * target.c0):
            raise VerifyException(
                f"{target.dims[0]} rows are not blocks of {target.c0} channels at {self.taps} taps"
            )
        if source.element_type != target.element_type:
            raise VerifyException("a load keeps the element type")

    def run(self, frame: Frame) -> None:
        """Copy, in blocks of channels."""
        starts = [int(frame.get(o)) for o in self.source_offsets]
        channels, columns = int(frame.get(self.channels)), int(frame.get(self.columns))
        *outer, _, channel, column = starts
        taken = frame.get(self.source)[tuple(outer)]
        taken = taken[:, channel : channel + channels, column : column + columns]
        rows = in_blocks(taken, buffer_type(self.target).c0).reshape(-1, columns)
        frame.get(self.target)[: len(rows), :columns] = rows


@irdl_op_definition
class Im2colOp(EffectOp):
    """Load a part of the im2col matrix of an image region in L1 into L0A.

    ```mlir
    tile.im2col %l1 -> %l0a region [%height, %top, %bottom, %channels] at [%i, %j] valid [%m, %k]
      {width = 28, kernel = [5, 5], strides = [1, 1], dilations = [1, 1], pads = [2, 2]}
      : !tile.buffer<252x16xf16, l1> to !tile.buffer<112x400xf16, l0a>
    ```

    The source holds `height` image rows of `width` elements, with `channels` valid channels (the
    others of the last block read as zeros). The region is padded with `top` and `bottom` rows and
    `pads` = (left, right) columns of zeros. Row `oh * out_width + ow` of the im2col matrix belongs
    to an output position of the region, its columns are in the order of the module's docstring;
    the part that starts at row `i`, column `j` is loaded.
    """

    name = "tile.im2col"
    source = operand_def(BufferType)
    target = operand_def(BufferType)
    height = operand_def(IndexType())
    top = operand_def(IndexType())
    bottom = operand_def(IndexType())
    channels = operand_def(IndexType())
    row = operand_def(IndexType())
    column = operand_def(IndexType())
    m = operand_def(IndexType())
    k = operand_def(IndexType())
    width = prop_def(IntegerAttr)
    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    pads = prop_def(DenseArrayBase.constr(i64))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$source `->` $target `region` `[` $height `,` $top `,` $bottom `,` $channels `]` "
        "`at` `[` $row `,` $column `]` `valid` `[` $m `,` $k `]` attr-dict "
        "`:` type($source) `to` type($target)"
    )

    def __init__(
        self,
        source: SSAValue,
        target: SSAValue,
        *,
        region: Sequence[SSAValue],
        at: Sequence[SSAValue],
        valid: Sequence[SSAValue],
        width: int,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
    ) -> None:
        """`region` is (height, top, bottom, channels); sizes along (rows, columns) of the image."""
        super().__init__(
            operands=[source, target, *region, *at, *valid],
            properties={
                "width": IntegerAttr(width, i64),
                "kernel": DenseArrayBase.from_list(i64, kernel),
                "strides": DenseArrayBase.from_list(i64, strides),
                "dilations": DenseArrayBase.from_list(i64, dilations),
                "pads": DenseArrayBase.from_list(i64, pads),
            },
        )

    @property
    def pipe(self) -> str:
        """Pipe that carries the load."""
        return PIPES["l1", "l0a"]

    @property
    def along(self) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Kernel size, stride and dilation along image rows and along image columns."""
        sizes = (self.kernel, self.strides, self.dilations)
        (kh, kw), (sh, sw), (dh, dw) = (x.get_values() for x in sizes)
        return (kh, sh, dh), (kw, sw, dw)

    def verify_(self) -> None:
        """From L1 to L0A, two sizes of each kind."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        if (source.space.data, target.space.data) != ("l1", "l0a"):
            raise VerifyException("im2col goes from l1 to l0a")
        if source.element_type != target.element_type:
            raise VerifyException("im2col keeps the element type")
        for name in ("kernel", "strides", "dilations", "pads"):
            if len(getattr(self, name).get_values()) != 2:
                raise VerifyException(f"{name} has two entries")
        if source.dims[0] % self.width.value.data:
            raise VerifyException(
                f"{source.dims[0]} rows of the buffer are no image rows of {self.width.value.data}"
            )

    def run(self, frame: Frame) -> None:
        """Pad, take the windows, and of their matrix the part that is asked for."""
        height, top, bottom, channels, row, column, m, k = (
            int(frame.get(v)) for v in self.operands[2:]
        )
        width, (left, right) = self.width.value.data, self.pads.get_values()
        (kh, sh, dh), (kw, sw, dw) = self.along
        source = frame.get(self.source)[: height * width, :channels]
        image = source.reshape(height, width, channels)
        padded = np.pad(image, ((top, bottom), (left, right), (0, 0)))
        rows = (len(padded) - dh * (kh - 1) - 1) // sh + 1
        columns = (padded.shape[1] - dw * (kw - 1) - 1) // sw + 1
        taps = [
            padded[y * dh :: sh, x * dw :: sw][:rows, :columns].reshape(-1, channels).T
            for y in range(kh)
            for x in range(kw)
        ]
        matrix = in_blocks(np.stack(taps), buffer_type(self.source).c0)
        matrix = matrix.reshape(-1, matrix.shape[-1]).T
        part = matrix[row : row + m, column : column + k]
        frame.get(self.target)[: part.shape[0], : part.shape[1]] = part
