// RUN: npu-opt %s --split-input-file --verify-diagnostics

// A buffer lies in a space that exists.
// expected-error@+1 {{unknown memory space 'l3'; there are gm, l1, l0a, l0b, l0c, ub}}
%a = "test.op"() : () -> (!tile.buffer<4xf32, l3>)

// -----

// Fractal buffers are matrices.
// expected-error@+1 {{a fractal buffer in l1 has 2 axes, not 1}}
%a = "test.op"() : () -> (!tile.buffer<4xf32, l1>)

// -----

// There is no path from L1 back to GM.
%a, %b = "test.op"() : () -> (!tile.buffer<16x16xf32, l1>, !tile.buffer<16x16xf32, gm>)
// expected-error@+1 {{there is no copy from l1 to gm}}
tile.copy %a -> %b : !tile.buffer<16x16xf32, l1> to !tile.buffer<16x16xf32, gm>

// -----

// Offsets have one entry an axis.
%a, %b, %i = "test.op"() : () -> (!tile.buffer<4x8xf32, gm>, !tile.buffer<4x8xf32, ub>, index)
// expected-error@+1 {{1 source offsets for 2 axes}}
tile.copy %a[%i] -> %b : !tile.buffer<4x8xf32, gm> to !tile.buffer<4x8xf32, ub>

// -----

// Only the drain converts.
%a, %b = "test.op"() : () -> (!tile.buffer<4x8xf32, gm>, !tile.buffer<4x8xf16, ub>)
// expected-error@+1 {{only a drain converts, not gm to ub}}
tile.copy %a -> %b : !tile.buffer<4x8xf32, gm> to !tile.buffer<4x8xf16, ub>

// -----

// A row source has the destination's columns.
%a, %b = "test.op"() : () -> (!tile.buffer<4x8xf32, ub>, !tile.buffer<4xf32, ub>)
// expected-error@+1 {{a 'row' source of [4, 8] is [8], not [4]}}
tile.binary add %a, %b -> %a {rhs_mode = #tile<mode row>} : !tile.buffer<4x8xf32, ub>, !tile.buffer<4xf32, ub> to !tile.buffer<4x8xf32, ub>

// -----

// Division has no scalar form.
%a = "test.op"() : () -> !tile.buffer<4x8xf32, ub>
// expected-error@+1 {{'div' has no scalar form; there are add, mul, maximum, minimum}}
tile.scalar div %a, 2.0 : f32 -> %a : !tile.buffer<4x8xf32, ub> to !tile.buffer<4x8xf32, ub>

// -----

// The sizes of a product agree.
%a, %b, %c, %i = "test.op"() : () -> (!tile.buffer<16x32xf16, l0a>, !tile.buffer<16x16xf16, l0b>, !tile.buffer<16x16xf32, l0c>, index)
// expected-error@+1 {{(16, 32) times (16, 16) is not (16, 16)}}
tile.mmad %a, %b -> %c accumulate %i valid [%i, %i, %i] : !tile.buffer<16x32xf16, l0a>, !tile.buffer<16x16xf16, l0b> to !tile.buffer<16x16xf32, l0c>

// -----

// A step divides its tile.
// expected-error@+1 {{step 48 does not divide tile 128}}
"test.op"() {s = #tile.schedule<tiles [128], steps [48], cores 1, reason "">} : () -> ()

// -----

// The host engine has a closed table of functions.
tile.program @p(%a: !tile.buffer<2x2xi32, gm>) -> (!tile.buffer<2x2xi32, gm>) {
  %c = tile.alloc : !tile.buffer<2x2xi32, gm>
  // expected-error@+1 {{the host engine has no function `sort`; it has matmul}}
  tile.host_call "sort"(%a) -> %c : !tile.buffer<2x2xi32, gm> to !tile.buffer<2x2xi32, gm>
  tile.return %c : !tile.buffer<2x2xi32, gm>
}

// -----

// Its result is what the function gives.
tile.program @p(%a: !tile.buffer<2x2xi32, gm>) -> (!tile.buffer<2x3xi32, gm>) {
  %c = tile.alloc : !tile.buffer<2x3xi32, gm>
  // expected-error@+1 {{`matmul` gives i32[2, 2], the target is !tile.buffer<2x3xi32, gm>}}
  tile.host_call "matmul"(%a, %a) -> %c : !tile.buffer<2x2xi32, gm>, !tile.buffer<2x2xi32, gm> to !tile.buffer<2x3xi32, gm>
  tile.return %c : !tile.buffer<2x3xi32, gm>
}
