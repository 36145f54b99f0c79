// RUN: npu-translate --mlir-to-asm %s | filecheck %s
// RUN: npu-translate --mlir-to-asm %s | npu-translate --asm-to-mlir | npu-translate --mlir-to-asm | filecheck %s
// RUN: npu-translate --mlir-to-asm %s | npu-translate --asm-to-mlir | filecheck %s --check-prefix=BACK

// The text has what the IR says, nodes of the model included, and comes back the same.
// CHECK:      .kernel "k" arguments 2 engine cube nodes ["fc 1", "relu"]
// CHECK-NEXT: r2 = s_core_id
// CHECK-NEXT: .node "fc 1"
// CHECK-NEXT: r3 = s_mov src = 0
// CHECK-NEXT: loop r4 in 4 {
// CHECK-NEXT:   r5 = s_mul lhs = r4, rhs = 256
// CHECK-NEXT: .node "relu"
// CHECK-NEXT:   loop r6 in r2 {
// CHECK-NEXT:     r3 = s_add lhs = r3, rhs = r5
// CHECK-NEXT:   }
// CHECK-NEXT: .node null
// CHECK-NEXT:   mov_gm_ub dst = [r5 + 128], src = [r0 + 64], len = 256
// CHECK-NEXT: }
// CHECK-NEXT: vadds dst = [r3], src0 = [128], scalar = 0.1, dtype = f32, mask = 64, repeat = 1
// CHECK-NEXT: end
// CHECK-EMPTY:
// CHECK-NEXT: .kernel "other" arguments 0 engine vector nodes []
// CHECK-NEXT: end

// Registers become values again: loops carry what lives on, here r3 but not r5.
// BACK: npu_isa.kernel @k(%{{.*}} : !npu_isa.reg<0>, %{{.*}} : !npu_isa.reg<1>)
// BACK: %[[INIT:.*]] = npu_isa.s_mov src = 0 : !npu_isa.reg<3>
// BACK: %[[LAST:.*]] = npu_isa.loop %{{.*}} : !npu_isa.reg<4> in 4 iter (%[[OUTER:.*]] : !npu_isa.reg<3> = %[[INIT]])
// BACK-NEXT: %[[STEP:.*]] = npu_isa.s_mul
// BACK-NEXT: %[[SUM:.*]] = npu_isa.loop %{{.*}} in %{{.*}} iter (%[[INNER:.*]] : !npu_isa.reg<3> = %[[OUTER]])
// BACK-NEXT: %[[NEXT:.*]] = npu_isa.s_add lhs = %[[INNER]], rhs = %[[STEP]]
// BACK-NEXT: npu_isa.yield %[[NEXT]]
// BACK: npu_isa.yield %[[SUM]]
// BACK: npu_isa.vadds dst = [%[[LAST]]]

npu_isa.kernel @k(%x : !npu_isa.reg<0>, %y : !npu_isa.reg<1>) attributes {engine = "cube", nodes = ["fc 1", "relu"]} {
  %core = npu_isa.s_core_id : !npu_isa.reg<2>
  %zero = npu_isa.s_mov src = 0 : !npu_isa.reg<3> {core.node = "fc 1"}
  %last = npu_isa.loop %i : !npu_isa.reg<4> in 4 iter (%outer : !npu_isa.reg<3> = %zero) attributes {core.node = "fc 1"} {
    %step = npu_isa.s_mul lhs = %i, rhs = 256 : !npu_isa.reg<5> {core.node = "fc 1"}
    %sum = npu_isa.loop %j : !npu_isa.reg<6> in %core iter (%inner : !npu_isa.reg<3> = %outer) attributes {core.node = "relu"} {
      %next = npu_isa.s_add lhs = %inner, rhs = %step : !npu_isa.reg<3> {core.node = "relu"}
      npu_isa.yield %next
    }
    npu_isa.mov_gm_ub dst = [%step + 128], src = [%x + 64], len = 256
    npu_isa.yield %sum
  }
  npu_isa.vadds dst = [%last], src0 = [128], scalar = 0.1, dtype = f32, mask = 64, repeat = 1
  npu_isa.end
}
npu_isa.kernel @other() attributes {engine = "vector"} {
  npu_isa.end
}
