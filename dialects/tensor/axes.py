"""What the maps of structured ops say per axis: a dim, the constant 0, or a window.

A window is `d_point * stride + d_tap * dilation`: the element that position `tap` of a window reads
when the window stands at output position `point`. It is how convolutions and poolings read.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)


class Window(NamedTuple):
    """How an axis is read along a window; coordinates are those of the padded axis.

    `point` is the dim of the window's position, `tap` the dim of the position in the window (mostly
    a reduction dim), `stride` and `dilation` how many elements apart neighbours of each are, at
    least 1, `before` and `after` the elements of padding at the two ends of the axis.
    """

    point: int
    tap: int
    stride: int
    dilation: int
    before: int
    after: int

    def reach(self, extents: Sequence[int]) -> int:
        """How many elements of the padded axis the window reaches over, given the dims' sizes."""
        last = (extents[self.point] - 1) * self.stride + (extents[self.tap] - 1) * self.dilation
        return last + 1


Axis = int | None | Window
"""What an axis of an input is read along: a dim, nothing (an axis of size 1), or a window."""


def dims_of_axes(axes: Sequence[Axis]) -> Iterator[int]:
    """All dims that an input is read along, in the order of its axes; point before tap."""
    for axis in axes:
        if isinstance(axis, Window):
            yield axis.point
            yield axis.tap
        elif axis is not None:
            yield axis


def pads_of_axes(axes: Sequence[Axis]) -> list[tuple[int, int]]:
    """The padding (before, after) of each axis."""
    return [(a.before, a.after) if isinstance(a, Window) else (0, 0) for a in axes]


def map_from_axes(rank: int, axes: Sequence[Axis]) -> AffineMap:
    """The map from `rank` dims whose i-th result is dim or window `axes[i]`, or 0 for None.

    The padding of a window is no part of a map.
    """
    return AffineMap(rank, 0, tuple(_expression(axis) for axis in axes))


def axes_of_map(map: AffineMap) -> tuple[int | None, ...]:
    """Per result of a projected permutation: its dim, or None for the constant 0.

    Raises ValueError for any other expression.
    """
    for expr in map.results:
        if not _is_plain(expr):
            raise ValueError(f"{expr} is neither a dim nor the constant 0")
    return tuple(_plain(expr) for expr in map.results)


def input_axes_of_map(map: AffineMap, pads: Sequence[tuple[int, int]]) -> tuple[Axis, ...]:
    """As `axes_of_map`, with windows; `pads` is (before, after) per axis, or empty for none.

    Raises ValueError for an expression of another form, and for padding of an axis without window.
    """
    if pads and len(pads) != len(map.results):
        raise ValueError(f"it has padding for {len(pads)} axes, not {len(map.results)}")
    return tuple(
        _axis(expr, pads[index] if pads else (0, 0)) for index, expr in enumerate(map.results)
    )


def _expression(axis: Axis) -> AffineExpr:
    if axis is None:
        return AffineExpr.constant(0)
    if isinstance(axis, Window):
        return _scaled(axis.point, axis.stride) + _scaled(axis.tap, axis.dilation)
    return AffineExpr.dimension(axis)


def _scaled(dim: int, factor: int) -> AffineExpr:
    expr = AffineExpr.dimension(dim)
    return expr if factor == 1 else expr * factor


def _is_plain(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineDimExpr) or (
        isinstance(expr, AffineConstantExpr) and expr.value == 0
    )


def _plain(expr: AffineExpr) -> int | None:
    return expr.position if isinstance(expr, AffineDimExpr) else None


def _axis(expr: AffineExpr, pad: tuple[int, int]) -> Axis:
    if not _is_plain(expr):
        point, tap = _summands(expr)
        return Window(point[0], tap[0], point[1], tap[1], *pad)
    if pad != (0, 0):
        raise ValueError(f"{expr} is no window, so its axis has no padding")
    return _plain(expr)


def _summands(expr: AffineExpr) -> tuple[tuple[int, int], tuple[int, int]]:
    """Dim and factor of the two summands of a window; ValueError if it is none."""
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is AffineBinaryOpKind.Add:
        point, tap = _scaled_dim(expr.lhs), _scaled_dim(expr.rhs)
        if point is not None and tap is not None:
            return point, tap
    raise ValueError(f"{expr} is neither a dim, the constant 0 nor a window `d0 * 2 + d1 * 3`")


def _scaled_dim(expr: AffineExpr) -> tuple[int, int] | None:
    if isinstance(expr, AffineDimExpr):
        return expr.position, 1
    if not isinstance(expr, AffineBinaryOpExpr) or expr.kind is not AffineBinaryOpKind.Mul:
        return None
    dim, factor = expr.lhs, expr.rhs
    if isinstance(dim, AffineDimExpr) and isinstance(factor, AffineConstantExpr):
        return (dim.position, factor.value) if factor.value > 0 else None
    return None
