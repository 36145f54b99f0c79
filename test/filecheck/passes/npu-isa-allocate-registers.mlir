// RUN: npu-opt %s -p npu-isa-allocate-registers | filecheck %s

// Arguments stay where they arrive. What is used in a loop but made before it is alive until the
// loop ends, so that %next may not take the register of %x, read for the last time above it.
// CHECK-LABEL: @live_through_a_loop(%{{.*}} : !npu_isa.reg<0>, %{{.*}} : !npu_isa.reg<1>)
// CHECK: loop %{{.*}} : !npu_isa.reg<2> in 4
// CHECK: s_add {{.*}} : !npu_isa.reg<3>
// CHECK: s_mul {{.*}} : !npu_isa.reg<3>
npu_isa.kernel @live_through_a_loop(%x, %y) {
  npu_isa.loop %i in 4 {
    %from = npu_isa.s_add lhs = %x, rhs = %i
    npu_isa.mov_gm_ub dst = [0], src = [%from], len = 256
    %next = npu_isa.s_mul lhs = %i, rhs = 256
    npu_isa.mov_gm_ub dst = [%next], src = [%y], len = 256
  }
  npu_isa.end
}

// A register that is read for the last time can be written by the same instruction.
// CHECK-LABEL: @in_place
// CHECK: s_add {{.*}} : !npu_isa.reg<0>
// CHECK: s_add {{.*}} : !npu_isa.reg<0>
npu_isa.kernel @in_place(%x) {
  %a = npu_isa.s_add lhs = %x, rhs = 1
  %b = npu_isa.s_add lhs = %a, rhs = 1
  npu_isa.mov_gm_ub dst = [0], src = [%b], len = 256
  npu_isa.end
}

// A carried register is one register in the body and after the loop; the count is read after it is
// written, so it keeps its own.
// CHECK-LABEL: @carried
// CHECK: %[[ZERO:.*]] = npu_isa.s_mov src = 0 : !npu_isa.reg<1>
// CHECK: %[[COUNT:.*]] = npu_isa.s_core_id : !npu_isa.reg<2>
// CHECK: npu_isa.loop %{{.*}} : !npu_isa.reg<3> in %[[COUNT]] iter (%{{.*}} : !npu_isa.reg<1> = %[[ZERO]])
// CHECK: s_add {{.*}} : !npu_isa.reg<2>
// CHECK: mov_gm_ub
npu_isa.kernel @carried(%x) {
  %zero = npu_isa.s_mov src = 0
  %n = npu_isa.s_core_id
  %sum = npu_isa.loop %i in %n iter (%s = %zero) {
    %next = npu_isa.s_add lhs = %s, rhs = %i
    npu_isa.yield %next
  }
  %from = npu_isa.s_add lhs = %x, rhs = %sum
  npu_isa.mov_gm_ub dst = [0], src = [%from], len = 256
  npu_isa.end
}
