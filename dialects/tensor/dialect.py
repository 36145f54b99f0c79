"""The `tensor` dialect: upstream's ops of the same name, and npuc's structured ones.

It replaces upstream's in npuc's own contexts (see the README for why the name is shared).
"""

from xdsl.dialects.tensor import Tensor as Upstream
from xdsl.ir import Dialect

from .host import HostCallOp
from .ops import ContractOp, GroupOp, MapOp, ReduceOp, TransposeOp, ViewOp

DIALECT = Dialect(
    "tensor",
    [*Upstream.operations, MapOp, ReduceOp, ContractOp, TransposeOp, ViewOp, GroupOp, HostCallOp],
    [*Upstream.attributes],
)
