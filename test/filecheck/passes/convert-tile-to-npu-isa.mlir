// RUN: npu-opt %s -p target-attach-machine{target=ascend310p},convert-tile-to-npu-isa | filecheck %s

// A loop from the core's number in steps of the number of cores; the offset into GM is scalar work,
// done once for both copies. Only the valid rows move.
// CHECK-LABEL: npu_isa.kernel @tiles(%x, %y)
// CHECK-NEXT: %[[ID:.*]] = npu_isa.s_core_id
// CHECK-NEXT: %[[LEFT:.*]] = npu_isa.s_sub lhs = 7, rhs = %[[ID]]
// CHECK-NEXT: %[[UP:.*]] = npu_isa.s_add lhs = %[[LEFT]], rhs = 1
// CHECK-NEXT: %[[COUNT:.*]] = npu_isa.s_div lhs = %[[UP]], rhs = 2
// CHECK-NEXT: npu_isa.loop %[[T:.*]] in %[[COUNT]]
// CHECK-NEXT:   %[[STEP:.*]] = npu_isa.s_mul lhs = %[[T]], rhs = 2
// CHECK-NEXT:   %[[TILE:.*]] = npu_isa.s_add lhs = %[[ID]], rhs = %[[STEP]]
// CHECK-NEXT:   %[[ROW:.*]] = npu_isa.s_mul lhs = %[[TILE]], rhs = 16
// CHECK-NEXT:   %[[LEFT:.*]] = npu_isa.s_sub lhs = 100, rhs = %[[ROW]]
// CHECK-NEXT:   %[[ROWS:.*]] = npu_isa.s_min lhs = 16, rhs = %[[LEFT]]
// CHECK-NEXT:   %[[SLOT:.*]] = npu_isa.s_rem lhs = %[[T]], rhs = 2
// CHECK-NEXT:   %[[U:.*]] = npu_isa.s_mul lhs = %[[SLOT]], rhs = 1024
// CHECK-NEXT:   %[[SKIP:.*]] = npu_isa.s_mul lhs = %[[ROW]], rhs = 40
// CHECK-NEXT:   %[[FROM:.*]] = npu_isa.s_add lhs = %x, rhs = %[[SKIP]]
// CHECK-NEXT:   mov_gm_ub dst = [%[[U]] + 64], src = [%[[FROM]]], nburst = %[[ROWS]], len = 40, src_stride = 40, dst_stride = 2
// CHECK-NEXT:   vexp dst = [%[[U]] + 64], src0 = [%[[U]] + 64], dtype = f32, mask = 64, repeat = 4 {core.node = "e"}
// CHECK-NEXT:   %[[TO:.*]] = npu_isa.s_add lhs = %y, rhs = %[[SKIP]]
// CHECK-NEXT:   mov_ub_gm dst = [%[[TO]]], src = [%[[U]] + 64], nburst = %[[ROWS]], len = 40, dst_stride = 40, src_stride = 2
// CHECK-NEXT: }
// CHECK-NEXT: npu_isa.end
tile.kernel @tiles(%x: !tile.buffer<100x10xf32, gm>, %y: !tile.buffer<100x10xf32, gm>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c10 = arith.constant 10 : index
  %c16 = arith.constant 16 : index
  %c100 = arith.constant 100 : index
  %id = tile.core_id
  scf.for %t = %id to %c7 step %c2 {
    %row = arith.muli %t, %c16 : index
    %left = arith.subi %c100, %row : index
    %rows = arith.minsi %c16, %left : index
    %u = tile.alloc {depth = 2 : i64, address = 64 : i64} : !tile.buffer<16x10xf32, ub>
    tile.copy %x[%row, %c0] -> %u valid [%rows, %c10] : !tile.buffer<100x10xf32, gm> to !tile.buffer<16x10xf32, ub>
    tile.unary exp %u -> %u {core.node = "e"} : !tile.buffer<16x10xf32, ub> to !tile.buffer<16x10xf32, ub>
    tile.copy %u -> %y[%row, %c0] valid [%rows, %c10] : !tile.buffer<16x10xf32, ub> to !tile.buffer<100x10xf32, gm>
  }
  tile.end
}

// The slot is counted over the whole nest: outer * 3 + inner.
// CHECK-LABEL: npu_isa.kernel @nest
// CHECK: npu_isa.loop %[[I:.*]] in 5
// CHECK: npu_isa.loop %[[J:.*]] in 3
// CHECK-NEXT: %[[A:.*]] = npu_isa.s_mul lhs = %[[I]], rhs = 3
// CHECK-NEXT: %[[COUNT:.*]] = npu_isa.s_add lhs = %[[A]], rhs = %[[J]]
// CHECK-NEXT: %[[SLOT:.*]] = npu_isa.s_rem lhs = %[[COUNT]], rhs = 2
// CHECK-NEXT: %[[U:.*]] = npu_isa.s_mul lhs = %[[SLOT]], rhs = 256
// CHECK-NEXT: vdup dst = [%[[U]]], scalar = 1.5, dtype = f32, mask = 64, repeat = 1
tile.kernel @nest(%x: !tile.buffer<64xf32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %c2 = arith.constant 2 : index
  scf.for %i = %c0 to %c10 step %c2 {
    scf.for %j = %c0 to %c3 step %c1 {
      %u = tile.alloc {depth = 2 : i64, address = 0 : i64} : !tile.buffer<64xf32, ub>
      tile.fill %u, 1.5 : f32 : !tile.buffer<64xf32, ub>
    }
  }
  tile.end
}

