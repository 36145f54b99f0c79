// RUN: npu-opt %s -p convert-graph-to-tensor --split-input-file | filecheck %s

// Batches are leading dims; a factor without batches leaves them out of its map. f16 is widened
// before the product, and the sum is rounded to the type asked for.
// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<3x4x16xf16>, %b: tensor<16x8xf16>) -> tensor<3x4x8xf16> {
  // CHECK-NEXT: %[[P:.*]] = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction] combine add {
  // CHECK-NEXT: ^bb0(%{{.*}}: f16, %{{.*}}: f16):
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: tensor.yield
  // CHECK-NEXT: -> tensor<3x4x8xf32>
  // CHECK-NEXT: tensor.map(%[[P]])
  // CHECK-SAME: attributes {core.origins = {{\[\[}}#core.origin<"n", "t">]]}
  // CHECK: arith.truncf
  // CHECK: -> tensor<3x4x8xf16>
  %0 = graph.matmul %a, %b {core.origins = [[#core.origin<"n", "t">]]} : tensor<3x4x16xf16>, tensor<16x8xf16> -> tensor<3x4x8xf16>
  func.return %0 : tensor<3x4x8xf16>
}

// -----

// Transposes stand in the maps; alpha, beta and the addend in one map; only the last value is named.
// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<16x4xf32>, %b: tensor<8x16xf32>, %c: tensor<1x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[P:.*]] = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add {
  // CHECK: tensor.map(%[[P]], %c) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>]
  // CHECK-SAME: #core.origin<"n", "t">
  // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
  // CHECK-NEXT: %[[A:.*]] = arith.constant 5.000000e-01 : f32
  // CHECK-NEXT: %[[XA:.*]] = arith.mulf %[[X]], %[[A]]
  // CHECK-NEXT: %[[B:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT: %[[YB:.*]] = arith.mulf %[[Y]], %[[B]]
  // CHECK-NEXT: arith.addf %[[XA]], %[[YB]]
  // CHECK-NEXT: tensor.yield
  %0 = graph.gemm %a, %b add %c alpha 0.5 : f32 beta 2.0 : f32 trans_a trans_b {core.origins = [[#core.origin<"n", "t">]]} : (tensor<16x4xf32>, tensor<8x16xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// -----

// A product alone needs no map after it.
// CHECK-LABEL: func.func @plain_gemm
func.func @plain_gemm(%a: tensor<4x16xf32>, %b: tensor<16x8xf32>) -> tensor<4x8xf32> {
  // CHECK: tensor.contract
  // CHECK-NOT: tensor.map
  %0 = graph.gemm %a, %b : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  func.return %0 : tensor<4x8xf32>
}

// -----

// Broadcasting: missing leading axes, and axes of size 1.
// CHECK-LABEL: func.func @add
func.func @add(%x: tensor<2x1x8xf32>, %y: tensor<4x1xf32>) -> tensor<2x4x8xf32> {
  // CHECK-NEXT: tensor.map(%x, %y) maps [affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d1, 0)>] -> affine_map<(d0, d1, d2) -> (d0, d1, d2)> iterators [parallel, parallel, parallel] {
  // CHECK: arith.addf
  %0 = graph.add %x, %y : tensor<2x1x8xf32>, tensor<4x1xf32> -> tensor<2x4x8xf32>
  func.return %0 : tensor<2x4x8xf32>
}

// -----

// Integers use integer arithmetic.
// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<8xi32>, %y: tensor<i32>) -> tensor<8xi32> {
  // CHECK: maps [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>]
  // CHECK: arith.divsi
  %0 = graph.div %x, %y : tensor<8xi32>, tensor<i32> -> tensor<8xi32>
  // CHECK: arith.maxsi
  %1 = graph.relu %0 : tensor<8xi32>
  func.return %1 : tensor<8xi32>
}

// -----

// Softmax along the first axis: the maps leave it out of what is reduced. 16-bit floats are widened,
// except for the maximum, which is exact.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  // CHECK-NEXT: %[[M:.*]] = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d1)> iterators [reduction, parallel] combine max {
  // CHECK: -> tensor<8xf16>
  // CHECK-NEXT: %[[E:.*]] = tensor.map(%x, %[[M]]) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
  // CHECK: arith.extf
  // CHECK: arith.extf
  // CHECK: arith.subf
  // CHECK: math.exp
  // CHECK: -> tensor<4x8xf32>
  // CHECK-NEXT: %[[S:.*]] = tensor.reduce(%[[E]])
  // CHECK-SAME: combine add
  // CHECK: tensor.map(%[[E]], %[[S]])
  // CHECK: arith.divf
  // CHECK-NEXT: arith.truncf
  %0 = graph.softmax %x axis 0 : tensor<4x8xf16>
  func.return %0 : tensor<4x8xf16>
}

// -----

// Movement.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3x4xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %[[T:.*]] = tensor.transpose(%x) maps [affine_map<(d0, d1, d2) -> (d1, d2, d0)>] -> affine_map<(d0, d1, d2) -> (d0, d1, d2)>
  // CHECK: tensor.view %[[T]] {core.origins = {{\[\[}}#core.origin<"n", "t">]]} : tensor<4x2x3xf32> -> tensor<4x6xf32>
  %0 = graph.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = graph.reshape %0 {core.origins = [[#core.origin<"n", "t">]]} : tensor<4x2x3xf32> -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// -----

// The two 16-bit floats convert through f32; floats truncate to integers; integers saturate; a bool
// is whether the value is not zero, and NaN is not.
// CHECK-LABEL: func.func @casts
func.func @casts(%x: tensor<8xf16>) -> (tensor<8xbf16>, tensor<8xi8>, tensor<8xi1>, tensor<8xf32>) {
  // CHECK: arith.extf %{{.*}} : f16 to f32
  // CHECK-NEXT: arith.truncf %{{.*}} : f32 to bf16
  %0 = graph.cast %x : tensor<8xf16> -> tensor<8xbf16>
  // CHECK: arith.fptosi %{{.*}} : f16 to i32
  %1 = graph.cast %x : tensor<8xf16> -> tensor<8xi32>
  // CHECK: arith.constant -128 : i32
  // CHECK-NEXT: arith.maxsi
  // CHECK-NEXT: arith.constant 127 : i32
  // CHECK-NEXT: arith.minsi
  // CHECK-NEXT: arith.trunci %{{.*}} : i32 to i8
  %2 = graph.cast %1 : tensor<8xi32> -> tensor<8xi8>
  // CHECK: arith.cmpf une
  %3 = graph.cast %x : tensor<8xf16> -> tensor<8xi1>
  // CHECK: arith.uitofp %{{.*}} : i1 to f32
  %4 = graph.cast %3 : tensor<8xi1> -> tensor<8xf32>
  func.return %0, %2, %3, %4 : tensor<8xbf16>, tensor<8xi8>, tensor<8xi1>, tensor<8xf32>
}

// -----

// A cast to the same type is nothing; its name goes to the operand.
// CHECK-LABEL: func.func @no_cast
func.func @no_cast(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: tensor.map(%x)
  // CHECK-SAME: core.origins = {{\[\[}}#core.origin<"r", "y">, #core.origin<"n", "t">]]
  // CHECK-NOT: tensor.map
  %0 = graph.relu %x {core.origins = [[#core.origin<"r", "y">]]} : tensor<8xf32>
  %1 = graph.cast %0 {core.origins = [[#core.origin<"n", "t">]]} : tensor<8xf32> -> tensor<8xf32>
  func.return %1 : tensor<8xf32>
}

// -----

// A product of integers is work for the host engine: the cube has no i32 operands.
// CHECK-LABEL: func.func @integers
func.func @integers(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) -> tensor<2x4xi32> {
  // CHECK-NEXT: tensor.host_call "matmul"(%a, %b) {core.origins = {{.*}}} : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
  %0 = graph.matmul %a, %b {core.origins = [[#core.origin<"m", "c">]]} : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}

// -----

// A convolution reads along windows; the taps and the channels are summed.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<2x9x8x4xf16>, %w: tensor<3x2x4x6xf16>, %b: tensor<6xf32>) -> tensor<2x5x9x6xf32> {
  // CHECK: %[[P:.*]] = tensor.contract(%x, %{{.*}}) maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, ((d1 * 2) + d4), (d2 + d5), d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction, reduction] combine add pads {{\[\[\[}}0, 0], [1, 1], [1, 1], [0, 0]], []] {
  // CHECK: tensor.map(%[[P]], %b) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>]
  // CHECK-SAME: core.origins = {{\[\[}}#core.origin<"n", "t">]]
  // CHECK: arith.addf
  %0 = graph.conv %x, %w add %b strides [2, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 1 layout "channels_last" {core.origins = [[#core.origin<"n", "t">]]} : (tensor<2x9x8x4xf16>, tensor<3x2x4x6xf16>, tensor<6xf32>) -> tensor<2x5x9x6xf32>
  func.return %0 : tensor<2x5x9x6xf32>
}

// -----

// A filter of one tap is a matrix product; there are no windows.
// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<2x9x4xf32>, %w: tensor<1x4x6xf32>) -> tensor<2x9x6xf32> {
  // CHECK-NEXT: %[[W:.*]] = tensor.view %w : tensor<1x4x6xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: tensor.contract(%x, %[[W]]) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction] combine add {
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_last" : (tensor<2x9x4xf32>, tensor<1x4x6xf32>) -> tensor<2x9x6xf32>
  func.return %0 : tensor<2x9x6xf32>
}

// -----

// Groups are a dim of their own; a view splits the channels and merges the filters.
// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<2x9x4xf32>, %w: tensor<3x2x6xf32>) -> tensor<2x7x6xf32> {
  // CHECK-NEXT: %[[S:.*]] = tensor.view %w : tensor<3x2x6xf32> -> tensor<3x2x2x3xf32>
  // CHECK-NEXT: %[[W:.*]] = tensor.transpose(%[[S]])
  // CHECK: %[[X:.*]] = tensor.view %x : tensor<2x9x4xf32> -> tensor<2x9x2x2xf32>
  // CHECK-NEXT: %[[P:.*]] = tensor.contract(%[[X]], %[[W]]) maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, (d1 + d4), d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d4, d5, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
  // CHECK: tensor.view %[[P]] : tensor<2x7x2x3xf32> -> tensor<2x7x6xf32>
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] groups 2 layout "channels_last" : (tensor<2x9x4xf32>, tensor<3x2x6xf32>) -> tensor<2x7x6xf32>
  func.return %0 : tensor<2x7x6xf32>
}

// -----

// A filter for each channel sums no channels.
// CHECK-LABEL: func.func @depthwise
func.func @depthwise(%x: tensor<2x9x4xf32>, %w: tensor<3x1x4xf32>) -> tensor<2x7x4xf32> {
  // CHECK-NEXT: %[[W:.*]] = tensor.view %w : tensor<3x1x4xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: tensor.contract(%x, %[[W]]) maps [affine_map<(d0, d1, d2, d3) -> (d0, (d1 + d3), d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d2)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction]
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] groups 4 layout "channels_last" : (tensor<2x9x4xf32>, tensor<3x1x4xf32>) -> tensor<2x7x4xf32>
  func.return %0 : tensor<2x7x4xf32>
}

// -----

// The maximum of each window: its size is written, as no axis tells it.
// CHECK-LABEL: func.func @max_pool
func.func @max_pool(%x: tensor<2x9x4xf32>) -> tensor<2x5x4xf32> {
  // CHECK-NEXT: tensor.reduce(%x) maps [affine_map<(d0, d1, d2, d3) -> (d0, ((d1 * 2) + d3), d2)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)> iterators [parallel, parallel, parallel, reduction] combine max pads {{\[\[\[}}0, 0], [1, 1], [0, 0]]] bounds [2, 5, 4, 3]
  %0 = graph.max_pool %x window [3] strides [2] dilations [1] pads [1, 1] layout "channels_last" : tensor<2x9x4xf32> -> tensor<2x5x4xf32>
  func.return %0 : tensor<2x5x4xf32>
}

// -----

// A mean of 16-bit floats is summed in f32; every window has as many elements.
// CHECK-LABEL: func.func @mean
func.func @mean(%x: tensor<2x9x4xf16>) -> tensor<2x4x4xf16> {
  // CHECK-NEXT: %[[S:.*]] = tensor.reduce(%x) {{.*}} combine add bounds [2, 4, 4, 2]
  // CHECK: arith.extf
  // CHECK: tensor.map(%[[S]])
  // CHECK: arith.constant 5.000000e-01 : f32
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.truncf
  %0 = graph.average_pool %x window [2] strides [2] dilations [1] pads [0, 0] layout "channels_last" : tensor<2x9x4xf16> -> tensor<2x4x4xf16>
  func.return %0 : tensor<2x4x4xf16>
}

// -----

// Where padding does not count, windows have different numbers of elements.
// CHECK-LABEL: func.func @counts
func.func @counts(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  // CHECK-NEXT: %[[S:.*]] = tensor.reduce(%x)
  // CHECK: %[[C:.*]] = core.constant {{.*}} : tensor<3xf32>
  // CHECK-NEXT: %[[R:.*]] = tensor.map(%[[C]])
  // CHECK: arith.divf
  // CHECK: tensor.map(%[[S]], %[[R]]) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>]
  %0 = graph.average_pool %x window [3] strides [1] dilations [1] pads [1, 1] layout "channels_last" : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %0 : tensor<2x3x4xf32>
}

// -----

// A pooling of whole images has no windows.
// CHECK-LABEL: func.func @global_mean
func.func @global_mean(%x: tensor<2x4x5x8xf32>) -> tensor<2x1x1x8xf32> {
  // CHECK-NEXT: %[[S:.*]] = tensor.reduce(%x) maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d3)> iterators [parallel, reduction, reduction, parallel] combine add
  // CHECK: %[[M:.*]] = tensor.map(%[[S]])
  // CHECK: tensor.view %[[M]] {core.origins = {{.*}}} : tensor<2x8xf32> -> tensor<2x1x1x8xf32>
  %0 = graph.global_average_pool %x layout "channels_last" {core.origins = [[#core.origin<"n", "t">]]} : tensor<2x4x5x8xf32> -> tensor<2x1x1x8xf32>
  func.return %0 : tensor<2x1x1x8xf32>
}
