// RUN: npu-opt %s -p 'target-attach-machine{target=tiny},tile-plan-gm' --verify-diagnostics

// The machine has 64 MiB; argument and result take them, and one row more.
// expected-error @+1 {{program @main needs 67117056 bytes of gm}}
tile.program @main(%x: !tile.buffer<4096x2048xf32, gm>) -> (!tile.buffer<4097x2048xf32, gm>) {
  %y = tile.alloc : !tile.buffer<4097x2048xf32, gm>
  tile.launch @k grid 1 (%x, %y) : !tile.buffer<4096x2048xf32, gm>, !tile.buffer<4097x2048xf32, gm>
  tile.return %y : !tile.buffer<4097x2048xf32, gm>
}