// GM to fractals in L1, blocks of them to L0 (a right factor that lies as k x n is transposed by the
// load), the product, the drain of exactly what the product has, and fractals to rows: two blocks a
// stripe of 16 columns, for f32.
// CHECK-LABEL: npu_isa.kernel @product
// CHECK-NEXT: nd2nz_gm_l1 dst = [0], src = [%{{.*}}], dtype = f16, rows = 20, cols = 40, src_stride = 80, dst_c0_stride = 32
// CHECK-NEXT: nd2nz_gm_l1 dst = [4096], src = [%{{.*}}], dtype = f16, rows = 40, cols = 20, src_stride = 40, dst_c0_stride = 48
// CHECK-NEXT: load2d_l1_l0a dst = [0], src = [1024], dtype = f16, rows = 20, k = 24, src_c0_stride = 32
// CHECK-NEXT: load2d_l1_l0b dst = [0], src = [4608], dtype = f16, rows = 20, k = 24, src_c0_stride = 48, transpose = 1
// CHECK-NEXT: mmad dst = [0], src0 = [0], src1 = [0], dtype = f16, m = 20, k = 24, n = 20, accumulate = 0
// CHECK-NEXT: mov_l0c_ub dst = [0], src = [0], dtype = f32, m = 20, n = 20, dst_stride = 32
// CHECK-NEXT: vcopy dst = [4096], src0 = [0], dtype = f32, mask = 64, repeat = 2, dst_blk_stride = 3, src0_blk_stride = 2, dst_rep_stride = 24, src0_rep_stride = 16
// CHECK-NEXT: vcopy dst = [5632], src0 = [1024], dtype = f32, mask = 32, repeat = 1, dst_blk_stride = 3
// CHECK-NEXT: vcopy dst = [4128], src0 = [32], dtype = f32, mask = 64, repeat = 2
// CHECK-NEXT: vcopy dst = [5664], src0 = [1056], dtype = f32, mask = 32, repeat = 1
// CHECK-NEXT: vcopy dst = [4160], src0 = [2048], dtype = f32, mask = 64, repeat = 2
// CHECK-NEXT: vcopy dst = [5696], src0 = [3072], dtype = f32, mask = 32, repeat = 1
tile.kernel @product(%a: !tile.buffer<20x40xf16, gm>, %b: !tile.buffer<40x20xf16, gm>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c20 = arith.constant 20 : index
  %c24 = arith.constant 24 : index
  %a1 = tile.alloc {address = 0 : i64} : !tile.buffer<20x40xf16, l1>
  tile.copy %a -> %a1 : !tile.buffer<20x40xf16, gm> to !tile.buffer<20x40xf16, l1>
  %b1 = tile.alloc {address = 4096 : i64} : !tile.buffer<40x20xf16, l1>
  tile.copy %b -> %b1 : !tile.buffer<40x20xf16, gm> to !tile.buffer<40x20xf16, l1>
  %a0 = tile.alloc {address = 0 : i64} : !tile.buffer<20x24xf16, l0a>
  tile.copy %a1[%c0, %c16] -> %a0 : !tile.buffer<20x40xf16, l1> to !tile.buffer<20x24xf16, l0a>
  %b0 = tile.alloc {address = 0 : i64} : !tile.buffer<24x20xf16, l0b>
  tile.copy %b1[%c16, %c0] -> %b0 : !tile.buffer<40x20xf16, l1> to !tile.buffer<24x20xf16, l0b>
  %c = tile.alloc {address = 0 : i64} : !tile.buffer<20x20xf32, l0c>
  tile.mmad %a0, %b0 -> %c accumulate %c0 valid [%c20, %c24, %c20] : !tile.buffer<20x24xf16, l0a>, !tile.buffer<24x20xf16, l0b> to !tile.buffer<20x20xf32, l0c>
  %d = tile.alloc {address = 0 : i64} : !tile.buffer<20x20xf32, ub, nz>
  tile.copy %c -> %d : !tile.buffer<20x20xf32, l0c> to !tile.buffer<20x20xf32, ub, nz>
  %r = tile.alloc {address = 4096 : i64} : !tile.buffer<20x20xf32, ub>
  tile.unary copy %d -> %r : !tile.buffer<20x20xf32, ub, nz> to !tile.buffer<20x20xf32, ub>
  tile.end
}

