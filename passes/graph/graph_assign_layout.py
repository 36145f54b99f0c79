"""The pass `graph-assign-layout`."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.core.origins import move_origins
from ...dialects.core.steps import Step
from ...dialects.graph.base import static_shape
from ...dialects.graph.convolution import ConvOp
from ...dialects.graph.layout import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    ImageOp,
    filter_order,
    first_order,
    last_order,
)
from ...dialects.graph.movement import ReshapeOp, TransposeOp
from ..base import NpucPass, apply_patterns
from ..canonicalization import canonicalize_module
from .permutations import moves_nothing, permuted
from .transpose_sinking import SINKING, rebuilt


@dataclass(frozen=True)
class GraphAssignLayoutPass(NpucPass):
    """Compute convolutions and pools with channels last; cancel the transposes that this takes.

    Before:
    ```mlir
    func.func @main(%x: tensor<1x1x8x8xf32>) -> tensor<1x2xf32> {
      %f = core.weight #core.blob<tensor<4x1x3x3xf32>, "00", "mem:"> : tensor<4x1x3x3xf32>
      %m = core.weight #core.blob<tensor<36x2xf32>, "01", "mem:"> : tensor<36x2xf32>
      %0 = graph.conv %x, %f strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] groups 1
        layout "channels_first"
        : (tensor<1x1x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x3x3xf32>
      %1 = graph.relu %0 : tensor<1x4x3x3xf32>
      %2 = graph.reshape %1 : tensor<1x4x3x3xf32> -> tensor<1x36xf32>
      %3 = graph.matmul %2, %m : tensor<1x36xf32>, tensor<36x2xf32> -> tensor<1x2xf32>
      func.return %3 : tensor<1x2xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<1x1x8x8xf32>) -> tensor<1x2xf32> {
      %0 = graph.reshape %x : tensor<1x1x8x8xf32> -> tensor<1x8x8x1xf32>
      %f = core.weight #core.blob<tensor<4x1x3x3xf32>, "00", "mem:",
        [#core.step<"transpose", [2, 3, 1, 0]>]> : tensor<3x3x1x4xf32>
      %1 = graph.conv %0, %f strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] groups 1
        layout "channels_last"
        : (tensor<1x8x8x1xf32>, tensor<3x3x1x4xf32>) -> tensor<1x3x3x4xf32>
      %2 = graph.relu %1 : tensor<1x3x3x4xf32>
      %m = core.weight #core.blob<tensor<36x2xf32>, "01", "mem:",
        [#core.step<"reshape", [4, 3, 3, 2]>, #core.step<"transpose", [1, 2, 0, 3]>,
        #core.step<"reshape", [36, 2]>]> : tensor<36x2xf32>
      %3 = graph.reshape %2 : tensor<1x3x3x4xf32> -> tensor<1x36xf32>
      %4 = graph.matmul %3, %m : tensor<1x36xf32>, tensor<36x2xf32> -> tensor<1x2xf32>
      func.return %4 : tensor<1x2xf32>
    }
    ```
    Leaves alone: transposes that cannot be cancelled; those that move only axes of size 1 become
    reshapes.
    Assumes: weights are constants (`graph-canonicalize` has run), there is no `graph.batch_norm`.
    Algorithm: each operator is put between two transposes. Transposes sink through what commutes
    with them until they meet (`transpose_sinking.py`), constants take them as steps of their
    recipes, and the module is canonicalised, all to a fixed point. A value of the model is carried
    by the transposed one, whose origin says by which step.
    """

    name = "graph-assign-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert, sink and cancel to a fixed point; then turn free transposes into reshapes."""
        losses = canonicalize_module(op, [PutChannelsLast(), *SINKING])
        # Not before all have met: a reshape is harder to see through than a transpose.
        apply_patterns(op, [ReshapeInsteadOfTranspose()])
        losses += canonicalize_module(op)
        for loss in losses:
            self.lose(*loss)


class PutChannelsLast(RewritePattern):
    """An operator on images with channels first, as one with channels last between transposes."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Transpose the images, the filters if there are any, and the result back."""
        if not isinstance(op, ImageOp) or op.layout != CHANNELS_FIRST:
            return
        images, out = op.operands[0], op.results[0]
        rank = len(static_shape(images))
        last = last_order(rank)
        made = [TransposeOp(images, last)]
        operands = [made[0].out, *op.operands[1:]]
        if isinstance(op, ConvOp):
            made.append(TransposeOp(op.w, filter_order(rank)))
            operands[1] = made[1].out
        inner = rebuilt(op, operands, permuted(static_shape(out), last))
        inner.properties["layout"] = StringAttr(CHANNELS_LAST)
        result = inner.results[0]
        move_origins(out, result, Step("transpose", last))
        rewriter.replace(op, [*made, inner, TransposeOp(result, first_order(rank))])


class ReshapeInsteadOfTranspose(RewritePattern):
    """A transpose that moves only axes of size 1 is a reshape."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        """Replace it."""
        if moves_nothing(static_shape(op.x), op.order):
            rewriter.replace(op, ReshapeOp(op.x, static_shape(op.out)))
