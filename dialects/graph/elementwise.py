"""Elementwise arithmetic with numpy's broadcasting."""

import math
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_type
from ..core.dtypes import Array
from ..core.kernels import elementwise
from ..core.ops import Cost
from .base import SAME_TENSOR, GraphOp, broadcast, dtype, same_element, shaped, static_shape


class BinaryOp(GraphOp):
    """An operator on pairs of elements; the operands broadcast by numpy's rules.

    Both operands and the result have one element type, not bool. f16 and bf16 are computed in f32
    and rounded once; integers wrap.
    """

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($out)"

    ELEMENTWISE: ClassVar[bool] = True
    NEUTRAL: ClassVar[int | None] = None
    """The right operand that leaves the left one as it is."""

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        """The operator on two tensors of one element type."""
        shape = broadcast(static_shape(lhs), static_shape(rhs))
        super().__init__(operands=[lhs, rhs], result_types=[shaped(shape, same_element(lhs, rhs))])

    def infer(self) -> Sequence[Attribute]:
        """The broadcast shape with the operands' element type."""
        element = same_element(self.lhs, self.rhs)
        if dtype(self.lhs) == "bool":
            raise VerifyException("there is no arithmetic on bool; cast to i32 first")
        return [shaped(broadcast(static_shape(self.lhs), static_shape(self.rhs)), element)]

    def cost(self) -> Cost:
        """One operation per element of the result."""
        return Cost(math.prod(static_shape(self.out)), *self.traffic())


@irdl_op_definition
class AddOp(BinaryOp):
    """Sum of two tensors, elementwise with broadcasting.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<10xf32>
    %c = graph.add %a, %b : tensor<32x10xf32>, tensor<10xf32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.add"
    NEUTRAL: ClassVar[int | None] = 0

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """lhs + rhs."""
        return [elementwise.add(*args)]


@irdl_op_definition
class SubOp(BinaryOp):
    """Difference of two tensors, elementwise with broadcasting.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<32x1xf32>
    %c = graph.sub %a, %b : tensor<32x10xf32>, tensor<32x1xf32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.sub"
    NEUTRAL: ClassVar[int | None] = 0

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """lhs - rhs."""
        return [elementwise.sub(*args)]


@irdl_op_definition
class MulOp(BinaryOp):
    """Product of two tensors, elementwise with broadcasting.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<32x10xf32>
    %c = graph.mul %a, %b : tensor<32x10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.mul"
    NEUTRAL: ClassVar[int | None] = 1

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """lhs * rhs."""
        return [elementwise.mul(*args)]


@irdl_op_definition
class DivOp(BinaryOp):
    """Quotient of two tensors, elementwise with broadcasting; integers truncate towards zero.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<f32>
    %c = graph.div %a, %b : tensor<32x10xf32>, tensor<f32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.div"
    NEUTRAL: ClassVar[int | None] = 1

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """lhs / rhs; `ExecutionError` for an integer divisor of zero."""
        return [elementwise.div(*args)]


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger of two tensors, elementwise with broadcasting; NaN if either is NaN.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<f32>
    %c = graph.maximum %a, %b : tensor<32x10xf32>, tensor<f32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.maximum"

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """max(lhs, rhs)."""
        return [elementwise.maximum(*args)]


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller of two tensors, elementwise with broadcasting; NaN if either is NaN.

    ```mlir
    %a = "test.op"() : () -> tensor<32x10xf32>
    %b = "test.op"() : () -> tensor<f32>
    %c = graph.minimum %a, %b : tensor<32x10xf32>, tensor<f32> -> tensor<32x10xf32>
    ```
    """

    name = "graph.minimum"

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """min(lhs, rhs)."""
        return [elementwise.minimum(*args)]


@irdl_op_definition
class ReluOp(GraphOp):
    """The larger of each element and zero; NaN stays NaN.

    ```mlir
    %a = "test.op"() : () -> tensor<32x64xf32>
    %b = graph.relu %a : tensor<32x64xf32>
    ```
    """

    name = "graph.relu"
    ELEMENTWISE: ClassVar[bool] = True

    x = operand_def(SAME_TENSOR)
    out = result_def(SAME_TENSOR)
    assembly_format = "$x attr-dict `:` type($x)"

    def __init__(self, x: SSAValue) -> None:
        """The rectified tensor."""
        super().__init__(operands=[x], result_types=[x.type])

    def infer(self) -> Sequence[Attribute]:
        """The operand's type."""
        static_shape(self.x)
        if dtype(self.x) == "bool":
            raise VerifyException("there is no relu of bool; cast to i32 first")
        return [tensor_type(self.x)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """max(x, 0)."""
        return [elementwise.relu(*args)]

    def cost(self) -> Cost:
        """One operation per element."""
        return Cost(math.prod(static_shape(self.out)), *self.traffic())
