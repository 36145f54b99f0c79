"""What a tile sees of an image through windows: one patch in UB, read by a sub-view a tap.

```
image rows under the tile     0 | p . . . . . p |     output position (i, j), i of `down`, j of
(down 3, across 7):           1 | p x x x x x p |     `across`, reads at tap (kh, kw) image row
                              2 | p x x x x x p |     i * stride + kh * dilation, and so on
```

The patch holds the rows of the image under all windows of the tile, `pitch` elements of the image
(rows of UB) each. Only what is in the tensor is loaded; padding `p` gets its value afterwards, so
that the load of the next patch need not wait for the work on this one.

A tap sees its elements `stride` rows of UB apart, from one start on. For that to hold over several
output rows too, image rows that are `stride` apart lie side by side: row g is at
`g mod stride * depth + g / stride`. And the pitch is `stride` times the `pitch` of the result: a
result may have elements between its rows that mean nothing, and are left behind in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import Axis, StructuredOp
from ...dialects.tile.memory import CopyOp, FillOp, SubviewOp
from ...dialects.tile.types import BufferType
from .contraction_dims import is_product
from .patch_shape import NO_TAP, PatchShape, Reach

if TYPE_CHECKING:
    from .kernel import KernelEmitter

NEUTRAL = {"add": 0.0, "mul": 1.0, "max": -inf, "min": inf}
"""What joins without effect, by combiner."""


def neutral(kernel: KernelEmitter, combiner: str, type_: Attribute) -> FloatAttr:
    """The neutral element of a combiner; PassError for integers, which have no fill yet."""
    if not isinstance(type_, AnyFloat):
        raise PassError(
            f"a reduction of {type_} around an accumulator is not supported yet",
            where=kernel.where,
            hint="compute in floats, or reduce along the last axis",
        )
    return FloatAttr(NEUTRAL[combiner], type_)


class Patch:
    """Emits the load of a patch, and what a tap sees of it."""

    def __init__(
        self, kernel: KernelEmitter, op: StructuredOp, index: int, shape: PatchShape
    ) -> None:
        self.kernel, self.shape = kernel, shape
        self.combiner = op.combiner if op.combiner and not is_product(op) else "add"
        self.value = op.inputs[index]
        self.axes = kernel.space.axes_of_use(op, index)

    @property
    def rows(self) -> int:
        """Rows of the whole patch."""
        return self.shape.rows

    def load(self) -> SSAValue:
        """A buffer with what the image has of the current tile's patch."""
        kernel, emit, shape = self.kernel, self.kernel.emit_op, self.shape
        element_type = tensor_type(self.value).element_type
        cols = kernel.tiles[kernel.geometry.col]
        buffer = emit.alloc(BufferType.of((shape.rows, cols), element_type, "ub"))
        across, zero = shape.across, emit.constant(0)
        start, left, right = self._edges(across)
        inside = emit.constant(across.length)
        if across.reaches_out:
            inside = emit.maximum(zero, emit.sub(emit.sub(inside, left), right))
            start = self._clamped(start, across)
        offsets = kernel.gm_offsets(self.axes)
        offsets[-2] = start
        lines, one = emit.constant(shape.lines), emit.constant(1)
        with emit.loop("g", zero, lines, one) as line:
            count = inside
            if shape.down is not None:
                place = emit.add(self._start(shape.down), line)
                if shape.down.reaches_out:
                    count = emit.product(count, self._is_inside(place, shape.down))
                    place = self._clamped(place, shape.down)
                offsets[-3] = place
            row = emit.add(emit.mul(self._stored(line), shape.pitch), left)
            emit(
                CopyOp(
                    kernel.gm[self.value],
                    buffer,
                    source_offsets=offsets,
                    target_offsets=[row, zero],
                    valid=[count, kernel.sizes[kernel.geometry.col]],
                )
            )
        return buffer

    def view(self, buffer: SSAValue, taps: Mapping[int, SSAValue]) -> SSAValue:
        """What one of the taps at hand sees, of the patch or of something made from all of it."""
        emit, shape = self.kernel.emit_op, self.shape
        window = shape.across.window
        row = emit.constant(0)
        if window.tap != NO_TAP:
            row = emit.mul(taps[window.tap], window.dilation)
        if shape.down is not None and shape.down.window.tap != NO_TAP:
            window = shape.down.window
            line = emit.mul(taps[window.tap], window.dilation)
            row = emit.add(emit.mul(self._stored(line), shape.pitch), row)
        step = shape.across.window.stride
        return emit(SubviewOp(buffer, row, shape.results, step)).target

    def _stored(self, line: SSAValue) -> SSAValue:
        """Where an image row of the patch lies, in image rows."""
        emit, phases = self.kernel.emit_op, self.shape.phases
        if phases == 1:
            return line
        phase = emit.mul(emit.rem(line, phases), self.shape.depth)
        return emit.add(phase, emit.div(line, phases))

    def _start(self, reach: Reach) -> SSAValue:
        """The first element of an axis of the image that the tile sees; negative in padding."""
        emit, window = self.kernel.emit_op, reach.window
        start = emit.mul(self.kernel.offsets[window.point], window.stride)
        if reach.taps < reach.all_taps:
            tap = emit.mul(self.kernel.offsets[window.tap], window.dilation)
            start = emit.add(start, tap)
        return emit.sub(start, emit.constant(window.before)) if window.before else start

    def _edges(self, reach: Reach) -> tuple[SSAValue, SSAValue, SSAValue]:
        """The first element, and how many lie before and behind the image."""
        emit, zero = self.kernel.emit_op, self.kernel.emit_op.constant(0)
        start = self._start(reach)
        if not reach.reaches_out:
            return start, zero, zero
        length = emit.constant(reach.length)
        before = emit.minimum(emit.maximum(zero, emit.sub(zero, start)), length)
        end = emit.sub(emit.add(start, length), emit.constant(reach.extent))
        return start, before, emit.minimum(emit.maximum(zero, end), length)

    def _clamped(self, place: SSAValue, reach: Reach) -> SSAValue:
        """The element of the image that is nearest."""
        emit = self.kernel.emit_op
        last = emit.constant(reach.extent - 1)
        return emit.maximum(emit.constant(0), emit.minimum(place, last))

    def _is_inside(self, place: SSAValue, reach: Reach) -> SSAValue:
        """1 if there is such an element, else 0."""
        emit, zero, one = self.kernel.emit_op, *map(self.kernel.emit_op.constant, (0, 1))
        late = emit.minimum(one, emit.maximum(zero, emit.add(place, one)))
        ahead = emit.maximum(zero, emit.sub(emit.constant(reach.extent), place))
        return emit.product(late, emit.minimum(one, ahead))

    def complete(self, buffer: SSAValue) -> None:
        """Give the elements outside the image a value without effect: whole rows, then columns."""
        emit, shape = self.kernel.emit_op, self.shape
        reaches = [r for r in (shape.down, shape.across) if r is not None and r.reaches_out]
        if not reaches:
            return
        lines = shape.phases * shape.depth
        padding = neutral(self.kernel, self.combiner, tensor_type(self.value).element_type)

        def whole(line: SSAValue) -> None:
            row = emit.mul(self._stored(line), shape.pitch)
            emit(FillOp(emit(SubviewOp(buffer, row, shape.pitch)).target, padding))

        def column(number: SSAValue) -> None:
            emit(FillOp(emit(SubviewOp(buffer, number, lines, shape.pitch)).target, padding))

        if shape.down in reaches:
            assert shape.down is not None
            _, top, bottom = self._edges(shape.down)
            self._from_both_ends(top, bottom, shape.lines, whole)
        if shape.across in reaches:
            _, left, right = self._edges(shape.across)
            self._from_both_ends(left, right, shape.across.length, column)

    def _from_both_ends(
        self, first: SSAValue, last: SSAValue, length: int, body: Callable[[SSAValue], None]
    ) -> None:
        """Emit `body` for the numbers of the first and the last of `length` elements."""
        emit, zero, one = self.kernel.emit_op, *map(self.kernel.emit_op.constant, (0, 1))
        with emit.loop("p", zero, first, one) as number:
            body(number)
        with emit.loop("p", zero, last, one) as number:
            body(emit.sub(emit.constant(length - 1), number))


