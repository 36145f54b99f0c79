// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s

// Instructions of every pipe. Fields that hold their default are not printed.
// CHECK-LABEL: npu_isa.kernel @pipes(%x, %y) {
npu_isa.kernel @pipes(%x, %y) {
  // CHECK-NEXT: %id = npu_isa.s_core_id
  %id = npu_isa.s_core_id
  // CHECK-NEXT: %m = npu_isa.s_min lhs = %id, rhs = -128
  %m = npu_isa.s_min lhs = %id, rhs = -128
  // CHECK-NEXT: npu_isa.nd2nz_gm_l1 dst = [0], src = [%x + 64], dtype = f16, rows = %m, cols = 48, src_stride = 96, dst_c0_stride = 32
  npu_isa.nd2nz_gm_l1 dst = [0], src = [%x + 64], dtype = f16, rows = %m, cols = 48, src_stride = 96, dst_c0_stride = 32
  // CHECK-NEXT: npu_isa.nd2nz_gm_l1 dst = [0], src = [%x], dtype = f16, rows = %m, cols = 48, src_stride = 96, dst_c0_stride = 144, nd_num = 9, src_nd_stride = 3072, dst_nd_stride = 16
  npu_isa.nd2nz_gm_l1 dst = [0], src = [%x], dtype = f16, rows = %m, cols = 48, src_stride = 96, dst_c0_stride = 144, nd_num = 9, src_nd_stride = 3072, dst_nd_stride = 16
  // CHECK-NEXT: npu_isa.set_flag src = MTE2, dst = MTE1, id = %id
  npu_isa.set_flag src = MTE2, dst = MTE1, id = %id
  // CHECK-NEXT: npu_isa.wait_flag src = MTE2, dst = MTE1, id = %id
  npu_isa.wait_flag src = MTE2, dst = MTE1, id = %id
  // CHECK-NEXT: npu_isa.load2d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, rows = %m, k = 48, src_c0_stride = 32
  npu_isa.load2d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, rows = %m, k = 48, src_c0_stride = 32, transpose = 0
  // CHECK-NEXT: npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = f16, rows = 32, k = 48, src_c0_stride = 48, transpose = 1
  npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = f16, rows = 32, k = 48, src_c0_stride = 48, transpose = 1
  // CHECK-NEXT: npu_isa.load3d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, l1_h = %m, l1_w = 14, m_pos = %id, m = %m, k_pos = 16, k = 48, stride_h = 1, stride_w = 2, filter_h = 3, filter_w = 3, dilation_h = 1, dilation_w = 2, pad_left = 2, pad_right = 1, pad_top = %id, pad_bottom = 0, src_c0_stride = 208
  npu_isa.load3d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, l1_h = %m, l1_w = 14, m_pos = %id, m = %m, k_pos = 16, k = 48, stride_h = 1, stride_w = 2, filter_h = 3, filter_w = 3, dilation_h = 1, dilation_w = 2, pad_left = 2, pad_right = 1, pad_top = %id, pad_bottom = 0, src_c0_stride = 208
  // CHECK-NEXT: npu_isa.mmad dst = [1024], src0 = [0], src1 = [0], dtype = f16, m = %m, k = 48, n = 32, accumulate = %id
  npu_isa.mmad dst = [1024], src0 = [0], src1 = [0], dtype = f16, m = %m, k = 48, n = 32, accumulate = %id
  // CHECK-NEXT: npu_isa.barrier pipe = ALL
  npu_isa.barrier pipe = ALL
  // CHECK-NEXT: npu_isa.mov_l0c_ub dst = [0], src = [1024], dtype = f32, m = %m, n = 32, dst_stride = 32, relu = 1
  npu_isa.mov_l0c_ub dst = [0], src = [1024], dtype = f32, m = %m, n = 32, dst_stride = 32, relu = 1
  // CHECK-NEXT: npu_isa.vadd dst = [4096], src0 = [%id], src1 = [0], dtype = f32, mask = 64, repeat = %m, src1_blk_stride = 0, src1_rep_stride = 1
  npu_isa.vadd dst = [4096], src0 = [%id + 0], src1 = [0], dtype = f32, mask = 64, repeat = %m, src1_blk_stride = 0, src1_rep_stride = 1
  // CHECK-NEXT: npu_isa.vnchwconv dst = [8192], src = [%id], dtype = f16, repeat = %m, dst_row_stride = 1, src_row_stride = 64, dst_rep_stride = 16, src_rep_stride = 1
  npu_isa.vnchwconv dst = [8192], src = [%id], dtype = f16, repeat = %m, dst_row_stride = 1, src_row_stride = 64, dst_rep_stride = 16, src_rep_stride = 1
  // CHECK-NEXT: npu_isa.mov_ub_gm dst = [%y], src = [4096], nburst = %m, len = 64, dst_stride = 64, src_stride = 2 {note = "kept"}
  npu_isa.mov_ub_gm dst = [%y], src = [4096], nburst = %m, len = 64, dst_stride = 64, src_stride = 2 {note = "kept"}
  // CHECK-NEXT: npu_isa.end
  npu_isa.end
}

