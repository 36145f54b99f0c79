// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s

// A map broadcasts what its maps leave out, and reads an axis of size 1 through the constant 0.
// CHECK-LABEL: func.func @map
func.func @map(%x: tensor<4x8xf32>, %b: tensor<1x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %{{.*}} = tensor.map(%{{.*}}, %{{.*}}) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] attributes {core.origins = {{\[\[}}#core.origin<"n", "t">]]} {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: tensor.yield %{{.*}} : f32
  // CHECK-NEXT: } : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %0 = tensor.map(%x, %b) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] attributes {core.origins = [[#core.origin<"n", "t">]]} {
  ^bb0(%p: f32, %q: f32):
    %s = arith.addf %p, %q : f32
    tensor.yield %s : f32
  } : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// Without inputs and dims: one element.
// CHECK-LABEL: func.func @scalar
func.func @scalar() -> tensor<f32> {
  // CHECK: tensor.map() maps [] -> affine_map<() -> ()> iterators [] {
  // CHECK: } : () -> tensor<f32>
  %0 = tensor.map() maps [] -> affine_map<() -> ()> iterators [] {
    %c = arith.constant 1.0 : f32
    tensor.yield %c : f32
  } : () -> tensor<f32>
  func.return %0 : tensor<f32>
}

// A reduction names its combiner; its dims need not be the last ones.
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: tensor.reduce(%{{.*}}) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d1)> iterators [reduction, parallel] combine max {
  %0 = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d1)> iterators [reduction, parallel] combine max {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// A batched product whose right factor is transposed and shared by the batches.
// CHECK-LABEL: func.func @contract
func.func @contract(%a: tensor<2x4x16xf16>, %b: tensor<8x16xf16>) -> tensor<2x4x8xf32> {
  // CHECK-NEXT: tensor.contract(%{{.*}}, %{{.*}}) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction] combine add {
  %0 = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction] combine add {
  ^bb0(%p: f16, %q: f16):
    %u = arith.extf %p : f16 to f32
    %v = arith.extf %q : f16 to f32
    %w = arith.mulf %u, %v : f32
    tensor.yield %w : f32
  } : (tensor<2x4x16xf16>, tensor<8x16xf16>) -> tensor<2x4x8xf32>
  func.return %0 : tensor<2x4x8xf32>
}

// A convolution reads along windows, here with a stride and padding; the filter is [taps.., c, o].
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x9x8x4xf16>, %w: tensor<3x3x4x2xf16>) -> tensor<1x5x8x2xf32> {
  // CHECK-NEXT: tensor.contract(%{{.*}}, %{{.*}}) maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), (d2 + d5), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction, reduction] combine add pads {{\[\[\[}}0, 0], [1, 1], [1, 1], [0, 0]], []] {
  %0 = tensor.contract(%x, %w) maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction, reduction] combine add pads [[[0, 0], [1, 1], [1, 1], [0, 0]], []] {
  ^bb0(%p: f16, %q: f16):
    %u = arith.extf %p : f16 to f32
    %v = arith.extf %q : f16 to f32
    %m = arith.mulf %u, %v : f32
    tensor.yield %m : f32
  } : (tensor<1x9x8x4xf16>, tensor<3x3x4x2xf16>) -> tensor<1x5x8x2xf32>
  func.return %0 : tensor<1x5x8x2xf32>
}

// A pooling: no axis is as long as a window, so the sizes of all dims are written.
// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<10x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: tensor.reduce(%{{.*}}) maps [affine_map<(d0, d1, d2) -> (((d0 * 2) + (d2 * 3)), d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [4, 4, 2] attributes {tag = 1 : i32} {
  %0 = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 * 2 + d2 * 3, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [4, 4, 2] attributes {tag = 1 : i32} {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<10x4xf32>) -> tensor<4x4xf32>
  // CHECK: tensor.reduce(%{{.*}}) maps [affine_map<(d0, d1, d2) -> ((d0 + d2), d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add pads {{\[\[\[}}1, 0], [0, 0]]] bounds [4, 4, 2] {
  %1 = tensor.reduce(%0) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add pads [[[1, 0], [0, 0]]] bounds [4, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// Movement.
// CHECK-LABEL: func.func @move
func.func @move(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  // CHECK-NEXT: tensor.transpose(%{{.*}}) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  %0 = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
  } : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: tensor.view %{{.*}} : tensor<8x4xf32> -> tensor<32xf32>
  %1 = tensor.view %0 : tensor<8x4xf32> -> tensor<32xf32>
  func.return %1 : tensor<32xf32>
}

// A group with two results; why it stopped and attributes are optional.
// CHECK-LABEL: func.func @group
func.func @group(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = tensor.group(%{{.*}} = %{{.*}} : tensor<8xf32>) kind "vector" stopped "its \22result\22 is returned" attributes {tag = 1 : i32} {
  // CHECK-NEXT: tensor.map
  // CHECK: tensor.yield %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: } -> (tensor<8xf32>, tensor<8xf32>)
  %g, %h = tensor.group(%i = %x : tensor<8xf32>) kind "vector" stopped "its \"result\" is returned" attributes {tag = 1 : i32} {
    %0 = tensor.map(%i) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {
    ^bb0(%p: f32):
      %e = math.exp %p : f32
      tensor.yield %e : f32
    } : (tensor<8xf32>) -> tensor<8xf32>
    tensor.yield %0, %i : tensor<8xf32>, tensor<8xf32>
  } -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: tensor.group() kind "move" {
  // CHECK: } -> ()
  tensor.group() kind "move" {
    tensor.yield
  } -> ()
  func.return %g, %h : tensor<8xf32>, tensor<8xf32>
}

// Upstream's ops of the same dialect are there too.
// CHECK-LABEL: func.func @upstream
func.func @upstream(%x: tensor<4x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: tensor.cast %{{.*}} : tensor<4x8xf32> to tensor<?x8xf32>
  %0 = tensor.cast %x : tensor<4x8xf32> to tensor<?x8xf32>
  func.return %0 : tensor<?x8xf32>
}

// A function of the host engine's table.
// CHECK-LABEL: func.func @host
func.func @host(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) -> tensor<2x4xi32> {
  // CHECK-NEXT: tensor.host_call "matmul"(%a, %b) : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
  %0 = tensor.host_call "matmul"(%a, %b) : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}
