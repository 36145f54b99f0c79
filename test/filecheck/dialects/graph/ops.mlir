// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s

// Matrix products: batches broadcast, f16 factors may give their f32 sum or one rounded to f16.
// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<8x1x32x64xf16>, %b: tensor<3x64x16xf16>) {
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : tensor<8x1x32x64xf16>, tensor<3x64x16xf16> -> tensor<8x3x32x16xf32>
  %0 = graph.matmul %a, %b : tensor<8x1x32x64xf16>, tensor<3x64x16xf16> -> tensor<8x3x32x16xf32>
  // CHECK-NEXT: graph.matmul %{{.*}}, %{{.*}} : tensor<8x1x32x64xf16>, tensor<3x64x16xf16> -> tensor<8x3x32x16xf16>
  %1 = graph.matmul %a, %b : tensor<8x1x32x64xf16>, tensor<3x64x16xf16> -> tensor<8x3x32x16xf16>
  func.return
}

// What has its default value is not printed; scalars that need hexadecimal digits keep their type.
// CHECK-LABEL: func.func @gemm
func.func @gemm(%a: tensor<32x64xf32>, %b: tensor<10x64xf32>, %c: tensor<10xf32>) {
  // CHECK: graph.gemm %{{.*}}, %{{.*}} trans_b : (tensor<32x64xf32>, tensor<10x64xf32>) -> tensor<32x10xf32>
  %0 = graph.gemm %a, %b alpha 1.0 : f32 trans_b : (tensor<32x64xf32>, tensor<10x64xf32>) -> tensor<32x10xf32>
  // CHECK-NEXT: graph.gemm %{{.*}}, %{{.*}} add %{{.*}} alpha 5.000000e-01 : f32 beta 0x4B800000 : f32 trans_b : (tensor<32x64xf32>, tensor<10x64xf32>, tensor<10xf32>) -> tensor<32x10xf32>
  %1 = graph.gemm %a, %b add %c alpha 0.5 : f32 beta 16777216.0 : f32 trans_b : (tensor<32x64xf32>, tensor<10x64xf32>, tensor<10xf32>) -> tensor<32x10xf32>
  // CHECK-NEXT: graph.gemm %{{.*}}, %{{.*}} alpha 0x7f800000 : f32 trans_a : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %2 = graph.gemm %a, %a alpha 0x7F800000 : f32 trans_a : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  func.return
}

// Elementwise: numpy's broadcasting in both directions, any element type but bool.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<32x10xf32>, %b: tensor<10xf32>, %i: tensor<4x1xi32>, %j: tensor<3xi32>) {
  // CHECK: graph.add %{{.*}}, %{{.*}} : tensor<32x10xf32>, tensor<10xf32> -> tensor<32x10xf32>
  %0 = graph.add %a, %b : tensor<32x10xf32>, tensor<10xf32> -> tensor<32x10xf32>
  // CHECK-NEXT: graph.sub %{{.*}}, %{{.*}} : tensor<10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
  %1 = graph.sub %b, %a : tensor<10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
  // CHECK-NEXT: graph.mul %{{.*}}, %{{.*}} : tensor<4x1xi32>, tensor<3xi32> -> tensor<4x3xi32>
  %2 = graph.mul %i, %j : tensor<4x1xi32>, tensor<3xi32> -> tensor<4x3xi32>
  // CHECK-NEXT: graph.div %{{.*}}, %{{.*}} : tensor<32x10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
  %3 = graph.div %a, %a : tensor<32x10xf32>, tensor<32x10xf32> -> tensor<32x10xf32>
  // CHECK-NEXT: graph.relu %{{.*}} : tensor<4x1xi32>
  %4 = graph.relu %i : tensor<4x1xi32>
  // CHECK-NEXT: graph.softmax %{{.*}} axis 0 : tensor<32x10xf32>
  %5 = graph.softmax %a axis 0 : tensor<32x10xf32>
  func.return
}

// Movement, also of scalars, and casts. Origins travel as attributes.
// CHECK-LABEL: func.func @movement
func.func @movement(%a: tensor<2x3x4xf32>, %s: tensor<f32>) {
  // CHECK: graph.reshape %{{.*}} {core.origins = {{\[\[}}#core.origin<"/flatten:0", "t:1">]]} : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %0 = graph.reshape %a {core.origins = [[#core.origin<"/flatten:0", "t:1">]]} : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK-NEXT: graph.reshape %{{.*}} : tensor<f32> -> tensor<1x1xf32>
  %1 = graph.reshape %s : tensor<f32> -> tensor<1x1xf32>
  // CHECK-NEXT: graph.transpose %{{.*}} perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %2 = graph.transpose %a perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: graph.cast %{{.*}} : tensor<2x3x4xf32> -> tensor<2x3x4xui8>
  %3 = graph.cast %a : tensor<2x3x4xf32> -> tensor<2x3x4xui8>
  func.return
}