// The whole vector set, with register operands, masks and results that are registers.
// CHECK-LABEL: npu_isa.kernel @vectors(%m) {
npu_isa.kernel @vectors(%m) {
  // CHECK-NEXT: npu_isa.vaddrelu dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = %m
  npu_isa.vaddrelu dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = %m
  // CHECK-NEXT: npu_isa.vand dst = [0], src0 = [512], src1 = [1024], dtype = i16, mask = 128, repeat = %m
  npu_isa.vand dst = [0], src0 = [512], src1 = [1024], dtype = i16, mask = 128, repeat = %m
  // CHECK-NEXT: npu_isa.vnot dst = [0], src0 = [512], dtype = i16, mask = 128, repeat = %m
  npu_isa.vnot dst = [0], src0 = [512], dtype = i16, mask = 128, repeat = %m
  // CHECK-NEXT: npu_isa.vshr dst = [0], src0 = [512], shift = %m, dtype = i16, mask = 128, repeat = 1, nearest = 1
  npu_isa.vshr dst = [0], src0 = [512], shift = %m, dtype = i16, mask = 128, repeat = 1, nearest = 1
  // CHECK-NEXT: npu_isa.vmla dst = [0], src0 = [512], src1 = [1024], dtype = f32, src_dtype = f16, mask = 64, repeat = 2, src0_rep_stride = 4, src1_rep_stride = 4
  npu_isa.vmla dst = [0], src0 = [512], src1 = [1024], dtype = f32, src_dtype = f16, mask = 64, repeat = 2, src0_rep_stride = 4, src1_rep_stride = 4
  // CHECK-NEXT: npu_isa.vaxpy dst = [0], src0 = [512], scalar = 0.5, dtype = f32, src_dtype = f32, mask = 64, repeat = 2
  npu_isa.vaxpy dst = [0], src0 = [512], scalar = 0.5, dtype = f32, src_dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vlrelu dst = [0], src0 = [512], scalar = 0.01, dtype = f32, mask = 64, repeat = 2
  npu_isa.vlrelu dst = [0], src0 = [512], scalar = 0.01, dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vprelu dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = 2
  npu_isa.vprelu dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vconv dst = [0], src0 = [512], dtype = i8, src_dtype = f16, mask = 128, repeat = 2, dst_rep_stride = 4, rounding = away, saturate = none
  npu_isa.vconv dst = [0], src0 = [512], dtype = i8, src_dtype = f16, mask = 128, repeat = 2, dst_rep_stride = 4, rounding = away, saturate = none
  // CHECK-NEXT: npu_isa.vround dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2, rounding = floor
  npu_isa.vround dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2, rounding = floor
  // CHECK-NEXT: npu_isa.vcmp dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = 2, compare = le
  npu_isa.vcmp dst = [0], src0 = [512], src1 = [1024], dtype = f32, mask = 64, repeat = 2, compare = le
  // CHECK-NEXT: npu_isa.vcmps dst = [0], src0 = [512], scalar = 0.0, dtype = f32, mask = 64, repeat = 2, compare = ne
  npu_isa.vcmps dst = [0], src0 = [512], scalar = 0.0, dtype = f32, mask = 64, repeat = 2, compare = ne
  // CHECK-NEXT: npu_isa.vsel dst = [0], src0 = [512], src1 = [1024], select = [%m], dtype = f32, mask = 64, repeat = 2, repeat_bits = same
  npu_isa.vsel dst = [0], src0 = [512], src1 = [1024], select = [%m], dtype = f32, mask = 64, repeat = 2, repeat_bits = same
  // CHECK-NEXT: npu_isa.vsels dst = [0], src0 = [512], select = [2048], scalar = neg_inf, dtype = f32, mask = 64, repeat = 2
  npu_isa.vsels dst = [0], src0 = [512], select = [2048], scalar = neg_inf, dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vcmax dst = [8], src0 = [512], dtype = f32, mask = 64, repeat = 2, dst_rep_stride = 2, order = value_index
  npu_isa.vcmax dst = [8], src0 = [512], dtype = f32, mask = 64, repeat = 2, dst_rep_stride = 2, order = value_index
  // CHECK-NEXT: npu_isa.vcgadd dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2
  npu_isa.vcgadd dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vcpadd dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2
  npu_isa.vcpadd dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vgather dst = [0], src = [512], offsets = [4096], src_bytes = %m, dtype = f32, mask = 64, repeat = 2
  npu_isa.vgather dst = [0], src = [512], offsets = [4096], src_bytes = %m, dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vgatherb dst = [0], src = [512], offsets = [4096], src_bytes = 1024, repeat = 2, dst_blk_stride = 2, dst_rep_stride = 16
  npu_isa.vgatherb dst = [0], src = [512], offsets = [4096], src_bytes = 1024, repeat = 2, dst_blk_stride = 2, dst_rep_stride = 16
  // CHECK-NEXT: npu_isa.vscatter dst = [0], src = [512], offsets = [4096], dst_bytes = 512, dtype = i16, mask = 128, repeat = 2
  npu_isa.vscatter dst = [0], src = [512], offsets = [4096], dst_bytes = 512, dtype = i16, mask = 128, repeat = 2
  // CHECK-NEXT: %kept = npu_isa.vreducev2 dst = [0], src0 = [512], src1 = [4096], pattern = bits, dtype = f32, mask = 64, repeat = 2
  %kept = npu_isa.vreducev2 dst = [0], src0 = [512], src1 = [4096], pattern = bits, dtype = f32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vsort32 dst = [0], src0 = [4096], src1 = [8192], dtype = f16, repeat = %kept
  npu_isa.vsort32 dst = [0], src0 = [4096], src1 = [8192], dtype = f16, repeat = %kept
  // CHECK-NEXT: %taken = npu_isa.vmrgsort4 dst = [0], src0 = [1024], src1 = [2048], src2 = [0], src3 = [0], dtype = f16, length0 = 32, length1 = %kept, suspend = 1
  %taken = npu_isa.vmrgsort4 dst = [0], src0 = [1024], src1 = [2048], src2 = [0], src3 = [0], dtype = f16, length0 = 32, length1 = %kept, suspend = 1
  // CHECK-NEXT: npu_isa.vdupr dst = [0], value = %taken, dtype = i32, mask = 64, repeat = 2
  npu_isa.vdupr dst = [0], value = %taken, dtype = i32, mask = 64, repeat = 2
  // CHECK-NEXT: npu_isa.vabs dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2, lanes_low = %m
  npu_isa.vabs dst = [0], src0 = [512], dtype = f32, mask = 64, repeat = 2, lanes_low = %m
  // CHECK-NEXT: npu_isa.vabs dst = [0], src0 = [512], dtype = f32, mask = 1, repeat = 0, count_mode = 1, count = 100
  npu_isa.vabs dst = [0], src0 = [512], dtype = f32, mask = 1, repeat = 0, count_mode = 1, count = 100
  npu_isa.end
}

