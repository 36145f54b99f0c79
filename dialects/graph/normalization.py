"""Operators that bring values to a common scale."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_type
from ..core.dtypes import Array, to_numpy
from ..core.kernels.cast import cast
from ..core.kernels.reduce import softmax
from ..core.ops import Cost
from .base import (
    SAME_TENSOR,
    GraphOp,
    accumulator,
    dtype,
    float_element,
    same_element,
    static_shape,
)

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


_BATCH_NORM_OPERATIONS = 2
"""Per element: a product and a sum; the rest is per channel."""


@irdl_op_definition
class BatchNormOp(GraphOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, each parameter by channel.

    Statistics are given, as in inference. All operands have one float element type; parameters have
    the shape [channels]. Computed in f32 (f64 for f64) and rounded once.

    ```mlir
    %x = "test.op"() : () -> tensor<1x3x8x8xf32>
    %s, %b, %m, %v = "test.op"()
      : () -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    %y = graph.batch_norm %x scale %s bias %b mean %m variance %v epsilon 1.000000e-03 : f32
      channel_axis 1 : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>) -> tensor<1x3x8x8xf32>
    ```
    """

    name = "graph.batch_norm"

    x = operand_def(TensorType)
    scale = operand_def(TensorType)
    bias = operand_def(TensorType)
    mean = operand_def(TensorType)
    variance = operand_def(TensorType)
    # Not constrained to f32 here: xDSL would print no type, and cannot read all such numbers back.
    epsilon_attr = prop_def(FloatAttr, prop_name="epsilon")
    channel_axis_attr = prop_def(IntegerAttr.constr(i64), prop_name="channel_axis")
    out = result_def(TensorType)
    assembly_format = (
        "$x `scale` $scale `bias` $bias `mean` $mean `variance` $variance `epsilon` $epsilon "
        "`channel_axis` $channel_axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x: SSAValue,
        scale: SSAValue,
        bias: SSAValue,
        mean: SSAValue,
        variance: SSAValue,
        *,
        epsilon: float,
        channel_axis: int,
    ) -> None:
        """`x` normalised along the channels of `channel_axis`, counted from 0."""
        super().__init__(
            operands=[x, scale, bias, mean, variance],
            properties={
                "epsilon": FloatAttr(epsilon, f32),
                "channel_axis": IntegerAttr(channel_axis, i64),
            },
            result_types=[x.type],
        )

    @property
    def epsilon(self) -> float:
        """What is added to the variance."""
        return self.epsilon_attr.value.data

    @property
    def channel_axis(self) -> int:
        """The axis of the channels, counted from 0."""
        return self.channel_axis_attr.value.data

    def infer(self) -> Sequence[Attribute]:
        """The type of `x`."""
        float_element(self.x)
        shape = static_shape(self.x)
        if not 0 <= self.channel_axis < len(shape):
            raise VerifyException(f"the channel axis {self.channel_axis} is outside {list(shape)}")
        if self.epsilon_attr.type != f32:
            raise VerifyException("epsilon must be f32")
        for value in self.operands[1:]:
            same_element(self.x, value)
            if static_shape(value) != (shape[self.channel_axis],):
                raise VerifyException(
                    f"a parameter has shape {list(static_shape(value))}, but there are "
                    f"{shape[self.channel_axis]} channels"
                )
        return [tensor_type(self.x)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The normalised tensor."""
        kind = to_numpy(accumulator(dtype(self.x)))
        x, scale, bias, mean, variance = [array.astype(kind) for array in args]
        factor, offset = affine(scale, bias, mean, variance, self.epsilon)
        shape = [1] * x.ndim
        shape[self.channel_axis] = -1
        with np.errstate(all="ignore"):
            result = x * factor.reshape(shape) + offset.reshape(shape)
        return [cast(result, dtype(self.out))]

    def cost(self) -> Cost:
        """Two operations per element."""
        return Cost(_BATCH_NORM_OPERATIONS * math.prod(static_shape(self.out)), *self.traffic())


def affine(
    scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float
) -> tuple[Array, Array]:
    """A batch norm as `x * factor + offset`, in the (float) type of the parameters."""
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + variance.dtype.type(epsilon))
        return factor, bias - mean * factor
