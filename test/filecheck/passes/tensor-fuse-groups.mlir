// RUN: npu-opt %s -p convert-graph-to-tensor,tensor-canonicalize,tensor-fuse-groups --split-input-file | filecheck %s
// RUN: npu-opt %s -p 'convert-graph-to-tensor,tensor-canonicalize,tensor-fuse-groups{disable=cube-epilogue,row-reduction}' --split-input-file | filecheck %s --check-prefix=OFF

// The bias, the relu and the cast of the next product's operand join the product before them; the
// softmax is one group of whole rows.
// CHECK-LABEL: func.func @mlp
// OFF-LABEL: func.func @mlp
func.func @mlp(%x: tensor<8x16xf16>, %w: tensor<16x8xf16>, %b: tensor<8xf32>, %v: tensor<8x4xf16>) -> tensor<8x4xf32> {
  // CHECK-NEXT: %[[H:.*]] = tensor.group(%[[X:.*]] = %x : tensor<8x16xf16>, %[[W:.*]] = %w : tensor<16x8xf16>, %[[B:.*]] = %b : tensor<8xf32>) kind "cube" stopped "tensor.contract: a group holds one contraction" {
  // CHECK-NEXT: %[[P:.*]] = tensor.contract(%[[X]], %[[W]])
  // CHECK: %[[S:.*]] = tensor.map(%[[P]], %[[B]])
  // CHECK: %[[R:.*]] = tensor.map(%[[S]])
  // CHECK: %[[C:.*]] = tensor.map(%[[R]])
  // CHECK: tensor.yield %[[C]] : tensor<8x8xf16>
  // CHECK-NEXT: } -> (tensor<8x8xf16>)
  // CHECK-NEXT: %[[L:.*]] = tensor.group(%{{.*}} = %[[H]] : tensor<8x8xf16>, %{{.*}} = %v : tensor<8x4xf16>) kind "cube" stopped "tensor.reduce: no rule fuses it" {
  // CHECK: } -> (tensor<8x4xf32>)
  // CHECK-NEXT: %[[Y:.*]] = tensor.group(%[[I:.*]] = %[[L]] : tensor<8x4xf32>) kind "vector" stopped "its result is returned" {
  // CHECK-NEXT: tensor.reduce(%[[I]])
  // CHECK: tensor.map(%[[I]]
  // CHECK: tensor.reduce
  // CHECK: tensor.map
  // CHECK: } -> (tensor<8x4xf32>)
  // CHECK-NEXT: func.return %[[Y]]
  // With the rules off, the product is alone and so is each step of the softmax; the chain of maps is not.
  // OFF-COUNT-7: = tensor.group
  // OFF-NOT: = tensor.group
  %0 = graph.gemm %x, %w add %b : (tensor<8x16xf16>, tensor<16x8xf16>, tensor<8xf32>) -> tensor<8x8xf32>
  %1 = graph.relu %0 : tensor<8x8xf32>
  %2 = graph.cast %1 : tensor<8x8xf32> -> tensor<8x8xf16>
  %3 = graph.matmul %2, %v : tensor<8x8xf16>, tensor<8x4xf16> -> tensor<8x4xf32>
  %4 = graph.softmax %3 axis 1 : tensor<8x4xf32>
  func.return %4 : tensor<8x4xf32>
}

// -----

// A view and what is read from the store stay outside; a value needed outside is a result.
// CHECK-LABEL: func.func @outside
// OFF-LABEL: func.func @outside
func.func @outside(%x: tensor<2x2x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: %[[W:.*]] = core.weight
  // CHECK-NEXT: %[[V:.*]] = tensor.view %x
  // CHECK-NEXT: %[[P:.*]], %[[R:.*]] = tensor.group(%{{.*}} = %[[V]] : tensor<4x8xf32>, %{{.*}} = %[[W]] : tensor<8x4xf32>) kind "cube" stopped "its result is returned" {
  // CHECK: } -> (tensor<4x4xf32>, tensor<4x4xf32>)
  // CHECK-NEXT: func.return %[[R]], %[[P]]
  %w = core.weight #core.blob<tensor<8x4xf32>, "00", "mem:"> : tensor<8x4xf32>
  %0 = graph.reshape %x : tensor<2x2x8xf32> -> tensor<4x8xf32>
  %1 = graph.matmul %0, %w : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %2 = graph.relu %1 : tensor<4x4xf32>
  func.return %2, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// Movement alone is a group of its own kind.
// CHECK-LABEL: func.func @move
func.func @move(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // CHECK: kind "move"
  %0 = graph.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  func.return %0 : tensor<8x4xf32>
}

// -----

// The maximum along rows does not join work along columns.
// CHECK-LABEL: func.func @both_ways
func.func @both_ways(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: kind "vector" stopped "tensor.reduce: a reduction along axes before the last takes no work before it into its group"
  // CHECK: kind "vector" stopped "tensor.map: the map does not walk the dims of the reduction's result"
  // CHECK: kind "vector" stopped "tensor.reduce: a reduction along axes before the last takes no work before it into its group"
  // CHECK: kind "vector" stopped "tensor.map: the map does not walk the dims of the reduction's result"
  // CHECK: kind "vector" stopped "its result is returned"
  %0 = graph.softmax %x axis 1 : tensor<8x8xf32>
  %1 = graph.softmax %0 axis 0 : tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

// -----

// A convolution takes in what follows; the image is an operand for each way of reading it.
// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<1x6x4xf32>, %w: tensor<3x4x4xf32>, %b: tensor<4xf32>) -> tensor<1x6x4xf32> {
  // CHECK-NEXT: tensor.group(%[[X:.*]] = %x : tensor<1x6x4xf32>, %[[W:.*]] = %w : tensor<3x4x4xf32>, %[[B:.*]] = %b : tensor<4xf32>, %[[R:.*]] = %x : tensor<1x6x4xf32>) kind "cube" stopped "its result is returned" {
  // CHECK-NEXT: %[[P:.*]] = tensor.contract(%[[X]], %[[W]])
  // CHECK: %[[S:.*]] = tensor.map(%[[P]], %[[B]])
  // CHECK: %[[T:.*]] = tensor.map(%[[S]], %[[R]])
  // CHECK: tensor.map(%[[T]])
  %0 = graph.conv %x, %w add %b strides [1] dilations [1] pads [1, 1] groups 1 layout "channels_last" : (tensor<1x6x4xf32>, tensor<3x4x4xf32>, tensor<4xf32>) -> tensor<1x6x4xf32>
  %1 = graph.add %0, %x : tensor<1x6x4xf32>, tensor<1x6x4xf32> -> tensor<1x6x4xf32>
  %2 = graph.relu %1 : tensor<1x6x4xf32>
  func.return %2 : tensor<1x6x4xf32>
}

// -----

// So does a pooling.
// CHECK-LABEL: func.func @pooling
func.func @pooling(%x: tensor<1x6x4xf32>) -> tensor<1x3x4xf32> {
  // CHECK-NEXT: tensor.group(%[[X:.*]] = %x : tensor<1x6x4xf32>) kind "vector" stopped "its result is returned" {
  // CHECK-NEXT: %[[P:.*]] = tensor.reduce(%[[X]])
  // CHECK: tensor.map(%[[P]])
  %0 = graph.average_pool %x window [2] strides [2] dilations [1] pads [0, 0] layout "channels_last" : tensor<1x6x4xf32> -> tensor<1x3x4xf32>
  func.return %0 : tensor<1x3x4xf32>
}
