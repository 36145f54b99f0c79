// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s | npu-opt | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s
// RUN: npu-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// Floats are bytes in hex whatever their value: infinity, NaN, a negative zero, 16777217.
// CHECK-LABEL: func.func @floats
// GENERIC: "core.constant"() <{value = #core.dense<"0x0000807F0000C0FF", tensor<2xf32>>}>
func.func @floats() {
  // CHECK-NEXT: %infinity = core.constant dense<"0x0000807F0000C0FF"> : tensor<2xf32>
  %infinity = core.constant dense<"0x0000807F0000C0FF"> : tensor<2xf32>
  // CHECK-NEXT: %zero = core.constant dense<"0x00000080"> : tensor<f32>
  %zero = core.constant dense<"0x00000080"> : tensor<f32>
  // CHECK-NEXT: %large = core.constant dense<"0x0000804B"> : tensor<1xf32>
  %large = core.constant dense<"0x0000804B"> : tensor<1xf32>
  // CHECK-NEXT: %halves = core.constant dense<"0x007C00FC"> : tensor<1x2xf16>
  %halves = core.constant dense<"0x007C00FC"> : tensor<1x2xf16>
  // CHECK-NEXT: %brain = core.constant dense<"0xC07F"> : tensor<4xbf16>
  %brain = core.constant dense<"0xC07F"> : tensor<4xbf16>
  func.return
}

// Equal elements are kept as one; the long form is accepted.
// CHECK-LABEL: func.func @splats
func.func @splats() {
  // CHECK-NEXT: %floats = core.constant dense<"0x0000803F"> : tensor<64x64xf32>
  %floats = core.constant dense<"0x0000803F"> : tensor<64x64xf32>
  // CHECK-NEXT: %integers = core.constant dense<-7> : tensor<2x2xi32>
  %integers = core.constant dense<[[-7, -7], [-7, -7]]> : tensor<2x2xi32>
  // CHECK-NEXT: %nothing = core.constant dense<"0x"> : tensor<0x4xf32>
  %nothing = core.constant dense<"0x"> : tensor<0x4xf32>
  func.return
}

// Integers and bools are lists, with attributes after them.
// CHECK-LABEL: func.func @lists
func.func @lists() {
  // CHECK-NEXT: %shape = core.constant dense<[1, -1, 9223372036854775807]> : tensor<3xi64>
  %shape = core.constant dense<[1, -1, 9223372036854775807]> : tensor<3xi64>
  // CHECK-NEXT: %bytes = core.constant dense<{{\[}}[0, 255], [128, 1]]> : tensor<2x2xui8>
  %bytes = core.constant dense<[[0, 255], [128, 1]]> : tensor<2x2xui8>
  // CHECK-NEXT: %mask = core.constant dense<[true, false]> {note = "kept"} : tensor<2xi1>
  %mask = core.constant dense<[true, false]> {note = "kept"} : tensor<2xi1>
  func.return
}

// A weight is where its bytes are and what is done to them on reading.
// CHECK-LABEL: func.func @weights
func.func @weights() {
  // CHECK-NEXT: %plain = core.weight #core.blob<tensor<4x6xf32>, "00ff", "file:m.onnx#128+96"> : tensor<4x6xf32>
  %plain = core.weight #core.blob<tensor<4x6xf32>, "00ff", "file:m.onnx#128+96"> : tensor<4x6xf32>
  // CHECK-NEXT: %steps = core.weight #core.blob<tensor<4x6xf32>, "00ff", "mem:", [#core.step<"transpose", [1, 0]>, #core.step<"slice", {{\[}}[2, 0], [4, 2]]>, #core.step<"cast", f16>, #core.step<"reshape", [8]>]> : tensor<8xf16>
  %steps = core.weight #core.blob<tensor<4x6xf32>, "00ff", "mem:", [#core.step<"transpose", [1, 0]>,
    #core.step<"slice", [[2, 0], [4, 2]]>, #core.step<"cast", f16>, #core.step<"reshape", [8]>]>
    : tensor<8xf16>
  func.return
}

// Origins keep names no identifier could hold, and how the value differs from the model's tensor.
// CHECK-LABEL: func.func @origins
// CHECK-SAME: %x: tensor<2xf32> {core.name = "input:0", core.origins = [#core.origin<"", "input:0">]}
func.func @origins(%x: tensor<2xf32> {core.name = "input:0", core.origins = [#core.origin<"", "input:0">]}) {
  // CHECK-NEXT: "test.op"(%x) {core.origins = {{\[}}[#core.origin<"/layer1/conv:0", "gr\C3\B6\C3\9Fe", [#core.step<"transpose", [1, 0]>]>], []]}
  %0, %1 = "test.op"(%x) {core.origins = [[#core.origin<"/layer1/conv:0", "größe",
    [#core.step<"transpose", [1, 0]>]>], []]} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}

// Upstream constants are printed in the form that survives, too.
// CHECK-LABEL: func.func @upstream
func.func @upstream() {
  // CHECK-NEXT: %0 = arith.constant dense<"0xA379EB4C000080FF"> : tensor<2xf32>
  %0 = arith.constant dense<"0xA379EB4C000080FF"> : tensor<2xf32>
  // CHECK-NEXT: %1 = arith.constant 0xff800000 : f32
  %1 = arith.constant 0xFF800000 : f32
  func.return
}
