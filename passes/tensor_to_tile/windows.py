"""Which inputs vector work reads along windows, and what of that the engine has a form for.

A windowed input is an image `[.., rows, columns, channels]`: its last axis is the tile's columns,
the one before its rows, read along a window or plainly, and so perhaps the one before that.
"""

from collections.abc import Iterable, Sequence

from xdsl.ir import SSAValue

from ...dialects.core.errors import PassError
from ...dialects.tensor.structured import Axis, StructuredOp, Window
from ..analysis.iteration_space import GroupSpace
from .contraction_dims import contraction_dims


def windowed_inputs(space: GroupSpace, op: StructuredOp) -> list[int]:
    """The inputs of vector work that it reads along windows; none for a convolution on the cube."""
    found = [
        index
        for index in range(len(op.inputs))
        if any(isinstance(a, Window) for a in space.axes_of_use(op, index))
    ]
    return found if found and contraction_dims(op, space) is None else []


def windows_of(space: GroupSpace, op: StructuredOp) -> list[Window]:
    """The windows of vector work."""
    return [
        axis
        for index in windowed_inputs(space, op)
        for axis in space.axes_of_use(op, index)
        if isinstance(axis, Window)
    ]


def point_of(axis: Axis) -> int | None:
    """The dim that an axis is read along, whatever tap."""
    return axis.point if isinstance(axis, Window) else axis


def may_merge(space: GroupSpace, op: StructuredOp, run: Sequence[int]) -> bool:
    """Whether `run` can be the rows of a tile: with windows, the rows and columns of every image
    the op reads, while its other inputs have neither."""
    images = windowed_inputs(space, op)
    if not images:
        return True
    for index in range(len(op.inputs)):
        points = [point_of(axis) for axis in space.axes_of_use(op, index)]
        if index in images and (len(run) > 2 or tuple(points[-3:-1]) != tuple(run)):
            return False
        if index not in images and set(run) & set(points):
            return False
    return True


def check_windows(
    space: GroupSpace, op: StructuredOp, rows: Sequence[int], col: int, where: str
) -> None:
    """PassError where the op reads along windows in another way than as images."""
    for index in windowed_inputs(space, op):
        axes = space.axes_of_use(op, index)
        outside = any(isinstance(axis, Window) for axis in (*axes[:-3], axes[-1]))
        if outside or axes[-1] != col or not rows or point_of(axes[-2]) != rows[-1]:
            raise PassError(
                "windows along other axes than rows and columns before the last are not supported",
                where=where,
                why=f"{op.inputs[index].type} is read through {op.input_maps[index]}",
                hint="transpose the tensor so that its channels come last",
            )


def taps_run(
    space: GroupSpace, op: StructuredOp, index: int, col: int, windows: frozenset[int]
) -> range | None:
    """The axes of an input that hold one row of columns for each tap of a window, as a filter's;
    None where it has no such axes, or others between them and the columns."""
    axes = space.axes_of_use(op, index)
    places = [i for i, axis in enumerate(axes) if axis in windows]
    if index in windowed_inputs(space, op) or not places or axes[-1] != col:
        return None
    run = range(places[0], len(axes) - 1)
    return run if places == list(run) else None


def made_of_one(op: StructuredOp, inputs: Iterable[int]) -> dict[SSAValue, int]:
    """The values of the body that come from one input alone, of `inputs`, and from constants.

    They need to be computed once for all that UB holds of it, not again for each tap.
    """
    sources: dict[SSAValue, int] = {op.body.args[index]: index for index in inputs}
    constants: set[SSAValue] = set()
    for scalar in op.body.ops:
        if not scalar.results:
            continue
        operands = [operand for operand in scalar.operands if operand not in constants]
        found = {sources.get(operand) for operand in operands}
        if not operands:
            constants.add(scalar.results[0])
        elif len(found) == 1 and (source := found.pop()) is not None:
            sources[scalar.results[0]] = source
    return sources
