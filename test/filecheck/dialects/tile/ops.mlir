// RUN: npu-opt %s | filecheck %s
// RUN: npu-opt %s --print-op-generic | npu-opt | filecheck %s

// A program: arguments, constants, views, launches. Names and addresses travel in attributes.
// CHECK-LABEL: tile.program @main
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<4x64xf32, gm>) -> (!tile.buffer<4x64xf32, gm>)
// CHECK-SAME: attributes {arg_attrs = [{core.name = "x"}]}
tile.program @main(%x: !tile.buffer<4x64xf32, gm>) -> (!tile.buffer<4x64xf32, gm>) attributes {arg_attrs = [{core.name = "x"}]} {
  // CHECK-NEXT: tile.constant #core.dense<"0x0000803F", tensor<64xf32>> {address = 512 : i64}
  %c = tile.constant #core.dense<"0x0000803F", tensor<64xf32>> {address = 512 : i64} : !tile.buffer<64xf32, gm>
  // CHECK-NEXT: tile.view %[[X]] : !tile.buffer<4x64xf32, gm> to !tile.buffer<256xf32, gm>
  %v = tile.view %x : !tile.buffer<4x64xf32, gm> to !tile.buffer<256xf32, gm>
  %y = tile.alloc {address = 1024 : i64} : !tile.buffer<4x64xf32, gm>
  // CHECK: tile.launch @k grid 2(%[[X]], %{{.*}}) : !tile.buffer<4x64xf32, gm>, !tile.buffer<4x64xf32, gm>
  tile.launch @k grid 2 (%x, %y) : !tile.buffer<4x64xf32, gm>, !tile.buffer<4x64xf32, gm>
  tile.return %y : !tile.buffer<4x64xf32, gm>
}

