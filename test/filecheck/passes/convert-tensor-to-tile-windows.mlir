// RUN: npu-opt %s -p convert-tensor-to-tile | filecheck %s

// A convolution: rows of the image to L1, as many as lie under the tile; its windows to L0A. The tile
// is two whole rows of the output; the channels are one block, the steps half of the taps' rows.
// CHECK-LABEL: tile.kernel @convolution_0
// CHECK:   scf.for
// CHECK:     %[[ROW:.*]] = arith.muli %{{.*}}, %c2 : index
// CHECK:     tile.alloc : !tile.buffer<8x16xf32, l0c>
// CHECK:     scf.for
// CHECK:       %[[IMAGE:.*]] = tile.alloc : !tile.buffer<16x16xf16, l1>
// CHECK:       %[[FIRST:.*]] = arith.subi %[[ROW]], %c1 : index
// CHECK:       tile.view %{{.*}} : !tile.buffer<1x4x4x3xf16, gm> to !tile.buffer<1x16x3xf16, gm>
// CHECK:       tile.copy %{{.*}} -> %[[IMAGE]]{{.*}}: !tile.buffer<1x16x3xf16, gm> to !tile.buffer<16x16xf16, l1>
// CHECK:       %[[FILTER:.*]] = tile.alloc : !tile.buffer<144x16xf16, l1>
// CHECK:       tile.load_filter %{{.*}} -> %[[FILTER]]{{.*}}: !tile.buffer<9x3x16xf16, gm> to !tile.buffer<144x16xf16, l1>
// CHECK:       scf.for %[[S:.*]] = %c0 to %c3 step %c1
// CHECK:         %[[K:.*]] = arith.muli %[[S]], %c48 : index
// CHECK:         tile.im2col %[[IMAGE]] -> %{{.*}} region[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] at[%c0, %[[K]]] valid[%{{.*}}, %c48] {width = 4 : i64, kernel = array<i64: 3, 3>
// CHECK:         tile.copy %[[FILTER]][%[[K]], %c0]
// CHECK:         tile.mmad
// CHECK:   tile.copy %{{.*}} : !tile.buffer<8x16xf32, ub> to !tile.buffer<1x16x16xf32, gm>
func.func @convolution(%x: tensor<1x4x4x3xf16>, %w: tensor<3x3x3x16xf16>) -> tensor<1x4x4x16xf32> {
  %0 = tensor.group(%a = %x : tensor<1x4x4x3xf16>, %b = %w : tensor<3x3x3x16xf16>) kind "cube" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [1, 2, 4, 16, 3, 3, 16], steps [1, 2, 4, 16, 1, 3, 16], cores 2, reason "">} {
    %1 = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction, reduction] combine add pads [[[0, 0], [1, 1], [1, 1], [0, 0]], []] {
    ^bb0(%p : f16, %q : f16):
      %2 = arith.extf %p : f16 to f32
      %3 = arith.extf %q : f16 to f32
      %4 = arith.mulf %2, %3 : f32
      tensor.yield %4 : f32
    } : (tensor<1x4x4x3xf16>, tensor<3x3x3x16xf16>) -> tensor<1x4x4x16xf32>
    tensor.yield %1 : tensor<1x4x4x16xf32>
  } -> (tensor<1x4x4x16xf32>)
  func.return %0 : tensor<1x4x4x16xf32>
}

// A pooling: the image rows under the tile once; a tap sees every second position of them, as a
// sub-view. Even and odd image rows lie apart, so that one step serves for two rows of the result.
// CHECK-LABEL: tile.kernel @pooling_0
// CHECK:     %[[MOST:.*]] = tile.alloc : !tile.buffer<4x8xf32, ub>
// CHECK:     tile.fill %[[MOST]], 0xff800000 : f32
// CHECK:     %[[PATCH:.*]] = tile.alloc : !tile.buffer<16x8xf32, ub>
// CHECK:     scf.for %[[G:.*]] = %c0 to %c4 step %c1
// CHECK:       %[[PHASE:.*]] = arith.remsi %[[G]], %c2
// CHECK-NEXT:  %[[BEFORE:.*]] = arith.muli %[[PHASE]], %c2
// CHECK-NEXT:  %[[NUMBER:.*]] = arith.divsi %[[G]], %c2
// CHECK-NEXT:  %[[LINE:.*]] = arith.addi %[[BEFORE]], %[[NUMBER]]
// CHECK-NEXT:  %[[ROW:.*]] = arith.muli %[[LINE]], %c4
// CHECK:       tile.copy %{{.*}} -> %[[PATCH]][%{{.*}}, %c0] valid[%c4, %c8]
// CHECK:     scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK:       scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK:         %[[SEEN:.*]] = tile.subview %[[PATCH]][%{{.*}}] : !tile.buffer<16x8xf32, ub> to !tile.buffer<4x8xf32, ub, strides [16, 1]>
// CHECK-NEXT:    tile.binary maximum %[[MOST]], %[[SEEN]] -> %[[MOST]]
// CHECK:     tile.copy %[[MOST]]
func.func @pooling(%x: tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32> {
  %0 = tensor.group(%a = %x : tensor<1x4x4x8xf32>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [1, 2, 2, 8, 2, 2], steps [1, 2, 2, 8, 2, 2], cores 1, reason "">} {
    %1 = tensor.reduce(%a) maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction] combine max bounds [1, 2, 2, 8, 2, 2] {
    ^bb0(%p : f32):
      tensor.yield %p : f32
    } : (tensor<1x4x4x8xf32>) -> tensor<1x2x2x8xf32>
    tensor.yield %1 : tensor<1x2x2x8xf32>
  } -> (tensor<1x2x2x8xf32>)
  func.return %0 : tensor<1x2x2x8xf32>
}

