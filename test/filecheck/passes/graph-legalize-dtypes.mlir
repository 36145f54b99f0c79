// RUN: npu-opt -p graph-legalize-dtypes %s | filecheck %s

// Every device type passes; a constant of another type goes if nothing uses it.
// CHECK-LABEL: func.func @device_types
// CHECK-NEXT: func.return
func.func @device_types(%a: tensor<2xf32>, %b: tensor<2xf16>, %c: tensor<2xbf16>, %d: tensor<2xi8>, %e: tensor<2xui8>, %f: tensor<2xi16>, %g: tensor<2xi32>) {
  %shape = core.constant dense<[2, 3]> {core.origins = [[#core.origin<"initializer", "shape">]]} : tensor<2xi64>
  func.return
}
