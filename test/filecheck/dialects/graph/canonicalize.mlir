// RUN: npu-opt -p graph-canonicalize %s --split-input-file | filecheck %s

// Adding zero and multiplying by one do nothing, on either side and for integers too.
// CHECK-LABEL: func.func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[I:.*]]: tensor<4xi32>)
func.func @neutral(%x: tensor<2x3xf32>, %i: tensor<4xi32>) -> (tensor<2x3xf32>, tensor<4xi32>) {
  %zero = core.constant dense<"0x00000000"> : tensor<f32>
  %one = core.constant dense<"0x0000803F"> : tensor<1x3xf32>
  %ione = core.constant dense<1> : tensor<4xi32>
  %0 = graph.add %zero, %x : tensor<f32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.sub %0, %zero : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %2 = graph.mul %1, %one : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  %3 = graph.div %2, %one : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  %4 = graph.mul %ione, %i : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  // CHECK-NEXT: func.return %[[X]], %[[I]]
  func.return %3, %4 : tensor<2x3xf32>, tensor<4xi32>
}

// -----

// 0 - x and 1 / x are not x, and a zero that widens the shape is needed.
// CHECK-LABEL: func.func @not_neutral
func.func @not_neutral(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %zero = core.constant dense<"0x00000000"> : tensor<2x3xf32>
  %z = core.constant dense<"0x00000000"> : tensor<f32>
  %one = core.constant dense<"0x0000803F"> : tensor<f32>
  // CHECK: graph.sub
  %0 = graph.sub %z, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NEXT: graph.div
  %1 = graph.div %one, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK-NEXT: graph.add
  %2 = graph.add %x, %zero : tensor<3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// -----

// The name of the dropped sum goes to what stands for it.
// CHECK-LABEL: func.func @names
// CHECK-SAME: core.origins = [#core.origin<"input", "x">, #core.origin<"plus", "sum">]
func.func @names(%x: tensor<3xf32> {core.origins = [#core.origin<"input", "x">]}) -> tensor<3xf32> {
  %z = core.constant dense<"0x00000000"> : tensor<f32>
  %0 = graph.add %x, %z {core.origins = [[#core.origin<"plus", "sum">]]} : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}

// -----

// Of two reshapes the last is enough; the name of the first one's result moves on as a view.
// CHECK-LABEL: func.func @reshapes
// CHECK-SAME: core.origins = [#core.origin<"first", "t", [#core.step<"reshape", [2, 6]>]>]
// CHECK-NEXT: graph.reshape %{{.*}} {core.origins = {{\[\[}}#core.origin<"second", "u">]]} : tensor<2x6xf32> -> tensor<12xf32>
// CHECK-NEXT: func.return
func.func @reshapes(%x: tensor<2x6xf32>) -> tensor<12xf32> {
  %0 = graph.reshape %x {core.origins = [[#core.origin<"first", "t">]]} : tensor<2x6xf32> -> tensor<3x4xf32>
  %1 = graph.reshape %0 {core.origins = [[#core.origin<"second", "u">]]} : tensor<3x4xf32> -> tensor<12xf32>
  func.return %1 : tensor<12xf32>
}

// -----

// A reshape there and back is nothing; one that is used elsewhere stays.
// CHECK-LABEL: func.func @reshape_back
// CHECK-SAME: (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT: %[[R:.*]] = graph.reshape %[[X]]
// CHECK-NEXT: func.return %[[R]], %[[X]]
func.func @reshape_back(%x: tensor<2x6xf32>) -> (tensor<12xf32>, tensor<2x6xf32>) {
  %0 = graph.reshape %x : tensor<2x6xf32> -> tensor<12xf32>
  %1 = graph.reshape %0 : tensor<12xf32> -> tensor<2x6xf32>
  func.return %0, %1 : tensor<12xf32>, tensor<2x6xf32>
}

// -----

// Transposes compose, and cancel where the composition moves nothing.
// CHECK-LABEL: func.func @transposes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32> {core.origins = [#core.origin<"first", "t", [#core.step<"transpose", [1, 2, 0]>]>]})
// CHECK-NEXT: %[[T:.*]] = graph.transpose %[[X]] perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT: func.return %[[T]], %[[X]]
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>) {
  %0 = graph.transpose %x perm [2, 0, 1] {core.origins = [[#core.origin<"first", "t">]]} : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 perm [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  %2 = graph.transpose %0 perm [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  func.return %1, %2 : tensor<3x4x2xf32>, tensor<2x3x4xf32>
}

// -----

// A cast through a wider type is direct; a cast through a narrower one rounds and stays.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[H:.*]]: tensor<4xf16>, %[[F:.*]]: tensor<4xf32>)
func.func @casts(%h: tensor<4xf16>, %f: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>) {
  // CHECK-NEXT: %[[B:.*]] = graph.cast %[[H]] : tensor<4xf16> -> tensor<4xbf16>
  // CHECK-NEXT: %[[N:.*]] = graph.cast %[[F]] : tensor<4xf32> -> tensor<4xf16>
  // CHECK-NEXT: %[[W:.*]] = graph.cast %[[N]] : tensor<4xf16> -> tensor<4xf32>
  // CHECK-NEXT: func.return %[[H]], %[[B]], %[[W]]
  %0 = graph.cast %h : tensor<4xf16> -> tensor<4xf32>
  %1 = graph.cast %0 : tensor<4xf32> -> tensor<4xf16>
  %2 = graph.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %3 = graph.cast %f : tensor<4xf32> -> tensor<4xf16>
  %4 = graph.cast %3 : tensor<4xf16> -> tensor<4xf32>
  func.return %1, %2, %4 : tensor<4xf16>, tensor<4xbf16>, tensor<4xf32>
}

// -----

// A second relu adds nothing.
// CHECK-LABEL: func.func @relus
// CHECK-NEXT: %[[R:.*]] = graph.relu
// CHECK-NEXT: func.return %[[R]]
func.func @relus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : tensor<4xf32>
  %1 = graph.relu %0 : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// -----

// A cast stands before a reshape, unless the reshaped value has other users.
// CHECK-LABEL: func.func @cast_of_a_reshape
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32> {core.origins = [#core.origin<"flatten", "t", [#core.step<"reshape", [2, 3]>]>]}
func.func @cast_of_a_reshape(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<6xf16>, tensor<6xf16>, tensor<6xf32>) {
  // CHECK-NEXT: %[[C:.*]] = graph.cast %[[X]] : tensor<2x3xf32> -> tensor<2x3xf16>
  // CHECK-NEXT: %[[R:.*]] = graph.reshape %[[C]] : tensor<2x3xf16> -> tensor<6xf16>
  // CHECK-NEXT: %[[S:.*]] = graph.reshape %{{.*}} : tensor<2x3xf32> -> tensor<6xf32>
  // CHECK-NEXT: %[[D:.*]] = graph.cast %[[S]] : tensor<6xf32> -> tensor<6xf16>
  %0 = graph.reshape %x {core.origins = [[#core.origin<"flatten", "t">]]} : tensor<2x3xf32> -> tensor<6xf32>
  %1 = graph.cast %0 : tensor<6xf32> -> tensor<6xf16>
  %2 = graph.reshape %y : tensor<2x3xf32> -> tensor<6xf32>
  %3 = graph.cast %2 : tensor<6xf32> -> tensor<6xf16>
  func.return %1, %3, %2 : tensor<6xf16>, tensor<6xf16>, tensor<6xf32>
}