// 18000 lanes of f32: 281 repeats of 64, 255 of them in the first instruction, and 16 lanes.
// CHECK-LABEL: npu_isa.kernel @long
// CHECK-NEXT: vmuls dst = [0], src0 = [0], scalar = 2.0, dtype = f32, mask = 64, repeat = 255
// CHECK-NEXT: vmuls dst = [65280], src0 = [65280], scalar = 2.0, dtype = f32, mask = 64, repeat = 26
// CHECK-NEXT: vmuls dst = [71936], src0 = [71936], scalar = 2.0, dtype = f32, mask = 16, repeat = 1
// CHECK-NEXT: end
tile.kernel @long(%x: !tile.buffer<64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<18000xf32, ub>
  tile.scalar mul %u, 2.0 : f32 -> %u : !tile.buffer<18000xf32, ub> to !tile.buffer<18000xf32, ub>
  tile.end
}

// A row for all rows has no distance between repeats; a block a row none between its own blocks. With
// many columns and few rows a repeat is a chunk of columns, and the rows a loop or a few instructions.
// CHECK-LABEL: npu_isa.kernel @spread
// CHECK-NEXT: vadd dst = [0], src0 = [0], src1 = [4096], dtype = f32, mask = 64, repeat = 16, src1_rep_stride = 0
// CHECK-NEXT: vmul dst = [0], src0 = [0], src1 = [8192], dtype = f32, mask = 64, repeat = 16, src1_blk_stride = 0, src1_rep_stride = 1
// CHECK-NEXT: vsub dst = [16384], src0 = [16384], src1 = [8192], dtype = f32, mask = 64, repeat = 10, src1_blk_stride = 0, src1_rep_stride = 0
// CHECK-NEXT: end
tile.kernel @spread(%x: !tile.buffer<64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<16x64xf32, ub>
  %row = tile.alloc {address = 4096 : i64} : !tile.buffer<64xf32, ub>
  %b = tile.alloc {address = 8192 : i64} : !tile.buffer<16x8xf32, ub>
  %w = tile.alloc {address = 16384 : i64} : !tile.buffer<1x640xf32, ub>
  %c = tile.alloc {address = 8192 : i64} : !tile.buffer<1x8xf32, ub>
  tile.binary add %u, %row -> %u {rhs_mode = #tile<mode row>} : !tile.buffer<16x64xf32, ub>, !tile.buffer<64xf32, ub> to !tile.buffer<16x64xf32, ub>
  tile.binary mul %u, %b -> %u {rhs_mode = #tile<mode block>} : !tile.buffer<16x64xf32, ub>, !tile.buffer<16x8xf32, ub> to !tile.buffer<16x64xf32, ub>
  tile.binary sub %w, %c -> %w {rhs_mode = #tile<mode block>} : !tile.buffer<1x640xf32, ub>, !tile.buffer<1x8xf32, ub> to !tile.buffer<1x640xf32, ub>
  tile.end
}

// 200 columns: 64 straight to the result, two more times 64 through scratch, and the last 8.
// CHECK-LABEL: npu_isa.kernel @reduce
// CHECK-NEXT: vcmax dst = [32768], src0 = [0], dtype = f32, mask = 64, repeat = 16, src0_rep_stride = 25
// CHECK-NEXT: npu_isa.loop %[[I:.*]] in 2
// CHECK:        vcmax dst = [36864], src0 = [%{{.*}}], dtype = f32, mask = 64, repeat = 16, src0_rep_stride = 25
// CHECK-NEXT:   vmax dst = [32768], src0 = [32768], src1 = [36864], dtype = f32, mask = 16, repeat = 1
// CHECK-NEXT: }
// CHECK-NEXT: vcmax dst = [36864], src0 = [768], dtype = f32, mask = 8, repeat = 16, src0_rep_stride = 25
// CHECK-NEXT: vmax
// CHECK-NEXT: vbrcb dst = [40960], src0 = [32768], dtype = f32, repeat = 2
tile.kernel @reduce(%x: !tile.buffer<64xf32, gm>) {
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<16x200xf32, ub>
  %r = tile.alloc {address = 32768 : i64} : !tile.buffer<16xf32, ub>
  %s = tile.alloc {address = 36864 : i64} : !tile.buffer<16xf32, ub>
  %b = tile.alloc {address = 40960 : i64} : !tile.buffer<16x8xf32, ub>
  tile.reduce max %u scratch %s : !tile.buffer<16xf32, ub> -> %r {cols = 200 : i64} : !tile.buffer<16x200xf32, ub> to !tile.buffer<16xf32, ub>
  tile.broadcast %r -> %b : !tile.buffer<16xf32, ub> to !tile.buffer<16x8xf32, ub>
  tile.end
}
