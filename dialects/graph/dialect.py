"""The graph dialect: its operations in one list."""

from xdsl.ir import Dialect

from .contraction import GemmOp, MatMulOp
from .convolution import ConvOp
from .elementwise import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, ReluOp, SubOp
from .movement import CastOp, ReshapeOp, TransposeOp
from .normalization import BatchNormOp, SoftmaxOp
from .pooling import AveragePoolOp, GlobalAveragePoolOp, GlobalMaxPoolOp, MaxPoolOp

DIALECT = Dialect(
    "graph",
    [
        AddOp,
        AveragePoolOp,
        BatchNormOp,
        CastOp,
        ConvOp,
        DivOp,
        GemmOp,
        GlobalAveragePoolOp,
        GlobalMaxPoolOp,
        MatMulOp,
        MaxPoolOp,
        MaximumOp,
        MinimumOp,
        MulOp,
        ReluOp,
        ReshapeOp,
        SoftmaxOp,
        SubOp,
        TransposeOp,
    ],
)
