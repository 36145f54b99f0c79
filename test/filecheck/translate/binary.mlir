// RUN: npu-opt -p target-attach-machine{target=tiny} %s | npu-translate --mlir-to-binary -o %t.npu
// RUN: npu-translate --binary-to-mlir %t.npu | filecheck %s
// RUN: npu-translate --binary-to-mlir %t.npu | npu-translate --mlir-to-binary | npu-translate --binary-to-mlir --store %t.weights | filecheck %s --check-prefix=STDIN

// A program comes back as a module at stage `final`: names, addresses and nodes are those that went
// in, weights are ranges of the program's file, and registers stay where they were.
// CHECK: builtin.module attributes {target.machine = #target.machine<"tiny", "{{.*}}">, core.stage = "final"}
// CHECK: tile.program @main(%[[X:.*]]: !tile.buffer<4x8xf32, gm>) -> (!tile.buffer<4x8xf32, gm>)
// CHECK-SAME: arg_attrs = [{core.name = "x", address = 0 : i64}], res_attrs = [{core.name = "y"}]
// CHECK: %[[W:.*]] = tile.constant #core.blob<tensor<32xui8>, "{{[0-9a-f]*}}", "file:{{.*}}.npu#{{[0-9]+}}+32">
// CHECK-SAME: {core.name = "add.bias", address = 512 : i64} : !tile.buffer<32xui8, gm>
// CHECK: %[[Y:.*]] = tile.alloc {core.name = "sum", address = 1024 : i64} : !tile.buffer<128xui8, gm>
// CHECK: tile.launch @k grid 1(%[[X]], %[[W]], %[[Y]])
// CHECK: %[[V:.*]] = tile.view %[[Y]] : !tile.buffer<128xui8, gm> to !tile.buffer<4x8xf32, gm>
// CHECK: tile.return %[[V]]
// CHECK: npu_isa.kernel @k(%{{.*}} : !npu_isa.reg<0>, %{{.*}} : !npu_isa.reg<1>, %[[OUT:.*]] : !npu_isa.reg<2>)
// CHECK-SAME: attributes {engine = "vector", nodes = ["add"]}
// CHECK: %[[AT:.*]] = npu_isa.s_mov src = 0 : !npu_isa.reg<[[R:[0-9]+]]> {core.node = "add"}
// CHECK: npu_isa.loop %{{.*}} : !npu_isa.reg<{{[0-9]+}}> in 4 iter (%[[P:.*]] : !npu_isa.reg<[[R]]> = %[[AT]]) {
// CHECK-NEXT: npu_isa.s_add lhs = %[[P]], rhs = 32
// CHECK: npu_isa.yield

// From standard input there is no file to point into, so weights go to the weight folder.
// STDIN: tile.constant #core.blob<tensor<32xui8>, "[[DIGEST:.*]]", "file:{{.*}}.weights/[[DIGEST]].bin#0+32">

builtin.module {
  tile.program @main(%x: !tile.buffer<4x8xf32, gm>) -> (!tile.buffer<4x8xf32, gm>) attributes {arg_attrs = [{core.name = "x", address = 0 : i64}], res_attrs = [{core.name = "y"}]} {
    %w = tile.constant #core.dense<"0x0000803F", tensor<8xf32>> {address = 512 : i64, core.origins = [[#core.origin<"initializer", "add.bias">]]} : !tile.buffer<8xf32, gm>
    %y = tile.alloc {address = 1024 : i64, core.name = "sum"} : !tile.buffer<4x8xf32, gm>
    tile.launch @k grid 1 (%x, %w, %y) : !tile.buffer<4x8xf32, gm>, !tile.buffer<8xf32, gm>, !tile.buffer<4x8xf32, gm>
    tile.return %y : !tile.buffer<4x8xf32, gm>
  }
  npu_isa.kernel @k(%x, %w, %y) attributes {engine = "vector", nodes = ["add"]} {
    %zero = npu_isa.s_mov src = 0 {core.node = "add"}
    %end = npu_isa.loop %i in 4 iter (%at = %zero) {
      %next = npu_isa.s_add lhs = %at, rhs = 32
      npu_isa.yield %next
    }
    npu_isa.end
  }
}
