"""The factors of a convolution: a region of the image through im2col, and the filter.

The tile's rows are output positions: several whole rows of the output image, or a part of one. L1
holds the rows of the input image under them, as wide as the image, and a tile of the channels.
The reduced dim of the product is `(channel block, kernel row, kernel column, channel)`, whole
blocks: channels that are missing from the last block are zeros in both factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import Window
from ...dialects.tile.convolution import Im2colOp, LoadFilterOp
from ...dialects.tile.memory import CopyOp
from ...dialects.tile.types import BufferType, round_up
from .contraction_dims import ContractionDims
from .geometry import ROW, Geometry

if TYPE_CHECKING:
    from .kernel import KernelEmitter

MAX_STRIDE, MAX_KERNEL, MAX_PAD = 63, 255, 255
"""Limits of the hardware's im2col: stride, kernel size and dilation, padding."""


def block_of(geometry: Geometry) -> int:
    """Channels in a block of 32 bytes."""
    assert geometry.contraction is not None
    type_ = tensor_type(geometry.contraction.op.inputs[geometry.contraction.lhs])
    return BufferType.of((1, 1), type_.element_type, "l1").c0


def reduced_tile(geometry: Geometry, sizes: Sequence[int]) -> int:
    """Elements of the product's reduced dim in a tile of these sizes."""
    dims = geometry.contraction
    assert dims is not None
    if not dims.windows:
        return sizes[dims.k]
    taps = prod(sizes[w.tap] for w in dims.windows)
    return taps * round_up(sizes[dims.k], block_of(geometry))


reduced_step = reduced_tile
"""Elements of the product's reduced dim in a step of these sizes."""


def region_rows(geometry: Geometry, tiles: Sequence[int]) -> int:
    """Image rows that L1 holds for a tile: at most those under its output rows."""
    dims = geometry.contraction
    assert dims is not None
    if len(dims.windows) == 1:
        return 1
    window = dims.windows[0]
    height = tensor_type(dims.op.inputs[dims.lhs]).get_shape()[image_axis(geometry)]
    points = tiles[window.point] if window.point in geometry.rows else 1
    return min(height, (points - 1) * window.stride + covered(geometry, window))


def covered(geometry: Geometry, window: Window) -> int:
    """Elements of the image under one position of the window."""
    return (geometry.space.extents[window.tap] - 1) * window.dilation + 1


def image_axis(geometry: Geometry) -> int:
    """The first axis of the left factor that is read through a window."""
    dims = geometry.contraction
    assert dims is not None
    axes = geometry.space.axes_of_use(dims.op, dims.lhs)
    return axes.index(dims.windows[0])


