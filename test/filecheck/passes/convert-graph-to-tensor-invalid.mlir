// RUN: npu-opt %s -p convert-graph-to-tensor --split-input-file --verify-diagnostics

// Unsigned bytes are stored, not computed with.
func.func @bytes(%x: tensor<8xui8>) -> tensor<8xui8> {
  // expected-error@+1 {{graph.relu on ui8 is not supported}}
  %0 = graph.relu %x : tensor<8xui8>
  func.return %0 : tensor<8xui8>
}

// -----

// Channels are the last axis by now.
func.func @channels(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x1x1xf32> {
  // expected-error@+1 {{graph.global_max_pool with the layout channels_first has no form in the tensor dialect}}
  %0 = graph.global_max_pool %x layout "channels_first" : tensor<1x4x8x8xf32> -> tensor<1x4x1x1xf32>
  func.return %0 : tensor<1x4x1x1xf32>
}
