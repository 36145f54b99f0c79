// RUN: npu-opt %s -p 'target-attach-machine{target=tiny},tile-plan-gm' | filecheck %s

// Workspace %b is dead when %d is first written, so they share bytes; a view is not a new buffer;
// arguments, constants and results keep theirs. Names of arguments survive.
// CHECK-LABEL: tile.program @main
// CHECK-SAME: arg_attrs = [{core.name = "x", address = 0 : i64}]
tile.program @main(%x: !tile.buffer<128xf32, gm>) -> (!tile.buffer<128xf32, gm>) attributes {arg_attrs = [{core.name = "x"}]} {
  // CHECK: tile.constant {{.*}} {address = 512 : i64}
  %w = tile.constant #core.dense<"0x00000000", tensor<128xf32>> : !tile.buffer<128xf32, gm>
  // CHECK: %b = tile.alloc {address = 1024 : i64}
  %b = tile.alloc : !tile.buffer<128xf32, gm>
  tile.launch @k grid 1 (%x, %w, %b) : !tile.buffer<128xf32, gm>, !tile.buffer<128xf32, gm>, !tile.buffer<128xf32, gm>
  %v = tile.view %b : !tile.buffer<128xf32, gm> to !tile.buffer<2x64xf32, gm>
  // CHECK: %c = tile.alloc {address = 1536 : i64}
  %c = tile.alloc : !tile.buffer<128xf32, gm>
  tile.launch @l grid 1 (%v, %c) : !tile.buffer<2x64xf32, gm>, !tile.buffer<128xf32, gm>
  // CHECK: %d = tile.alloc {address = 1024 : i64}
  %d = tile.alloc : !tile.buffer<128xf32, gm>
  tile.launch @m grid 1 (%c, %d) : !tile.buffer<128xf32, gm>, !tile.buffer<128xf32, gm>
  tile.return %d : !tile.buffer<128xf32, gm>
}

// A call of the host engine uses its buffers as a launch does: %c may take the bytes of neither
// factor, and %d takes those of the first one, dead by then.
// CHECK-LABEL: tile.program @host
tile.program @host(%x: !tile.buffer<8x8xi32, gm>) -> (!tile.buffer<8x8xi32, gm>) {
  // CHECK: %b = tile.alloc {address = 512 : i64}
  %b = tile.alloc : !tile.buffer<8x8xi32, gm>
  tile.launch @k grid 1 (%x, %b) : !tile.buffer<8x8xi32, gm>, !tile.buffer<8x8xi32, gm>
  // CHECK: %c = tile.alloc {address = 1024 : i64}
  %c = tile.alloc : !tile.buffer<8x8xi32, gm>
  tile.host_call "matmul"(%x, %b) -> %c : !tile.buffer<8x8xi32, gm>, !tile.buffer<8x8xi32, gm> to !tile.buffer<8x8xi32, gm>
  // CHECK: %d = tile.alloc {address = 512 : i64}
  %d = tile.alloc : !tile.buffer<8x8xi32, gm>
  tile.host_call "matmul"(%x, %c) -> %d : !tile.buffer<8x8xi32, gm>, !tile.buffer<8x8xi32, gm> to !tile.buffer<8x8xi32, gm>
  tile.return %d : !tile.buffer<8x8xi32, gm>
}