// Convolutions in both layouts, of one and two spatial axes, in groups, with and without a bias.
// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x4x8x8xf16>, %w: tensor<6x2x3x3xf16>, %b: tensor<6xf32>, %l: tensor<2x9x3xf32>, %k: tensor<4x3x5xf32>) {
  // CHECK: graph.conv %{{.*}}, %{{.*}} add %{{.*}} strides [2, 1] dilations [1, 2] pads [1, 2, 1, 2] groups 2 layout "channels_first" : (tensor<1x4x8x8xf16>, tensor<6x2x3x3xf16>, tensor<6xf32>) -> tensor<1x6x4x8xf32>
  %0 = graph.conv %x, %w add %b strides [2, 1] dilations [1, 2] pads [1, 2, 1, 2] groups 2 layout "channels_first" : (tensor<1x4x8x8xf16>, tensor<6x2x3x3xf16>, tensor<6xf32>) -> tensor<1x6x4x8xf32>
  // CHECK-NEXT: graph.conv %{{.*}}, %{{.*}} strides [1] dilations [2] pads [0, 3] groups 1 layout "channels_last" : (tensor<2x9x3xf32>, tensor<4x3x5xf32>) -> tensor<2x6x5xf32>
  %1 = graph.conv %l, %k strides [1] dilations [2] pads [0, 3] groups 1 layout "channels_last" : (tensor<2x9x3xf32>, tensor<4x3x5xf32>) -> tensor<2x6x5xf32>
  func.return
}

// Pools; what completes a last window is padding that never counts.
// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<1x8x8x4xf32>, %i: tensor<1x4x9xi8>) {
  // CHECK: graph.max_pool %{{.*}} window [3, 2] strides [2, 2] dilations [1, 1] pads [1, 0, 1, 0] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
  %0 = graph.max_pool %x window [3, 2] strides [2, 2] dilations [1, 1] pads [1, 0, 1, 0] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x4x4x4xf32>
  // CHECK-NEXT: graph.max_pool %{{.*}} window [2] strides [2] dilations [3] pads [0, 0] layout "channels_first" : tensor<1x4x9xi8> -> tensor<1x4x3xi8>
  %1 = graph.max_pool %i window [2] strides [2] dilations [3] pads [0, 0] layout "channels_first" : tensor<1x4x9xi8> -> tensor<1x4x3xi8>
  // CHECK-NEXT: graph.average_pool %{{.*}} window [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 2, 2] count_include_pad uncounted [1, 1] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x5x5x4xf32>
  %2 = graph.average_pool %x window [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 2, 2] count_include_pad uncounted [1, 1] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x5x5x4xf32>
  // CHECK-NEXT: graph.average_pool %{{.*}} window [8, 8] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
  %3 = graph.average_pool %x window [8, 8] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
  // CHECK-NEXT: graph.global_average_pool %{{.*}} layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
  %4 = graph.global_average_pool %x layout "channels_last" : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>
  // CHECK-NEXT: graph.global_max_pool %{{.*}} layout "channels_first" : tensor<1x4x9xi8> -> tensor<1x4x1xi8>
  %5 = graph.global_max_pool %i layout "channels_first" : tensor<1x4x9xi8> -> tensor<1x4x1xi8>
  func.return
}

// A batch norm names its parameters; maxima and minima broadcast as arithmetic does.
// CHECK-LABEL: func.func @norm
func.func @norm(%x: tensor<1x3x8xf32>, %p: tensor<3xf32>, %s: tensor<f32>) {
  // CHECK: graph.batch_norm %{{.*}} scale %{{.*}} bias %{{.*}} mean %{{.*}} variance %{{.*}} epsilon 1.000000e-03 : f32 channel_axis 1 : (tensor<1x3x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8xf32>
  %0 = graph.batch_norm %x scale %p bias %p mean %p variance %p epsilon 1.0e-03 : f32 channel_axis 1 : (tensor<1x3x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8xf32>
  // CHECK-NEXT: graph.maximum %{{.*}}, %{{.*}} : tensor<1x3x8xf32>, tensor<f32> -> tensor<1x3x8xf32>
  %1 = graph.maximum %x, %s : tensor<1x3x8xf32>, tensor<f32> -> tensor<1x3x8xf32>
  // CHECK-NEXT: graph.minimum %{{.*}}, %{{.*}} : tensor<f32>, tensor<1x3x8xf32> -> tensor<1x3x8xf32>
  %2 = graph.minimum %s, %x : tensor<f32>, tensor<1x3x8xf32> -> tensor<1x3x8xf32>
  func.return
}
