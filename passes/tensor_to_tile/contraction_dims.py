"""Recognise a matrix product by its maps and body, whatever its op is called."""

from dataclasses import dataclass

from ...dialects.core.errors import PassError
from ...dialects.tensor.bodies import product_args
from ...dialects.tensor.structured import StructuredOp, axes_of_map
from ..analysis.iteration_space import GroupSpace


@dataclass(frozen=True)
class ContractionDims:
    """Group dims of `out[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]`.

    `lhs` and `rhs` are the indices of the inputs that hold `m` and `n`.
    """

    op: StructuredOp
    m: int
    n: int
    k: int
    lhs: int
    rhs: int


def is_product(op: StructuredOp) -> bool:
    """Whether the op sums, over its reduction dims, products of its two inputs."""
    return op.combiner == "add" and len(op.inputs) == 2 and product_args(op.body) is not None


def contraction_dims(op: StructuredOp, space: GroupSpace) -> ContractionDims | None:
    """The dims of a matrix product for the cube; None for vector work (also dots of rows).

    PassError for a product the cube path has no form for yet: no rows, no columns, or several
    reduced dims.
    """
    if not is_product(op):
        return None
    dims = space.dims_of(op)
    first, second = ({a for a in axes_of_map(m) if a is not None} for m in op.input_maps)
    result = [a for a in axes_of_map(op.result_map) if a is not None]
    reduced = [d for d, kind in enumerate(op.iterators) if kind == "reduction"]
    free = [d for d in result if (d in first) != (d in second)]
    if not free:
        return None
    if len(reduced) != 1 or len(free) < 2 or (free[-1] in first) == (free[-2] in first):
        raise PassError(
            f"{op.name} is a product that the cube path does not take yet",
            where=str(op.location),
            why=f"its maps are {', '.join(str(m) for m in op.maps)}",
            hint="write it as rows x columns with one reduced dim, the columns last",
        )
    m, n = free[-2], free[-1]
    lhs, rhs = (0, 1) if m in first else (1, 0)
    return ContractionDims(op, dims[m], dims[n], dims[reduced[0]], lhs, rhs)
