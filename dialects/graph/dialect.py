"""The graph dialect: its operations in one list."""

from xdsl.ir import Dialect

from .contraction import GemmOp, MatMulOp
from .elementwise import AddOp, DivOp, MulOp, ReluOp, SubOp
from .movement import CastOp, ReshapeOp, TransposeOp
from .normalization import SoftmaxOp

DIALECT = Dialect(
    "graph",
    [
        AddOp,
        CastOp,
        DivOp,
        GemmOp,
        MatMulOp,
        MulOp,
        ReluOp,
        ReshapeOp,
        SoftmaxOp,
        SubOp,
        TransposeOp,
    ],
)
