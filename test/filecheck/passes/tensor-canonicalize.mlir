// RUN: npu-opt %s -p tensor-canonicalize --split-input-file | filecheck %s

// What is done to a weight becomes steps of the weight, in order.
// CHECK-LABEL: func.func @recipe
func.func @recipe() -> tensor<16xf16> {
  // CHECK-NEXT: core.weight #core.blob<tensor<2x8xf32>, "00", "mem:", [#core.step<"transpose", [1, 0]>, #core.step<"cast", f16>, #core.step<"reshape", [16]>]> : tensor<16xf16>
  // CHECK-NEXT: func.return
  %w = core.weight #core.blob<tensor<2x8xf32>, "00", "mem:"> : tensor<2x8xf32>
  %0 = tensor.transpose(%w) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %1 = tensor.map(%0) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    %q = arith.truncf %p : f32 to f16
    tensor.yield %q : f16
  } : (tensor<8x2xf32>) -> tensor<8x2xf16>
  %2 = tensor.view %1 : tensor<8x2xf16> -> tensor<16xf16>
  func.return %2 : tensor<16xf16>
}

// -----

// A conversion that truncates is no step.
// CHECK-LABEL: func.func @truncation
func.func @truncation() -> tensor<8xi32> {
  // CHECK: arith.fptosi
  %w = core.weight #core.blob<tensor<8xf32>, "00", "mem:"> : tensor<8xf32>
  %0 = tensor.map(%w) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {
  ^bb0(%p: f32):
    %q = arith.fptosi %p : f32 to i32
    tensor.yield %q : i32
  } : (tensor<8xf32>) -> tensor<8xi32>
  func.return %0 : tensor<8xi32>
}

// -----

// Equal computations are one, whatever their values are called; what nobody reads goes.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[E:.*]] = tensor.map(%x)
  // CHECK-NOT: tensor.map
  // CHECK: func.return %[[E]], %[[E]]
  %0 = tensor.map(%x) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {
  ^bb0(%p: f32):
    %q = math.exp %p : f32
    tensor.yield %q : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  %1 = tensor.map(%x) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    tensor.yield %b : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = tensor.map(%x) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {
  ^bb0(%p: f32):
    %q = math.sqrt %p : f32
    tensor.yield %q : f32
  } : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Small constants fold: the transpose of [[1, 2]] as a column.
// CHECK-LABEL: func.func @constants
func.func @constants() -> tensor<2x1xi32> {
  // CHECK-NEXT: core.constant dense<{{\[\[}}1], [2]]> : tensor<2x1xi32>
  // CHECK-NEXT: func.return
  %c = core.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %0 = tensor.transpose(%c) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: i32):
    tensor.yield %p : i32
  } : (tensor<1x2xi32>) -> tensor<2x1xi32>
  func.return %0 : tensor<2x1xi32>
}
