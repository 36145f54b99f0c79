// RUN: npu-opt -p graph-canonicalize %s --split-input-file | filecheck %s

// What is done to a weight becomes steps of the weight, in order; its name becomes a view.
// CHECK-LABEL: func.func @recipe
func.func @recipe() -> tensor<8x2xf16> {
  // CHECK-NEXT: core.weight {{.*}}<tensor<2x8xf32>, "00", "mem:", [#core.step<"transpose", [1, 0]>, #core.step<"cast", f16>]>
  // CHECK-SAME: #core.origin<"initializer", "w", [#core.step<"transpose", [1, 0]>, #core.step<"cast", f16>]>
  // CHECK-SAME: #core.origin<"t", "w_t", [#core.step<"cast", f16>]>
  // CHECK-NEXT: func.return
  %w = "core.weight"() <{blob = #core.blob<tensor<2x8xf32>, "00", "mem:">}> {core.origins = [[#core.origin<"initializer", "w">]]} : () -> tensor<2x8xf32>
  %0 = graph.transpose %w perm [1, 0] {core.origins = [[#core.origin<"t", "w_t">]]} : tensor<2x8xf32> -> tensor<8x2xf32>
  %1 = graph.cast %0 : tensor<8x2xf32> -> tensor<8x2xf16>
  func.return %1 : tensor<8x2xf16>
}

// -----

// A cast from float to integer truncates, which no step of a weight does: it stays.
// CHECK-LABEL: func.func @truncation
func.func @truncation() -> tensor<2x8xi32> {
  // CHECK: graph.cast
  %w = "core.weight"() <{blob = #core.blob<tensor<2x8xf32>, "00", "mem:">}> : () -> tensor<2x8xf32>
  %0 = graph.cast %w : tensor<2x8xf32> -> tensor<2x8xi32>
  func.return %0 : tensor<2x8xi32>
}

// -----

// Small constants fold: 1.5 + 2.0 truncated is 3.
// CHECK-LABEL: func.func @constants
func.func @constants() -> tensor<2xi32> {
  // CHECK-NEXT: %[[C:.*]] = core.constant dense<3> : tensor<2xi32>
  // CHECK-NEXT: func.return %[[C]]
  %a = core.constant dense<"0x0000C03F"> : tensor<2xf32>
  %b = core.constant dense<"0x00000040"> : tensor<f32>
  %0 = graph.add %a, %b : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  %1 = graph.cast %0 : tensor<2xf32> -> tensor<2xi32>
  func.return %1 : tensor<2xi32>
}

// -----

// Equal ops are one, and the one that nobody uses goes.
// CHECK-LABEL: func.func @equal
func.func @equal(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: graph.relu
  // CHECK-NEXT: graph.matmul
  // CHECK-NEXT: func.return
  %0 = graph.relu %x : tensor<4x4xf32>
  %1 = graph.relu %x : tensor<4x4xf32>
  %2 = graph.softmax %x axis 1 : tensor<4x4xf32>
  %3 = graph.matmul %0, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}