// Fields may come in any order; a scalar operand keeps the bits of its f32.
// CHECK-LABEL: npu_isa.kernel @scalars() {
npu_isa.kernel @scalars() {
  // CHECK-NEXT: npu_isa.vdup dst = [0], scalar = 0.1, dtype = f32, mask = 64, repeat = 1
  npu_isa.vdup scalar = 0.1, dst = [0], mask = 64, repeat = 1, dtype = f32
  // CHECK-NEXT: npu_isa.vdup dst = [0], scalar = -0.0, dtype = f32, mask = 64, repeat = 1
  npu_isa.vdup dst = [0], scalar = -0.0, dtype = f32, mask = 64, repeat = 1
  // CHECK-NEXT: npu_isa.vdup dst = [0], scalar = 16777216.0, dtype = f32, mask = 64, repeat = 1
  npu_isa.vdup dst = [0], scalar = 16777216.4, dtype = f32, mask = 64, repeat = 1
  // CHECK-NEXT: npu_isa.vdup dst = [0], scalar = neg_inf, dtype = f32, mask = 64, repeat = 1
  npu_isa.vdup dst = [0], scalar = neg_inf, dtype = f32, mask = 64, repeat = 1
  // CHECK-NEXT: npu_isa.vdup dst = [0], scalar = nan, dtype = f32, mask = 64, repeat = 1
  npu_isa.vdup dst = [0], scalar = nan, dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}

