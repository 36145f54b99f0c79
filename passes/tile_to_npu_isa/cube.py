"""The matrix unit."""

from __future__ import annotations

from ...dialects.tile.cube import MmadOp
from .lowering import Lowering


def lower_mmad(low: Lowering, op: MmadOp) -> None:
    """One product of exactly the valid sizes, added where `accumulate` is not 0."""
    lhs, rhs, target = (low.places[value] for value in (op.lhs, op.rhs, op.target))
    if target.type.dtype != "f32":
        raise low.unsupported(f"results in {target.type.dtype}", "products accumulate in f32")
    # The field has one bit; an index that says "not the first step" may be any count.
    accumulate = low.binary("s_min", low.index(op.accumulate), 1)
    low.emit(
        "mmad",
        dst=target.address,
        src0=lhs.address,
        src1=rhs.address,
        dtype=lhs.type.dtype,
        m=low.index(op.m),
        k=low.index(op.k),
        n=low.index(op.n),
        accumulate=accumulate,
    )