class Image:
    """The left factor: image rows to L1, their im2col matrix to L0A."""

    def __init__(self, kernel: KernelEmitter, dims: ContractionDims) -> None:
        self.kernel, self.dims = kernel, dims
        self.value = dims.op.inputs[dims.lhs]
        type_ = tensor_type(self.value)
        self.element_type, self.shape = type_.element_type, type_.get_shape()
        self.axes = kernel.space.axes_of_use(dims.op, dims.lhs)
        self.first = image_axis(kernel.geometry)
        self.across = dims.windows[-1]
        self.down = dims.windows[0] if len(dims.windows) > 1 else None
        self.width = self.shape[self.first + len(dims.windows) - 1]
        self._check()
        self.buffer: SSAValue | None = None
        self.region: list[SSAValue] = []

    def _check(self) -> None:
        """PassError for what the hardware's im2col does not take."""
        extents, where = self.kernel.space.extents, self.kernel.where
        for number, window in enumerate(self.dims.windows):
            size = covered(self.kernel.geometry, window)
            reach = (extents[window.point] - 1) * window.stride + size
            after = max(reach - window.before - self.shape[self.first + number], 0)
            limits = (
                ("stride", window.stride, MAX_STRIDE),
                ("kernel size", extents[window.tap], MAX_KERNEL),
                ("dilation", window.dilation, MAX_KERNEL),
                ("padding", max(window.before, after), min(MAX_PAD, size - 1)),
            )
            for what, value, most in limits:
                if value > most:
                    raise PassError(
                        f"a convolution with {what} {value} is not supported yet",
                        where=where,
                        why=f"im2col takes at most {most}",
                        hint=f"use a smaller {what}",
                    )

    def load(self) -> None:
        """The image rows under the tile, of the current tile of channels."""
        kernel, emit, geometry = self.kernel, self.kernel.emit_op, self.kernel.geometry
        channels = round_up(kernel.tiles[self.dims.k], block_of(geometry))
        rows = region_rows(geometry, kernel.tiles)
        self.buffer = emit.alloc(
            BufferType.of((rows * self.width, channels), self.element_type, "l1")
        )
        start, height, top, bottom = self._rows_under_tile()
        last = self.first + len(self.dims.windows)
        pixels = prod(self.shape[self.first : last])
        shape = (*self.shape[: self.first], pixels, *self.shape[last:])
        axes = (*self.axes[: self.first], None, *self.axes[last:])
        offsets = kernel.gm_offsets(axes)
        offsets[self.first] = emit.mul(start, self.width)
        size = kernel.sizes[self.dims.k]
        emit(
            CopyOp(
                kernel.reshaped(kernel.gm[self.value], shape),
                self.buffer,
                source_offsets=offsets,
                target_offsets=[emit.constant(0)] * 2,
                valid=[emit.mul(height, self.width), size],
                axes=[self.first, len(shape) - 1],
            )
        )
        self.region = [height, top, bottom, size]

    def _rows_under_tile(self) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
        """First image row, how many there are, and the rows of padding above and below."""
        kernel, emit, zero = self.kernel, self.kernel.emit_op, self.kernel.emit_op.constant(0)
        window = self.down
        if window is None:
            return zero, emit.constant(1), zero, zero
        height = emit.constant(self.shape[self.first])
        points = kernel.sizes[window.point] if window.point in kernel.geometry.rows else None
        size = emit.constant(covered(kernel.geometry, window))
        if points is not None:
            between = emit.mul(emit.sub(points, emit.constant(1)), window.stride)
            size = emit.add(between, size)
        start = emit.mul(kernel.offsets[window.point], window.stride)
        start = emit.sub(start, emit.constant(window.before))
        top = emit.maximum(zero, emit.sub(zero, start))
        end = emit.add(start, size)
        bottom = emit.maximum(zero, emit.sub(end, height))
        inside = emit.sub(emit.sub(size, top), bottom)
        return emit.maximum(zero, start), inside, top, bottom

    def step(self, start: SSAValue, size: SSAValue) -> SSAValue:
        """A step of the im2col matrix."""
        kernel, emit, geometry = self.kernel, self.kernel.emit_op, self.kernel.geometry
        assert self.buffer is not None
        step = reduced_step(geometry, kernel.schedule.step_sizes)
        shape = (kernel.extent(ROW), step)
        buffer = emit.alloc(BufferType.of(shape, self.element_type, "l0a"))
        across, extents = self.across, kernel.space.extents
        reach = (extents[across.point] - 1) * across.stride + covered(geometry, across)
        windows = (self.down, across)
        emit(
            Im2colOp(
                self.buffer,
                buffer,
                region=self.region,
                at=[kernel.offsets[across.point], start],
                valid=[kernel.sizes[ROW], size],
                width=self.width,
                kernel=[extents[w.tap] if w else 1 for w in windows],
                strides=[w.stride if w else 1 for w in windows],
                dilations=[w.dilation if w else 1 for w in windows],
                pads=[across.before, max(reach - across.before - self.width, 0)],
            )
        )
        return buffer


class Filter:
    """The right factor: its rows in the order of im2col to L1, a step of them to L0B."""

    def __init__(self, kernel: KernelEmitter, dims: ContractionDims) -> None:
        self.kernel, self.dims = kernel, dims
        self.value = dims.op.inputs[dims.rhs]
        type_ = tensor_type(self.value)
        self.element_type, self.shape = type_.element_type, type_.get_shape()
        self.buffer: SSAValue | None = None

    def load(self) -> None:
        """All taps of the current tile of channels."""
        kernel, emit, dims = self.kernel, self.kernel.emit_op, self.dims
        rows = reduced_tile(kernel.geometry, kernel.tiles)
        columns = kernel.tiles[dims.n]
        self.buffer = emit.alloc(BufferType.of((rows, columns), self.element_type, "l1"))
        axes = kernel.space.axes_of_use(dims.op, dims.rhs)
        first = axes.index(dims.windows[0].tap)
        last = first + len(dims.windows)
        shape = (*self.shape[:first], prod(self.shape[first:last]), *self.shape[last:])
        emit(
            LoadFilterOp(
                kernel.reshaped(kernel.gm[self.value], shape),
                kernel.gm_offsets((*axes[:first], None, *axes[last:])),
                self.buffer,
                [kernel.sizes[dims.k], kernel.sizes[dims.n]],
            )
        )

    def step(self, start: SSAValue, size: SSAValue) -> SSAValue:
        """L1 to L0B."""
        kernel, emit = self.kernel, self.kernel.emit_op
        assert self.buffer is not None
        zero, columns = emit.constant(0), kernel.tiles[self.dims.n]
        step = reduced_step(kernel.geometry, kernel.schedule.step_sizes)
        buffer = emit.alloc(BufferType.of((step, columns), self.element_type, "l0b"))
        emit(
            CopyOp(
                self.buffer,
                buffer,
                source_offsets=[start, zero],
                target_offsets=[zero, zero],
                valid=[size, kernel.sizes[self.dims.n]],
            )
        )
        return buffer
