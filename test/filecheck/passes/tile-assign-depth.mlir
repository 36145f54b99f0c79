// RUN: npu-opt %s -p tile-assign-depth --split-input-file | filecheck %s

// Between two pipes in a loop: two slots. One pipe only, or outside the loop: one.
// CHECK-LABEL: tile.kernel @pipelined
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  tile.kernel @pipelined(%x: !tile.buffer<64x8xf32, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // CHECK: tile.alloc {depth = 1 : i64} : !tile.buffer<8xf32, ub>
    %bias = tile.alloc : !tile.buffer<8xf32, ub>
    tile.copy %x[%c0, %c0] -> %bias {axes = array<i64: 1>} : !tile.buffer<64x8xf32, gm> to !tile.buffer<8xf32, ub>
    scf.for %i = %c0 to %c8 step %c1 {
      // CHECK: tile.alloc {depth = 2 : i64} : !tile.buffer<8x8xf32, ub>
      %u = tile.alloc : !tile.buffer<8x8xf32, ub>
      tile.copy %x[%i, %c0] -> %u : !tile.buffer<64x8xf32, gm> to !tile.buffer<8x8xf32, ub>
      // CHECK: tile.alloc {depth = 1 : i64} : !tile.buffer<8x8xf32, ub>
      %v = tile.alloc : !tile.buffer<8x8xf32, ub>
      tile.unary exp %u -> %v : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
    }
    tile.end
  }
}

// -----

// A depth that is there already stays.
// CHECK-LABEL: tile.kernel @by_hand
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  tile.kernel @by_hand(%x: !tile.buffer<64x8xf32, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // CHECK: tile.alloc {depth = 3 : i64}
      %u = tile.alloc {depth = 3 : i64} : !tile.buffer<8x8xf32, ub>
      tile.copy %x[%i, %c0] -> %u : !tile.buffer<64x8xf32, gm> to !tile.buffer<8x8xf32, ub>
      tile.unary exp %u -> %u : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
    }
    tile.end
  }
}

// -----

// 24 KB twice do not fit the 32 KB of UB: the buffer gives its second slot back.
// CHECK-LABEL: tile.kernel @too_deep
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  tile.kernel @too_deep(%x: !tile.buffer<8x6144xf32, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // CHECK: tile.alloc {depth = 1 : i64}
      %u = tile.alloc : !tile.buffer<1x6144xf32, ub>
      tile.copy %x[%i, %c0] -> %u : !tile.buffer<8x6144xf32, gm> to !tile.buffer<1x6144xf32, ub>
      tile.unary exp %u -> %u : !tile.buffer<1x6144xf32, ub> to !tile.buffer<1x6144xf32, ub>
    }
    tile.end
  }
}