// Instructions of the cube, its drains and the moves, most of them beyond what every machine has.
// CHECK-LABEL: npu_isa.kernel @cube(%x, %y) {
npu_isa.kernel @cube(%x, %y) {
  // CHECK-NEXT: npu_isa.mov_gm_l1 dst = [0], src = [%x], nburst = 4, len = 8, src_stride = 300, dst_stride = 16
  npu_isa.mov_gm_l1 dst = [0], src = [%x], nburst = 4, len = 8, src_stride = 300, dst_stride = 16
  // CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%x], len = 60, pad_unit = b16, left_pad = 1, right_pad = 2, pad_value = %x
  npu_isa.mov_gm_ub dst = [0], src = [%x], len = 60, pad_unit = b16, left_pad = 1, right_pad = 2, pad_value = %x
  // CHECK-NEXT: npu_isa.fill_l1 dst = [512], unit = b16, value = 15360, len = 32
  npu_isa.fill_l1 dst = [512], unit = b16, value = 15360, len = 32
  // CHECK-NEXT: npu_isa.fill_l0a dst = [512], unit = b32, value = 0, repeat = 2, len = 1, dst_stride = 2
  npu_isa.fill_l0a dst = [512], unit = b32, value = 0, repeat = 2, len = 1, dst_stride = 2
  // CHECK-NEXT: npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = i8, rows = 32, k = 64, src_c0_stride = 64, transpose = 1
  npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = i8, rows = 32, k = 64, src_c0_stride = 64, transpose = 1
  // CHECK-NEXT: npu_isa.mov_l1_bt dst = [64], src = [0], dtype = f16, len = 2
  npu_isa.mov_l1_bt dst = [64], src = [0], dtype = f16, len = 2
  // CHECK-NEXT: npu_isa.mmad dst = [0], src0 = [0], src1 = [0], dtype = ui8, m = 16, k = 0, n = 32, accumulate = 1
  npu_isa.mmad dst = [0], src0 = [0], src1 = [0], dtype = ui8, m = 16, k = 0, n = 32, accumulate = 1
  // CHECK-NEXT: npu_isa.mmad_bias dst = [0], src0 = [0], src1 = [0], bias = [64], dtype = bf16, m = 16, k = 16, n = 32
  npu_isa.mmad_bias dst = [0], src0 = [0], src1 = [0], bias = [64], dtype = bf16, m = 16, k = 16, n = 32
  // CHECK-NEXT: npu_isa.mov_l0c_ub dst = [0], src = [0], dtype = i32, m = 16, n = 32, dst_stride = 16
  npu_isa.mov_l0c_ub dst = [0], src = [0], dtype = i32, m = 16, n = 32, dst_stride = 16
  // CHECK-NEXT: npu_isa.deq_l0c_ub dst = [0], src = [0], dtype = i8, m = 16, n = 32, dst_stride = 16, scale = 0.5, offset = -3
  npu_isa.deq_l0c_ub dst = [0], src = [0], dtype = i8, m = 16, n = 32, dst_stride = 16, scale = 0.5, offset = -3
  // CHECK-NEXT: npu_isa.vdeq_l0c_ub dst = [0], src = [0], dtype = f16, m = 16, n = 32, dst_stride = 16, relu = 1, params = [4096]
  npu_isa.vdeq_l0c_ub dst = [0], src = [0], dtype = f16, m = 16, n = 32, dst_stride = 16, relu = 1, params = [4096]
  // CHECK-NEXT: npu_isa.mov_l1_fb dst = [0], src = [0], len = 4
  npu_isa.mov_l1_fb dst = [0], src = [0], len = 4
  // CHECK-NEXT: npu_isa.set_flag src = M, dst = FIX, id = 0
  npu_isa.set_flag src = M, dst = FIX, id = 0
  // CHECK-NEXT: npu_isa.fixpipe_l0c_gm dst = [%y], src = [0], src_dtype = f32, dtype = bf16, m = 16, n = 20, dst_stride = 20, atomic = add
  npu_isa.fixpipe_l0c_gm dst = [%y], src = [0], src_dtype = f32, dtype = bf16, m = 16, n = 20, dst_stride = 20, atomic = add, params = [0]
  // CHECK-NEXT: npu_isa.fixpipe_l0c_l1 dst = [0], src = [0], src_dtype = i32, dtype = i8, m = 16, n = 32, dst_stride = 16, quant = channel, clamp = leaky, slope = 0.25, params = [64]
  npu_isa.fixpipe_l0c_l1 dst = [0], src = [0], src_dtype = i32, dtype = i8, m = 16, n = 32, dst_stride = 16, quant = channel, clamp = leaky, slope = 0.25, params = [64]
  // CHECK-NEXT: npu_isa.fixpipe_l0c_ub dst = [0], src = [0], src_dtype = f32, dtype = f32, m = 16, n = 32, dst_stride = 16, layout = nz
  npu_isa.fixpipe_l0c_ub dst = [0], src = [0], src_dtype = f32, dtype = f32, m = 16, n = 32, dst_stride = 16, layout = nz
  // CHECK-NEXT: npu_isa.mov_ub_l1 dst = [0], src = [0], len = 4
  npu_isa.mov_ub_l1 dst = [0], src = [0], len = 4
  // CHECK-NEXT: npu_isa.mov_l1_ub dst = [0], src = [0], len = 4
  npu_isa.mov_l1_ub dst = [0], src = [0], len = 4
  // CHECK-NEXT: npu_isa.mov_l1_gm dst = [%y], src = [0], len = 4
  npu_isa.mov_l1_gm dst = [%y], src = [0], len = 4
  // CHECK-NEXT: npu_isa.mov_ub_gm dst = [%y], src = [0], len = 64, atomic = max, dtype = i16
  npu_isa.mov_ub_gm dst = [%y], src = [0], len = 64, atomic = max, dtype = i16
  // CHECK-NEXT: npu_isa.nz2nd_ub_gm dst = [%y], src = [0], dtype = f16, rows = 5, cols = 20, dst_stride = 40, src_stride = 16
  npu_isa.nz2nd_ub_gm dst = [%y], src = [0], dtype = f16, rows = 5, cols = 20, dst_stride = 40, src_stride = 16
  npu_isa.end
}

