"""Vectorised evaluation of an iteration space: the body runs once, on whole arrays.

1. Every input becomes a view in iteration order: axes permuted to the order of the dims, a new axis
   of size 1 for each dim its map leaves out. Nothing is copied.
2. The body is evaluated once over these views; numpy broadcasting is the iteration.
3. The reduction dims are joined by the combiner, in f32 for 16-bit floats, and rounded once.
4. The dims that are left are permuted to the order of the result's axes.

A sum of products over dims both factors share skips 2 and 3: it is a batched matrix product.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import Block

from ..core.dtypes import Array, to_numpy
from ..core.interpreter import evaluate_block
from ..core.kernels.contract import matmul
from ..core.kernels.reduce import REDUCTIONS
from .bodies import product_args


@dataclass(frozen=True)
class IterationPlan:
    """What evaluation needs to know of a structured op.

    `input_axes` and `result_axes` give the dim of each axis (None: an axis of size 1 without one),
    `reductions` the dims joined by `combiner`, `dtype` the name of the result's element type.
    """

    body: Block
    input_axes: tuple[tuple[int | None, ...], ...]
    result_axes: tuple[int | None, ...]
    extents: tuple[int, ...]
    reductions: tuple[int, ...]
    combiner: str | None
    dtype: str

    @property
    def parallels(self) -> tuple[int, ...]:
        """The dims that are not reduced, in order."""
        return tuple(d for d in range(len(self.extents)) if d not in self.reductions)


def evaluate_plan(plan: IterationPlan, args: Sequence[Array]) -> Array:
    """The result array; may be a read-only view of an input where nothing is computed."""
    factors = _factors(plan)
    if factors is not None:
        value = _contract(plan, args, *factors)
    else:
        views = [
            in_iteration_order(arg, axes, len(plan.extents))
            for arg, axes in zip(args, plan.input_axes, strict=True)
        ]
        (value,) = evaluate_block(plan.body, views)
        value = _reduce(plan, np.asarray(value))
    return _in_result_order(plan, value).astype(to_numpy(plan.dtype), copy=False)


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


def _factors(plan: IterationPlan) -> tuple[int, int] | None:
    """The inputs of a contraction; None if it is no sum of products over shared dims."""
    if plan.combiner != "add" or len(plan.input_axes) != 2:
        return None
    factors = product_args(plan.body)
    if factors is None or not all(d in axes for d in plan.reductions for axes in plan.input_axes):
        return None
    return factors


def _contract(plan: IterationPlan, args: Sequence[Array], left: int, right: int) -> Array:
    """Batched matrix product: dims of both are batch, of one alone its rows or columns."""
    lhs_dims, rhs_dims = ({a for a in plan.input_axes[i] if a is not None} for i in (left, right))
    parallels = plan.parallels
    batch = [d for d in parallels if d in lhs_dims and d in rhs_dims]
    rows = [d for d in parallels if d in lhs_dims and d not in rhs_dims]
    cols = [d for d in parallels if d in rhs_dims and d not in lhs_dims]
    size = plan.extents
    lhs = _matrix(plan, args[left], left, (batch, rows, plan.reductions))
    rhs = _matrix(plan, args[right], right, (batch, plan.reductions, cols))
    dims = [*batch, *rows, *cols]
    product = matmul(lhs, rhs).reshape([size[d] for d in dims])
    return in_iteration_order(product, [parallels.index(d) for d in dims], len(parallels))


def _matrix(plan: IterationPlan, array: Array, index: int, parts: Sequence[Sequence[int]]) -> Array:
    """The input as `batch.. x rows x columns`, each part a list of dims (the batch dims stay)."""
    batch, rows, cols = parts
    axes = plan.input_axes[index]
    dims = [a for a in axes if a is not None]
    dropped = array[tuple(0 if a is None else slice(None) for a in axes)]
    moved = dropped.transpose([dims.index(d) for d in (*batch, *rows, *cols)])
    size = plan.extents
    return moved.reshape(
        [*(size[d] for d in batch), prod(size[d] for d in rows), prod(size[d] for d in cols)]
    )
