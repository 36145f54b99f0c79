// RUN: npu-opt %s -p convert-graph-to-tensor --split-input-file --verify-diagnostics

// Unsigned bytes are stored, not computed with.
func.func @bytes(%x: tensor<8xui8>) -> tensor<8xui8> {
  // expected-error@+1 {{graph.relu on ui8 is not supported}}
  %0 = graph.relu %x : tensor<8xui8>
  func.return %0 : tensor<8xui8>
}
