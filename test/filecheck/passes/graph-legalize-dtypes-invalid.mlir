// RUN: not npu-opt -p graph-legalize-dtypes %s 2>&1 | filecheck %s

// Everything that is in the way is listed at once, by the names of the model, with advice a type.
// CHECK: 4 tensors have an element type that the device does not have
// CHECK: `ids` of node `input` is i64
// CHECK-NEXT: `mask` of node `input` is bool
// CHECK-NEXT: `wide` of node `widen` is f64
// CHECK-NEXT: %s is f64
// CHECK-NEXT: do: i64: cast to i32 in the model where the values fit; bool: cast to ui8 or i32 in the model; f64: export the model in f32
func.func @main(%ids: tensor<4xi64> {core.origins = [#core.origin<"input", "ids">]}, %mask: tensor<4xi1> {core.origins = [#core.origin<"input", "mask">]}, %x: tensor<4xf32>) {
  %0 = graph.cast %x {core.origins = [[#core.origin<"widen", "wide">]]} : tensor<4xf32> -> tensor<4xf64>
  %s = graph.relu %0 : tensor<4xf64>
  func.return
}
