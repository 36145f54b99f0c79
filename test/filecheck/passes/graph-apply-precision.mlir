// RUN: npu-opt -p graph-apply-precision %s --split-input-file | filecheck %s --check-prefixes=CHECK,MIXED
// RUN: npu-opt -p 'graph-apply-precision{policy=origin}' %s --split-input-file | filecheck %s --check-prefixes=CHECK,ORIGIN
// RUN: npu-opt -p 'graph-apply-precision{policy=f16}' %s --split-input-file | filecheck %s --check-prefixes=CHECK,HALF

// An f32 model. The factor %x is used twice and cast once; what is added to the product stays f32.
// CHECK-LABEL: func.func @f32_model
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf32>, %[[C:.*]]: tensor<4xf32>) -> tensor<4x4xf32>
func.func @f32_model(%x: tensor<4x4xf32>, %c: tensor<4xf32>) -> tensor<4x4xf32> {
  // MIXED-NEXT: %[[H:.*]] = graph.cast %[[X]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // MIXED-NEXT: %[[M:.*]] = graph.gemm %[[H]], %[[H]] add %[[C]] trans_b {{.*}}#core.origin<"fc", "y">{{.*}} : (tensor<4x4xf16>, tensor<4x4xf16>, tensor<4xf32>) -> tensor<4x4xf32>
  // MIXED-NEXT: %[[R:.*]] = graph.relu %[[M]] : tensor<4x4xf32>
  // MIXED-NEXT: %[[S:.*]] = graph.softmax %[[R]] axis 1 : tensor<4x4xf32>
  // MIXED-NEXT: func.return %[[S]] : tensor<4x4xf32>

  // ORIGIN-NEXT: graph.gemm %[[X]], %[[X]] add %[[C]] trans_b {{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // ORIGIN-NEXT: graph.relu %{{.*}} : tensor<4x4xf32>
  // ORIGIN-NEXT: graph.softmax %{{.*}} axis 1 : tensor<4x4xf32>
  // ORIGIN-NEXT: func.return

  // The product is summed in f32 even so; its name goes to the f16 tensor the others see.
  // HALF-NEXT: %[[H:.*]] = graph.cast %[[X]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // HALF-NEXT: %[[M:.*]] = graph.gemm %[[H]], %[[H]] add %[[C]] trans_b : (tensor<4x4xf16>, tensor<4x4xf16>, tensor<4xf32>) -> tensor<4x4xf32>
  // HALF-NEXT: %[[N:.*]] = graph.cast %[[M]] {{.*}}#core.origin<"fc", "y">{{.*}} : tensor<4x4xf32> -> tensor<4x4xf16>
  // HALF-NEXT: %[[R:.*]] = graph.relu %[[N]] : tensor<4x4xf16>
  // HALF-NEXT: %[[S:.*]] = graph.softmax %[[R]] axis 1 : tensor<4x4xf16>
  // HALF-NEXT: %[[W:.*]] = graph.cast %[[S]] : tensor<4x4xf16> -> tensor<4x4xf32>
  // HALF-NEXT: func.return %[[W]] : tensor<4x4xf32>
  %0 = graph.gemm %x, %x add %c trans_b {core.origins = [[#core.origin<"fc", "y">]]} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %1 = graph.relu %0 : tensor<4x4xf32>
  %2 = graph.softmax %1 axis 1 : tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

// An f16 model keeps its types at the edges. Under `origin` it stays f16, with f32 sums.
// CHECK-LABEL: func.func @f16_model
// CHECK-SAME: (%[[X:.*]]: tensor<4x4xf16>) -> tensor<4x4xf16>
func.func @f16_model(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  // MIXED-NEXT: graph.cast %[[X]] : tensor<4x4xf16> -> tensor<4x4xf32>
  // MIXED-NEXT: %[[R:.*]] = graph.relu %{{.*}} : tensor<4x4xf32>
  // MIXED-NEXT: %[[H:.*]] = graph.cast %[[R]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // MIXED-NEXT: %[[M:.*]] = graph.matmul %[[H]], %[[H]] : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  // MIXED-NEXT: %[[E:.*]] = graph.cast %[[M]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // MIXED-NEXT: func.return %[[E]]

  // ORIGIN-NEXT: %[[R:.*]] = graph.relu %[[X]] : tensor<4x4xf16>
  // ORIGIN-NEXT: %[[M:.*]] = graph.matmul %[[R]], %[[R]] : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  // ORIGIN-NEXT: %[[E:.*]] = graph.cast %[[M]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // ORIGIN-NEXT: func.return %[[E]]

  // HALF-NEXT: %[[R:.*]] = graph.relu %[[X]] : tensor<4x4xf16>
  // HALF-NEXT: %[[M:.*]] = graph.matmul %[[R]], %[[R]] : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf32>
  // HALF-NEXT: %[[E:.*]] = graph.cast %[[M]] : tensor<4x4xf32> -> tensor<4x4xf16>
  // HALF-NEXT: func.return %[[E]]
  %0 = graph.relu %x : tensor<4x4xf16>
  %1 = graph.matmul %0, %0 : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  func.return %1 : tensor<4x4xf16>
}

// -----

// Integers and f64 are no concern of a policy, and an argument that is returned stays as it is.
// CHECK-LABEL: func.func @others
// CHECK-SAME: (%[[I:.*]]: tensor<4xi32>, %[[D:.*]]: tensor<2x2xf64>, %[[X:.*]]: tensor<4xbf16>)
func.func @others(%i: tensor<4xi32>, %d: tensor<2x2xf64>, %x: tensor<4xbf16>) -> (tensor<4xi32>, tensor<2x2xf64>, tensor<4xbf16>) {
  // CHECK-NEXT: %[[A:.*]] = graph.add %[[I]], %[[I]] : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // CHECK-NEXT: %[[M:.*]] = graph.matmul %[[D]], %[[D]] : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  // CHECK-NEXT: func.return %[[A]], %[[M]], %[[X]]
  %0 = graph.add %i, %i : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %1 = graph.matmul %d, %d : tensor<2x2xf64>, tensor<2x2xf64> -> tensor<2x2xf64>
  func.return %0, %1, %x : tensor<4xi32>, tensor<2x2xf64>, tensor<4xbf16>
}

// -----

// A convolution is a contraction: its factors are f16, its bias and its sum f32; pools are as all
// other operators.
// CHECK-LABEL: func.func @conv
func.func @conv(%x: tensor<1x8x3xf32>, %w: tensor<3x3x4xf32>, %b: tensor<4xf32>) -> tensor<1x1x4xf32> {
  // MIXED: graph.conv {{.*}} : (tensor<1x8x3xf16>, tensor<3x3x4xf16>, tensor<4xf32>) -> tensor<1x6x4xf32>
  // MIXED-NEXT: graph.average_pool {{.*}} : tensor<1x6x4xf32> -> tensor<1x3x4xf32>
  // MIXED-NEXT: graph.global_max_pool {{.*}} : tensor<1x3x4xf32> -> tensor<1x1x4xf32>
  // ORIGIN: graph.conv {{.*}} : (tensor<1x8x3xf32>, tensor<3x3x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  // HALF: graph.conv {{.*}} : (tensor<1x8x3xf16>, tensor<3x3x4xf16>, tensor<4xf32>) -> tensor<1x6x4xf32>
  // HALF-NEXT: graph.cast {{.*}} : tensor<1x6x4xf32> -> tensor<1x6x4xf16>
  // HALF-NEXT: graph.average_pool {{.*}} : tensor<1x6x4xf16> -> tensor<1x3x4xf16>
  // HALF-NEXT: graph.global_max_pool {{.*}} : tensor<1x3x4xf16> -> tensor<1x1x4xf16>
  %0 = graph.conv %x, %w add %b strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_last" : (tensor<1x8x3xf32>, tensor<3x3x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  %1 = graph.average_pool %0 window [2] strides [2] dilations [1] pads [0, 0] layout "channels_last" : tensor<1x6x4xf32> -> tensor<1x3x4xf32>
  %2 = graph.global_max_pool %1 layout "channels_last" : tensor<1x3x4xf32> -> tensor<1x1x4xf32>
  func.return %2 : tensor<1x1x4xf32>
}
