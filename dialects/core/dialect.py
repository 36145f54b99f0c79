"""The `core` dialect: weights, constants and the attributes all levels carry."""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import BlobAttr, DenseAttr, OriginAttr, StepAttr
from .ops import ConstantOp, WeightOp

DIALECT = Dialect("core", [WeightOp, ConstantOp], [BlobAttr, DenseAttr, OriginAttr, StepAttr])
