// RUN: npu-opt -p graph-fold-batch-norm,graph-canonicalize %s --split-input-file | filecheck %s

// Filters of ones and a bias of ones, times 4 / sqrt(4) and minus 2 times that, plus one: filters of
// twos and a bias of -1. The convolution's own result is gone.
// CHECK-LABEL: func.func @folded
// CHECK-NEXT: %[[W:.*]] = core.constant dense<"0x00000040"> : tensor<2x3x1xf32>
// CHECK-NEXT: %[[B:.*]] = core.constant dense<"0x000080BF"> : tensor<2xf32>
// CHECK-NEXT: %[[Y:.*]] = graph.conv %{{.*}}, %[[W]] add %[[B]] strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_first" {core.origins = {{\[\[}}#core.origin<"norm", "y">]]}
// CHECK-NEXT: func.return %[[Y]]
func.func @folded(%x: tensor<1x3x4xf32>) -> tensor<1x2x4xf32> {
  %w = core.constant dense<"0x0000803F"> : tensor<2x3x1xf32>
  %one = core.constant dense<"0x0000803F"> : tensor<2xf32>
  %two = core.constant dense<"0x00000040"> : tensor<2xf32>
  %four = core.constant dense<"0x00008040"> : tensor<2xf32>
  %0 = graph.conv %x, %w add %one strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_first" {core.origins = [[#core.origin<"conv", "t">]]} : (tensor<1x3x4xf32>, tensor<2x3x1xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  %1 = graph.batch_norm %0 scale %four bias %one mean %two variance %four epsilon 0.0 : f32 channel_axis 1 {core.origins = [[#core.origin<"norm", "y">]]} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %1 : tensor<1x2x4xf32>
}

// -----

// A convolution without a bias gets one, with channels last too; -3 is 1 - 2 * 2.
// CHECK-LABEL: func.func @no_bias
// CHECK-NEXT: %[[W:.*]] = core.constant dense<"0x00000040"> : tensor<1x3x2xf32>
// CHECK-NEXT: %[[B:.*]] = core.constant dense<"0x000040C0"> : tensor<2xf32>
// CHECK-NEXT: graph.conv %{{.*}}, %[[W]] add %[[B]]
func.func @no_bias(%x: tensor<1x4x3xf32>) -> tensor<1x4x2xf32> {
  %w = core.constant dense<"0x0000803F"> : tensor<1x3x2xf32>
  %one = core.constant dense<"0x0000803F"> : tensor<2xf32>
  %two = core.constant dense<"0x00000040"> : tensor<2xf32>
  %four = core.constant dense<"0x00008040"> : tensor<2xf32>
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_last" : (tensor<1x4x3xf32>, tensor<1x3x2xf32>) -> tensor<1x4x2xf32>
  %1 = graph.batch_norm %0 scale %four bias %one mean %two variance %four epsilon 0.0 : f32 channel_axis 2 : (tensor<1x4x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x4x2xf32>
  func.return %1 : tensor<1x4x2xf32>
}

// -----

// A convolution that something else uses keeps its weights.
// CHECK-LABEL: func.func @used_twice
// CHECK: %[[C:.*]] = graph.conv
// CHECK: %[[M:.*]] = graph.mul %[[C]], %{{.*}} : tensor<1x2x4xf32>, tensor<2x1xf32> -> tensor<1x2x4xf32>
// CHECK: %[[A:.*]] = graph.add %[[M]], %{{.*}} {core.origins = {{\[\[}}#core.origin<"norm", "y">]]}
// CHECK-NEXT: func.return %[[C]], %[[A]]
func.func @used_twice(%x: tensor<1x3x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %w = core.constant dense<"0x0000803F"> : tensor<2x3x1xf32>
  %four = core.constant dense<"0x00008040"> : tensor<2xf32>
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_first" : (tensor<1x3x4xf32>, tensor<2x3x1xf32>) -> tensor<1x2x4xf32>
  %1 = graph.batch_norm %0 scale %four bias %four mean %four variance %four epsilon 0.0 : f32 channel_axis 1 {core.origins = [[#core.origin<"norm", "y">]]} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0, %1 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}
