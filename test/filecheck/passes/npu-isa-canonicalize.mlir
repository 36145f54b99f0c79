// RUN: npu-opt %s -p npu-isa-canonicalize --split-input-file | filecheck %s

// Identities, and what is known altogether.
// CHECK-LABEL: npu_isa.kernel @identities(%x) {
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [32], src = [%x], nburst = 2, len = 96, src_stride = 96, dst_stride = 3
// CHECK-NEXT: npu_isa.end
npu_isa.kernel @identities(%x) {
  %a = npu_isa.s_add lhs = %x, rhs = 0
  %b = npu_isa.s_mul lhs = 1, rhs = %a
  %c = npu_isa.s_div lhs = %b, rhs = 1
  %zero = npu_isa.s_rem lhs = %c, rhs = 1
  %still = npu_isa.s_mul lhs = %x, rhs = 0
  %length = npu_isa.s_max lhs = %zero, rhs = 96
  %two = npu_isa.s_add lhs = %still, rhs = 2
  npu_isa.mov_gm_ub dst = [%zero + 32], src = [%c], nburst = %two, len = %length, src_stride = 96, dst_stride = 3
  npu_isa.end
}

// -----

// Sums move into the offset of an address as far as it has room; a negative one has none.
// CHECK-LABEL: npu_isa.kernel @offsets(%x) {
// CHECK-NEXT: %[[BELOW:.*]] = npu_isa.s_add lhs = %x, rhs = -64
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%x + 104], len = 32
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%[[BELOW]] + 8], len = 32
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%x], len = 32
// CHECK-NEXT: npu_isa.end
npu_isa.kernel @offsets(%x) {
  %a = npu_isa.s_add lhs = %x, rhs = 64
  %b = npu_isa.s_add lhs = 32, rhs = %a
  %below = npu_isa.s_sub lhs = %x, rhs = 64
  npu_isa.mov_gm_ub dst = [0], src = [%b + 8], len = 32
  npu_isa.mov_gm_ub dst = [0], src = [%below + 8], len = 32
  npu_isa.mov_gm_ub dst = [0], src = [%below + 64], len = 32
  npu_isa.end
}

// -----

// What does not change leaves the loops, as far as its operands allow, and is computed once.
// CHECK-LABEL: npu_isa.kernel @invariant(%x, %n) {
// CHECK-NEXT: %[[SIZE:.*]] = npu_isa.s_mul lhs = %n, rhs = 32
// CHECK-NEXT: npu_isa.loop %i in %n {
// CHECK-NEXT: %[[ROW:.*]] = npu_isa.s_mul lhs = %i, rhs = %[[SIZE]]
// CHECK-NEXT: %[[AT:.*]] = npu_isa.s_add lhs = %x, rhs = %[[ROW]]
// CHECK-NEXT: npu_isa.loop %j in 4 {
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%[[AT]]], len = %[[SIZE]]
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%[[AT]]], len = %[[SIZE]]
npu_isa.kernel @invariant(%x, %n) {
  npu_isa.loop %i in %n {
    npu_isa.loop %j in 4 {
      %size = npu_isa.s_mul lhs = %n, rhs = 32
      %row = npu_isa.s_mul lhs = %i, rhs = %size
      %at = npu_isa.s_add lhs = %x, rhs = %row
      %again = npu_isa.s_add lhs = %row, rhs = %x
      npu_isa.mov_gm_ub dst = [0], src = [%at], len = %size
      npu_isa.mov_gm_ub dst = [0], src = [%again], len = %size
    }
  }
  npu_isa.end
}

// -----

// A division by a register stays in its loop: it may fail, and the loop may never run.
// CHECK-LABEL: npu_isa.kernel @division(%x, %n) {
// CHECK-NEXT: %[[HALF:.*]] = npu_isa.s_div lhs = %n, rhs = 2
// CHECK-NEXT: npu_isa.loop %i in %n {
// CHECK-NEXT: %[[PART:.*]] = npu_isa.s_div lhs = 4096, rhs = %n
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%x], nburst = %[[HALF]], len = %[[PART]], dst_stride = 4
npu_isa.kernel @division(%x, %n) {
  npu_isa.loop %i in %n {
    %half = npu_isa.s_div lhs = %n, rhs = 2
    %part = npu_isa.s_div lhs = 4096, rhs = %n
    npu_isa.mov_gm_ub dst = [0], src = [%x], nburst = %half, len = %part, src_stride = 0, dst_stride = 4
  }
  npu_isa.end
}

// -----

// A loop stays as it is even if it runs once; what it carries stays in registers.
// CHECK-LABEL: npu_isa.kernel @loops(%x) {
// CHECK-NEXT: %[[FIVE:.*]] = npu_isa.s_mov src = 5
// CHECK-NEXT: %{{.*}} = npu_isa.loop %i in 1 iter (%a = %[[FIVE]]) {
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%x], len = %a
// CHECK-NEXT: npu_isa.yield %[[FIVE]]
npu_isa.kernel @loops(%x) {
  %one = npu_isa.s_mov src = 1
  %five = npu_isa.s_mov src = 5
  %r = npu_isa.loop %i in %one iter (%a = %five) {
    npu_isa.mov_gm_ub dst = [0], src = [%x], len = %a
    %again = npu_isa.s_add lhs = 4, rhs = %one
    npu_isa.yield %again
  }
  npu_isa.end
}

// -----

// A number that no immediate holds is computed where it is needed.
// CHECK-LABEL: npu_isa.kernel @large(%x) {
// CHECK-NEXT: %[[BIG:.*]] = npu_isa.s_mul lhs = 65536, rhs = 65536
// CHECK-NEXT: %[[AT:.*]] = npu_isa.s_add lhs = %x, rhs = %[[BIG]]
// CHECK-NEXT: npu_isa.mov_gm_ub dst = [0], src = [%[[AT]]], len = 32
npu_isa.kernel @large(%x) {
  %big = npu_isa.s_mul lhs = 65536, rhs = 65536
  %at = npu_isa.s_add lhs = %x, rhs = %big
  npu_isa.mov_gm_ub dst = [0], src = [%at], len = 32
  npu_isa.end
}
