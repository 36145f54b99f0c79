"""The ops of the tensor level: structured computations, reshapes, groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.dialects.tensor import YieldOp
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import element_name, tensor_type
from ..core.dtypes import Array
from ..core.ops import Cost, EffectOp, NpucOp, tensor_bytes
from ..core.steps import Step
from .bodies import cast_as_step, is_forwarding, make_body, product_args
from .structured import StructuredOp, axes_of_map, dims_of_axes, map_from_axes
from .syntax import parse_group, print_group

if TYPE_CHECKING:
    from ..core.interpreter import Frame

GROUP_KINDS = ("cube", "vector", "move")
"""What a group mainly is: a contraction with its epilogue, vector work, or data movement."""


@irdl_op_definition
class MapOp(StructuredOp):
    """Compute every element of the result from one element of each input.

    ```mlir
    %r = tensor.map(%x, %b) maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
        -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
    ^bb0(%0 : f32, %1 : f32):
      %2 = arith.addf %0, %1 : f32
      tensor.yield %2 : f32
    } : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "tensor.map"

    def verify_form(self) -> None:
        """A map reduces nothing."""
        if "reduction" in self.iterators:
            raise VerifyException("a map has only parallel dims; use tensor.reduce")

    def recipe_step(self) -> Step | None:
        """A map that only converts the type of its one input, exactly as the step `cast` would."""
        cast = cast_as_step(self.body)
        if cast is None or self.input_maps[0] != self.result_map:
            return None
        return Step("cast", element_name(tensor_type(self.output).element_type))


@irdl_op_definition
class ReduceOp(StructuredOp):
    """Join the body's values along the reduction dims by the combiner.

    ```mlir
    %r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)>
        iterators [parallel, reduction] combine max {
    ^bb0(%0 : f32):
      tensor.yield %0 : f32
    } : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    name = "tensor.reduce"

    def verify_form(self) -> None:
        """A reduction reduces something."""
        if "reduction" not in self.iterators:
            raise VerifyException("a reduce needs a reduction dim; use tensor.map")


@irdl_op_definition
class ContractOp(StructuredOp):
    """Sum, along the reduction dims, the product of the two inputs, widened before the product.

    Dims of both inputs and of the result are batch dims.

    ```mlir
    %r = tensor.contract(%a, %b) maps [affine_map<(d0, d1, d2) -> (d0, d2)>,
        affine_map<(d0, d1, d2) -> (d2, d1)>] -> affine_map<(d0, d1, d2) -> (d0, d1)>
        iterators [parallel, parallel, reduction] combine add {
    ^bb0(%0 : f16, %1 : f16):
      %2 = arith.extf %0 : f16 to f32
      %3 = arith.extf %1 : f16 to f32
      %4 = arith.mulf %2, %3 : f32
      tensor.yield %4 : f32
    } : (tensor<4x16xf16>, tensor<16x8xf16>) -> tensor<4x8xf32>
    ```
    """

    name = "tensor.contract"
    FREE_INPUTS: ClassVar[bool] = False

    def verify_form(self) -> None:
        """Two inputs, a product, a sum, and reduction dims that both inputs have."""
        if len(self.inputs) != 2 or self.combiner != "add":
            raise VerifyException("a contract has two inputs and the combiner add")
        if product_args(self.body) is None:
            raise VerifyException("the body of a contract yields the product of its two arguments")
        reads = [set(dims_of_axes(self.input_axes(index))) for index in range(2)]
        for dim, kind in enumerate(self.iterators):
            if kind == "reduction" and not all(dim in read for read in reads):
                raise VerifyException(f"dim d{dim} is summed, so both inputs must have it")


