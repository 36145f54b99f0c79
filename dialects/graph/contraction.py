"""Operators that multiply and sum: matrix products."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_of
from ..core.dtypes import Array
from ..core.kernels import contract
from ..core.kernels.cast import cast
from ..core.kernels.elementwise import add
from ..core.ops import Cost
from .base import (
    ContractionOp,
    broadcast,
    contraction_element,
    dtype,
    same_element,
    shaped,
    static_shape,
)

ONE = FloatAttr(1.0, f32)


@irdl_op_definition
class MatMulOp(ContractionOp):
    """Product of two matrices or of two batches of them, summed in f32.

    Both factors have at least two dimensions; those before the last two broadcast by numpy's rules.
    f16 and bf16 factors give an f32 result, or one rounded to their own type; i32 factors give i32.

    ```mlir
    %a = "test.op"() : () -> tensor<8x32x64xf16>
    %b = "test.op"() : () -> tensor<64x16xf16>
    %c = graph.matmul %a, %b : tensor<8x32x64xf16>, tensor<64x16xf16> -> tensor<8x32x16xf32>
    ```
    """

    name = "graph.matmul"

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($out)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, out: str | None = None) -> None:
        """The product with the element type named `out`, by default that of the factors."""
        shape = matmul_shape(static_shape(lhs), static_shape(rhs))
        result = tensor_of(out or dtype(lhs), shape)
        super().__init__(operands=[lhs, rhs], result_types=[result])

    def infer(self) -> Sequence[Attribute]:
        """Batches broadcast; [.., m, k] times [.., k, n] is [.., m, n]."""
        shape = matmul_shape(static_shape(self.lhs), static_shape(self.rhs))
        if dtype(self.lhs) == "i32":
            return [shaped(shape, same_element(self.lhs, self.rhs))]
        return [shaped(shape, contraction_element(self.lhs, self.rhs, self.out))]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The f32 product, rounded once to the result's type; that of integers is exact."""
        return [cast(contract.matmul(*args), dtype(self.out))]

    def cost(self) -> Cost:
        """Two operations per product."""
        depth = static_shape(self.lhs)[-1]
        return Cost(2 * depth * math.prod(static_shape(self.out)), *self.traffic())


def matmul_shape(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...]:
    """The shape of a product of matrices; `VerifyException` if the factors do not fit."""
    if len(lhs) < 2 or len(rhs) < 2:
        raise VerifyException(
            f"factors need two dimensions or more, got {list(lhs)} and {list(rhs)}"
        )
    if lhs[-1] != rhs[-2]:
        raise VerifyException(
            f"{list(lhs)} has {lhs[-1]} columns but {list(rhs)} has {rhs[-2]} rows"
        )
    return (*broadcast(lhs[:-2], rhs[:-2]), lhs[-2], rhs[-1])


@irdl_op_definition
class GemmOp(ContractionOp):
    """alpha * a b + beta * c for matrices a and b, either of them transposed on request.

    The product is summed in f32, scaled, and `c` added in f32; the result is rounded once. `c` has
    the element type of the result or of the factors and broadcasts to the shape of the product.

    ```mlir
    %a = "test.op"() : () -> tensor<32x64xf16>
    %b = "test.op"() : () -> tensor<10x64xf16>
    %c = "test.op"() : () -> tensor<10xf32>
    %r = graph.gemm %a, %b add %c alpha 5.000000e-01 : f32 trans_b
      : (tensor<32x64xf16>, tensor<10x64xf16>, tensor<10xf32>) -> tensor<32x10xf32>
    ```
    """

    name = "graph.gemm"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = opt_operand_def(TensorType)
    # Not constrained to f32 here: xDSL would print no type, and cannot read all such numbers back.
    alpha = prop_def(FloatAttr, default_value=ONE)
    beta = prop_def(FloatAttr, default_value=ONE)
    trans_a = opt_prop_def(UnitAttr)
    trans_b = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    assembly_format = (
        "$a `,` $b (`add` $c^)? (`alpha` $alpha^)? (`beta` $beta^)? "
        "(`trans_a` $trans_a^)? (`trans_b` $trans_b^)? attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue | None = None,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        trans_a: bool = False,
        trans_b: bool = False,
        out: str | None = None,
    ) -> None:
        """The product with the element type named `out`, by default that of the factors."""
        shape = gemm_shape(static_shape(a), static_shape(b), trans_a, trans_b)
        super().__init__(
            operands=[a, b, c],
            properties={
                "alpha": FloatAttr(alpha, f32),
                "beta": FloatAttr(beta, f32),
                "trans_a": UnitAttr() if trans_a else None,
                "trans_b": UnitAttr() if trans_b else None,
            },
            result_types=[tensor_of(out or dtype(a), shape)],
        )

    def infer(self) -> Sequence[Attribute]:
        """[m, k] times [k, n], after the transposes, is [m, n]; `c` must broadcast to that."""
        shape = gemm_shape(
            static_shape(self.a), static_shape(self.b), bool(self.trans_a), bool(self.trans_b)
        )
        result = contraction_element(self.a, self.b, self.out)
        if not self.alpha.type == self.beta.type == f32:
            raise VerifyException("alpha and beta must be f32")
        if self.c is not None:
            if dtype(self.c) not in (dtype(self.out), dtype(self.a)):
                same_element(self.out, self.c)
            if broadcast(shape, static_shape(self.c)) != shape:
                raise VerifyException(
                    f"c of shape {list(static_shape(self.c))} does not broadcast to {list(shape)}"
                )
        return [shaped(shape, result)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The scaled sum in f32 (f64 for f64 factors), rounded once to the result's type."""
        a = args[0].T if self.trans_a else args[0]
        b = args[1].T if self.trans_b else args[1]
        total = contract.matmul(a, b)
        wide = total.dtype.type
        with np.errstate(all="ignore"):
            total = total * wide(self.alpha.value.data)
            if len(args) > 2:
                total = add(total, args[2].astype(wide) * wide(self.beta.value.data))
        return [cast(total, dtype(self.out))]

    def cost(self) -> Cost:
        """Two operations per product, and those of scaling and adding."""
        size = math.prod(static_shape(self.out))
        depth = static_shape(self.a)[0 if self.trans_a else 1]
        scaled = [factor.value.data != 1.0 for factor in (self.alpha, self.beta)]
        extra = int(scaled[0]) + (1 + int(scaled[1]) if self.c is not None else 0)
        return Cost((2 * depth + extra) * size, *self.traffic())


def gemm_shape(a: Sequence[int], b: Sequence[int], trans_a: bool, trans_b: bool) -> tuple[int, int]:
    """The shape of the product of two matrices; `VerifyException` if they do not fit."""
    if len(a) != 2 or len(b) != 2:
        raise VerifyException(f"factors must be matrices, got {list(a)} and {list(b)}")
    rows, depth = (a[1], a[0]) if trans_a else (a[0], a[1])
    inner, columns = (b[1], b[0]) if trans_b else (b[0], b[1])
    if depth != inner:
        raise VerifyException(
            f"a {list(a)} gives {depth} columns but b {list(b)} gives {inner} rows"
        )
    return rows, columns
