// RUN: not npu-opt -p graph-fold-batch-norm %s 2>&1 | filecheck %s

// Statistics that the program computes are training.
// CHECK: a batch norm with a parameter that is not a constant is not supported
// CHECK-NEXT: why: its variance is computed by the program
func.func @main(%x: tensor<1x2x4xf32>, %v: tensor<2xf32>) -> tensor<1x2x4xf32> {
  %c = core.constant dense<"0x0000803F"> : tensor<2xf32>
  %0 = graph.batch_norm %x scale %c bias %c mean %c variance %v epsilon 0.001 : f32 channel_axis 1 : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}
