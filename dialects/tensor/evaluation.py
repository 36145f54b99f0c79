"""Vectorised evaluation of an iteration space: the body runs once, on whole arrays.

1. An axis that is read along a window becomes two, of its position and of the position in it; they
   overlap in memory. Only the padding needs a copy.
2. Every input becomes a view in iteration order: axes permuted to the order of the dims, a new axis
   of size 1 for each dim its map leaves out. Nothing is copied.
3. The body is evaluated once over these views; numpy broadcasting is the iteration.
4. The reduction dims are joined by the combiner, in f32 for 16-bit floats, and rounded once.
5. The dims that are left are permuted to the order of the result's axes.

A sum of products over dims both factors share skips 3 and 4: it is a batched matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Block

from ..core.dtypes import Array, to_numpy
from ..core.interpreter import evaluate_block
from ..core.kernels.contract import matmul
from ..core.kernels.reduce import REDUCTIONS, Combiner, neutral
from .axes import Axis, Window
from .bodies import product_args


@dataclass(frozen=True)
class IterationPlan:
    """What evaluation needs to know of a structured op.

    `input_axes` and `result_axes` give the dim of each axis (None: an axis of size 1 without one)
    or the window over it, `reductions` the dims joined by `combiner`, `dtype` the name of the
    result's element type.
    """

    body: Block
    input_axes: tuple[tuple[Axis, ...], ...]
    result_axes: tuple[int | None, ...]
    extents: tuple[int, ...]
    reductions: tuple[int, ...]
    combiner: str | None
    dtype: str

    @property
    def parallels(self) -> tuple[int, ...]:
        """The dims that are not reduced, in order."""
        return tuple(d for d in range(len(self.extents)) if d not in self.reductions)


@dataclass(frozen=True)
class _Read:
    """An input whose windows are spread out: the dim of each axis of the array."""

    array: Array
    axes: tuple[int | None, ...]

    @property
    def dims(self) -> list[int]:
        """The dims it is read along, in the order of its axes."""
        return [a for a in self.axes if a is not None]


def evaluate_plan(plan: IterationPlan, args: Sequence[Array]) -> Array:
    """The result array; may be a read-only view of an input where nothing is computed."""
    factors = product_args(plan.body) if plan.combiner == "add" and len(args) == 2 else None
    combiner = None if factors is not None else cast("Combiner | None", plan.combiner)
    reads = [
        _spread(arg, axes, plan.extents, combiner)
        for arg, axes in zip(args, plan.input_axes, strict=True)
    ]
    if factors is not None and all(d in read.dims for d in plan.reductions for read in reads):
        value = _contract(plan, *(reads[factor] for factor in factors))
    else:
        views = [in_iteration_order(read.array, read.axes, len(plan.extents)) for read in reads]
        (value,) = evaluate_block(plan.body, views)
        value = _reduce(plan, np.asarray(value))
    return _in_result_order(plan, value).astype(to_numpy(plan.dtype), copy=False)


def _spread(
    array: Array, axes: Sequence[Axis], extents: Sequence[int], combiner: Combiner | None
) -> _Read:
    """The input with two axes, position and tap, for each window; padded first if it has to be.

    Padding is the neutral element of the combiner, 0 without one.
    """
    windows = {index: axis for index, axis in enumerate(axes) if isinstance(axis, Window)}
    if any(window.before or window.after for window in windows.values()):
        array = _padded(array, windows, combiner)
    shape: list[int] = []
    strides: list[int] = []
    dims: list[int | None] = []
    for index, axis in enumerate(axes):
        stride = array.strides[index]
        if isinstance(axis, Window):
            shape += [extents[axis.point], extents[axis.tap]]
            strides += [stride * axis.stride, stride * axis.dilation]
            dims += [axis.point, axis.tap]
        else:
            shape.append(array.shape[index])
            strides.append(stride)
            dims.append(axis)
    if windows:
        array = as_strided(array, shape, strides, writeable=False)
    return _Read(array, tuple(dims))


def _padded(array: Array, windows: dict[int, Window], combiner: Combiner | None) -> Array:
    shape = list(array.shape)
    inside = [slice(None)] * array.ndim
    for index, window in windows.items():
        shape[index] += window.before + window.after
        inside[index] = slice(window.before, window.before + array.shape[index])
    padded = np.full(shape, neutral(combiner or "add", array.dtype), array.dtype)
    padded[tuple(inside)] = array
    return padded


def in_iteration_order(array: Array, axes: Sequence[int | None], rank: int) -> Array:
    """A view with one axis per dim (size 1 where `axes` has no such dim)."""
    dims = [a for a in axes if a is not None]
    dropped = array[tuple(0 if a is None else slice(None) for a in axes)]
    ordered = dropped.transpose(sorted(range(len(dims)), key=dims.__getitem__))
    return ordered[tuple(slice(None) if d in dims else None for d in range(rank))]


def _reduce(plan: IterationPlan, value: Array) -> Array:
    """One axis per parallel dim (or size 1), the rest joined by the combiner."""
    if plan.combiner is None:
        return value
    parallels = plan.parallels
    full = np.broadcast_to(
        value, [n if d in plan.reductions else m for d, n, m in _sizes(plan, value)]
    )
    moved = full.transpose(*parallels, *plan.reductions)
    flat = moved.reshape(*moved.shape[: len(parallels)], -1)
    return REDUCTIONS[plan.combiner](flat)


def _sizes(plan: IterationPlan, value: Array) -> list[tuple[int, int, int]]:
    shape = (1,) * (len(plan.extents) - value.ndim) + value.shape
    return [(d, n, m) for d, (n, m) in enumerate(zip(plan.extents, shape, strict=True))]


def _in_result_order(plan: IterationPlan, value: Array) -> Array:
    parallels = plan.parallels
    full = np.broadcast_to(value, [plan.extents[d] for d in parallels])
    dims = [a for a in plan.result_axes if a is not None]
    ordered = full.transpose([parallels.index(d) for d in dims])
    return ordered[tuple(None if a is None else slice(None) for a in plan.result_axes)]


def _contract(plan: IterationPlan, left: _Read, right: _Read) -> Array:
    """Batched matrix product: dims of both are batch, of one alone its rows or columns."""
    lhs_dims, rhs_dims = set(left.dims), set(right.dims)
    parallels = plan.parallels
    batch = [d for d in parallels if d in lhs_dims and d in rhs_dims]
    rows = [d for d in parallels if d in lhs_dims and d not in rhs_dims]
    cols = [d for d in parallels if d in rhs_dims and d not in lhs_dims]
    size = plan.extents
    lhs = _matrix(plan, left, (batch, rows, plan.reductions))
    rhs = _matrix(plan, right, (batch, plan.reductions, cols))
    dims = [*batch, *rows, *cols]
    product = matmul(lhs, rhs).reshape([size[d] for d in dims])
    return in_iteration_order(product, [parallels.index(d) for d in dims], len(parallels))


def _matrix(plan: IterationPlan, read: _Read, parts: Sequence[Sequence[int]]) -> Array:
    """The input as `batch.. x rows x columns`, each part a list of dims (the batch dims stay)."""
    batch, rows, cols = parts
    dropped = read.array[tuple(0 if a is None else slice(None) for a in read.axes)]
    moved = dropped.transpose([read.dims.index(d) for d in (*batch, *rows, *cols)])
    size = plan.extents
    return moved.reshape(
        [*(size[d] for d in batch), prod(size[d] for d in rows), prod(size[d] for d in cols)]
    )