@irdl_op_definition
class TransposeOp(StructuredOp):
    """Permute axes: a map that moves elements unchanged.

    ```mlir
    %r = tensor.transpose(%x) maps [affine_map<(d0, d1) -> (d1, d0)>]
        -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
    ^bb0(%0 : f32):
      tensor.yield %0 : f32
    } : (tensor<8x4xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "tensor.transpose"

    @classmethod
    def of(cls, source: SSAValue, permutation: Sequence[int]) -> Self:
        """Axis `i` of the result is axis `permutation[i]` of `source`."""
        type, rank = tensor_type(source), len(permutation)
        axes = [permutation.index(axis) for axis in range(rank)]
        shape = type.get_shape()
        return cls(
            inputs=[source],
            maps=[map_from_axes(rank, axes), AffineMap.identity(rank)],
            iterators=["parallel"] * rank,
            body=make_body([type.element_type], lambda _, args: args[0]),
            result_type=TensorType(type.element_type, [shape[p] for p in permutation]),
        )

    @property
    def permutation(self) -> tuple[int, ...]:
        """Axis `i` of the result is axis `permutation[i]` of the input."""
        source = axes_of_map(self.input_maps[0])
        return tuple(source.index(dim) for dim in axes_of_map(self.result_map))

    def recipe_step(self) -> Step | None:
        """The step `transpose`."""
        return Step("transpose", self.permutation)

    def verify_form(self) -> None:
        """One input whose elements move unchanged, every dim in both maps."""
        if len(self.inputs) != 1 or self.combiner is not None or not is_forwarding(self.body):
            raise VerifyException("a transpose has one input and yields its elements")
        rank = len(self.iterator_types)
        axes = [self.input_axes(0), axes_of_map(self.result_map)]
        if any(sum(isinstance(a, int) for a in entries) != rank for entries in axes):
            raise VerifyException("the maps of a transpose are permutations")


@irdl_op_definition
class ViewOp(HasCanonicalizationPatternsInterface, NpucOp):
    """Read the elements, in row-major order, as a tensor of another shape; moves nothing.

    ```mlir
    %r = tensor.view %x : tensor<4x8xf32> -> tensor<32xf32>
    ```
    """

    name = "tensor.view"
    source = operand_def(TensorType)
    output = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($output)"

    def __init__(self, source: SSAValue, shape: Sequence[int]):
        """View `source` with the static `shape`."""
        element = tensor_type(source).element_type
        super().__init__(operands=[source], result_types=[TensorType(element, shape)])

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Chains of views become one; see `canonicalize.py`."""
        from .canonicalize import VIEW_PATTERNS

        return VIEW_PATTERNS

    def infer(self) -> Sequence[Attribute]:
        """The result's shape with the source's elements; raises if the counts differ."""
        source, shape = tensor_type(self.source), tensor_type(self.output).get_shape()
        if prod(source.get_shape()) != prod(shape):
            raise VerifyException(
                f"{source} has {prod(source.get_shape())} elements, the view {prod(shape)}"
            )
        return [TensorType(source.element_type, shape)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """Reshape, in row-major order."""
        return [args[0].reshape(tensor_type(self.output).get_shape())]

    def recipe_step(self) -> Step | None:
        """The step `reshape`."""
        return Step("reshape", tensor_type(self.output).get_shape())

    def cost(self) -> Cost:
        """Nothing: the bytes stay where they are."""
        return Cost(flops=0, bytes_read=0, bytes_written=0)


@irdl_op_definition
class GroupOp(EffectOp):
    """What becomes one kernel: structured ops that share an iteration space.

    The operands are bound to the arguments of the body, which is isolated from above. `kind` is one
    of "cube", "vector", "move"; `stopped` says why fusion did not take more in. The schedule, once
    chosen, is the discardable attribute `tile.schedule`.

    ```mlir
    %g = tensor.group(%0 = %x : tensor<8xf32>) kind "vector" stopped "result is returned" {
      %1 = tensor.map(%0) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)>
          iterators [parallel] {
      ^bb0(%2 : f32):
        %3 = math.exp %2 : f32
        tensor.yield %3 : f32
      } : (tensor<8xf32>) -> tensor<8xf32>
      tensor.yield %1 : tensor<8xf32>
    } -> (tensor<8xf32>)
    ```
    """

    name = "tensor.group"
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    kind_attr = prop_def(StringAttr, prop_name="kind")
    stopped_attr = opt_prop_def(StringAttr, prop_name="stopped")
    body_region = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), Pure())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        body: Block,
        kind: str,
        stopped: str | None = None,
    ):
        """A group over `inputs`; the result types are those that `body` yields."""
        last = body.last_op
        if not isinstance(last, YieldOp):
            raise ValueError("the body of a group ends in tensor.yield")
        super().__init__(
            operands=[list(inputs)],
            result_types=[[value.type for value in last.arguments]],
            properties={
                "kind": StringAttr(kind),
                "stopped": None if stopped is None else StringAttr(stopped),
            },
            regions=[Region(body)],
        )

    @property
    def kind(self) -> str:
        """One of `GROUP_KINDS`."""
        return self.kind_attr.data

    @property
    def stopped(self) -> str | None:
        """Why the group did not grow further."""
        return None if self.stopped_attr is None else self.stopped_attr.data

    @property
    def body(self) -> Block:
        """The ops of the group, with one argument per operand."""
        return self.body_region.block

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """The values inside that become the results."""
        last = self.body.last_op
        assert isinstance(last, YieldOp)
        return tuple(last.arguments)

    def run(self, frame: Frame) -> None:
        """Run the body on the operands."""
        args = [frame.get(value) for value in self.inputs]
        for result, value in zip(self.outputs, frame.run_block(self.body, args), strict=True):
            frame.set(result, value)

    def cost(self) -> Cost:
        """All arithmetic of the body; only operands and results touch memory."""
        return Cost(
            flops=sum(op.cost().flops for op in self.body.ops if isinstance(op, NpucOp)),
            bytes_read=sum(tensor_bytes(value.type) for value in dict.fromkeys(self.inputs)),
            bytes_written=sum(tensor_bytes(value.type) for value in self.outputs),
        )

    def verify_(self) -> None:
        """Check kind, arguments, the ops inside and the results."""
        if self.kind not in GROUP_KINDS:
            raise VerifyException(f'kind "{self.kind}" is not one of {list(GROUP_KINDS)}')
        if [arg.type for arg in self.body.args] != [value.type for value in self.inputs]:
            raise VerifyException("the arguments of the body are not of the operands' types")
        last = self.body.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body of a group ends in tensor.yield")
        if [v.type for v in last.arguments] != [r.type for r in self.outputs]:
            raise VerifyException("the group's results are not of the types its body yields")
        for op in self.body.ops:
            if op is not last and not isinstance(op, NpucOp):
                raise VerifyException(f"{op.name} may not stand in a group")

    def print(self, printer: Printer) -> None:
        """Print `(%arg = %operand : type, ..) kind "k" stopped "why" {body} -> (types)`."""
        print_group(self, self.body_region, self.kind, self.stopped, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what `print` writes."""
        operands, types, properties, attributes, body = parse_group(parser)
        return cls.create(
            operands=operands,
            result_types=types,
            properties=properties,
            attributes=attributes,
            regions=[body],
        )
