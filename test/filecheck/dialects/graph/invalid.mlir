// RUN: npu-opt %s --split-input-file --verify-diagnostics

// The inner sizes of a product must agree.
%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<9x4xf32>)
// expected-error@+1 {{[4, 8] has 8 columns but [9, 4] has 9 rows}}
%c = graph.matmul %a, %b : tensor<4x8xf32>, tensor<9x4xf32> -> tensor<4x4xf32>

// -----

// A vector is not a matrix; the importer reshapes it.
%a, %b = "test.op"() : () -> (tensor<8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{factors need two dimensions or more, got [8] and [8, 4]}}
%c = graph.matmul %a, %b : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>

// -----

// Both factors have one element type.
%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf16>)
// expected-error@+1 {{operands have element types `f32` and `f16`; they must be the same}}
%c = graph.matmul %a, %b : tensor<4x8xf32>, tensor<8x4xf16> -> tensor<4x4xf32>

// -----

// A sum of f16 products may be f32 or f16, and nothing else.
%a, %b = "test.op"() : () -> (tensor<4x8xf16>, tensor<8x4xf16>)
// expected-error@+1 {{the result has element type bf16, but factors of f16 give f16 or f32}}
%c = graph.matmul %a, %b : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xbf16>

// -----

// Integers are not multiplied by the cube yet.
%a, %b = "test.op"() : () -> (tensor<4x8xi8>, tensor<8x4xi8>)
// expected-error@+1 {{expected floating-point elements, got `tensor<4x8xi8>`}}
%c = graph.matmul %a, %b : tensor<4x8xi8>, tensor<8x4xi8> -> tensor<4x4xi32>

// -----

// The written result type is compared with the inferred one.
%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{result #0 is `tensor<4x5xf32>`, but the operands give `tensor<4x4xf32>`}}
%c = graph.matmul %a, %b : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x5xf32>

// -----

// The transposes of a gemm count.
%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<8x4xf32>)
// expected-error@+1 {{a [4, 8] gives 8 columns but b [8, 4] gives 4 rows}}
%c = graph.gemm %a, %b trans_b : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x8xf32>

// -----

// The third operand broadcasts to the product, not the other way round.
%a, %b, %c = "test.op"() : () -> (tensor<1x8xf32>, tensor<8x4xf32>, tensor<3x4xf32>)
// expected-error@+1 {{c of shape [3, 4] does not broadcast to [1, 4]}}
%d = graph.gemm %a, %b add %c : (tensor<1x8xf32>, tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>

// -----

// Sizes must be equal or 1.
%a, %b = "test.op"() : () -> (tensor<4x8xf32>, tensor<7xf32>)
// expected-error@+1 {{shapes [4, 8] and [7] do not broadcast: 8 meets 7}}
%c = graph.add %a, %b : tensor<4x8xf32>, tensor<7xf32> -> tensor<4x8xf32>

// -----

// Bool has no arithmetic.
%a = "test.op"() : () -> tensor<4xi1>
// expected-error@+1 {{there is no arithmetic on bool; cast to i32 first}}
%c = graph.mul %a, %a : tensor<4xi1>, tensor<4xi1> -> tensor<4xi1>

// -----

// An axis counts from 0 and stays within the rank.
%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{axis 2 is outside 0..1, the axes of the operand}}
%b = graph.softmax %a axis 2 : tensor<4x8xf32>

// -----

// A reshape keeps the number of elements.
%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{shape [4, 8] has 32 elements, [5, 6] has 30}}
%b = graph.reshape %a : tensor<4x8xf32> -> tensor<5x6xf32>

// -----

// A permutation names every dimension once.
%a = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{[0, 0] is not a permutation of 2 dimensions}}
%b = graph.transpose %a perm [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>

// -----

// Shapes are static.
%a = "test.op"() : () -> tensor<?x8xf32>
// expected-error@+1 {{expected a static shape, got `tensor<?x8xf32>`}}
%b = graph.relu %a : tensor<?x8xf32>

// -----

// Filters must see the channels of a group.
%x, %w = "test.op"() : () -> (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>)
// expected-error@+1 {{filters see 4 channels in each of 2 groups, but the images have 4}}
%y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 2 layout "channels_first" : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x6x6xf32>

// -----

// Groups are equal.
%x, %w = "test.op"() : () -> (tensor<1x4x8x8xf32>, tensor<6x1x3x3xf32>)
// expected-error@+1 {{4 channels and 6 filters cannot be split into 4 groups}}
%y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0] groups 4 layout "channels_first" : (tensor<1x4x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x6x6xf32>

// -----

// The layout decides what the axes are.
%x, %w = "test.op"() : () -> (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>)
// expected-error@+1 {{result #0 is `tensor<1x6x6x6xf32>`, but the operands give `tensor<1x8x8x6xf32>`}}
%y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1] groups 1 layout "channels_last" : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>

