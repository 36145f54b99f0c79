"""Sliding windows over tensors whose channels come last: convolution and pooling.

An axis of `size` elements with padding is read at `output * stride + tap * dilation`, counted from
the first padding element. A convolution and a sum read zeros from the padding, a maximum never
chooses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import Array, from_numpy
from .cast import cast
from .contract import matmul
from .elementwise import div
from .reduce import neutral, reduce_add, reduce_max

Ints = tuple[int, ...]

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_CHUNK = 1 << 23
"""Elements of windows that are laid out at once, so that large images do not fill the memory."""


class Windows(NamedTuple):
    """How windows lie over the spatial axes: one entry per axis in each field."""

    window: Ints
    strides: Ints
    dilations: Ints
    before: Ints
    after: Ints

    def reach(self, axis: int) -> int:
        """Elements from the first to the last tap of a window along an axis, both included."""
        return (self.window[axis] - 1) * self.dilations[axis] + 1

    def counts(self, sizes: Ints) -> Ints:
        """How many windows there are along each axis of a tensor of these spatial sizes.

        Less than 1 where not even one window fits.
        """
        return tuple(
            (size + self.before[axis] + self.after[axis] - self.reach(axis)) // self.strides[axis]
            + 1
            for axis, size in enumerate(sizes)
        )


def _chunks(x: Array, windows: Windows, fill: Any) -> Iterator[tuple[int, slice, Array]]:
    """Image number, rows of the output, and all windows of those: [rows.., taps.., channels]."""
    rank = len(windows.window)
    counts = windows.counts(x.shape[1:-1])
    row = math.prod((*counts[1:], *windows.window, x.shape[-1]))
    step = max(1, _CHUNK // max(1, row))
    for image in range(x.shape[0]):
        padded = _padded(x[image], windows, fill)
        strides = padded.strides[:rank]
        view = np.lib.stride_tricks.as_strided(
            padded,
            (*counts, *windows.window, x.shape[-1]),
            (
                *(a * b for a, b in zip(strides, windows.strides, strict=True)),
                *(a * b for a, b in zip(strides, windows.dilations, strict=True)),
                padded.strides[-1],
            ),
            writeable=False,
        )
        for first in range(0, counts[0], step):
            rows = slice(first, min(first + step, counts[0]))
            yield image, rows, view[rows]


def _wide(x: Array) -> np.dtype[Any]:
    """The type in which floats are summed."""
    return x.dtype if x.dtype == _F64 else _F32


def _padded(image: Array, windows: Windows, fill: Any) -> Array:
    """An image [sizes.., channels] in row-major order, with `fill` where its padding is."""
    sizes = image.shape[:-1]
    ends = tuple(map(sum, zip(windows.before, sizes, windows.after, strict=True)))
    result = np.full((*ends, image.shape[-1]), fill, image.dtype)
    inner = zip(windows.before, sizes, strict=True)
    result[tuple(slice(start, start + size) for start, size in inner)] = image
    return result


def convolution(x: Array, w: Array, windows: Windows, groups: int) -> Array:
    """x [n, sizes.., c] by w [taps.., c / groups, o] is [n, outputs.., o], summed in f32.

    Channels and outputs are split into `groups` equal runs; a run of outputs sees its run of
    channels only. f32, f16 and bf16 give f32, f64 gives f64.
    """
    outputs, depth = w.shape[-1], w[..., 0].size
    columns = outputs // groups
    factors = w.reshape(depth, groups, columns).transpose(1, 0, 2)
    counts = windows.counts(x.shape[1:-1])
    result = np.empty((x.shape[0], *counts, outputs), _wide(x))
    if groups == outputs == x.shape[-1]:
        _depthwise(x, w, windows, result)
        return result
    for image, rows, view in _chunks(x, windows, 0):
        points = math.prod(view.shape[: len(counts)])
        taps = math.prod(windows.window)
        patches = view.reshape(points, taps, groups, -1).transpose(2, 0, 1, 3)
        product = matmul(patches.reshape(groups, points, depth), factors)
        result[image, rows] = product.transpose(1, 0, 2).reshape(result[image, rows].shape)
    return result


def _depthwise(x: Array, w: Array, windows: Windows, result: Array) -> None:
    """Every channel by its own filter: products summed tap after tap."""
    wide = result.dtype
    taps = w.reshape(-1, w.shape[-1]).astype(wide)
    with np.errstate(all="ignore"):
        for image, rows, view in _chunks(x, windows, 0):
            total = result[image, rows]
            total[...] = 0
            for tap, place in enumerate(np.ndindex(*windows.window)):
                total += view[(*[slice(None)] * len(place), *place)].astype(wide) * taps[tap]


def _pool(x: Array, windows: Windows, fill: Any, reduction: Callable[[Array], Array]) -> Array:
    """Each window of each channel reduced to one element."""
    counts = windows.counts(x.shape[1:-1])
    result = np.empty((x.shape[0], *counts, x.shape[-1]), x.dtype)
    for image, rows, view in _chunks(x, windows, fill):
        taps = view.reshape(*view.shape[: len(counts)], -1, x.shape[-1])
        result[image, rows] = reduction(np.moveaxis(taps, -2, -1))
    return result


def pool_max(x: Array, windows: Windows) -> Array:
    """The maxima of the windows of x [n, sizes.., c]; NaN if one is NaN. Any numeric type."""
    return _pool(x, windows, neutral("max", x.dtype), reduce_max)


def pool_average(x: Array, windows: Windows, counts: Array) -> Array:
    """The sums of the windows of x [n, sizes.., c] by `counts` [outputs..], as x's float type.

    Computed in f32 for 16-bit floats and rounded once.
    """
    wide = x.astype(_wide(x))
    total = _pool(wide, windows, 0, reduce_add)
    return cast(div(total, counts[..., None].astype(total.dtype)), from_numpy(x.dtype))


def elements_in(windows: Windows, sizes: Ints, before: Ints, after: Ints) -> Array:
    """How many taps of each window lie on the tensor or the given padding of it: [outputs..], i64.

    `before` and `after` are at most those of `windows`.
    """
    total = np.ones((), np.int64)
    for axis, size in enumerate(sizes):
        starts = np.arange(windows.counts(sizes)[axis]) * windows.strides[axis]
        places = starts[:, None] + np.arange(windows.window[axis]) * windows.dilations[axis]
        places -= windows.before[axis]
        inside = (places >= -before[axis]) & (places < size + after[axis])
        total = np.multiply.outer(total, inside.sum(axis=1))
    return total
