"""Which dims of a group are looped, which become the rows and columns of a tile.

A tile is two-dimensional on chip: `col` is the dim that is contiguous in GM, `rows` are the dims
beside it that lie side by side in every value, so that a tile may take several indices of an outer
one where it takes the inner ones whole. Every other dim has tile size 1 and is looped. Parallel
dims are looped by one flat loop over all tiles, shared out over the cores. Of the reduced dims,
that of a contraction is an inner loop and a row reduced by vector work is not cut at all. Where
vector work reduces other dims than the last, those are the rows: tiles of them are joined row by
row, and in the end their rows. What is reduced beside that (`taps`) is looped around one
accumulator; along windows, the rows are output positions and UB holds what lies under all taps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from ...dialects.core.errors import PassError
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import Axis, StructuredOp, Window
from ...dialects.tile.schedule import ScheduleAttr
from ..analysis.iteration_space import GroupSpace
from .contraction_dims import ContractionDims, contraction_dims
from .windows import check_windows, may_merge, point_of, windows_of

ROW = -1
"""Stands for all of `Geometry.rows` among the axes of a value."""
TURNED = 16
"""Rows and columns of a tile that is transposed on chip come in multiples of this."""


@dataclass(frozen=True)
class Geometry:
    """The shape of one group's kernel.

    `rows` may be empty (one-dimensional work). `looped` are the parallel dims in loop order, `taps`
    the reduced ones that vector work loops over around an accumulator, of which `windows` are those
    of windows; `contraction` has the dims of the group's matrix product, if there is one.
    """

    group: GroupOp
    space: GroupSpace
    rows: tuple[int, ...]
    col: int
    looped: tuple[int, ...]
    taps: tuple[int, ...]
    windows: frozenset[int]
    contraction: ContractionDims | None

    @property
    def contract_op(self) -> StructuredOp | None:
        """The matrix product of the group, if any."""
        return self.contraction.op if self.contraction else None

    @property
    def reduces_rows(self) -> bool:
        """Whether vector work reduces the rows of a tile."""
        return any(self.space.kinds[d] == "reduction" for d in self.rows)

    def accumulates(self, op: StructuredOp) -> bool:
        """Whether an op of vector work reduces rows of a tile, or in loops around it."""
        reduced = {*self.taps, *(self.rows if self.reduces_rows else ())}
        return bool(reduced & set(self.space.dims_of(op)))

    def counts(self, tiles: Sequence[int]) -> dict[int, int]:
        """Number of tiles along each looped dim."""
        return {d: -(-self.space.extents[d] // tiles[d]) for d in self.looped}

    def tile_count(self, tiles: Sequence[int]) -> int:
        """Number of tiles that the cores share."""
        return prod(self.counts(tiles).values())

    def row_tile(self, tiles: Sequence[int]) -> int:
        """Rows of a tile."""
        return prod(tiles[d] for d in self.rows)

    def merged(self, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        """The axes of a value with the run of row dims, if it has them, as the one axis ROW."""
        run = self._run(axes)
        return tuple(axes) if run is None else (*axes[: run[0]], ROW, *axes[run[1] + 1 :])

    def merged_shape(self, axes: Sequence[Axis], shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of a value whose axes are `merged`."""
        run = self._run(axes)
        if run is None:
            return tuple(shape)
        first, last = run
        return (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :])

    def _run(self, axes: Sequence[Axis]) -> tuple[int, int] | None:
        places = [i for i, a in enumerate(axes) if a in self.rows and not isinstance(a, Window)]
        return (places[0], places[-1]) if places else None

    def transposes(self, axes: Sequence[Axis]) -> bool:
        """Whether a value that is read so has the rows behind the columns."""
        merged = self.merged(axes)
        return ROW in merged and self.col in merged[: merged.index(ROW)]

    @property
    def transposed(self) -> bool:
        """Whether vector work transposes something it reads."""
        return any(
            self.transposes(self.space.axes_of_use(op, index))
            for op in self.space.ops
            if op is not self.contract_op
            for index in range(len(op.inputs))
        )

    def check(self, schedule: ScheduleAttr, where: str) -> None:
        """Raise PassError where a schedule, perhaps written by hand, does not fit the group."""
        tiles, steps = schedule.tile_sizes, schedule.step_sizes
        extents = self.space.extents
        if len(tiles) != self.space.rank:
            raise PassError(
                f"the schedule has {len(tiles)} tile sizes for {self.space.rank} dims",
                where=where,
                hint=f"give one size for each of the dims {list(extents)}",
            )
        self._check_rows(tiles, where)
        if self.transposed and (self.row_tile(tiles) % TURNED or tiles[self.col] % TURNED):
            raise PassError(
                f"a tile of {self.row_tile(tiles)} x {tiles[self.col]} cannot be transposed",
                where=where,
                why=f"something is read with rows and columns swapped, {TURNED} by {TURNED}",
                hint=f"take rows and columns in multiples of {TURNED}",
            )
        for dim, (tile, step, extent) in enumerate(zip(tiles, steps, extents, strict=True)):
            self._check_dim(dim, tile, step, where)
            whole = self.space.kinds[dim] == "reduction" and dim == self.col
            if whole and self.contraction is None and tile < extent:
                why = f"it is reduced in one piece, and has {extent} elements"
                raise PassError(f"tile size {tile} cuts dim {dim}", where=where, why=why)

    def _check_rows(self, tiles: Sequence[int], where: str) -> None:
        """Inside a row dim that is not one index, all dims are whole."""
        taken = [d for d in self.rows if tiles[d] > 1]
        for dim in self.rows[self.rows.index(taken[0]) + 1 :] if taken else ():
            if tiles[dim] != self.space.extents[dim]:
                raise PassError(
                    f"tile size {tiles[dim]} of dim {dim} is not all of it",
                    where=where,
                    why=f"the tile takes {tiles[taken[0]]} indices of dim {taken[0]}, outside it",
                )

    def _check_dim(self, dim: int, tile: int, step: int, where: str) -> None:
        extent = self.space.extents[dim]
        reduced: Mapping[int, str] = {}
        if self.contraction is not None:
            taps = {w.tap: "tap" for w in self.contraction.windows}
            reduced = {self.contraction.k: "k", **taps}
        if dim in self.windows and extent % tile:
            why = f"it has {extent}; the taps of a window are cut evenly"
            raise PassError(f"tile size {tile} does not suit dim {dim}", where=where, why=why)
        if dim not in (*self.rows, self.col, *reduced, *self.windows) and tile != 1:
            why = f"dim {dim} is neither the rows nor the columns of a tile"
            raise PassError(f"tile size {tile} of dim {dim} is not 1", where=where, why=why)
        if reduced.get(dim) == "tap":
            if tile != extent:
                why = f"it has {extent}; a tile of a convolution takes all taps"
                raise PassError(f"tile size {tile} cuts dim {dim}", where=where, why=why)
        elif reduced.get(dim) == "k":
            windows = self.contraction is not None and self.contraction.windows
            if not windows and -(-extent // step) % (tile // step):
                why = f"{-(-extent // step)} steps do not divide into tiles of {tile // step}"
                raise PassError(f"tile size {tile} does not suit dim {dim}", where=where, why=why)
        elif step != tile:
            why = "only the reduced dim of a contraction is cut into steps"
            raise PassError(f"step {step} of dim {dim} is not {tile}", where=where, why=why)


def geometry_of(group: GroupOp, where: str) -> Geometry:
    """Read the geometry off a group. PassError where the engine has no form for it yet."""
    space = GroupSpace(group)
    contractions = [c for op in space.ops if (c := contraction_dims(op, space)) is not None]
    if len(contractions) > 1:
        raise PassError("a group holds at most one contraction", where=where)
    contraction = contractions[0] if contractions else None
    taps: tuple[int, ...] = ()
    windows: frozenset[int] = frozenset()
    if contraction is not None:
        candidates, col = contraction.m, contraction.n
        reduced = {contraction.k, *(w.tap for w in contraction.windows)}
    else:
        candidates, col = _rows_and_columns(space, where)
        reduced = {d for d, k in enumerate(space.kinds) if k == "reduction"} - {col}
        windows = frozenset(w.tap for op in space.ops for w in windows_of(space, op))
        if reduced and not windows:
            candidates = _outer_rows(space, reduced)
        else:
            candidates = tuple(d for d in candidates if d not in reduced)
    stray = {d for d, k in enumerate(space.kinds) if k == "reduction"} - reduced - {col}
    if stray or (contraction is None and reduced and space.kinds[col] == "reduction"):
        raise PassError(
            "reductions over several axes that are not side by side are not supported yet",
            where=where,
            why=f"of the dims {list(space.extents)}, {sorted(stray or reduced)} are reduced beside "
            "the product's or the last",
            hint="reduce one after the other, in two operators",
        )
    looped = tuple(
        d for d in range(space.rank) if space.kinds[d] == "parallel" and d not in reduced
    )
    rows = _side_by_side(space, _before_columns(space, candidates, col), col)
    if contraction is None:
        taps = tuple(sorted(reduced - set(rows)))
        for op in space.ops:
            check_windows(space, op, rows, col, where)
    return Geometry(group, space, rows, col, looped, taps, windows, contraction)


def _rows_and_columns(space: GroupSpace, where: str) -> tuple[tuple[int, ...], int]:
    """The axes of the widest value of vector work: all but the last, and the last."""
    outer = any(_reduces_outside(op, space) for op in space.ops)
    values = [op.output for op in space.ops]
    if not outer:
        values += [v for op in space.ops for v in op.inputs]
    axes = max(
        (tuple(a for a in space.axes_of(v) if isinstance(a, int)) for v in values),
        key=len,
        default=(),
    )
    if not axes:
        raise PassError(
            "work on a single element is not supported yet",
            where=where,
            why="it has no dim to tile",
            hint="give the tensors of the model at least one axis",
        )
    *rows, col = axes
    return tuple(rows), col


def _reduces_outside(op: StructuredOp, space: GroupSpace) -> bool:
    """Whether an op reduces dims beside the last axis of what it reads."""
    dims = space.dims_of(op)
    reduced = {dims[d] for d, kind in enumerate(op.iterators) if kind == "reduction"}
    reads = [space.axes_of_use(op, index) for index in range(len(op.inputs))]
    return bool(reduced - {axes[-1] for axes in reads if axes})


def _outer_rows(space: GroupSpace, reduced: set[int]) -> tuple[int, ...]:
    """The reduced dims in the order of the value that has most of them."""
    uses = [space.axes_of_use(op, index) for op in space.ops for index in range(len(op.inputs))]
    inside = [tuple(a for a in axes if isinstance(a, int) and a in reduced) for axes in uses]
    return max(inside, key=len)


def _before_columns(space: GroupSpace, candidates: Sequence[int], col: int) -> Sequence[int]:
    """The candidates up to the one that is contiguous where a value is read transposed, if any."""
    uses = [space.axes_of_use(op, index) for op in space.ops for index in range(len(op.inputs))]
    lasts = {[a for a in axes if a is not None][-1] for axes in uses if col in axes}
    turned = [d for d in candidates if d in lasts]
    return candidates[: candidates.index(turned[0]) + 1] if turned else candidates


def _side_by_side(space: GroupSpace, candidates: Sequence[int], col: int) -> tuple[int, ...]:
    """The longest suffix of `candidates` that every value has as a run, or not at all."""
    everything = [
        space.axes_of_use(op, index) for op in space.ops for index in range(len(op.inputs))
    ]
    everything += [space.axes_of(op.output) for op in space.ops]
    run = tuple(candidates[-1:])
    for start in range(len(candidates)):
        longer = tuple(candidates[start:])
        if len(longer) > 1 and not all(may_merge(space, op, longer) for op in space.ops):
            continue
        if all(_has_all_or_none(axes, longer) for axes in everything):
            run = longer
            break
    return _with_rows_for_all(everything, candidates, run, col)


def _with_rows_for_all(
    everything: Sequence[Sequence[Axis]], candidates: Sequence[int], run: tuple[int, ...], col: int
) -> tuple[int, ...]:
    """Other rows where a value has neither these nor the columns: a scale a channel, say, where
    the channels come before rows and columns of an image."""
    dims = [{point_of(a) for a in axes if a is not None} for axes in everything]
    bare = [d & set(candidates) for d in dims if d and not d & {*run, col}]
    shared = set(candidates).intersection(*bare) if bare else set[int]()
    for dim in reversed(candidates):
        if dim in shared and all(not d or d & {dim, col} for d in dims):
            return (dim,)
    return run


def _has_all_or_none(axes: Sequence[Axis], run: tuple[int, ...]) -> bool:
    dims = [point_of(a) for a in axes if a is not None]
    if not set(dims) & set(run):
        return True
    if run[0] not in dims:
        return False
    first = dims.index(run[0])
    return tuple(dims[first : first + len(run)]) == run
