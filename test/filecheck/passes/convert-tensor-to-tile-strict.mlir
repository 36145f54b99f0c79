// RUN: npu-opt %s -p 'convert-tensor-to-tile{strict=true}' --verify-diagnostics

// The host engine is refused, not replaced.
func.func @integers(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) -> tensor<2x4xi32> {
  // expected-error@+1 {{the module needs the host engine, which `strict` forbids}}
  %0 = tensor.host_call "matmul"(%a, %b) : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
  func.return %0 : tensor<2x4xi32>
}
