// RUN: npu-opt %s --split-input-file --verify-diagnostics

// One map per input.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{2 inputs and a result need 3 maps, got 2}}
%r = tensor.map(%x, %x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// Every map is over the dims that have an iterator.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0) -> (d0) is not over the 2 dims of the iterators}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0) -> (d0)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A map has a result for each axis.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0, d1) -> (d0) has not the 2 axes of tensor<4x8xf32>}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// An axis is read along a dim, along nothing, or along a window.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0, d1) -> (d0, ((d0 + d1) + 1)) is not supported: ((d0 + d1) + 1) is neither a dim, the constant 0 nor a window `d0 * 2 + d1 * 3`}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d0 + d1 + 1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A diagonal is none either.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0, d1) -> (d0, d0) uses a dim twice}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A window reads each of its dims once.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{map (d0, d1, d2) -> ((d0 + d1), d1) uses a dim twice}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d1, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// The result's map has no windows.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{the result's map (d0, d1, d2) -> (d0, (d1 + d2)) is no projected permutation: (d1 + d2) is neither a dim nor the constant 0}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1 + d2)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// Strides and dilations are positive.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{map (d0, d1, d2) -> (((d0 * -1) + d2), d1) is not supported: ((d0 * -1) + d2) is neither a dim, the constant 0 nor a window `d0 * 2 + d1 * 3`}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 * -1 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// The position of a window comes first.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{the first dim of a window is its position, which is parallel, but d2 is a reduction dim}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d2 + d0, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// The window stays inside the padded axis.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{the windows reach over 5 elements of axis 0 of tensor<4x4xf32>, which has 4 with its padding}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2 * 2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// A pooling has bounds.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{no axis is as long as dim d2; give the sizes of all dims as bounds}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max  {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// All of them.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{bounds [3, 4] are not the sizes of 3 dims}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// Which agree with the axes.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{bounds say 5 for dim d0, an axis says 3}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [5, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// No size is zero.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{dim d2 of a window has the size 0}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 0] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// Where the axes tell all, there are none.
%x = "test.op"() : () -> tensor<3x4x2xf32>
// expected-error@+1 {{the axes tell the sizes of all dims; leave bounds out}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0, d1, d2)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<3x4x2xf32>) -> tensor<3x4xf32>

// -----

// Padding is written once for each input.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{pads needs an entry for each of 1 inputs, got 2}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max pads [[], []] bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// Padding is written for each axis.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{map (d0, d1, d2) -> ((d0 + d2), d1) is not supported: it has padding for 1 axes, not 2}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max pads [[[1, 1]]] bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// Only windows see padding.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{map (d0, d1, d2) -> ((d0 + d2), d1) is not supported: d1 is no window, so its axis has no padding}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max pads [[[1, 1], [1, 1]]] bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// It is never negative.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{pads has the negative size -1}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max pads [[[1, -1], [0, 0]]] bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// No padding is not written.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{pads has only zeros for an input; write [] for it, or no pads at all}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0 + d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max pads [[[0, 0], [0, 0]]] bounds [3, 4, 2] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x4xf32>) -> tensor<3x4xf32>

// -----

// A dim has one size.
%x, %y = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{dim d0 is both 4 and 8}}
%r = tensor.map(%x, %y) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32, %q: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>

// -----

// The constant 0 reads an axis of size 1, and no other.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0, d1) -> (0, d1) has 0 for an axis of size 4, not 1}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A dim that no map uses has no size.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{no map uses dim d2, so its size is unknown}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1, d2) -> (d0, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// Sizes are static.
%x = "test.op"() : () -> tensor<?x8xf32>
// expected-error@+1 {{tensor<?x8xf32> is not static}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<?x8xf32>) -> tensor<4x8xf32>

// -----

// The result has all parallel dims.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{dim d1 is a parallel dim but is not in the result's map}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

// And no reduction dim.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{dim d1 is a reduction dim but is in the result's map}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, reduction] combine add {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// There are two kinds of iterators.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{iterator 'window' is not 'parallel' or 'reduction'}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, window] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A reduction needs a combiner.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{a combiner and reduction dims only exist together}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

// One of a fixed list.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{combiner 'sub' is not one of ['add', 'max', 'min', 'mul']}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine sub {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

