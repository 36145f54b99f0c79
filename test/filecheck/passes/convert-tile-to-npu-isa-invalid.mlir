// RUN: npu-opt %s -p target-attach-machine{target=ascend310p},convert-tile-to-npu-isa --split-input-file --verify-diagnostics

tile.kernel @unplanned(%x: !tile.buffer<64xf32, gm>) {
  // expected-error @+1 {{tile.alloc: the buffer has no address}}
  %u = tile.alloc : !tile.buffer<64xf32, ub>
  tile.end
}

// -----

tile.kernel @no_scratch(%x: !tile.buffer<64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<16x200xf32, ub>
  %r = tile.alloc {address = 32768 : i64} : !tile.buffer<16xf32, ub>
  // expected-error @+1 {{tile.reduce: a row wider than one vector needs scratch}}
  tile.reduce max %u -> %r {cols = 200 : i64} : !tile.buffer<16x200xf32, ub> to !tile.buffer<16xf32, ub>
  tile.end
}

// -----

tile.kernel @no_such_type(%x: !tile.buffer<64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<64xbf16, ub>
  // expected-error @+1 {{tile.unary: vexp does not take bf16}}
  tile.unary exp %u -> %u : !tile.buffer<64xbf16, ub> to !tile.buffer<64xbf16, ub>
  tile.end
}

// -----

tile.kernel @odd_columns(%x: !tile.buffer<64x64xf32, gm>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<16x64xf32, ub>
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{tile.copy: the columns of the rectangle must start at a block of 32 bytes}}
  tile.copy %x -> %u[%c0, %c3] valid [%c1, %c1] : !tile.buffer<64x64xf32, gm> to !tile.buffer<16x64xf32, ub>
  tile.end
}

// -----

tile.kernel @transposed_in_gm(%x: !tile.buffer<64x64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<64x64xf32, ub>
  // expected-error @+1 {{tile.copy: the columns of the rectangle are not contiguous in GM}}
  tile.copy %x -> %u {axes = array<i64: 1, 0>} : !tile.buffer<64x64xf32, gm> to !tile.buffer<64x64xf32, ub>
  tile.end
}