// A depthwise convolution: padding gets its value after the load, image and filter are widened once.
// Between the two rows of a result lie two elements that mean nothing; they are left behind.
// CHECK-LABEL: tile.kernel @depthwise_0
// CHECK:     %[[SUM:.*]] = tile.alloc : !tile.buffer<10x16xf32, ub>
// CHECK:     %[[PATCH:.*]] = tile.alloc : !tile.buffer<25x16xf16, ub>
// CHECK:     scf.for %{{.*}} = %c0 to %c4 step %c1
// CHECK:       tile.copy %{{.*}} -> %[[PATCH]]
// CHECK:     %[[FILTER:.*]] = tile.alloc : !tile.buffer<9x16xf16, ub>
// CHECK:     tile.copy %{{.*}} -> %[[FILTER]][%c0, %c0] valid[%c9, %c16]
// CHECK:     scf.for
// CHECK:       %[[ABOVE:.*]] = tile.subview %[[PATCH]][%{{.*}}] : !tile.buffer<25x16xf16, ub> to !tile.buffer<6x16xf16, ub>
// CHECK-NEXT:  tile.fill %[[ABOVE]], 0.000000e+00 : f16
// CHECK:     scf.for
// CHECK:     scf.for
// CHECK-NEXT:  %[[LEFT:.*]] = tile.subview %[[PATCH]][%{{.*}}] : !tile.buffer<25x16xf16, ub> to !tile.buffer<4x16xf16, ub, strides [96, 1]>
// CHECK-NEXT:  tile.fill %[[LEFT]], 0.000000e+00 : f16
// CHECK:     scf.for
// CHECK:     tile.cast %[[PATCH]] -> %[[IMAGE:.*]] : !tile.buffer<25x16xf16, ub> to !tile.buffer<25x16xf32, ub>
// CHECK:     tile.cast %[[FILTER]] -> %[[FACTORS:.*]] : !tile.buffer<9x16xf16, ub> to !tile.buffer<9x16xf32, ub>
// CHECK:     scf.for
// CHECK:       scf.for
// CHECK:         %[[SEEN:.*]] = tile.subview %[[IMAGE]][%{{.*}}] : !tile.buffer<25x16xf32, ub> to !tile.buffer<10x16xf32, ub>
// CHECK:         %[[FACTOR:.*]] = tile.subview %[[FACTORS]][%{{.*}}] : !tile.buffer<9x16xf32, ub> to !tile.buffer<16xf32, ub>
// CHECK:         tile.binary mul %[[SEEN]], %[[FACTOR]] -> %[[PRODUCT:.*]] {rhs_mode = #tile<mode row>}
// CHECK-NEXT:    tile.binary add %[[SUM]], %[[PRODUCT]] -> %[[SUM]]
// CHECK:     %[[PACKED:.*]] = tile.alloc : !tile.buffer<8x16xf32, ub>
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %c2 step %c1
// CHECK-NEXT:  %[[FROM:.*]] = arith.muli %[[I]], %c6
// CHECK-NEXT:  %[[ROW:.*]] = tile.subview %[[SUM]][%[[FROM]]]
// CHECK:       tile.unary copy %[[ROW]] -> %{{.*}} : !tile.buffer<4x16xf32, ub> to !tile.buffer<4x16xf32, ub>
func.func @depthwise(%x: tensor<1x4x4x16xf16>, %w: tensor<3x3x16xf16>) -> tensor<1x4x4x16xf32> {
  %0 = tensor.group(%a = %x : tensor<1x4x4x16xf16>, %b = %w : tensor<3x3x16xf16>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [1, 2, 4, 16, 3, 3], steps [1, 2, 4, 16, 3, 3], cores 2, reason "">} {
    %1 = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>] -> affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)> iterators [parallel, parallel, parallel, parallel, reduction, reduction] combine add pads [[[0, 0], [1, 1], [1, 1], [0, 0]], []] {
    ^bb0(%p : f16, %q : f16):
      %2 = arith.extf %p : f16 to f32
      %3 = arith.extf %q : f16 to f32
      %4 = arith.mulf %2, %3 : f32
      tensor.yield %4 : f32
    } : (tensor<1x4x4x16xf16>, tensor<3x3x16xf16>) -> tensor<1x4x4x16xf32>
    tensor.yield %1 : tensor<1x4x4x16xf32>
  } -> (tensor<1x4x4x16xf32>)
  func.return %0 : tensor<1x4x4x16xf32>
}

