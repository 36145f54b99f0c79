// RUN: npu-opt %s | npu-opt | filecheck %s

// CHECK-LABEL: tile.kernel @convolution
tile.kernel @convolution(%x: !tile.buffer<1x784x1xf16, gm>, %w: !tile.buffer<25x1x8xf16, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c112 = arith.constant 112 : index
  %c224 = arith.constant 224 : index
  %c400 = arith.constant 400 : index
  %image = tile.alloc : !tile.buffer<224x16xf16, l1>
  tile.copy %x[%c0, %c0, %c0] -> %image[%c0, %c0] valid [%c224, %c1] : !tile.buffer<1x784x1xf16, gm> to !tile.buffer<224x16xf16, l1>
  %filter = tile.alloc : !tile.buffer<400x16xf16, l1>
  // CHECK: tile.load_filter %w[%{{.*}}, %{{.*}}, %{{.*}}] -> %{{.*}} valid[%{{.*}}, %{{.*}}] : !tile.buffer<25x1x8xf16, gm> to !tile.buffer<400x16xf16, l1>
  tile.load_filter %w[%c0, %c0, %c0] -> %filter valid [%c1, %c8] : !tile.buffer<25x1x8xf16, gm> to !tile.buffer<400x16xf16, l1>
  %a = tile.alloc : !tile.buffer<112x400xf16, l0a>
  // CHECK: tile.im2col %{{.*}} -> %{{.*}} region[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at[%{{.*}}, %{{.*}}] valid[%{{.*}}, %{{.*}}]
  // CHECK-SAME: width = 28 : i64, kernel = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 2, 2>
  tile.im2col %image -> %a region [%c8, %c0, %c0, %c1] at [%c0, %c0] valid [%c112, %c400] {width = 28 : i64, kernel = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 2, 2>} : !tile.buffer<224x16xf16, l1> to !tile.buffer<112x400xf16, l0a>
  tile.end
}

// Another shape of an argument.
// CHECK-LABEL: tile.kernel @view
tile.kernel @view(%x: !tile.buffer<28x8xf32, gm>) {
  // CHECK: tile.view %x : !tile.buffer<28x8xf32, gm> to !tile.buffer<4x7x8xf32, gm>
  %v = tile.view %x : !tile.buffer<28x8xf32, gm> to !tile.buffer<4x7x8xf32, gm>
  tile.end
}

// Every second row of a patch, as a pooling with stride 2 sees it; and one row of it.
// CHECK-LABEL: tile.kernel @subviews
tile.kernel @subviews() {
  %row = tile.core_id
  %u = tile.alloc : !tile.buffer<28x5xf16, ub>
  // CHECK: tile.subview %{{.*}}[%{{.*}}] : !tile.buffer<28x5xf16, ub> to !tile.buffer<14x5xf16, ub, strides [32, 1]>
  %v = tile.subview %u[%row] : !tile.buffer<28x5xf16, ub> to !tile.buffer<14x5xf16, ub, strides [32, 1]>
  // CHECK: tile.subview %{{.*}}[%{{.*}}] : !tile.buffer<28x5xf16, ub> to !tile.buffer<5xf16, ub>
  %r = tile.subview %u[%row] : !tile.buffer<28x5xf16, ub> to !tile.buffer<5xf16, ub>
  tile.end
}
