"""The `npu_isa` dialect: machine instructions over scalar registers."""

from __future__ import annotations

from xdsl.ir import Dialect

from .conditional import IfOp
from .ops import OPS
from .structure import KernelOp, LoopOp, YieldOp
from .types import FieldsAttr, RegType

DIALECT = Dialect(
    "npu_isa", [*OPS.values(), KernelOp, LoopOp, IfOp, YieldOp], [RegType, FieldsAttr]
)
