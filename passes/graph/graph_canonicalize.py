"""The pass `graph-canonicalize`."""

from dataclasses import dataclass

from ..canonicalization import CanonicalizePass


@dataclass(frozen=True)
class GraphCanonicalizePass(CanonicalizePass):
    """Simplify the graph: neutral operands, chains of movement, constants, equal and dead ops.

    A cast, transpose or reshape of a weight becomes a step of the weight.

    Before:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<16xf32> {
      %zero = core.constant dense<"0x00000000"> : tensor<f32>
      %0 = graph.add %x, %zero : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
      %1 = graph.reshape %0 : tensor<2x8xf32> -> tensor<4x4xf32>
      %2 = graph.reshape %1 : tensor<4x4xf32> -> tensor<16xf32>
      %3 = graph.relu %2 : tensor<16xf32>
      func.return %2 : tensor<16xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<16xf32> {
      %0 = graph.reshape %x : tensor<2x8xf32> -> tensor<16xf32>
      func.return %0 : tensor<16xf32>
    }
    ```
    Leaves alone: casts that lose bits, and arithmetic on weights. The patterns of each op are in
    the graph dialect, the driver in `passes/canonicalization.py`.
    """

    name = "graph-canonicalize"
