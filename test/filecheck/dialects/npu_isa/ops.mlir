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
  // CHECK-NEXT: npu_isa.set_flag src = MTE2, dst = MTE1, id = %id
  npu_isa.set_flag src = MTE2, dst = MTE1, id = %id
  // CHECK-NEXT: npu_isa.wait_flag src = MTE2, dst = MTE1, id = %id
  npu_isa.wait_flag src = MTE2, dst = MTE1, id = %id
  // CHECK-NEXT: npu_isa.load2d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, rows = %m, k = 48, src_c0_stride = 32
  npu_isa.load2d_l1_l0a dst = [0], src = [%id + 512], dtype = f16, rows = %m, k = 48, src_c0_stride = 32, transpose = 0
  // CHECK-NEXT: npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = f16, rows = 32, k = 48, src_c0_stride = 48, transpose = 1
  npu_isa.load2d_l1_l0b dst = [0], src = [0], dtype = f16, rows = 32, k = 48, src_c0_stride = 48, transpose = 1
  // CHECK-NEXT: npu_isa.mmad dst = [1024], src0 = [0], src1 = [0], dtype = f16, m = %m, k = 48, n = 32, accumulate = %id
  npu_isa.mmad dst = [1024], src0 = [0], src1 = [0], dtype = f16, m = %m, k = 48, n = 32, accumulate = %id
  // CHECK-NEXT: npu_isa.barrier pipe = ALL
  npu_isa.barrier pipe = ALL
  // CHECK-NEXT: npu_isa.mov_l0c_ub dst = [0], src = [1024], dtype = f32, m = %m, n = 32, dst_stride = 32, relu = 1
  npu_isa.mov_l0c_ub dst = [0], src = [1024], dtype = f32, m = %m, n = 32, dst_stride = 32, relu = 1
  // CHECK-NEXT: npu_isa.vadd dst = [4096], src0 = [%id], src1 = [0], dtype = f32, mask = 64, repeat = %m, src1_blk_stride = 0, src1_rep_stride = 1
  npu_isa.vadd dst = [4096], src0 = [%id + 0], src1 = [0], dtype = f32, mask = 64, repeat = %m, src1_blk_stride = 0, src1_rep_stride = 1
  // CHECK-NEXT: npu_isa.mov_ub_gm dst = [%y], src = [4096], nburst = %m, len = 64, dst_stride = 64, src_stride = 2 {note = "kept"}
  npu_isa.mov_ub_gm dst = [%y], src = [4096], nburst = %m, len = 64, dst_stride = 64, src_stride = 2 {note = "kept"}
  // CHECK-NEXT: npu_isa.end
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
