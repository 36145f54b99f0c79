"""Convolutions: a `tensor.contract` that reads the images along windows, then bias and rounding."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects.graph.convolution import ConvOp
from ...dialects.tensor.ops import TransposeOp
from ...dialects.tensor.structured import Axis
from .contraction import add_and_round, contract
from .emit import Emitter, element_of, shape_of
from .windows import require_channels_last, window_axes


def convert_conv(emit: Emitter, op: ConvOp) -> SSAValue:
    """Dims are images, output positions, filters; then, summed, the taps and the channels.

    Filters of one channel each leave the channels out: a product without columns, vector work.
    """
    require_channels_last(op)
    channels, filters = shape_of(op.x)[-1], shape_of(op.w)[-1]
    if op.groups == 1:
        product = _dense(emit, op)
    elif op.groups == channels == filters:
        product = _depthwise(emit, op)
    else:
        return _grouped(emit, op)
    return add_and_round(emit, product, op.bias, element_of(op.out))


def _dense(emit: Emitter, op: ConvOp) -> SSAValue:
    """All filters see all channels: `[n, sizes.., c]` by `[taps.., c, o]`."""
    points, shape = len(op.window), shape_of(op.out)
    column = points + 1
    images, taps = _axes(op, column + 1)
    depth = column + 1 + len(taps)
    w = emit.view(op.w, [*(op.window if taps else ()), *shape_of(op.w)[-2:]])
    return contract(emit, op.x, [0, *images, depth], w, [*taps, depth, column], shape)


def _depthwise(emit: Emitter, op: ConvOp) -> SSAValue:
    """A filter for each channel: `[n, sizes.., c]` by `[taps.., c]`."""
    points, shape = len(op.window), shape_of(op.out)
    channel = points + 1
    taps = range(channel + 1, channel + 1 + points)
    w = emit.view(op.w, [*op.window, shape[-1]])
    images = window_axes(op, range(1, channel), taps)
    return contract(emit, op.x, [0, *images, channel], w, [*taps, channel], shape)


def _grouped(emit: Emitter, op: ConvOp) -> SSAValue:
    """Runs of filters see runs of channels: `[n, sizes.., g, c]` by `[g, taps.., c, o]`.

    The groups are merged with the filters of a group at the very end, by a view.
    """
    points, shape, groups = len(op.window), shape_of(op.out), op.groups
    group, column = points + 1, points + 2
    images, taps = _axes(op, column + 1)
    channel = column + 1 + len(taps)
    window = op.window if taps else ()
    split = [*window, op.depth, groups, shape[-1] // groups]
    inner = len(window)
    w = emit.add(
        TransposeOp.of(emit.view(op.w, split), [inner + 1, *range(inner), inner, inner + 2])
    )
    x = emit.view(op.x, [*shape_of(op.x)[:-1], groups, op.depth])
    parts = [*shape[:-1], groups, shape[-1] // groups]
    lhs, rhs = [0, *images, group, channel], [group, *taps, channel, column]
    product = contract(emit, x, lhs, w, rhs, parts)
    bias = None if op.bias is None else emit.view(op.bias, parts[-2:])
    return emit.view(add_and_round(emit, product, bias, element_of(op.out)), shape)


def _axes(op: ConvOp, first: int) -> tuple[Sequence[Axis], Sequence[int]]:
    """How the spatial axes of the images are read, and the dims of the taps, from `first` on.

    A filter of one tap that reads every element once walks the images as they are, without taps.
    """
    points = range(1, len(op.window) + 1)
    if set((*op.window, *op.strides)) == {1} and not any(op.pads):
        return points, ()
    taps = range(first, first + len(op.window))
    return window_axes(op, points, taps), taps