// -----

// There are two layouts.
%x = "test.op"() : () -> tensor<1x8x8x4xf32>
// expected-error@+1 {{the layout is `nchw`, not channels_first or channels_last}}
%y = graph.global_max_pool %x layout "nchw" : tensor<1x8x8x4xf32> -> tensor<1x1x1x4xf32>

// -----

// A matrix is no image.
%x = "test.op"() : () -> tensor<8x4xf32>
// expected-error@+1 {{a tensor of shape [8, 4] has 0 spatial axes; one or two are supported}}
%y = graph.global_average_pool %x layout "channels_last" : tensor<8x4xf32> -> tensor<8x4xf32>

// -----

// Neither is a video.
%x, %w = "test.op"() : () -> (tensor<1x4x8x8x8xf32>, tensor<6x4x3x3x3xf32>)
// expected-error@+1 {{has 3 spatial axes; one or two are supported}}
%y = graph.conv %x, %w strides [1, 1, 1] dilations [1, 1, 1] pads [0, 0, 0, 0, 0, 0] groups 1 layout "channels_first" : (tensor<1x4x8x8x8xf32>, tensor<6x4x3x3x3xf32>) -> tensor<1x6x6x6x6xf32>

// -----

// Every list has an entry for each spatial axis.
%x, %w = "test.op"() : () -> (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>)
// expected-error@+1 {{pads [1, 1] must be 4 integers from 0 on, for 2 spatial axes}}
%y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1] groups 1 layout "channels_first" : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>

// -----

// A window must fit.
%x = "test.op"() : () -> tensor<1x4x8xf32>
// expected-error@+1 {{the window reaches over 11 elements of spatial axis 0, which has 10 with padding}}
%y = graph.max_pool %x window [6] strides [1] dilations [2] pads [1, 1] layout "channels_first" : tensor<1x4x8xf32> -> tensor<1x4x1xf32>

// -----

// The window has the axes of the operand.
%x = "test.op"() : () -> tensor<1x4x8x8xf32>
// expected-error@+1 {{the window [2] does not have the 2 spatial axes of the operand}}
%y = graph.max_pool %x window [2] strides [1] dilations [1] pads [0, 0] layout "channels_first" : tensor<1x4x8x8xf32> -> tensor<1x4x7x7xf32>

// -----

// Padding has no maximum.
%x = "test.op"() : () -> tensor<1x4x8xf32>
// expected-error@+1 {{a window lies on padding alone: sizes [8], window [2], pads [2, 0]}}
%y = graph.max_pool %x window [2] strides [1] dilations [1] pads [2, 0] layout "channels_first" : tensor<1x4x8xf32> -> tensor<1x4x9xf32>

// -----

// What does not count must be padding that would.
%x = "test.op"() : () -> tensor<1x4x8xf32>
// expected-error@+1 {{uncounted [1] is no part of the padding after the axes that counts, which is none}}
%y = graph.average_pool %x window [2] strides [1] dilations [1] pads [1, 1] uncounted [1] layout "channels_first" : tensor<1x4x8xf32> -> tensor<1x4x9xf32>

// -----

// Means are floats.
%x = "test.op"() : () -> tensor<1x4x8xi32>
// expected-error@+1 {{expected floating-point elements, got `tensor<1x4x8xi32>`}}
%y = graph.global_average_pool %x layout "channels_first" : tensor<1x4x8xi32> -> tensor<1x4x1xi32>

// -----

// The bias is by filter.
%x, %w, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>, tensor<4xf32>)
// expected-error@+1 {{the bias has shape [4], but there are 6 filters}}
%y = graph.conv %x, %w add %b strides [1] dilations [1] pads [0, 0] groups 1 layout "channels_first" : (tensor<1x4x8xf32>, tensor<6x4x3xf32>, tensor<4xf32>) -> tensor<1x6x6xf32>

// -----

// The parameters of a batch norm are by channel.
%x, %p = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<8xf32>)
// expected-error@+1 {{a parameter has shape [8], but there are 4 channels}}
%y = graph.batch_norm %x scale %p bias %p mean %p variance %p epsilon 0.001 : f32 channel_axis 1 : (tensor<1x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
