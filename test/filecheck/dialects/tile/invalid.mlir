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

// Time does not run backwards.
// expected-error@+1 {{a kernel takes no -1 cycles}}
"test.op"() {s = #tile.schedule<tiles [8], steps [8], cores 1, cycles -1, reason "">} : () -> ()

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

// -----

// A filter is whole blocks of channels at every tap.
%w, %f, %i = "test.op"() : () -> (!tile.buffer<9x16x8xf16, gm>, !tile.buffer<100x8xf16, l1>, index)
// expected-error@+1 {{100 rows are not blocks of 16 channels at 9 taps}}
tile.load_filter %w[%i, %i, %i] -> %f valid [%i, %i] : !tile.buffer<9x16x8xf16, gm> to !tile.buffer<100x8xf16, l1>

// -----

// Taps, channels and columns are axes of their own.
%w, %f, %i = "test.op"() : () -> (!tile.buffer<16x8xf16, gm>, !tile.buffer<16x8xf16, l1>, index)
// expected-error@+1 {{a filter is loaded from three or more axes in gm to l1}}
tile.load_filter %w[%i, %i] -> %f valid [%i, %i] : !tile.buffer<16x8xf16, gm> to !tile.buffer<16x8xf16, l1>

// -----

// The region is whole rows of the image.
%x, %a, %i = "test.op"() : () -> (!tile.buffer<30x16xf16, l1>, !tile.buffer<16x16xf16, l0a>, index)
// expected-error@+1 {{30 rows of the buffer are no image rows of 28}}
tile.im2col %x -> %a region [%i, %i, %i, %i] at [%i, %i] valid [%i, %i] {width = 28 : i64, kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>} : !tile.buffer<30x16xf16, l1> to !tile.buffer<16x16xf16, l0a>

// -----

// A kernel has two sizes.
%x, %a, %i = "test.op"() : () -> (!tile.buffer<28x16xf16, l1>, !tile.buffer<16x16xf16, l0a>, index)
// expected-error@+1 {{kernel has two entries}}
tile.im2col %x -> %a region [%i, %i, %i, %i] at [%i, %i] valid [%i, %i] {width = 28 : i64, kernel = array<i64: 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0>} : !tile.buffer<28x16xf16, l1> to !tile.buffer<16x16xf16, l0a>

// -----

// A sub-view has no more rows than there are.
%u, %i = "test.op"() : () -> (!tile.buffer<16x16xf32, ub>, index)
// expected-error@+1 {{!tile.buffer<16x16xf32, ub> has no 9 rows 128 bytes apart}}
%v = tile.subview %u[%i] : !tile.buffer<16x16xf32, ub> to !tile.buffer<9x16xf32, ub, strides [32, 1]>

// -----

// Rows of a sub-view are whole rows.
%u, %i = "test.op"() : () -> (!tile.buffer<16x16xf32, ub>, index)
// expected-error@+1 {{the rows of !tile.buffer<16x16xf32, ub> are not those of !tile.buffer<8x8xf32, ub>}}
%v = tile.subview %u[%i] : !tile.buffer<16x16xf32, ub> to !tile.buffer<8x8xf32, ub>

// -----

// A sub-view of a sub-view would hide the buffer.
%u, %i = "test.op"() : () -> (!tile.buffer<8x16xf32, ub, strides [32, 1]>, index)
// expected-error@+1 {{a sub-view is of a whole buffer of rank 2}}
%v = tile.subview %u[%i] : !tile.buffer<8x16xf32, ub, strides [32, 1]> to !tile.buffer<4x16xf32, ub, strides [32, 1]>

// -----

// Only UB has rows with an address of their own.
%u, %i = "test.op"() : () -> (!tile.buffer<16x16xf32, l1>, index)
// expected-error@+1 {{a sub-view is of rows in ub}}
%v = tile.subview %u[%i] : !tile.buffer<16x16xf32, l1> to !tile.buffer<8x16xf32, ub>

// -----

// Rows start at a block of 32 bytes.
// expected-error@+1 {{rows of 5 x f32 in ub are a multiple of 8 elements apart, 8 or more, and columns 1, not [12, 1]}}
%u = "test.op"() : () -> (!tile.buffer<4x5xf32, ub, strides [12, 1]>)

// -----

// Fractals have no strides.
// expected-error@+1 {{strides exist only in gm and for rows in ub}}
%u = "test.op"() : () -> (!tile.buffer<16x16xf32, l1, strides [16, 1]>)