// Scalar loads and stores, comparisons and bits, and order between cores.
// CHECK-LABEL: npu_isa.kernel @memory(%x) {
npu_isa.kernel @memory(%x) {
  // CHECK-NEXT: %a = npu_isa.s_load_gm src = [%x + 8], dtype = i64
  %a = npu_isa.s_load_gm src = [%x + 8], dtype = i64
  // CHECK-NEXT: %b = npu_isa.s_load_ub src = [%a], dtype = ui8
  %b = npu_isa.s_load_ub src = [%a], dtype = ui8
  // CHECK-NEXT: %c = npu_isa.s_lt lhs = %b, rhs = 7
  %c = npu_isa.s_lt lhs = %b, rhs = 7
  // CHECK-NEXT: %d = npu_isa.s_shl lhs = %c, rhs = 3
  %d = npu_isa.s_shl lhs = %c, rhs = 3
  // CHECK-NEXT: npu_isa.s_store_ub dst = [4], value = %d, dtype = i16
  npu_isa.s_store_ub dst = [4], value = %d, dtype = i16
  // CHECK-NEXT: npu_isa.s_store_gm dst = [%x], value = -1, dtype = i32
  npu_isa.s_store_gm dst = [%x], value = -1, dtype = i32
  // CHECK-NEXT: npu_isa.cross_set mode = 2, pipe = MTE3, id = 10
  npu_isa.cross_set mode = 2, pipe = MTE3, id = 10
  // CHECK-NEXT: npu_isa.cross_wait mode = 2, pipe = MTE2, id = %b
  npu_isa.cross_wait mode = 2, pipe = MTE2, id = %b
  // CHECK-NEXT: npu_isa.ib_set event = 3
  npu_isa.ib_set event = 3
  // CHECK-NEXT: npu_isa.ib_wait core = %b, event = 3
  npu_isa.ib_wait core = %b, event = 3
  // CHECK-NEXT: npu_isa.sync_all
  npu_isa.sync_all
  npu_isa.end
}

