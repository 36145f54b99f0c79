// RUN: npu-opt -p graph-assign-layout %s --split-input-file | filecheck %s

// Images of several channels come and go with channels first: one transpose at each edge and none
// between. Filters and the constant take theirs as steps. The names of values inside say by which
// step those are made of the model's tensors.
// CHECK-LABEL: func.func @edges
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x8x8xf32>)
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[X]] perm [0, 2, 3, 1] : tensor<2x3x8x8xf32> -> tensor<2x8x8x3xf32>
// CHECK-NEXT: %[[W:.*]] = core.weight #core.blob<tensor<4x3x3x3xf32>, "00", "mem:", [#core.step<"transpose", [2, 3, 1, 0]>]> : tensor<3x3x3x4xf32>
// CHECK-NEXT: %[[C:.*]] = graph.conv %[[T]], %[[W]] strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 1 layout "channels_last" {core.origins = {{\[\[}}#core.origin<"conv", "c", [#core.step<"transpose", [0, 2, 3, 1]>]>]]}
// CHECK-NEXT: %[[B:.*]] = core.weight #core.blob<tensor<4x1x1xf32>, "01", "mem:", [#core.step<"reshape", [4]>]> : tensor<4xf32>
// CHECK-NEXT: %[[A:.*]] = graph.add %[[C]], %[[B]] : tensor<2x8x8x4xf32>, tensor<4xf32> -> tensor<2x8x8x4xf32>
// CHECK-NEXT: %[[P:.*]] = graph.max_pool %[[A]] window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_last"
// CHECK-NEXT: %[[S:.*]] = graph.softmax %[[P]] axis 3 {core.origins = {{\[\[}}#core.origin<"softmax", "s", [#core.step<"transpose", [0, 2, 3, 1]>]>]]}
// CHECK-NEXT: %[[Y:.*]] = graph.transpose %[[S]] perm [0, 3, 1, 2] : tensor<2x4x4x4xf32> -> tensor<2x4x4x4xf32>
// CHECK-NEXT: func.return %[[Y]]
func.func @edges(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x4x4xf32> {
  %w = core.weight #core.blob<tensor<4x3x3x3xf32>, "00", "mem:"> : tensor<4x3x3x3xf32>
  %b = core.weight #core.blob<tensor<4x1x1xf32>, "01", "mem:"> : tensor<4x1x1xf32>
  %0 = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 1 layout "channels_first" {core.origins = [[#core.origin<"conv", "c">]]} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x8x8xf32>
  %1 = graph.add %0, %b : tensor<2x4x8x8xf32>, tensor<4x1x1xf32> -> tensor<2x4x8x8xf32>
  %2 = graph.max_pool %1 window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<2x4x8x8xf32> -> tensor<2x4x4x4xf32>
  %3 = graph.softmax %2 axis 1 {core.origins = [[#core.origin<"softmax", "s">]]} : tensor<2x4x4x4xf32>
  func.return %3 : tensor<2x4x4x4xf32>
}

// -----

// A residual sum with the input of the convolution, which is transposed already.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT: %[[T:.*]] = graph.transpose %{{.*}} perm [0, 2, 1]
// CHECK-NEXT: core.weight
// CHECK-NEXT: %[[C:.*]] = graph.conv %[[T]]
// CHECK-NEXT: %[[A:.*]] = graph.add %[[C]], %[[T]] : tensor<1x8x3xf32>, tensor<1x8x3xf32> -> tensor<1x8x3xf32>
// CHECK-NEXT: %[[G:.*]] = graph.global_average_pool %[[A]] layout "channels_last" : tensor<1x8x3xf32> -> tensor<1x1x3xf32>
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[G]] : tensor<1x1x3xf32> -> tensor<1x3xf32>
// CHECK-NEXT: func.return %[[R]]
func.func @residual(%x: tensor<1x3x8xf32>) -> tensor<1x3xf32> {
  %w = core.weight #core.blob<tensor<3x3x3xf32>, "00", "mem:"> : tensor<3x3x3xf32>
  %0 = graph.conv %x, %w strides [1] dilations [1] pads [1, 1] groups 1 layout "channels_first" : (tensor<1x3x8xf32>, tensor<3x3x3xf32>) -> tensor<1x3x8xf32>
  %1 = graph.add %0, %x : tensor<1x3x8xf32>, tensor<1x3x8xf32> -> tensor<1x3x8xf32>
  %2 = graph.global_average_pool %1 layout "channels_first" : tensor<1x3x8xf32> -> tensor<1x3x1xf32>
  %3 = graph.reshape %2 : tensor<1x3x1xf32> -> tensor<1x3xf32>
  func.return %3 : tensor<1x3xf32>
}

// -----

// Channels weighed by their means: the weights move axes of size 1 only, which costs nothing.
// CHECK-LABEL: func.func @excite
// CHECK: %[[P:.*]] = graph.max_pool
// CHECK-NEXT: %[[G:.*]] = graph.global_average_pool %[[P]]
// CHECK-NEXT: %[[M:.*]] = graph.reshape %[[G]] : tensor<1x1x1x4xf32> -> tensor<1x4xf32>
// CHECK-NEXT: %[[D:.*]] = graph.matmul %[[M]]
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[D]] : tensor<1x4xf32> -> tensor<1x1x1x4xf32>
// CHECK-NEXT: %[[S:.*]] = graph.mul %[[P]], %[[W]] : tensor<1x4x4x4xf32>, tensor<1x1x1x4xf32> -> tensor<1x4x4x4xf32>
// CHECK-NEXT: graph.average_pool %[[S]]
func.func @excite(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32> {
  %w = core.weight #core.blob<tensor<4x4xf32>, "00", "mem:"> : tensor<4x4xf32>
  %0 = graph.max_pool %x window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<1x4x8x8xf32> -> tensor<1x4x4x4xf32>
  %1 = graph.global_average_pool %0 layout "channels_first" : tensor<1x4x4x4xf32> -> tensor<1x4x1x1xf32>
  %2 = graph.reshape %1 : tensor<1x4x1x1xf32> -> tensor<1x4xf32>
  %3 = graph.matmul %2, %w : tensor<1x4xf32>, tensor<4x4xf32> -> tensor<1x4xf32>
  %4 = graph.reshape %3 : tensor<1x4xf32> -> tensor<1x4x1x1xf32>
  %5 = graph.mul %0, %4 : tensor<1x4x4x4xf32>, tensor<1x4x1x1xf32> -> tensor<1x4x4x4xf32>
  %6 = graph.average_pool %5 window [1, 1] strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  func.return %6 : tensor<1x4x4x4xf32>
}

// -----

// Between flattening and the product an elementwise operator with a constant by element: all of it
// sees images with channels last, and the columns of the transposed weight are permuted.
// CHECK-LABEL: func.func @flattened
// CHECK: %[[P:.*]] = graph.max_pool
// CHECK-NEXT: %[[B:.*]] = core.weight #core.blob<tensor<24xf32>, "00", "mem:", [#core.step<"reshape", [1, 2, 3, 4]>, #core.step<"transpose", [0, 2, 3, 1]>, #core.step<"reshape", [3, 4, 2]>]> : tensor<3x4x2xf32>
// CHECK-NEXT: %[[A:.*]] = graph.add %[[P]], %[[B]]
// CHECK-NEXT: %[[R:.*]] = graph.relu %[[A]] {core.origins = {{\[\[}}#core.origin<"relu", "r", [#core.step<"reshape", [5, 2, 3, 4]>, #core.step<"transpose", [0, 2, 3, 1]>]>]]}
// CHECK-NEXT: %[[W:.*]] = core.weight #core.blob<tensor<7x24xf32>, "01", "mem:", [#core.step<"reshape", [7, 2, 3, 4]>, #core.step<"transpose", [0, 2, 3, 1]>, #core.step<"reshape", [7, 24]>]> : tensor<7x24xf32>
// CHECK-NEXT: %[[F:.*]] = graph.reshape %[[R]] : tensor<5x3x4x2xf32> -> tensor<5x24xf32>
// CHECK-NEXT: graph.gemm %[[F]], %[[W]] trans_b
func.func @flattened(%x: tensor<5x2x6x8xf32>) -> tensor<5x7xf32> {
  %b = core.weight #core.blob<tensor<24xf32>, "00", "mem:"> : tensor<24xf32>
  %w = core.weight #core.blob<tensor<7x24xf32>, "01", "mem:"> : tensor<7x24xf32>
  %0 = graph.max_pool %x window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<5x2x6x8xf32> -> tensor<5x2x3x4xf32>
  %1 = graph.reshape %0 : tensor<5x2x3x4xf32> -> tensor<5x24xf32>
  %2 = graph.add %1, %b : tensor<5x24xf32>, tensor<24xf32> -> tensor<5x24xf32>
  %3 = graph.relu %2 {core.origins = [[#core.origin<"relu", "r">]]} : tensor<5x24xf32>
  %4 = graph.gemm %3, %w trans_b : (tensor<5x24xf32>, tensor<7x24xf32>) -> tensor<5x7xf32>
  func.return %4 : tensor<5x7xf32>
}

// -----

// Positions become rows: the reshape joins axes that stay side by side, and both transposes cancel.
// CHECK-LABEL: func.func @rows
// CHECK: %[[P:.*]] = graph.max_pool {{.*}} -> tensor<1x3x4x2xf32>
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[P]] : tensor<1x3x4x2xf32> -> tensor<1x12x2xf32>
// CHECK-NEXT: func.return %[[R]]
func.func @rows(%x: tensor<1x2x6x8xf32>) -> tensor<1x12x2xf32> {
  %0 = graph.max_pool %x window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
  %1 = graph.reshape %0 : tensor<1x2x3x4xf32> -> tensor<1x2x12xf32>
  %2 = graph.transpose %1 perm [0, 2, 1] : tensor<1x2x12xf32> -> tensor<1x12x2xf32>
  func.return %2 : tensor<1x12x2xf32>
}

// -----

// Flattened images that are a result must be in the model's order: the transpose stays.
// CHECK-LABEL: func.func @returned
// CHECK: %[[P:.*]] = graph.max_pool
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[P]] perm [0, 3, 1, 2]
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[T]]
// CHECK-NEXT: func.return %[[R]]
func.func @returned(%x: tensor<1x2x6x8xf32>) -> tensor<1x24xf32> {
  %0 = graph.max_pool %x window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0] layout "channels_first" : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
  %1 = graph.reshape %0 : tensor<1x2x3x4xf32> -> tensor<1x24xf32>
  func.return %1 : tensor<1x24xf32>
}
