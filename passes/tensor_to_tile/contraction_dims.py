"""Recognise a matrix product, or a convolution, by its maps and body, whatever its op is called."""

from dataclasses import dataclass

from ...dialects.core.errors import PassError
from ...dialects.tensor.bodies import product_args
from ...dialects.tensor.structured import Axis, StructuredOp, Window, axes_of_map
from ..analysis.iteration_space import GroupSpace


@dataclass(frozen=True)
class ContractionDims:
    """Group dims of `out[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]`.

    `m` are the dims that only the left factor has and that lie side by side, outermost first; the
    tile's rows are a suffix of them. `lhs` and `rhs` are the indices of the inputs that hold `m`
    and `n`. `windows` are the taps of a convolution: windows of the left factor along image rows
    and columns (or columns alone); `k` is then the dim of its channels.
    """

    op: StructuredOp
    m: tuple[int, ...]
    n: int
    k: int
    lhs: int
    rhs: int
    windows: tuple[Window, ...]


def is_product(op: StructuredOp) -> bool:
    """Whether the op sums, over its reduction dims, products of its two inputs."""
    return op.combiner == "add" and len(op.inputs) == 2 and product_args(op.body) is not None


def contraction_dims(op: StructuredOp, space: GroupSpace) -> ContractionDims | None:
    """The dims of a product for the cube; None for vector work.

    Vector work are products without columns, those whose last axis both factors have: depthwise
    convolutions. PassError for a product the cube path has no form for yet: no rows, or several
    reduced dims that are not the taps of a window.
    """
    if not is_product(op):
        return None
    axes = [space.axes_of_use(op, index) for index in range(2)]
    first, second = (_dims(entries) for entries in axes)
    dims = space.dims_of(op)
    result = [dims[a] for a in axes_of_map(op.result_map) if a is not None]
    if not result or (result[-1] in first) == (result[-1] in second):
        return None
    lhs, rhs = (1, 0) if result[-1] in first else (0, 1)
    left, right = (second, first) if lhs else (first, second)
    m = _rows(result[:-1], left, right)
    windows = tuple(a for a in axes[lhs] if isinstance(a, Window))
    taps = {w.tap for w in windows}
    reduced = {dims[d] for d, kind in enumerate(op.iterators) if kind == "reduction"} - taps
    plain_right = not any(isinstance(a, Window) for a in axes[rhs])
    if not m or len(reduced) != 1 or not plain_right:
        raise _no_form(op)
    if windows:
        m = tuple(d for d in m if d in {w.point for w in windows})
        if not _is_convolution(axes[lhs], axes[rhs], m, min(reduced), result[-1]):
            raise _no_form(op)
    return ContractionDims(op, m, result[-1], min(reduced), lhs, rhs, windows)


def _dims(axes: tuple[Axis, ...]) -> set[int]:
    """All dims that a factor is read along."""
    plain = {a for a in axes if isinstance(a, int)}
    windows = [a for a in axes if isinstance(a, Window)]
    return plain | {w.point for w in windows} | {w.tap for w in windows}


def _rows(result: list[int], left: set[int], right: set[int]) -> tuple[int, ...]:
    """The last run of dims that only the left factor has."""
    run: list[int] = []
    for dim in reversed(result):
        if dim in left and dim not in right:
            run.insert(0, dim)
        elif run:
            break
    return tuple(run)


def _is_convolution(
    lhs: tuple[Axis, ...], rhs: tuple[Axis, ...], m: tuple[int, ...], k: int, n: int
) -> bool:
    """Whether an image `.., rows, columns, .., channels` meets a filter `.., taps, channels, n`."""
    windows = [a for a in lhs if isinstance(a, Window)]
    first = lhs.index(windows[0])
    side_by_side = lhs[first : first + len(windows)] == tuple(windows) and len(windows) <= 2
    tail = (*(w.tap for w in windows), k, n)
    return (
        side_by_side
        and lhs[-1] == k
        and rhs[-len(tail) :] == tail
        and m == tuple(w.point for w in windows)[-len(m) :]
    )


def _no_form(op: StructuredOp) -> PassError:
    return PassError(
        f"{op.name} is a product that the cube path does not take yet",
        where=str(op.location),
        why=f"its maps are {', '.join(str(m) for m in op.maps)}",
        hint="write it as rows x columns with one reduced dim, the columns last",
    )
