"""Operators that move elements or change their type, without arithmetic."""

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_of
from ..core.dtypes import Array, is_float
from ..core.kernels.cast import cast
from ..core.ops import Cost
from ..core.steps import Step
from .base import GraphOp, dtype, element, shaped, static_shape


@irdl_op_definition
class ReshapeOp(GraphOp):
    """The same elements, in row-major order, under another shape.

    ```mlir
    %a = "test.op"() : () -> tensor<32x1x8x8xf32>
    %b = graph.reshape %a : tensor<32x1x8x8xf32> -> tensor<32x64xf32>
    ```
    """

    name = "graph.reshape"

    x = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($out)"

    def __init__(self, x: SSAValue, shape: Sequence[int]) -> None:
        """`x` with the sizes `shape`."""
        super().__init__(operands=[x], result_types=[shaped(shape, element(x))])

    def infer(self) -> Sequence[Attribute]:
        """The result's own shape, if it holds as many elements, with the operand's element type."""
        source, target = static_shape(self.x), static_shape(self.out)
        if math.prod(source) != math.prod(target):
            raise VerifyException(
                f"shape {list(source)} has {math.prod(source)} elements, "
                f"{list(target)} has {math.prod(target)}"
            )
        return [shaped(target, element(self.x))]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The array under its new shape."""
        return [args[0].reshape(static_shape(self.out))]

    def cost(self) -> Cost:
        """No operations, each element once."""
        return Cost(0, *self.traffic())

    def recipe_step(self) -> Step:
        """A reshape, for a weight."""
        return Step("reshape", static_shape(self.out))


@irdl_op_definition
class TransposeOp(GraphOp):
    """The dimensions in another order: result dimension i is operand dimension perm[i].

    ```mlir
    %a = "test.op"() : () -> tensor<2x3x4xf32>
    %b = graph.transpose %a perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
    ```
    """

    name = "graph.transpose"

    x = operand_def(TensorType)
    perm = prop_def(DenseArrayBase.constr(i64))
    out = result_def(TensorType)
    assembly_format = "$x `perm` $perm attr-dict `:` type($x) `->` type($out)"

    def __init__(self, x: SSAValue, perm: Sequence[int]) -> None:
        """`x` with its dimensions in the order `perm`."""
        shape = transposed(static_shape(x), perm)
        super().__init__(
            operands=[x],
            properties={"perm": DenseArrayBase.from_list(i64, perm)},
            result_types=[shaped(shape, element(x))],
        )

    @property
    def order(self) -> tuple[int, ...]:
        """The permutation."""
        return self.perm.get_values()

    def infer(self) -> Sequence[Attribute]:
        """The permuted shape."""
        return [shaped(transposed(static_shape(self.x), self.order), element(self.x))]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The transposed array."""
        return [np.transpose(args[0], self.order)]

    def cost(self) -> Cost:
        """No operations, each element once."""
        return Cost(0, *self.traffic())

    def recipe_step(self) -> Step:
        """A transpose, for a weight."""
        return Step("transpose", self.order)


def transposed(shape: Sequence[int], perm: Sequence[int]) -> tuple[int, ...]:
    """`shape` in the order `perm`; `VerifyException` if that is not a permutation of it."""
    if sorted(perm) != list(range(len(shape))):
        raise VerifyException(f"{list(perm)} is not a permutation of {len(shape)} dimensions")
    return tuple(shape[axis] for axis in perm)


@irdl_op_definition
class CastOp(GraphOp):
    """Conversion to another element type.

    Floats round to nearest, ties to even. Floats become integers by truncation towards zero;
    integers out of range saturate, NaN gives 0. A bool is whether the element is not zero.

    ```mlir
    %a = "test.op"() : () -> tensor<32x64xf32>
    %b = graph.cast %a : tensor<32x64xf32> -> tensor<32x64xf16>
    ```
    """

    name = "graph.cast"
    ELEMENTWISE: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$x attr-dict `:` type($x) `->` type($out)"

    def __init__(self, x: SSAValue, out: str) -> None:
        """`x` with the element type named `out`."""
        super().__init__(operands=[x], result_types=[tensor_of(out, static_shape(x))])

    def infer(self) -> Sequence[Attribute]:
        """The operand's shape with the result's own element type."""
        return [tensor_of(dtype(self.out), static_shape(self.x))]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The converted array."""
        target = dtype(self.out)
        return [cast(args[0], target, "even" if is_float(target) else "zero")]

    def cost(self) -> Cost:
        """One operation per element."""
        return Cost(math.prod(static_shape(self.out)), *self.traffic())

    def recipe_step(self) -> Step | None:
        """A cast, for a weight; not from float to integer, as recipes round and do not truncate."""
        if is_float(dtype(self.x)) and not is_float(dtype(self.out)):
            return None
        return Step("cast", dtype(self.out))
