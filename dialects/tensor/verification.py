"""What must hold of the maps, sizes, padding and iterators of a structured op.

Every function raises VerifyException; they are asked in the order maps, extents, iterators, and
each may rely on those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_type
from .axes import Axis, Window, axes_of_map, dims_of_axes

if TYPE_CHECKING:
    from .structured import StructuredOp

COMBINERS = ("add", "max", "min", "mul")
"""Combiners of reduction dims: associative and commutative, applied in f32 for 16-bit floats."""


def verify_maps(op: StructuredOp) -> None:
    """One map of a known form per input and result, with an expression per axis; sound padding."""
    maps, values = op.maps, (*op.inputs, op.output)
    if len(maps) != len(values):
        raise VerifyException(
            f"{len(values) - 1} inputs and a result need {len(values)} maps, got {len(maps)}"
        )
    _verify_pads(op)
    for index, (map, value) in enumerate(zip(maps, values, strict=True)):
        rank = len(op.iterator_types)
        if map.num_dims != rank or map.num_symbols:
            raise VerifyException(f"map {map} is not over the {rank} dims of the iterators")
        shape = tensor_type(value).get_shape()
        if len(map.results) != len(shape):
            raise VerifyException(f"map {map} has not the {len(shape)} axes of {value.type}")
        axes = _axes(op, index)
        dims = list(dims_of_axes(axes))
        if len(set(dims)) != len(dims):
            raise VerifyException(f"map {map} uses a dim twice")
        _verify_sizes(map, axes, value)


def _axes(op: StructuredOp, index: int) -> tuple[Axis, ...]:
    """The axes of an input, or of the result after the last input."""
    if index == len(op.inputs):
        try:
            return axes_of_map(op.result_map)
        except ValueError as error:
            raise VerifyException(
                f"the result's map {op.result_map} is no projected permutation: {error}"
            ) from None
    try:
        return op.input_axes(index)
    except ValueError as error:
        raise VerifyException(f"map {op.input_maps[index]} is not supported: {error}") from None


def _verify_sizes(map: AffineMap, axes: Sequence[Axis], value: SSAValue) -> None:
    for axis, size in zip(axes, tensor_type(value).get_shape(), strict=True):
        if size < 0:
            raise VerifyException(f"{value.type} is not static")
        if axis is None and size != 1:
            raise VerifyException(f"map {map} has 0 for an axis of size {size}, not 1")


def _verify_pads(op: StructuredOp) -> None:
    """One entry per input, some padding in the whole and none of it negative."""
    if op.pads_attr is None:
        return
    lengths = [len(entry) for entry in op.pads_attr]
    if len(lengths) != len(op.inputs):
        raise VerifyException(
            f"pads needs an entry for each of {len(op.inputs)} inputs, got {len(lengths)}"
        )
    if any(length % 2 for length in lengths):
        raise VerifyException("pads has no pair of sizes (before, after) for an axis")
    sizes = [size for entry in op.pads for pair in entry for size in pair]
    if min(sizes, default=0) < 0:
        raise VerifyException(f"pads has the negative size {min(sizes)}")
    if not sizes or any(entry and not any(map(any, entry)) for entry in op.pads):
        raise VerifyException(
            "pads has only zeros for an input; write [] for it, or no pads at all"
        )


def verify_extents(op: StructuredOp) -> None:
    """Every dim has one size, told by an axis or by `bounds`, and windows stay inside the padding.

    `bounds` exist only where they are needed.
    """
    rank, sizes, bounds = len(op.iterator_types), op.plain_sizes(), op.bounds
    unknown = set(range(rank)) - set(sizes)
    used = {dim for i in range(len(op.inputs)) for dim in dims_of_axes(op.input_axes(i))}
    if unknown - used:
        raise VerifyException(f"no map uses dim d{min(unknown - used)}, so its size is unknown")
    if bounds is None and unknown:
        raise VerifyException(
            f"no axis is as long as dim d{min(unknown)}; give the sizes of all dims as bounds"
        )
    if bounds is not None:
        _verify_bounds(bounds, rank, sizes)
    for index in range(len(op.inputs)):
        _verify_windows(op, index, op.extents())


def _verify_bounds(bounds: Sequence[int], rank: int, sizes: dict[int, int]) -> None:
    if len(sizes) == rank:
        raise VerifyException("the axes tell the sizes of all dims; leave bounds out")
    if len(bounds) != rank:
        raise VerifyException(f"bounds {list(bounds)} are not the sizes of {rank} dims")
    for dim, size in sizes.items():
        if bounds[dim] != size:
            raise VerifyException(f"bounds say {bounds[dim]} for dim d{dim}, an axis says {size}")


def _verify_windows(op: StructuredOp, index: int, extents: Sequence[int]) -> None:
    value = op.inputs[index]
    for position, axis in enumerate(op.input_axes(index)):
        if not isinstance(axis, Window):
            continue
        if op.iterators[axis.point] == "reduction":
            raise VerifyException(
                f"the first dim of a window is its position, which is parallel, but d{axis.point}"
                " is a reduction dim"
            )
        for dim in (axis.point, axis.tap):
            if extents[dim] < 1:
                raise VerifyException(f"dim d{dim} of a window has the size {extents[dim]}")
        size = tensor_type(value).get_shape()[position]
        padded, reach = size + axis.before + axis.after, axis.reach(extents)
        if reach > padded:
            raise VerifyException(
                f"the windows reach over {reach} elements of axis {position} of {value.type},"
                f" which has {padded} with its padding"
            )


def verify_iterators(op: StructuredOp) -> None:
    """The result has the parallel dims and no other; a combiner joins the rest."""
    in_result = {a for a in axes_of_map(op.result_map) if a is not None}
    for dim, kind in enumerate(i.data for i in op.iterator_types):
        if kind not in ("parallel", "reduction"):
            raise VerifyException(f"iterator '{kind}' is not 'parallel' or 'reduction'")
        if (kind == "parallel") != (dim in in_result):
            where = "is in" if dim in in_result else "is not in"
            raise VerifyException(f"dim d{dim} is a {kind} dim but {where} the result's map")
    if ("reduction" in op.iterators) != (op.combiner is not None):
        raise VerifyException("a combiner and reduction dims only exist together")
    if op.combiner is not None and op.combiner not in COMBINERS:
        raise VerifyException(f"combiner '{op.combiner}' is not one of {list(COMBINERS)}")
