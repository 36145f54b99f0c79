// RUN: npu-opt %s -p npu-isa-insert-sync --split-input-file --verify-diagnostics

builtin.module attributes {target.machine = #target.machine<"tiny">} {
npu_isa.kernel @twice(%x) {
  npu_isa.mov_gm_ub dst = [0], src = [%x], len = 256
  // expected-error @+1 {{kernel @twice is ordered already}}
  npu_isa.set_flag src = MTE2, dst = V, id = 0
  npu_isa.wait_flag src = MTE2, dst = V, id = 0
  npu_isa.vexp dst = [0], src0 = [0], dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}
}
