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

// Maps are projected permutations for now.
%x = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{map (d0, d1) -> (d0, (d0 + d1)) is no projected permutation: (d0 + d1) is neither a dim nor the constant 0}}
%r = tensor.map(%x) maps [affine_map<(d0, d1) -> (d0, d0 + d1)>] -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
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
