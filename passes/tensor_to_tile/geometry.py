"""Which dims of a group are looped, which become the rows and columns of a tile.

A tile is at most two-dimensional on chip: `col` is the dim that is contiguous in GM, `row` the one
beside it; every other dim has tile size 1 and is looped. Parallel dims are looped by one flat loop
over all tiles, shared out over the cores; the reduced dim of a contraction is an inner loop; a dim
reduced by vector work is not cut at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...dialects.core.errors import PassError
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import StructuredOp
from ...dialects.tile.schedule import ScheduleAttr
from ..analysis.iteration_space import GroupSpace
from .contraction_dims import ContractionDims, contraction_dims


@dataclass(frozen=True)
class Geometry:
    """The shape of one group's kernel.

    `row` may be None (one-dimensional work). `looped` are the parallel dims in loop order, `tiles`
    and `steps` sizes per group dim in elements, `contraction` the dims of the group's matrix
    product, if it has one.
    """

    group: GroupOp
    space: GroupSpace
    row: int | None
    col: int
    looped: tuple[int, ...]
    contraction: ContractionDims | None

    @property
    def contract_op(self) -> StructuredOp | None:
        """The matrix product of the group, if any."""
        return self.contraction.op if self.contraction else None

    def counts(self, tiles: Sequence[int]) -> dict[int, int]:
        """Number of tiles along each looped dim."""
        return {d: -(-self.space.extents[d] // tiles[d]) for d in self.looped}

    def tile_count(self, tiles: Sequence[int]) -> int:
        """Number of tiles that the cores share."""
        return prod(self.counts(tiles).values())

    def check(self, schedule: ScheduleAttr, where: str) -> None:
        """Raise PassError where a schedule, perhaps written by hand, does not fit the group."""
        tiles, steps = schedule.tile_sizes, schedule.step_sizes
        if len(tiles) != self.space.rank:
            raise PassError(
                f"the schedule has {len(tiles)} tile sizes for {self.space.rank} dims",
                where=where,
                hint=f"give one size for each of the dims {list(self.space.extents)}",
            )
        k = self.contraction.k if self.contraction else None
        for dim, (tile, step, extent) in enumerate(
            zip(tiles, steps, self.space.extents, strict=True)
        ):
            if dim not in (self.row, self.col, k) and tile != 1:
                why = f"dim {dim} is neither the rows nor the columns of a tile"
                raise PassError(f"tile size {tile} of dim {dim} is not 1", where=where, why=why)
            if dim == k:
                if -(-extent // step) % (tile // step):
                    why = f"{-(-extent // step)} steps do not divide into tiles of {tile // step}"
                    raise PassError(
                        f"tile size {tile} does not suit dim {dim}", where=where, why=why
                    )
            elif step != tile:
                why = "only the reduced dim of a contraction is cut into steps"
                raise PassError(f"step {step} of dim {dim} is not {tile}", where=where, why=why)
            elif self.space.kinds[dim] == "reduction" and tile < extent:
                why = f"it is reduced in one piece, and has {extent} elements"
                raise PassError(f"tile size {tile} cuts dim {dim}", where=where, why=why)


def geometry_of(group: GroupOp, where: str) -> Geometry:
    """Read the geometry off a group. PassError where the engine has no form for it yet."""
    space = GroupSpace(group)
    contractions = [c for op in space.ops if (c := contraction_dims(op, space)) is not None]
    if len(contractions) > 1:
        raise PassError("a group holds at most one contraction", where=where)
    contraction = contractions[0] if contractions else None
    if contraction is not None:
        row, col = contraction.m, contraction.n
    else:
        row, col = _rows_and_columns(space, where)
    reduced = {contraction.k} if contraction else set[int]()
    looped = tuple(
        d for d in range(space.rank) if space.kinds[d] == "parallel" and d not in reduced
    )
    for dim, kind in enumerate(space.kinds):
        if kind == "reduction" and dim not in reduced and dim != col:
            raise PassError(
                "a reduction over an axis that is not the last is not supported yet",
                where=where,
                why=f"dim {dim} of {list(space.extents)} is reduced, dim {col} is contiguous",
                hint="transpose the tensor so that the reduced axis comes last",
            )
    return Geometry(group, space, row, col, looped, contraction)


def _rows_and_columns(space: GroupSpace, where: str) -> tuple[int | None, int]:
    """The last two axes of the widest value of vector work."""
    values = [v for op in space.ops for v in (*op.inputs, op.output)]
    axes = max(
        (tuple(a for a in space.axes_of(v) if a is not None) for v in values), key=len, default=()
    )
    if not axes:
        raise PassError(
            "work on a single element is not supported yet",
            where=where,
            why="it has no dim to tile",
            hint="give the tensors of the model at least one axis",
        )
    *_, col = axes
    return (axes[-2] if len(axes) > 1 else None), col
