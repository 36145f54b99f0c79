// RUN: npu-opt %s -p tensor-canonicalize --split-input-file | filecheck %s

// A map that moves nothing is its input, which takes over the name.
// CHECK-LABEL: func.func @identity
// CHECK-SAME: core.origins = [#core.origin<"i", "x">, #core.origin<"n", "t">]
func.func @identity(%x: tensor<4x8xf32> {core.origins = [#core.origin<"i", "x">]}) -> tensor<4x8xf32> {
  // CHECK-NEXT: func.return %x
  %0 = tensor.map(%x) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d1, d0)> iterators [parallel, parallel] attributes {core.origins = [[#core.origin<"n", "t">]]} {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// -----

// Views compose; one to the same shape goes. What nobody reads any more is a view of its source.
// CHECK-LABEL: func.func @views
// CHECK-SAME: core.origins = [#core.origin<"i", "x">, #core.origin<"n", "t", [#core.step<"reshape", [4, 8]>]>]
func.func @views(%x: tensor<4x8xf32> {core.origins = [#core.origin<"i", "x">]}) -> (tensor<2x16xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: %[[V:.*]] = tensor.view %x : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK-NEXT: func.return %[[V]], %x
  %0 = tensor.view %x {core.origins = [[#core.origin<"n", "t">]]} : tensor<4x8xf32> -> tensor<32xf32>
  %1 = tensor.view %0 : tensor<32xf32> -> tensor<2x16xf32>
  %2 = tensor.view %0 : tensor<32xf32> -> tensor<4x8xf32>
  func.return %1, %2 : tensor<2x16xf32>, tensor<4x8xf32>
}

// -----

// An input the body does not read goes, and the same element is read once.
// CHECK-LABEL: func.func @inputs
func.func @inputs(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] ->
  // CHECK-NEXT: ^bb0(%[[P:.*]]: f32):
  // CHECK-NEXT: arith.mulf %[[P]], %[[P]]
  %0 = tensor.map(%x, %y, %x) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %m = arith.mulf %p, %r : f32
    tensor.yield %m : f32
  } : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// -----

// It stays if nothing else says how long the reduced dim is.
// CHECK-LABEL: func.func @needed
func.func @needed(%x: tensor<4xf32>, %y: tensor<4x8xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: tensor.reduce(%x, %y)
  %0 = tensor.reduce(%x, %y) maps [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine add {
  ^bb0(%p: f32, %q: f32):
    tensor.yield %p : f32
  } : (tensor<4xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// One value for all elements is a scalar of the body: infinities and all.
// CHECK-LABEL: func.func @splat
func.func @splat(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: tensor.map(%x) maps
  // CHECK-NEXT: ^bb0(%[[P:.*]]: f32):
  // CHECK-NEXT: %[[C:.*]] = arith.constant 0xff800000 : f32
  // CHECK-NEXT: arith.maximumf %[[P]], %[[C]]
  %c = core.constant dense<"0x000080FF"> : tensor<8xf32>
  %0 = tensor.map(%x, %c) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32):
    %m = arith.maximumf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// -----

// Different values stay an input.
// CHECK-LABEL: func.func @no_splat
func.func @no_splat(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK: tensor.map(%x, %{{.*}})
  %c = core.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  %0 = tensor.map(%x, %c) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %0 : tensor<4x2xf32>
}

// -----

// A contract reads its factor through the transpose; the factor is now a view of the tensor `t`.
// CHECK-LABEL: func.func @transposed_factor
// CHECK-SAME: %b: tensor<8x16xf32> {core.origins = [#core.origin<"i", "b">, #core.origin<"n", "t", [#core.step<"transpose", [1, 0]>]>]}
func.func @transposed_factor(%a: tensor<4x16xf32>, %b: tensor<8x16xf32> {core.origins = [#core.origin<"i", "b">]}) -> tensor<4x8xf32> {
  // CHECK-NEXT: tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>] ->
  %0 = tensor.transpose(%b) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] attributes {core.origins = [[#core.origin<"n", "t">]]} {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %1 = tensor.contract(%a, %0) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  func.return %1 : tensor<4x8xf32>
}

// -----

// A broadcast folds too; but not where a reduction would no longer know how often to repeat.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%b: tensor<8xf32>, %x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %[[W:.*]] = tensor.map(%b)
  %0 = tensor.map(%b) maps [affine_map<(d0, d1) -> (d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: tensor.map(%x, %b) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
  %1 = tensor.map(%x, %0) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: tensor.reduce(%[[W]])
  %2 = tensor.reduce(%0) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d1)> iterators [reduction, parallel] combine add {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x8xf32>) -> tensor<8xf32>
  func.return %1, %2 : tensor<4x8xf32>, tensor<8xf32>
}

// -----

// What a window reads is not read through a transpose, nor from a constant in the body.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<4x9xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[T:.*]] = tensor.transpose(%x)
  // CHECK: tensor.reduce(%[[T]], %{{.*}}) maps [affine_map<(d0, d1, d2) -> ((d0 + d2), d1)>, affine_map<(d0, d1, d2) -> (d2)>]
  %c = core.constant dense<"0x0000803F0000803F"> : tensor<2xf32>
  %0 = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x9xf32>) -> tensor<9x4xf32>
  %1 = tensor.reduce(%0, %c) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>, affine_map<(d0, d1, d2) -> (d2)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<9x4xf32>, tensor<2xf32>) -> tensor<8x4xf32>
  func.return %1 : tensor<8x4xf32>
}

// -----

// A convolution by a weight reads a recipe of it.
// CHECK-LABEL: func.func @filter
func.func @filter(%x: tensor<2x9x4xf32>) -> tensor<2x7x6xf32> {
  // CHECK-NEXT: %[[W:.*]] = core.weight #core.blob<tensor<6x4x3xf32>, "00", "mem:", [#core.step<"transpose", [2, 1, 0]>]> : tensor<3x4x6xf32>
  // CHECK-NEXT: tensor.contract(%x, %[[W]])
  %w = core.weight #core.blob<tensor<6x4x3xf32>, "00", "mem:"> : tensor<6x4x3xf32>
  %0 = tensor.transpose(%w) maps [affine_map<(d0, d1, d2) -> (d2, d1, d0)>] -> affine_map<(d0, d1, d2) -> (d0, d1, d2)> iterators [parallel, parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<6x4x3xf32>) -> tensor<3x4x6xf32>
  %1 = tensor.contract(%x, %0) maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 + d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>] -> affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction, reduction] combine add {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
  } : (tensor<2x9x4xf32>, tensor<3x4x6xf32>) -> tensor<2x7x6xf32>
  func.return %1 : tensor<2x7x6xf32>
}
