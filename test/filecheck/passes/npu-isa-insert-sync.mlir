// RUN: npu-opt %s -p npu-isa-insert-sync 2> %t | filecheck %s
// RUN: filecheck %s --check-prefix REMARK < %t
// RUN: npu-opt %s -p 'npu-isa-insert-sync{barrier-everywhere=true}' | filecheck %s --check-prefix BARRIER

builtin.module attributes {target.machine = #target.machine<"ascend310p">} {

// A buffer of two slots: both flags rotate with the slot. The flag back starts set, once a slot.
// CHECK-LABEL: @double_buffer
// CHECK-NEXT: set_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT: set_flag src = MTE3, dst = MTE2, id = 1
// CHECK-NEXT: npu_isa.loop
// CHECK-NEXT:   %[[SLOT:.*]] = npu_isa.s_rem
// CHECK-NEXT:   s_mul
// CHECK-NEXT:   wait_flag src = MTE3, dst = MTE2, id = %[[SLOT]]
// CHECK-NEXT:   mov_gm_ub
// CHECK-NEXT:   set_flag src = MTE2, dst = MTE3, id = %[[SLOT]]
// CHECK-NEXT:   wait_flag src = MTE2, dst = MTE3, id = %[[SLOT]]
// CHECK-NEXT:   mov_ub_gm
// CHECK-NEXT:   set_flag src = MTE3, dst = MTE2, id = %[[SLOT]]
// CHECK-NEXT: }
// CHECK-NEXT: wait_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT: wait_flag src = MTE3, dst = MTE2, id = 1
// CHECK-NEXT: npu_isa.end
// BARRIER-LABEL: @double_buffer
// BARRIER-NOT: flag
// BARRIER: mov_gm_ub
// BARRIER-NEXT: barrier pipe = ALL
// BARRIER-NEXT: mov_ub_gm
// BARRIER-NEXT: barrier pipe = ALL
npu_isa.kernel @double_buffer(%x, %y) {
  npu_isa.loop %i in 8 {
    %slot = npu_isa.s_rem lhs = %i, rhs = 2
    %at = npu_isa.s_mul lhs = %slot, rhs = 256
    npu_isa.mov_gm_ub dst = [%at], src = [%x], len = 256
    npu_isa.mov_ub_gm dst = [%y], src = [%at], len = 256
  }
  npu_isa.end
}

// The two slots overlap by one block, so that rotating them orders nothing: distance 1, one id.
// CHECK-LABEL: @overlapping_slots
// CHECK-NEXT: set_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT: npu_isa.loop
// CHECK:        wait_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT:   mov_gm_ub
// CHECK-NEXT:   set_flag src = MTE2, dst = MTE3, id = 0
// CHECK-NEXT:   wait_flag src = MTE2, dst = MTE3, id = 0
// CHECK-NEXT:   mov_ub_gm
// CHECK-NEXT:   set_flag src = MTE3, dst = MTE2, id = 0
npu_isa.kernel @overlapping_slots(%x, %y) {
  npu_isa.loop %i in 8 {
    %slot = npu_isa.s_rem lhs = %i, rhs = 2
    %at = npu_isa.s_mul lhs = %slot, rhs = 224
    npu_isa.mov_gm_ub dst = [%at], src = [%x], len = 256
    npu_isa.mov_ub_gm dst = [%y], src = [%at], len = 256
  }
  npu_isa.end
}

// A product: the count runs over both loops, so that the inner loop's slots go on rotating from one
// outer iteration to the next. The accumulator is handed over once an outer iteration. The two
// loads into L0 need one flag only: the first is in order before the second.
// CHECK-LABEL: @product
// CHECK: npu_isa.loop %[[T:.*]] in
// CHECK:        %[[OUTER:.*]] = npu_isa.s_rem lhs = %[[T]], rhs = 2
// CHECK:        wait_flag src = V, dst = M, id = %[[OUTER]]
// CHECK-NEXT:   npu_isa.loop
// CHECK:          %[[INNER:.*]] = npu_isa.s_rem
// CHECK:          wait_flag src = MTE1, dst = MTE2, id = %[[INNER]]
// CHECK-NEXT:     nd2nz_gm_l1
// CHECK-NEXT:     set_flag src = MTE2, dst = MTE1, id = %[[INNER]]
// CHECK-NEXT:     wait_flag src = M, dst = MTE1, id = %[[INNER]]
// CHECK-NEXT:     wait_flag src = MTE2, dst = MTE1, id = %[[INNER]]
// CHECK-NEXT:     load2d_l1_l0a
// CHECK-NEXT:     load2d_l1_l0b
// CHECK-NEXT:     set_flag src = MTE1, dst = MTE2, id = %[[INNER]]
// CHECK-NEXT:     set_flag src = MTE1, dst = M, id = %[[INNER]]
// CHECK-NEXT:     wait_flag src = MTE1, dst = M, id = %[[INNER]]
// CHECK-NEXT:     mmad
// CHECK-NEXT:     set_flag src = M, dst = MTE1, id = %[[INNER]]
// CHECK-NEXT:   }
// CHECK-NEXT:   set_flag src = M, dst = V, id = %[[OUTER]]
// CHECK-NEXT:   wait_flag src = M, dst = V, id = %[[OUTER]]
// CHECK-NEXT:   mov_l0c_ub
// CHECK-NEXT:   set_flag src = V, dst = M, id = %[[OUTER]]
npu_isa.kernel @product(%x) {
  %id = npu_isa.s_core_id
  %n = npu_isa.s_sub lhs = 9, rhs = %id
  npu_isa.loop %t in %n {
    %outer = npu_isa.s_rem lhs = %t, rhs = 2
    %c = npu_isa.s_mul lhs = %outer, rhs = 1024
    npu_isa.loop %k in 4 {
      %before = npu_isa.s_mul lhs = %t, rhs = 4
      %count = npu_isa.s_add lhs = %before, rhs = %k
      %inner = npu_isa.s_rem lhs = %count, rhs = 2
      %a = npu_isa.s_mul lhs = %inner, rhs = 512
      npu_isa.nd2nz_gm_l1 dst = [%a], src = [%x], dtype = f16, rows = 16, cols = 16, src_stride = 32, dst_c0_stride = 16
      npu_isa.load2d_l1_l0a dst = [%a], src = [%a], dtype = f16, rows = 16, k = 16, src_c0_stride = 16
      npu_isa.load2d_l1_l0b dst = [%a], src = [%a], dtype = f16, rows = 16, k = 16, src_c0_stride = 16
      npu_isa.mmad dst = [%c], src0 = [%a], src1 = [%a], dtype = f16, m = 16, k = 16, n = 16, accumulate = %k
    }
    npu_isa.mov_l0c_ub dst = [0], src = [%c], dtype = f32, m = 16, n = 16, dst_stride = 16
  }
  npu_isa.end
}

// One pipe runs in order, reads do not conflict, and different arguments do not overlap: no flags.
// CHECK-LABEL: @nothing_to_order
// CHECK-NOT: flag
// CHECK: npu_isa.end
npu_isa.kernel @nothing_to_order(%x, %y) {
  npu_isa.mov_gm_ub dst = [0], src = [%x], len = 256
  npu_isa.mov_gm_ub dst = [0], src = [%x + 256], len = 256
  npu_isa.vdup dst = [1024], scalar = 1.0, dtype = f32, mask = 64, repeat = 1
  npu_isa.vadds dst = [1024], src0 = [1024], scalar = 1.0, dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_ub_gm dst = [%y], src = [2048], len = 256
  npu_isa.end
}

// What a kernel stores it may load again: the same argument, bytes that overlap.
// CHECK-LABEL: @through_gm
// CHECK: mov_ub_gm
// CHECK-NEXT: set_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT: mov_gm_ub dst = [512], src = [%{{.*}} + 1024]
// CHECK-NEXT: wait_flag src = MTE3, dst = MTE2, id = 0
// CHECK-NEXT: mov_gm_ub
npu_isa.kernel @through_gm(%x) {
  npu_isa.mov_ub_gm dst = [%x], src = [0], len = 256
  npu_isa.mov_gm_ub dst = [512], src = [%x + 1024], len = 256
  npu_isa.mov_gm_ub dst = [1024], src = [%x + 128], len = 256
  npu_isa.end
}

// Two sweeps with three slots each need six ids a direction. Both take the same three: no sweep runs
// while the other does, and between them every slot is free.
// CHECK-LABEL: @sweeps
// CHECK-NEXT: set_flag src = V, dst = MTE2, id = 0
// CHECK-NEXT: set_flag src = V, dst = MTE2, id = 1
// CHECK-NEXT: set_flag src = V, dst = MTE2, id = 2
// CHECK-NEXT: npu_isa.loop
// CHECK:        wait_flag src = V, dst = MTE2, id = %[[FIRST:.*]]
// CHECK-NEXT:   mov_gm_ub
// CHECK-NEXT:   set_flag src = MTE2, dst = V, id = %[[FIRST]]
// CHECK:        wait_flag src = V, dst = MTE2, id = %[[SECOND:.*]]
// CHECK-NEXT:   mov_gm_ub
// CHECK-NEXT:   set_flag src = MTE2, dst = V, id = %[[SECOND]]
npu_isa.kernel @sweeps(%x) {
  npu_isa.loop %t in 5 {
    npu_isa.loop %i in 4 {
      %before = npu_isa.s_mul lhs = %t, rhs = 4
      %count = npu_isa.s_add lhs = %before, rhs = %i
      %slot = npu_isa.s_rem lhs = %count, rhs = 3
      %at = npu_isa.s_mul lhs = %slot, rhs = 256
      npu_isa.mov_gm_ub dst = [%at], src = [%x], len = 256
      npu_isa.vexp dst = [8192], src0 = [%at], dtype = f32, mask = 64, repeat = 1
    }
    npu_isa.loop %j in 4 {
      %before = npu_isa.s_mul lhs = %t, rhs = 4
      %count = npu_isa.s_add lhs = %before, rhs = %j
      %slot = npu_isa.s_rem lhs = %count, rhs = 3
      %at = npu_isa.s_mul lhs = %slot, rhs = 256
      npu_isa.mov_gm_ub dst = [%at + 1024], src = [%x], len = 256
      npu_isa.vln dst = [8192], src0 = [%at + 1024], dtype = f32, mask = 64, repeat = 1
    }
  }
  npu_isa.end
}

// Six loads used in turn, all alive: four ids are not enough, and no order lets two pairs share. A
// barrier stands in for the fifth flag, and the pass says so; after it the ids are free again.
// CHECK-LABEL: @too_few_ids
// CHECK: set_flag src = MTE2, dst = V, id = 3
// CHECK: mov_gm_ub dst = [1024]
// CHECK-NEXT: barrier pipe = ALL
// CHECK-NEXT: vabs dst = [9216]
// CHECK-NEXT: mov_gm_ub dst = [1280]
// CHECK-NEXT: set_flag src = MTE2, dst = V, id = 0
// CHECK-NEXT: wait_flag src = MTE2, dst = V, id = 0
// CHECK-NEXT: vabs dst = [9472]
// REMARK: remark: a barrier of all pipes takes the place of a flag: MTE2 (npu_isa.mov_gm_ub) before V (npu_isa.vabs)
npu_isa.kernel @too_few_ids(%x) {
  npu_isa.mov_gm_ub dst = [0], src = [%x], len = 256
  npu_isa.vabs dst = [8192], src0 = [0], dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_gm_ub dst = [256], src = [%x], len = 256
  npu_isa.vabs dst = [8448], src0 = [256], dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_gm_ub dst = [512], src = [%x], len = 256
  npu_isa.vabs dst = [8704], src0 = [512], dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_gm_ub dst = [768], src = [%x], len = 256
  npu_isa.vabs dst = [8960], src0 = [768], dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_gm_ub dst = [1024], src = [%x], len = 256
  npu_isa.vabs dst = [9216], src0 = [1024], dtype = f32, mask = 64, repeat = 1
  npu_isa.mov_gm_ub dst = [1280], src = [%x], len = 256
  npu_isa.vabs dst = [9472], src0 = [1280], dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}

}