class TapRows:
    """Emits the load of a value with one row a tap, as a filter, and the row of a tap."""

    def __init__(self, kernel: KernelEmitter, op: StructuredOp, index: int, run: range) -> None:
        self.kernel, self.run = kernel, run
        self.value = op.inputs[index]
        self.axes = kernel.space.axes_of_use(op, index)
        self.dims = [a for a in self.axes[run.start : run.stop] if isinstance(a, int)]

    @property
    def rows(self) -> int:
        """All taps."""
        return prod(self.kernel.space.extents[d] for d in self.dims)

    def load(self) -> SSAValue:
        """A buffer with all rows, of the current tile of columns."""
        kernel, emit = self.kernel, self.kernel.emit_op
        type_ = tensor_type(self.value)
        shape, first = type_.get_shape(), self.run.start
        cols = kernel.tiles[kernel.geometry.col]
        buffer = emit.alloc(BufferType.of((self.rows, cols), type_.element_type, "ub"))
        axes: list[Axis] = [*self.axes[:first], None, *self.axes[self.run.stop :]]
        emit(
            CopyOp(
                kernel.reshaped(
                    kernel.gm[self.value], (*shape[:first], self.rows, *shape[self.run.stop :])
                ),
                buffer,
                source_offsets=kernel.gm_offsets(axes),
                target_offsets=[emit.constant(0)] * 2,
                valid=[emit.constant(self.rows), kernel.sizes[kernel.geometry.col]],
            )
        )
        return buffer

    def complete(self, buffer: SSAValue) -> None:
        """All of it is loaded."""

    def view(self, buffer: SSAValue, taps: Mapping[int, SSAValue]) -> SSAValue:
        """The row of the current tap, wherever the taps at hand start."""
        del taps
        kernel, emit = self.kernel, self.kernel.emit_op
        row = kernel.offsets[self.dims[0]]
        for dim in self.dims[1:]:
            row = emit.add(emit.mul(row, kernel.space.extents[dim]), kernel.offsets[dim])
        return emit(SubviewOp(buffer, row, None)).target
