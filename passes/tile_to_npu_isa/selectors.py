"""Which function lowers which tile op: by op and by the memory spaces of source and destination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation

from ...dialects.tile.convolution import Im2colOp, LoadFilterOp
from ...dialects.tile.cube import MmadOp
from ...dialects.tile.memory import AllocOp, CopyOp, FillOp, SubviewOp, TapOp
from ...dialects.tile.program import CoreIdOp, EndOp, ViewOp
from ...dialects.tile.types import BufferType
from ...dialects.tile.vector import (
    BinaryOp,
    BroadcastOp,
    CastOp,
    ReduceOp,
    ScalarOp,
    TransposeOp,
    UnaryOp,
)
from .control import (
    ARITHMETIC,
    lower_alloc,
    lower_arithmetic,
    lower_constant,
    lower_core_id,
    lower_end,
    lower_for,
    lower_subview,
    lower_view,
)
from .convolution import lower_im2col, lower_load_filter
from .copies import gm_to_l1, gm_to_ub, l0c_to_ub, l1_to_l0, ub_to_gm
from .cube import lower_mmad
from .lowering import Lowering
from .reductions import lower_broadcast, lower_reduce
from .transposes import lower_transpose
from .vector import lower_binary, lower_cast, lower_fill, lower_scalar, lower_unary

Key: TypeAlias = tuple[type[Operation], str, str]
"""An op, and the spaces of its first and last buffer operand ("" without any)."""

CONTROL: dict[Key, Callable[[Lowering, Any], None]] = {
    (arith.ConstantOp, "", ""): lower_constant,
    **{(kind, "", ""): lower_arithmetic for kind in ARITHMETIC},
    (scf.ForOp, "", ""): lambda low, op: lower_for(low, op, lower_block),
    (scf.YieldOp, "", ""): lambda low, op: None,
    (CoreIdOp, "", ""): lower_core_id,
    (AllocOp, "", ""): lower_alloc,
    (EndOp, "", ""): lower_end,
    (ViewOp, "gm", "gm"): lower_view,
    (SubviewOp, "ub", "ub"): lower_subview,
}
COPIES: dict[Key, Callable[[Lowering, Any], None]] = {
    (CopyOp, "gm", "l1"): gm_to_l1,
    (CopyOp, "gm", "ub"): gm_to_ub,
    (CopyOp, "ub", "gm"): ub_to_gm,
    (CopyOp, "l1", "l0a"): l1_to_l0,
    (CopyOp, "l1", "l0b"): l1_to_l0,
    (CopyOp, "l0c", "ub"): l0c_to_ub,
    (LoadFilterOp, "gm", "l1"): lower_load_filter,
    (Im2colOp, "l1", "l0a"): lower_im2col,
}
COMPUTE: dict[Key, Callable[[Lowering, Any], None]] = {
    (MmadOp, "l0a", "l0c"): lower_mmad,
    (FillOp, "ub", "ub"): lower_fill,
    (UnaryOp, "ub", "ub"): lower_unary,
    (BinaryOp, "ub", "ub"): lower_binary,
    (ScalarOp, "ub", "ub"): lower_scalar,
    (CastOp, "ub", "ub"): lower_cast,
    (ReduceOp, "ub", "ub"): lower_reduce,
    (BroadcastOp, "ub", "ub"): lower_broadcast,
    (TransposeOp, "ub", "ub"): lower_transpose,
}
SELECTORS = {**CONTROL, **COPIES, **COMPUTE}
"""All of them."""


def key_of(op: Operation) -> Key:
    """What the table says of an op is under this key."""
    spaces = [o.type.space.data for o in op.operands if isinstance(o.type, BufferType)]
    return (type(op), spaces[0], spaces[-1]) if spaces else (type(op), "", "")


def lower_block(low: Lowering, block: Block) -> None:
    """Lower every op of a block; UnsupportedError for one without a selector."""
    for op in block.ops:
        if isinstance(op, TapOp):
            continue
        low.op = op
        key = key_of(op)
        selector = SELECTORS.get(key)
        if selector is None:
            paths = [f"{a} to {b}" for kind, a, b in SELECTORS if kind is type(op)]
            raise low.unsupported(
                f"no instruction does this from {key[1] or 'nothing'} to {key[2] or 'nothing'}",
                f"there are {', '.join(paths)}" if paths else "a kernel does not hold such an op",
            )
        selector(low, op)