// CHECK-LABEL: tile.kernel @k
// CHECK-SAME: attributes {nodes = ["n"]}
tile.kernel @k(%x: !tile.buffer<4x64xf32, gm>, %y: !tile.buffer<4x64xf32, gm>) attributes {nodes = ["n"]} {
  // CHECK: tile.core_id
  %id = tile.core_id
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  // CHECK: tile.alloc {depth = 2 : i64} : !tile.buffer<2x64xf32, ub>
  %u = tile.alloc {depth = 2 : i64} : !tile.buffer<2x64xf32, ub>
  %b = tile.alloc : !tile.buffer<64xf32, ub>
  %r = tile.alloc : !tile.buffer<2xf32, ub>
  %s = tile.alloc : !tile.buffer<2xf32, ub>
  %rb = tile.alloc : !tile.buffer<2x8xf32, ub>
  %h = tile.alloc : !tile.buffer<2x64xf16, ub>
  // CHECK: !tile.buffer<16x16xf32, ub, nz>
  %nz = tile.alloc : !tile.buffer<16x16xf32, ub, nz>
  %nd = tile.alloc : !tile.buffer<16x16xf32, ub>
  // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] -> %{{.*}}[%{{.*}}, %{{.*}}] valid[%{{.*}}, %{{.*}}] {axes = array<i64: 0, 1>}
  tile.copy %x[%id, %c0] -> %u[%c0, %c0] valid [%c2, %c64] {axes = array<i64: 0, 1>} : !tile.buffer<4x64xf32, gm> to !tile.buffer<2x64xf32, ub>
  // CHECK-NEXT: tile.fill %{{.*}}, 1.500000e+00 : f32 : !tile.buffer<64xf32, ub>
  tile.fill %b, 1.5 : f32 : !tile.buffer<64xf32, ub>
  // CHECK-NEXT: tile.binary add %{{.*}}, %{{.*}} -> %{{.*}} {rhs_mode = #tile<mode row>}
  tile.binary add %u, %b -> %u {rhs_mode = #tile<mode row>} : !tile.buffer<2x64xf32, ub>, !tile.buffer<64xf32, ub> to !tile.buffer<2x64xf32, ub>
  // CHECK-NEXT: tile.unary exp
  tile.unary exp %u -> %u : !tile.buffer<2x64xf32, ub> to !tile.buffer<2x64xf32, ub>
  // CHECK-NEXT: tile.scalar maximum %{{.*}}, 0.000000e+00 : f32 -> %{{.*}}
  tile.scalar maximum %u, 0.0 : f32 -> %u : !tile.buffer<2x64xf32, ub> to !tile.buffer<2x64xf32, ub>
  // CHECK-NEXT: tile.reduce add %{{.*}} scratch %{{.*}} : !tile.buffer<2xf32, ub> -> %{{.*}} {cols = 64 : i64}
  tile.reduce add %u scratch %s : !tile.buffer<2xf32, ub> -> %r {cols = 64 : i64} : !tile.buffer<2x64xf32, ub> to !tile.buffer<2xf32, ub>
  // CHECK-NEXT: tile.broadcast
  tile.broadcast %r -> %rb : !tile.buffer<2xf32, ub> to !tile.buffer<2x8xf32, ub>
  tile.binary div %u, %rb -> %u {rhs_mode = #tile<mode block>} : !tile.buffer<2x64xf32, ub>, !tile.buffer<2x8xf32, ub> to !tile.buffer<2x64xf32, ub>
  // CHECK: tile.cast
  tile.cast %u -> %h : !tile.buffer<2x64xf32, ub> to !tile.buffer<2x64xf16, ub>
  tile.unary copy %nz -> %nd : !tile.buffer<16x16xf32, ub, nz> to !tile.buffer<16x16xf32, ub>
  %la = tile.alloc : !tile.buffer<16x16xf16, l0a>
  %lb = tile.alloc : !tile.buffer<16x16xf16, l0b>
  %lc = tile.alloc : !tile.buffer<16x16xf32, l0c>
  // CHECK: tile.mmad %{{.*}}, %{{.*}} -> %{{.*}} accumulate %{{.*}} valid[%{{.*}}, %{{.*}}, %{{.*}}]
  tile.mmad %la, %lb -> %lc accumulate %c0 valid [%c16, %c16, %c16] : !tile.buffer<16x16xf16, l0a>, !tile.buffer<16x16xf16, l0b> to !tile.buffer<16x16xf32, l0c>
  // CHECK-NEXT: tile.tap %{{.*}} at[%{{.*}}, %{{.*}}] valid[%{{.*}}, %{{.*}}]
  tile.tap %u at [%id, %c0] valid [%c2, %c64] {axes = array<i64: 0, 1>, core.origins = [[#core.origin<"n", "t">]]} : !tile.buffer<2x64xf32, ub>
  tile.end
}

// CHECK-LABEL: "schedule"
// CHECK-SAME: #tile.schedule<tiles [128, 64], steps [128, 32], cores 8, reason "because">
"test.op"() {label = "schedule", s = #tile.schedule<tiles [128, 64], steps [128, 32], cores 8, reason "because">} : () -> ()
// CHECK: #tile.schedule<tiles [8], steps [8], cores 1, cycles 316, reason "estimated">
"test.op"() {s = #tile.schedule<tiles [8], steps [8], cores 1, cycles 316, reason "estimated">} : () -> ()

// A slice of a GM buffer: strides and offset in elements.
// CHECK: !tile.buffer<4x8xf32, gm, strides [16, 1], offset 4>
"test.op"() : () -> !tile.buffer<4x8xf32, gm, strides [16, 1], offset 4>

// A call of the host engine, between launches.
// CHECK-LABEL: tile.program @host
tile.program @host(%a: !tile.buffer<2x3xi32, gm>, %b: !tile.buffer<3x4xi32, gm>) -> (!tile.buffer<2x4xi32, gm>) {
  %c = tile.alloc : !tile.buffer<2x4xi32, gm>
  // CHECK: tile.host_call "matmul"(%a, %b) -> %c : !tile.buffer<2x3xi32, gm>, !tile.buffer<3x4xi32, gm> to !tile.buffer<2x4xi32, gm>
  tile.host_call "matmul"(%a, %b) -> %c : !tile.buffer<2x3xi32, gm>, !tile.buffer<3x4xi32, gm> to !tile.buffer<2x4xi32, gm>
  tile.return %c : !tile.buffer<2x4xi32, gm>
}
