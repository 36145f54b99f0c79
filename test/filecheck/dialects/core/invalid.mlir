// RUN: npu-opt %s --verify-diagnostics --split-input-file

// Decimal floats look harmless and are not: some tools write 123456792.0 as bare hex.
// expected-error@+1 {{integer literal}}
%0 = core.constant dense<1.0> : tensor<f32>

// -----

// expected-error@+1 {{floats are written as bytes in hex}}
%0 = core.constant dense<[0x3F800000]> : tensor<1xf32>

// -----

// expected-error@+1 {{expected bytes in hex}}
%0 = core.constant dense<"0x0"> : tensor<1xf32>

// -----

// expected-error@+1 {{`tensor<3xf32>` takes 12 bytes, got 8}}
%0 = core.constant dense<"0x0000803F00000000"> : tensor<3xf32>

// -----

// expected-error@+1 {{the list has shape [2], the type [3]}}
%0 = core.constant dense<[1, 2]> : tensor<3xi32>

// -----

// expected-error@+1 {{do not fit `tensor<1xi8>`}}
%0 = core.constant dense<[128]> : tensor<1xi8>

// -----

// expected-error@+1 {{is not static}}
%0 = core.constant dense<"0x0000803F"> : tensor<?xf32>

// -----

// expected-error@+1 {{`i7` is not an element type of npuc}}
%0 = core.constant dense<1> : tensor<2xi7>

// -----

// The type a constant is given and the type of its data are compared in generic form, too.
// expected-error@+1 {{result #0 is `tensor<2xf32>`, but the operands give `tensor<1xf32>`}}
%0 = "core.constant"() <{value = #core.dense<"0x0000803F", tensor<1xf32>>}> : () -> tensor<2xf32>

// -----

// expected-error@+1 {{does not permute 2 dimensions}}
%0 = core.weight #core.blob<tensor<2x3xf32>, "d", "mem:", [#core.step<"transpose", [0]>]> : tensor<3xf32>

// -----

// expected-error@+1 {{result #0 is `tensor<2x3xf32>`, but the operands give `tensor<3x2xf32>`}}
%0 = core.weight #core.blob<tensor<2x3xf32>, "d", "mem:", [#core.step<"transpose", [1, 0]>]> : tensor<2x3xf32>

// -----

// expected-error@+1 {{expected a #core.step}}
%0 = core.weight #core.blob<tensor<2xf32>, "d", "mem:", [1]> : tensor<2xf32>

// -----

// xDSL would read the bits of minus infinity as 4286578688.0.
// expected-error@+1 {{bare hex is read as an integer here}}
%0 = arith.constant dense<[1.0, 0xFF800000]> : tensor<2xf32>

// -----

// expected-error@+1 {{operation `core.nothing` is not registered}}
core.nothing

// -----

// expected-error@+1 {{values used but not defined: [%y]}}
"test.op"(%y) : (i32) -> ()

// -----

// expected-error@+1 {{uses %late where it is not defined}}
"test.op"(%late) : (i32) -> ()
%late = arith.constant 1 : i32
