// The tools joined by pipes, as in a shell: IR becomes a program in several steps, the program runs
// and becomes IR again, and a mistake is told without a traceback.

// RUN: npu-opt --to=tile %s | npu-opt --from=tile --to=final \
// RUN:   | npu-translate --mlir-to-binary -o %t.npu
// RUN: npu-translate --binary-to-mlir %t.npu | npu-opt | filecheck %s
// RUN: npuc run %t.npu | filecheck %s --check-prefix=TABLE
// RUN: not npu-opt -p no-such-pass %s 2>&1 | filecheck %s --check-prefix=ERROR

// CHECK: tile.program @main
// CHECK: npu_isa.kernel
// CHECK: npu_isa.mov_gm_ub
// CHECK: npu_isa.mov_ub_gm

// TABLE: float32[32, 64]
// TABLE: cycles

// ERROR-NOT: Traceback
// ERROR: tools.mlir: error: there is no pass `no-such-pass`
// ERROR-NEXT: do: use one of

func.func @main(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %0 = graph.relu %x : tensor<32x64xf32>
  func.return %0 : tensor<32x64xf32>
}