// A global pooling: rows and columns of the image are the rows of a tile. The last tile lacks two of
// them; in the end the rows are joined, half of them at a time.
// CHECK-LABEL: tile.kernel @global_0
// CHECK:     %[[SUM:.*]] = tile.alloc : !tile.buffer<6x8xf32, ub>
// CHECK:     scf.for
// CHECK:       scf.for
// CHECK:         %[[X:.*]] = tile.alloc : !tile.buffer<6x8xf32, ub>
// CHECK:         tile.copy %{{.*}} -> %[[X]]{{.*}} : !tile.buffer<2x16x8xf32, gm> to !tile.buffer<6x8xf32, ub>
// CHECK:         %[[MISSING:.*]] = arith.subi %c6
// CHECK-NEXT:    scf.for %{{.*}} = %c0 to %[[MISSING]] step %c1
// CHECK:           %[[ROW:.*]] = tile.subview %[[X]][%{{.*}}] : !tile.buffer<6x8xf32, ub> to !tile.buffer<8xf32, ub>
// CHECK-NEXT:      tile.fill %[[ROW]], 0.000000e+00
// CHECK:         tile.binary add %[[SUM]], %[[X]] -> %[[SUM]]
// CHECK:     tile.subview %[[SUM]][%c0] : !tile.buffer<6x8xf32, ub> to !tile.buffer<3x8xf32, ub>
// CHECK-NEXT: tile.subview %[[SUM]][%c3] : !tile.buffer<6x8xf32, ub> to !tile.buffer<3x8xf32, ub>
// CHECK-NEXT: tile.binary add
// CHECK-NEXT: tile.subview %[[SUM]][%c0] : !tile.buffer<6x8xf32, ub> to !tile.buffer<1x8xf32, ub>
// CHECK-NEXT: tile.subview %[[SUM]][%c2] : !tile.buffer<6x8xf32, ub> to !tile.buffer<1x8xf32, ub>
// CHECK-NEXT: tile.binary add
// CHECK:      tile.binary add
// CHECK-NEXT: %[[ALL:.*]] = tile.subview %[[SUM]][%c0] : !tile.buffer<6x8xf32, ub> to !tile.buffer<8xf32, ub>
// CHECK:      tile.copy %[[ALL]]
func.func @global(%x: tensor<2x8x2x8xf32>) -> tensor<2x8xf32> {
  %0 = tensor.group(%a = %x : tensor<2x8x2x8xf32>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [1, 8, 3, 2], steps [1, 8, 3, 2], cores 2, reason "">} {
    %1 = tensor.reduce(%a) maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>] -> affine_map<(d0, d1, d2, d3) -> (d0, d1)> iterators [parallel, parallel, reduction, reduction] combine add {
    ^bb0(%p : f32):
      tensor.yield %p : f32
    } : (tensor<2x8x2x8xf32>) -> tensor<2x8xf32>
    tensor.yield %1 : tensor<2x8xf32>
  } -> (tensor<2x8xf32>)
  func.return %0 : tensor<2x8xf32>
}

// A transpose: loaded as it stands in memory, turned on chip.
// CHECK-LABEL: tile.kernel @transpose_0
// CHECK:     %[[STANDING:.*]] = tile.alloc : !tile.buffer<16x32xf32, ub>
// CHECK-NEXT: tile.copy %{{.*}} -> %[[STANDING]][%c0, %c0] valid[%c16, %c20]
// CHECK-NEXT: %[[TURNED:.*]] = tile.alloc : !tile.buffer<32x16xf32, ub>
// CHECK-NEXT: tile.transpose %[[STANDING]] -> %[[TURNED]]
func.func @transpose(%x: tensor<16x20xf32>) -> tensor<20x16xf32> {
  %0 = tensor.group(%a = %x : tensor<16x20xf32>) kind "move" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [32, 16], steps [32, 16], cores 1, reason "">} {
    %1 = tensor.transpose(%a) maps [affine_map<(d0, d1) -> (d1, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
    ^bb0(%p : f32):
      tensor.yield %p : f32
    } : (tensor<16x20xf32>) -> tensor<20x16xf32>
    tensor.yield %1 : tensor<20x16xf32>
  } -> (tensor<20x16xf32>)
  func.return %0 : tensor<20x16xf32>
}
