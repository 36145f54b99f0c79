"""The pass `tensor-canonicalize`."""

from dataclasses import dataclass
from typing import ClassVar

from ..canonicalization import CanonicalizePass


@dataclass(frozen=True)
class TensorCanonicalizePass(CanonicalizePass):
    """Bring tensor code to one form: movement into maps, constants into bodies, steps into weights.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
      %two = core.constant dense<"0x00000040"> : tensor<f32>
      %0 = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d1, d0)>]
          -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
      ^bb0(%a: f32):
        tensor.yield %a : f32
      } : (tensor<8x4xf32>) -> tensor<4x8xf32>
      %1 = tensor.map(%0, %two)
          maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>]
          -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
      ^bb0(%a: f32, %b: f32):
        %c = arith.mulf %a, %b : f32
        tensor.yield %c : f32
      } : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
      func.return %1 : tensor<4x8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
      %0 = tensor.map(%x) maps [affine_map<(d0, d1) -> (d1, d0)>]
          -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
      ^bb0(%a: f32):
        %b = arith.constant 2.000000e+00 : f32
        %c = arith.mulf %a, %b : f32
        tensor.yield %c : f32
      } : (tensor<8x4xf32>) -> tensor<4x8xf32>
      func.return %0 : tensor<4x8xf32>
    }
    ```
    Leaves alone: the number of inputs of a contraction.   Assumes: nothing.
    The patterns are in the tensor dialect, the driver in `passes/canonicalization.py`.
    """

    name: ClassVar[str] = "tensor-canonicalize"
