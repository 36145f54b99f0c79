// RUN: npu-opt %s -p tile-plan-memory --split-input-file --verify-diagnostics | filecheck %s

// Buffers that only the vector pipe touches share bytes once they are dead; %u waits for MTE2 and
// keeps its bytes throughout, both slots of it.
// CHECK-LABEL: tile.kernel @sharing
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  tile.kernel @sharing(%x: !tile.buffer<64x8xf32, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      // CHECK: %u = tile.alloc {depth = 2 : i64, address = 0 : i64}
      %u = tile.alloc {depth = 2 : i64} : !tile.buffer<8x8xf32, ub>
      tile.copy %x[%i, %c0] -> %u : !tile.buffer<64x8xf32, gm> to !tile.buffer<8x8xf32, ub>
      // CHECK: %a = tile.alloc {address = 512 : i64}
      %a = tile.alloc : !tile.buffer<8x8xf32, ub>
      tile.unary exp %u -> %a : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
      // CHECK: %b = tile.alloc {address = 768 : i64}
      %b = tile.alloc : !tile.buffer<8x8xf32, ub>
      tile.unary exp %a -> %b : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
      // CHECK: %c = tile.alloc {address = 512 : i64}
      %c = tile.alloc : !tile.buffer<8x8xf32, ub>
      tile.unary exp %b -> %c : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
    }
    tile.end
  }
}

// -----

// A sub-view is a use of its buffer; one in a loop inside counts up to the end of that loop.
// CHECK-LABEL: tile.kernel @inside
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  tile.kernel @inside() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    // CHECK: %a = tile.alloc {address = 0 : i64}
    %a = tile.alloc : !tile.buffer<8x8xf32, ub>
    tile.fill %a, 0.0 : f32 : !tile.buffer<8x8xf32, ub>
    scf.for %i = %c0 to %c8 step %c1 {
      %r = tile.subview %a[%i] : !tile.buffer<8x8xf32, ub> to !tile.buffer<8xf32, ub>
      // CHECK: %b = tile.alloc {address = 256 : i64}
      %b = tile.alloc : !tile.buffer<8xf32, ub>
      tile.unary exp %r -> %b : !tile.buffer<8xf32, ub> to !tile.buffer<8xf32, ub>
      // CHECK: %c = tile.alloc {address = 288 : i64}
      %c = tile.alloc : !tile.buffer<8xf32, ub>
      tile.unary exp %b -> %c : !tile.buffer<8xf32, ub> to !tile.buffer<8xf32, ub>
    }
    // CHECK: %d = tile.alloc {address = 0 : i64}
    %d = tile.alloc : !tile.buffer<8xf32, ub>
    tile.fill %d, 0.0 : f32 : !tile.buffer<8xf32, ub>
    tile.end
  }
}

// -----

// An overflow names the space, the node, the bytes and the buffers.
builtin.module attributes {target.machine = #target.machine<"tiny">} {
  // expected-error@+1 {{kernel @overflow needs 65536 bytes of ub}}
  tile.kernel @overflow(%x: !tile.buffer<16384xf32, gm>) attributes {nodes = ["big"]} {
    %u = tile.alloc : !tile.buffer<16384xf32, ub>
    tile.copy %x -> %u : !tile.buffer<16384xf32, gm> to !tile.buffer<16384xf32, ub>
    tile.end
  }
}
