"""Operators that scale an axis to a given total."""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_type
from ..core.dtypes import Array
from ..core.kernels.reduce import softmax
from ..core.ops import Cost
from .base import SAME_TENSOR, GraphOp, float_element, static_shape

_OPERATIONS = 5
"""Per element: maximum, subtraction, exponential, sum, division."""


@irdl_op_definition
class SoftmaxOp(GraphOp):
    """exp(x - max) / sum of that, along one axis; computed in f32 and rounded once.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = graph.softmax %a axis 1 : tensor<32x10xf32>
    ```
    """

    name = "graph.softmax"

    x = operand_def(SAME_TENSOR)
    axis = prop_def(IntegerAttr.constr(i64))
    out = result_def(SAME_TENSOR)
    assembly_format = "$x `axis` $axis attr-dict `:` type($x)"

    def __init__(self, x: SSAValue, axis: int) -> None:
        """The softmax of `x` along `axis`, counted from 0."""
        super().__init__(
            operands=[x], properties={"axis": IntegerAttr(axis, i64)}, result_types=[x.type]
        )

    def infer(self) -> Sequence[Attribute]:
        """The operand's type."""
        float_element(self.x)
        rank = len(static_shape(self.x))
        axis = self.axis.value.data
        if not 0 <= axis < rank:
            raise VerifyException(f"axis {axis} is outside 0..{rank - 1}, the axes of the operand")
        return [tensor_type(self.x)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The normalised exponentials."""
        return [softmax(args[0], self.axis.value.data)]

    def cost(self) -> Cost:
        """Five operations per element."""
        return Cost(_OPERATIONS * math.prod(static_shape(self.out)), *self.traffic())