// A branch yields registers; without results it needs no second body.
// CHECK-LABEL: npu_isa.kernel @branches(%n) {
npu_isa.kernel @branches(%n) {
  // CHECK-NEXT: %size = npu_isa.if lt %n, 7 attributes {note = "kept"} {
  %size = npu_isa.if lt %n, 7 attributes {note = "kept"} {
    // CHECK-NEXT: npu_isa.yield %n
    npu_isa.yield %n
  // CHECK-NEXT: } else {
  } else {
    // CHECK-NEXT: %rest = npu_isa.s_sub lhs = %n, rhs = 7
    %rest = npu_isa.s_sub lhs = %n, rhs = 7
    // CHECK-NEXT: npu_isa.yield %rest
    npu_isa.yield %rest
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: npu_isa.if ne 0, %size {
  npu_isa.if ne 0, %size {
    // CHECK-NEXT: npu_isa.barrier pipe = V
    npu_isa.barrier pipe = V
  // CHECK-NEXT: }
  } else {
  }
  // CHECK-NEXT: npu_isa.end
  npu_isa.end
}

// Loops carry registers; one that carries none needs no yield.
// CHECK-LABEL: npu_isa.kernel @loops(%n) attributes {note = "kept"} {
npu_isa.kernel @loops(%n) attributes {note = "kept"} {
  // CHECK-NEXT: %zero = npu_isa.s_mov src = 0
  %zero = npu_isa.s_mov src = 0
  // CHECK-NEXT: %sum, %last = npu_isa.loop %i in %n iter (%a = %zero, %b = %n) {
  %sum, %last = npu_isa.loop %i in %n iter (%a = %zero, %b = %n) {
    // CHECK-NEXT: npu_isa.loop %j in 4 {
    npu_isa.loop %j in 4 {
      // CHECK-NEXT: npu_isa.barrier pipe = V
      npu_isa.barrier pipe = V
    // CHECK-NEXT: }
    }
    // CHECK-NEXT: %next = npu_isa.s_add lhs = %a, rhs = %i
    %next = npu_isa.s_add lhs = %a, rhs = %i
    // CHECK-NEXT: npu_isa.yield %next, %a
    npu_isa.yield %next, %a
  // CHECK-NEXT: }
  }
  npu_isa.end
}

// After allocation every register says which one it is.
// CHECK-LABEL: npu_isa.kernel @physical(%x : !npu_isa.reg<0>) {
npu_isa.kernel @physical(%x : !npu_isa.reg<0>) {
  // CHECK-NEXT: %zero = npu_isa.s_mov src = 0 : !npu_isa.reg<1>
  %zero = npu_isa.s_mov src = 0 : !npu_isa.reg<1>
  // CHECK-NEXT: %sum = npu_isa.loop %i : !npu_isa.reg<2> in 8 iter (%a : !npu_isa.reg<1> = %zero) {
  %sum = npu_isa.loop %i : !npu_isa.reg<2> in 8 iter (%a : !npu_isa.reg<1> = %zero) {
    // CHECK-NEXT: %next = npu_isa.s_add lhs = %a, rhs = %x : !npu_isa.reg<1>
    %next = npu_isa.s_add lhs = %a, rhs = %x : !npu_isa.reg<1>
    npu_isa.yield %next
  }
  npu_isa.end
}
