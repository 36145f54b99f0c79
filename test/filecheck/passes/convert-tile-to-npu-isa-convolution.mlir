// RUN: npu-opt %s -p target-attach-machine{target=ascend310p},convert-tile-to-npu-isa | filecheck %s

// A filter of two channel blocks: one load a block, whose taps are the matrices of the load. The
// region's rows and padding come from registers, the rest is known.
// CHECK-LABEL: npu_isa.kernel @convolution(%x, %w)
// CHECK: npu_isa.nd2nz_gm_l1 dst = [0], src = [%x], dtype = f16, rows = 56, cols = 20, src_stride = 40, dst_c0_stride = 64
// CHECK-NEXT: npu_isa.loop %[[B:.*]] in 2
// CHECK-NEXT:   %[[C:.*]] = npu_isa.s_mul lhs = %[[B]], rhs = 16
// CHECK-NEXT:   %[[TO:.*]] = npu_isa.s_mul lhs = %[[B]], rhs = 4608
// CHECK-NEXT:   %[[SKIP:.*]] = npu_isa.s_mul lhs = %[[C]], rhs = 16
// CHECK-NEXT:   %[[FROM:.*]] = npu_isa.s_add lhs = %w, rhs = %[[SKIP]]
// CHECK-NEXT:   %[[LEFT:.*]] = npu_isa.s_sub lhs = 20, rhs = %[[C]]
// CHECK-NEXT:   %[[ROWS:.*]] = npu_isa.s_min lhs = %[[LEFT]], rhs = 16
// CHECK-NEXT:   nd2nz_gm_l1 dst = [%[[TO]] + 8192], src = [%[[FROM]]], dtype = f16, rows = %[[ROWS]], cols = 8, src_stride = 16, dst_c0_stride = 288, nd_num = 9, src_nd_stride = 320, dst_nd_stride = 16
// CHECK-NEXT: }
// CHECK-NEXT: %[[ID:.*]] = npu_isa.s_core_id
// CHECK-NEXT: load3d_l1_l0a dst = [0], src = [0], dtype = f16, l1_h = 4, l1_w = 14, m_pos = 0, m = 28, k_pos = 144, k = 144, stride_h = 2, stride_w = 1, filter_h = 3, filter_w = 3, dilation_h = 1, dilation_w = 1, pad_left = 1, pad_right = 1, pad_top = %[[ID]], pad_bottom = 0, src_c0_stride = 64
tile.kernel @convolution(%x: !tile.buffer<1x196x20xf16, gm>, %w: !tile.buffer<9x20x8xf16, gm>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c20 = arith.constant 20 : index
  %c28 = arith.constant 28 : index
  %c56 = arith.constant 56 : index
  %c144 = arith.constant 144 : index
  %image = tile.alloc {address = 0 : i64} : !tile.buffer<56x32xf16, l1>
  tile.copy %x[%c0, %c0, %c0] -> %image valid [%c56, %c20] : !tile.buffer<1x196x20xf16, gm> to !tile.buffer<56x32xf16, l1>
  %filter = tile.alloc {address = 8192 : i64} : !tile.buffer<288x8xf16, l1>
  tile.load_filter %w[%c0, %c0, %c0] -> %filter valid [%c20, %c8] : !tile.buffer<9x20x8xf16, gm> to !tile.buffer<288x8xf16, l1>
  %a = tile.alloc {address = 0 : i64} : !tile.buffer<28x144xf16, l0a>
  %id = tile.core_id
  tile.im2col %image -> %a region [%c4, %id, %c0, %c20] at [%c0, %c144] valid [%c28, %c144] {width = 14 : i64, kernel = array<i64: 3, 3>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1>} : !tile.buffer<56x32xf16, l1> to !tile.buffer<28x144xf16, l0a>
  tile.end
}

// Another shape of the bytes of GM: row 2 of every image of 4 rows.
// CHECK-LABEL: npu_isa.kernel @view(%x)
// CHECK-NEXT: mov_gm_ub dst = [0], src = [%x + 64], nburst = 7, len = 32, src_stride = 128, dst_stride = 1
// CHECK-NEXT: npu_isa.end
tile.kernel @view(%x: !tile.buffer<28x8xf32, gm>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %v = tile.view %x : !tile.buffer<28x8xf32, gm> to !tile.buffer<7x4x8xf32, gm>
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<7x8xf32, ub>
  tile.copy %v[%c0, %c2, %c0] -> %u valid [%c7, %c8] {axes = array<i64: 0, 2>} : !tile.buffer<7x4x8xf32, gm> to !tile.buffer<7x8xf32, ub>
  tile.end
}

// A sub-view is an address. Rows that lie side by side are whole vectors; of rows that lie apart, a
// repeat takes a block of eight; a row that spreads is the same block for all eight.
// CHECK-LABEL: npu_isa.kernel @subviews
// CHECK-NEXT: %[[ROW:.*]] = npu_isa.s_core_id
// CHECK-NEXT: %[[SKIP:.*]] = npu_isa.s_mul lhs = %[[ROW]], rhs = 64
// CHECK-NEXT: vexp dst = [2048], src0 = [%[[SKIP]]], dtype = f32, mask = 64, repeat = 4
// CHECK-NEXT: vmul dst = [2048], src0 = [%[[SKIP]]], src1 = [64], dtype = f32, mask = 64, repeat = 2, dst_blk_stride = 2, src0_blk_stride = 4, src1_blk_stride = 0, dst_rep_stride = 16, src0_rep_stride = 32, src1_rep_stride = 0
// CHECK-NEXT: vmul dst = [2080], src0 = [%[[SKIP]] + 32], src1 = [96], dtype = f32, mask = 64, repeat = 2, dst_blk_stride = 2, src0_blk_stride = 4, src1_blk_stride = 0, dst_rep_stride = 16, src0_rep_stride = 32, src1_rep_stride = 0
// CHECK-NEXT: npu_isa.end
tile.kernel @subviews() {
  %c1 = arith.constant 1 : index
  %row = tile.core_id
  %u = tile.alloc {address = 0 : i64} : !tile.buffer<32x16xf32, ub>
  %y = tile.alloc {address = 2048 : i64} : !tile.buffer<16x16xf32, ub>
  %near = tile.subview %u[%row] : !tile.buffer<32x16xf32, ub> to !tile.buffer<16x16xf32, ub>
  tile.unary exp %near -> %y : !tile.buffer<16x16xf32, ub> to !tile.buffer<16x16xf32, ub>
  %apart = tile.subview %u[%row] : !tile.buffer<32x16xf32, ub> to !tile.buffer<16x16xf32, ub, strides [32, 1]>
  %one = tile.subview %u[%c1] : !tile.buffer<32x16xf32, ub> to !tile.buffer<16xf32, ub>
  tile.binary mul %apart, %one -> %y {rhs_mode = #tile<mode row>} : !tile.buffer<16x16xf32, ub, strides [32, 1]>, !tile.buffer<16xf32, ub> to !tile.buffer<16x16xf32, ub>
  tile.end
}
