"""`convert-graph-to-tensor`: every operator becomes structured ops over an iteration space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.core.errors import UnsupportedError
from ...dialects.core.locations import where
from ...dialects.core.origins import move_location, move_origins
from ...dialects.graph.contraction import GemmOp, MatMulOp
from ...dialects.graph.convolution import ConvOp
from ...dialects.graph.elementwise import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, ReluOp, SubOp
from ...dialects.graph.movement import CastOp, ReshapeOp, TransposeOp
from ...dialects.graph.normalization import SoftmaxOp
from ...dialects.graph.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    MaxPoolOp,
)
from ..base import NpucPass
from .contraction import convert_gemm, convert_matmul
from .convolution import convert_conv
from .elementwise import convert_binary, convert_cast, convert_relu
from .emit import Emitter
from .movement import convert_reshape, convert_transpose
from .normalization import convert_softmax
from .pooling import (
    convert_average_pool,
    convert_global_average_pool,
    convert_global_max_pool,
    convert_max_pool,
)

CONVERSIONS: dict[type[Operation], Callable[[Emitter, Any], SSAValue]] = {
    AddOp: convert_binary,
    SubOp: convert_binary,
    MulOp: convert_binary,
    DivOp: convert_binary,
    MaximumOp: convert_binary,
    MinimumOp: convert_binary,
    ReluOp: convert_relu,
    CastOp: convert_cast,
    MatMulOp: convert_matmul,
    GemmOp: convert_gemm,
    ConvOp: convert_conv,
    MaxPoolOp: convert_max_pool,
    AveragePoolOp: convert_average_pool,
    GlobalMaxPoolOp: convert_global_max_pool,
    GlobalAveragePoolOp: convert_global_average_pool,
    SoftmaxOp: convert_softmax,
    ReshapeOp: convert_reshape,
    TransposeOp: convert_transpose,
}
"""How each operator is decomposed: a function that inserts the ops and returns the final value."""


@dataclass(frozen=True)
class ConvertGraphToTensorPass(NpucPass):
    """Decompose the operators of `graph` into structured ops of `tensor`.

    Before:
    ```mlir
    func.func @main(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = graph.relu %x : tensor<4x8xf32>
      func.return %y : tensor<4x8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>]
          -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
      ^bb0(%a : f32):
        %zero = arith.constant 0.000000e+00 : f32
        %r = arith.maximumf %a, %zero : f32
        tensor.yield %r : f32
      } : (tensor<4x8xf32>) -> tensor<4x8xf32>
      func.return %y : tensor<4x8xf32>
    }
    ```
    Leaves alone: everything that is not of `graph`.   Assumes: dtypes are legal,
    and the channels of convolutions and poolings are last (`graph-assign-layout`).
    Algorithm: one walk in program order; each operator is replaced by the ops that `CONVERSIONS`
    makes for it. Its origins move to the final one; the ops before it carry none.
    """

    name = "convert-graph-to-tensor"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace all graph ops; UnsupportedError lists all for which there is no decomposition."""
        graph_ops = [inner for inner in op.walk() if inner.name.startswith("graph.")]
        _refuse_unknown(graph_ops)
        for inner in graph_ops:
            _replace(inner)


def _refuse_unknown(graph_ops: list[Operation]) -> None:
    unknown = [op for op in graph_ops if type(op) not in CONVERSIONS]
    if unknown:
        raise UnsupportedError(
            f"there is no decomposition of {', '.join(sorted({op.name for op in unknown}))}",
            where="; ".join(filter(None, map(where, unknown))) or None,
            hint=f"supported are {', '.join(sorted(kind.name for kind in CONVERSIONS))}",
        )


def _replace(op: Operation) -> None:
    before = op.prev_op
    result = CONVERSIONS[type(op)](Emitter(op), op)
    made = op.prev_op
    while made is not None and made is not before:
        move_location(op, made)
        made = made.prev_op
    old = op.results[0]
    move_origins(old, result)
    if result.name_hint is None:
        result.name_hint = old.name_hint
    old.replace_all_uses_with(result)
    op.detach()
    op.erase()