// The body takes the elements of the inputs.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{the body takes (f16) but the inputs have elements (f32)}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f16):
    %q = arith.extf %p : f16 to f32
    tensor.yield %q : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// It yields an element of the result.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{the body yields f32 but the result has elements f16}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf16>

// -----

// It yields one value.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{the body must end in tensor.yield of one value}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p, %p : f32, f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// Only scalar arithmetic stands in it.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{test.op may not stand in a body; only arith and math ops may}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    %q = "test.op"(%p) : (f32) -> f32
    tensor.yield %q : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A map has no reduction.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{a map has only parallel dims; use tensor.reduce}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine add {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4xf32>

// -----

// A reduce has one.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{a reduce needs a reduction dim; use tensor.map}}
%r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A contract sums.
%x, %y = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{a contract has two inputs and the combiner add}}
%r = tensor.contract(%x, %y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine max {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

// It sums products.
%x, %y = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{the body of a contract yields the product of its two arguments}}
%r = tensor.contract(%x, %y) maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)> iterators [parallel, parallel, reduction] combine add {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %p : f32
    tensor.yield %m : f32
} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// -----

// Both factors have the summed dims.
%x, %y = "test.op"() : () -> (tensor<4x8xf32>, tensor<4xf32>)
// expected-error@+1 {{dim d1 is summed, so both inputs must have it}}
%r = tensor.contract(%x, %y) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] -> affine_map<(d0, d1) -> (d0)> iterators [parallel, reduction] combine add {
  ^bb0(%p: f32, %q: f32):
    %m = arith.mulf %p, %q : f32
    tensor.yield %m : f32
} : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4xf32>

// -----

// A transpose computes nothing.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{a transpose has one input and yields its elements}}
%r = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    %q = math.exp %p : f32
    tensor.yield %q : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// It permutes all axes.
%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the maps of a transpose are permutations}}
%r = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d0)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4xf32>) -> tensor<4x8xf32>

// -----

// The written result type is compared with the inferred one.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{result #0 is `tensor<4x8xf32, "tag">`, but the operands give `tensor<4x8xf32>`}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    tensor.yield %p : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32, "tag">

// -----

// A view has as many elements as its source.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{tensor<4x8xf32> has 32 elements, the view 33}}
%r = tensor.view %x : tensor<4x8xf32> -> tensor<33xf32>

// -----

// And elements of the same type.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{result #0 is `tensor<32xf16>`, but the operands give `tensor<32xf32>`}}
%r = tensor.view %x : tensor<4x8xf32> -> tensor<32xf16>

// -----

// Nor does a body.
%x, %y = "test.op"() : () -> (tensor<4x8xf32>, f32)
// expected-error@+1 {{Operation using value defined out of its IsolatedFromAbove parent}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
  ^bb0(%p: f32):
    %q = arith.addf %p, %y : f32
    tensor.yield %q : f32
} : (tensor<4x8xf32>) -> tensor<4x8xf32>

// -----

// A group is of one of three kinds.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{kind "odd" is not one of ['cube', 'vector', 'move']}}
%g = tensor.group(%i = %x : tensor<4x8xf32>) kind "odd" {
  tensor.yield %i : tensor<4x8xf32>
} -> (tensor<4x8xf32>)

// -----

// It holds computations only.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{test.op may not stand in a group}}
%g = tensor.group(%i = %x : tensor<4x8xf32>) kind "vector" {
  "test.op"() : () -> ()
  tensor.yield %i : tensor<4x8xf32>
} -> (tensor<4x8xf32>)

// -----

// Its results are what it yields.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{the group's results are not of the types its body yields}}
%g = tensor.group(%i = %x : tensor<4x8xf32>) kind "vector" {
  tensor.yield %i : tensor<4x8xf32>
} -> (tensor<8xf32>)

// -----

// It sees nothing from outside.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{Operation using value defined out of its IsolatedFromAbove parent}}
%g = tensor.group() kind "vector" {
  tensor.yield %x : tensor<4x8xf32>
} -> (tensor<4x8xf32>)

// -----

// The host engine multiplies i32 only.
%x = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{the host function matmul takes two i32 tensors}}
%g = tensor.host_call "matmul"(%x, %x) : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
