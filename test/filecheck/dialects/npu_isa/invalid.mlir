// RUN: npu-opt %s --split-input-file --verify-diagnostics

// An immediate has the range of its field.
npu_isa.kernel @k() {
  // expected-error@+1 {{m = 5000 is outside 0..4095 (12 bits, unit 1)}}
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

// Rows of a transposed tile have room for their elements.
npu_isa.kernel @k() {
  // expected-error@+1 {{dst_row_stride = 1 is less than the 2 blocks of a row}}
  npu_isa.vnchwconv dst = [0], src = [4096], dtype = f32, repeat = 1, dst_row_stride = 1, src_row_stride = 1
  npu_isa.end
}

// -----

// Rounding to odd goes from f32 to f16.
npu_isa.kernel @k() {
  // expected-error@+1 {{rounding = odd goes from f32 to f16, not from f16 to i8}}
  npu_isa.vconv dst = [0], src0 = [512], dtype = i8, src_dtype = f16, mask = 128, repeat = 2, rounding = odd
  npu_isa.end
}

// -----

// No more bits can leave than there are.
npu_isa.kernel @k() {
  // expected-error@+1 {{shift = 17 is more than the 16 bits of i16}}
  npu_isa.vshl dst = [0], src0 = [512], shift = 17, dtype = i16, mask = 128, repeat = 1
  npu_isa.end
}

// -----

// Sums are not narrower than what is added.
npu_isa.kernel @k() {
  // expected-error@+1 {{sources of f32 are wider than the destination of f16}}
  npu_isa.vmla dst = [0], src0 = [512], src1 = [1024], dtype = f16, src_dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}

// -----

// A count of lanes goes with counter mode.
npu_isa.kernel @k() {
  // expected-error@+1 {{count = 5 goes with count_mode = 1}}
  npu_isa.vabs dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 1, count = 5
  npu_isa.end
}

// -----

// Records have 8 bytes.
npu_isa.kernel @k() {
  // expected-error@+1 {{src1 = 1028 is not a multiple of 8 bytes}}
  %n = npu_isa.vmrgsort4 dst = [0], src0 = [0], src1 = [1028], src2 = [0], src3 = [0], dtype = f16, length0 = 32, length1 = 8
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

// Matrices of one load do not overlap in L1 either.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{dst_nd_stride = 8 is less than rows = 9}}
  npu_isa.nd2nz_gm_l1 dst = [0], src = [%x], dtype = f16, rows = 9, cols = 16, src_stride = 32, dst_c0_stride = 64, nd_num = 2, src_nd_stride = 288, dst_nd_stride = 8
  npu_isa.end
}

// -----

// Windows lie in the padded image.
npu_isa.kernel @k() {
  // expected-error@+1 {{a window of 3 columns does not fit the 2 of the padded image}}
  npu_isa.load3d_l1_l0a dst = [0], src = [0], dtype = f16, l1_h = 4, l1_w = 2, m_pos = 0, m = 16, k_pos = 0, k = 16, stride_h = 1, stride_w = 1, filter_h = 3, filter_w = 3, dilation_h = 1, dilation_w = 1, pad_left = 0, pad_right = 0, pad_top = 0, pad_bottom = 0, src_c0_stride = 8
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

// -----

// Padding is at most a block on each side.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{left_pad = 17 elements are 34 bytes, 32 at most}}
  npu_isa.mov_gm_ub dst = [0], src = [%x], len = 32, pad_unit = b16, left_pad = 17
  npu_isa.end
}

// -----

// Atomic stores move whole elements.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{len = 30 bytes are no whole number of f32}}
  npu_isa.mov_ub_gm dst = [%x], src = [0], len = 30, atomic = add
  npu_isa.end
}

// -----

// Rows do not overlap where fractals become rows.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{dst_stride = 30 bytes is less than the 32 of a row}}
  npu_isa.nz2nd_ub_gm dst = [%x], src = [0], dtype = f16, rows = 2, cols = 16, dst_stride = 30, src_stride = 2
  npu_isa.end
}

// -----

// Runs do not overlap where L1 is filled.
npu_isa.kernel @k() {
  // expected-error@+1 {{dst_stride = 1 is less than len = 2, both in 32 bytes}}
  npu_isa.fill_l1 dst = [0], unit = b16, value = 0, repeat = 2, len = 2, dst_stride = 1
  npu_isa.end
}

// -----

// The drain converts some types only.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{there is no drain of i32 to bf16}}
  npu_isa.fixpipe_l0c_gm dst = [%x], src = [0], src_dtype = i32, dtype = bf16, m = 16, n = 16, dst_stride = 16
  npu_isa.end
}

// -----

// Integers are scaled on the way to fewer bits.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{i32 to i8 needs a scale}}
  npu_isa.fixpipe_l0c_gm dst = [%x], src = [0], src_dtype = i32, dtype = i8, m = 16, n = 16, dst_stride = 16
  npu_isa.end
}

// -----

// Only integers have an offset.
npu_isa.kernel @k() {
  // expected-error@+1 {{offset = 3 goes with 8-bit results, not with f16}}
  npu_isa.deq_l0c_ub dst = [0], src = [0], dtype = f16, m = 16, n = 16, dst_stride = 16, scale = 1.0, offset = 3
  npu_isa.end
}

// -----

// The tables are small.
npu_isa.kernel @k() {
  // expected-error@+1 {{params offset = 8192 is outside 0..8191 (13 bits, unit 1)}}
  npu_isa.fixpipe_l0c_l1 dst = [0], src = [0], src_dtype = f32, dtype = f32, m = 16, n = 16, dst_stride = 16, params = [8192]
  npu_isa.end
}

// -----

// A scalar element is aligned to its size.
npu_isa.kernel @k() {
  // expected-error@+1 {{src = 6 is not a multiple of 4 bytes}}
  %a = npu_isa.s_load_ub src = [6], dtype = i32
  npu_isa.end
}

// -----

// There are three modes of flags between cores.
npu_isa.kernel @k() {
  // expected-error@+1 {{mode = 3 is outside 0..2 (2 bits, unit 1)}}
  npu_isa.cross_set mode = 3, pipe = V, id = 0
  npu_isa.end
}

// -----

// Both bodies of a branch yield what there are results for.
npu_isa.kernel @k(%x) {
  // expected-error@+1 {{results and what the bodies yield number 1, 1, 0}}
  %a = npu_isa.if lt %x, 7 {
    npu_isa.yield %x
  }
  npu_isa.end
}
