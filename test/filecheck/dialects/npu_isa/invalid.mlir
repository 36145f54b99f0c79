// RUN: npu-opt %s --split-input-file --verify-diagnostics

// An immediate has the range of its field.
npu_isa.kernel @k() {
  // expected-error@+1 {{m = 5000 is outside 1..4095 (12 bits, unit 1)}}
  npu_isa.mmad dst = [0], src0 = [0], src1 = [0], dtype = f16, m = 5000, k = 16, n = 16, accumulate = 0
  npu_isa.end
}

// -----

// So has a stride.
npu_isa.kernel @k() {
  // expected-error@+1 {{dst_rep_stride = 65536 is outside 0..65535 (16 bits, unit 32 bytes)}}
  npu_isa.vabs dst = [0], src0 = [0], dtype = f32, mask = 64, repeat = 1, dst_rep_stride = 65536
  npu_isa.end
}

// -----

// An instruction works on the types it is published for.
npu_isa.kernel @k() {
  // expected-error@+1 {{dtype = i32 is not one of f32, f16}}
  npu_isa.vexp dst = [0], src0 = [0], dtype = i32, mask = 64, repeat = 1
  npu_isa.end
}

// -----

// Addresses are aligned where they are known.
npu_isa.kernel @k() {
  // expected-error@+1 {{src0 = 100 is not a multiple of 32 bytes}}
  npu_isa.vabs dst = [0], src0 = [100], dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}

// -----

// GM is only reached through a register.
npu_isa.kernel @k() {
  // expected-error@+1 {{src takes an address in gm, which needs a register}}
  npu_isa.mov_gm_ub dst = [0], src = [0], len = 32
  npu_isa.end
}

// -----

// Operands must make sense together.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{mask = 65 is outside 1..64 (lanes of f32)}}
  npu_isa.vabs dst = [0], src0 = [0], dtype = f32, mask = 65, repeat = 1
  npu_isa.end
}

// -----

// Runs that overlap in UB depend on the order of their bytes.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{dst_stride = 1 blocks of 32 bytes is less than len = 64 bytes}}
  npu_isa.mov_gm_ub dst = [0], src = [%x], nburst = 2, len = 64, src_stride = 64, dst_stride = 1
  npu_isa.end
}

// -----

// A pipe is in order with itself.
npu_isa.kernel @k() {
  // expected-error@+1 {{src and dst are the same pipe}}
  npu_isa.set_flag src = V, dst = V, id = 0
  npu_isa.end
}

// -----

// Arguments arrive in the first registers.
// expected-error@+1 {{argument 1 arrives in r1, not r2}}
npu_isa.kernel @k(%x : !npu_isa.reg<0>, %y : !npu_isa.reg<2>) {
  npu_isa.end
}

// -----

// A kernel ends.
// expected-error@+1 {{a kernel ends with npu_isa.end}}
npu_isa.kernel @k() {
  npu_isa.barrier pipe = V
}
