// RUN: npu-opt %s -p convert-tensor-to-tile --split-input-file --verify-diagnostics | filecheck %s

// A product of a matrix and a transposed one, 30 rows in tiles of 16: the edge has a valid size, the
// right factor is loaded as it stands and transposed on the way to L0B, loops are kept.
// CHECK-LABEL: tile.program @product
// CHECK: tile.launch @product_0 grid 2
// CHECK-LABEL: tile.kernel @product_0
// CHECK-SAME: engine = "cube"
// CHECK: scf.for %t =
// CHECK:   %[[AT:.*]] = arith.muli %t, %c16
// CHECK:   %[[LEFT:.*]] = arith.subi %c30, %[[AT]]
// CHECK:   %[[M:.*]] = arith.minsi %c16, %[[LEFT]]
// CHECK:   %l0c = tile.alloc : !tile.buffer<16x16xf32, l0c>
// CHECK:   scf.for %k =
// CHECK:     tile.copy %0[%[[AT]], %{{.*}}] -> %l1[%c0, %c0] valid[%[[M]], %c32]
// CHECK:     tile.copy %1[%c0, %{{.*}}] -> %l1_1[%c0, %c0] valid[%c16, %c32]
// CHECK:     scf.for %s =
// CHECK:       tile.copy %l1[%c0, %{{.*}}] -> %l0a[%c0, %c0] valid[%[[M]], %c16]
// CHECK:       tile.copy %l1_1[%c0, %{{.*}}] -> %l0b[%c0, %c0] valid[%c16, %c16] {transpose}
// CHECK:       tile.mmad %l0a, %l0b -> %l0c accumulate %{{.*}} valid[%[[M]], %c16, %c16]
// CHECK:   tile.copy %l0c -> %ub : !tile.buffer<16x16xf32, l0c> to !tile.buffer<16x16xf32, ub, nz>
// CHECK:   tile.unary copy %ub -> %ub_1
// CHECK:   tile.copy %ub_1[%c0, %c0] -> %2[%[[AT]], %c0] valid[%[[M]], %c16]
func.func @product(%x: tensor<30x64xf16>, %w: tensor<16x64xf16>) -> tensor<30x16xf32> {
  %g = tensor.group(%a = %x : tensor<30x64xf16>, %b = %w : tensor<16x64xf16>) kind "cube" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [16, 16, 32], steps [16, 16, 16], cores 2, reason "">} {
    %r = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add {
    ^bb0(%p : f16, %q : f16):
      %0 = arith.extf %p : f16 to f32
      %1 = arith.extf %q : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      tensor.yield %2 : f32
    } : (tensor<30x64xf16>, tensor<16x64xf16>) -> tensor<30x16xf32>
    tensor.yield %r : tensor<30x16xf32>
  } -> (tensor<30x16xf32>)
  func.return %g : tensor<30x16xf32>
}

// -----

// What no looped dim touches is loaded once, before the loop; a row operand is spread by the op; a
// named value leaves a tap.
// CHECK-LABEL: tile.kernel @bias_0
// CHECK: %ub = tile.alloc {core.node = "add"} : !tile.buffer<64xf32, ub>
// CHECK: tile.copy %1[%c0] -> %ub[%c0] valid[%c64]
// CHECK: scf.for %t =
// CHECK: tile.binary add %{{.*}}, %ub -> %{{.*}} {{{.*}}rhs_mode = #tile<mode row>}
// CHECK: tile.tap %{{.*}} at[%{{.*}}, %c0] valid[%c8, %c64]
// CHECK-SAME: #core.origin<"add", "sum">
func.func @bias(%x: tensor<32x64xf32>, %b: tensor<64xf32>) -> tensor<32x64xf32> {
  %g = tensor.group(%a = %x : tensor<32x64xf32>, %c = %b : tensor<64xf32>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [8, 64], steps [8, 64], cores 2, reason "">} {
    %r = tensor.map(%a, %c) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] attributes {core.origins = [[#core.origin<"add", "sum">]]} {
    ^bb0(%p : f32, %q : f32):
      %0 = arith.addf %p, %q : f32
      tensor.yield %0 : f32
    } : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
    tensor.yield %r : tensor<32x64xf32>
  } -> (tensor<32x64xf32>)
  func.return %g : tensor<32x64xf32>
}

// -----

// A call of the host engine gets a buffer for its result, and the node that it works for: here that
// of the view which has the name.
// CHECK-LABEL: tile.program @integers
// CHECK: %[[A:.*]] = tile.alloc : !tile.buffer<2x1xi32, gm>
// CHECK-NEXT: tile.host_call "matmul"(%0, %1) -> %[[A]] {core.node = "product"}
// CHECK-NEXT: tile.view %[[A]]
func.func @integers(%a: tensor<2x3xi32>, %b: tensor<3x1xi32>) -> tensor<2xi32> {
  %0 = tensor.host_call "matmul"(%a, %b) : tensor<2x3xi32>, tensor<3x1xi32> -> tensor<2x1xi32>
  %1 = tensor.view %0 {core.origins = [[#core.origin<"product", "c">]]} : tensor<2x1xi32> -> tensor<2xi32>
  func.return %1 : tensor<2xi32>
}

// -----

// A schedule that cuts a dim which is reduced in one piece is refused.
func.func @cut(%x: tensor<8x64xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{tile size 32 cuts dim 1}}
  %g = tensor.group(%a = %x : tensor<8x64xf32>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [8, 32], steps [8, 32], cores 1, reason "">} {
    %r = tensor.reduce(%a) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine add {
    ^bb0(%p : f32):
      tensor.yield %p : f32
    } : (tensor<8x64xf32>) -> tensor<8xf32>
    tensor.yield %r : tensor<8xf32>
  } -> (tensor<8xf32>)
  func.return %g : tensor<8xf32>
}

// -----

// A group without a schedule is refused.
func.func @bare(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error@+1 {{a group has no #tile.schedule}}
  %g = tensor.group(%a = %x : tensor<8x64xf32>) kind "vector" stopped "end" {
    %r = tensor.map(%a) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
    ^bb0(%p : f32):
      %0 = math.exp %p : f32
      tensor.yield %0 : f32
    } : (tensor<8x64xf32>) -> tensor<8x64xf32>
    tensor.yield %r : tensor<8x64xf32>
  } -> (tensor<8x64xf32>)
  func.return %g : tensor<8x64xf32>
}
