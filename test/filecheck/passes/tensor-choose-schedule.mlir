// RUN: npu-opt %s -p tensor-choose-schedule | filecheck %s

builtin.module attributes {target.machine = #target.machine<"ascend310p">} {
  // A reduced row stays in one piece, whatever the rows are cut into; all eight cores get work.
  // CHECK-LABEL: func.func @rows
  // CHECK: #tile.schedule<tiles [{{[0-9]+}}, 50], steps [{{[0-9]+}}, 50], cores 8, cycles {{[0-9]+}}, reason "bound by {{.*}}">
  func.func @rows(%x: tensor<256x50xf32>) -> tensor<256xf32> {
    %0 = tensor.group(%a = %x : tensor<256x50xf32>) kind "vector" stopped "end" {
      %1 = tensor.reduce(%a) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine max {
      ^bb0(%p : f32):
        tensor.yield %p : f32
      } : (tensor<256x50xf32>) -> tensor<256xf32>
      tensor.yield %1 : tensor<256xf32>
    } -> (tensor<256xf32>)
    func.return %0 : tensor<256xf32>
  }

  // A schedule by hand is kept.
  // CHECK-LABEL: func.func @by_hand
  // CHECK: #tile.schedule<tiles [8, 32], steps [8, 32], cores 2, reason "mine">
  func.func @by_hand(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = tensor.group(%a = %x : tensor<64x64xf32>) kind "vector" stopped "end" attributes {tile.schedule = #tile.schedule<tiles [8, 32], steps [8, 32], cores 2, reason "mine">} {
      %1 = tensor.map(%a) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
      ^bb0(%p : f32):
        %q = math.exp %p : f32
        tensor.yield %q : f32
      } : (tensor<64x64xf32>) -> tensor<64x64xf32>
      tensor.yield %1 : tensor<64x64xf32>
    } -> (tensor<64x64xf32>)
    func.return %0 : tensor<64x64xf32>
  }
}
