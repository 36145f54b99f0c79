"""The pass `graph-apply-precision`."""

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.core.attributes import tensor_of
from ...dialects.core.origins import ORIGINS, move_location, move_origins
from ...dialects.graph.base import ContractionOp, GraphOp, accumulator, dtype, static_shape
from ...dialects.graph.movement import CastOp
from ..base import NpucPass

Policy = Literal["mixed", "origin", "f16"]

_GOVERNED = frozenset({"f32", "f16", "bf16"})
"""The element types a policy replaces; f64, integers and bool stay."""

# The type of values between operators, and that of the factors of contractions, under each policy.
_WORKING = {"mixed": "f32", "f16": "f16"}
_FACTOR = {"mixed": "f16", "f16": "f16"}


@dataclass(frozen=True)
class GraphApplyPrecisionPass(NpucPass):
    """Give every tensor the element type in which it is to be computed, with casts made explicit.

    | policy | contractions take | and give | everything else |
    |---|---|---|---|
    | `mixed` | f16 | f32 | f32 |
    | `origin` | the types of the model | f32, then cast back | the types of the model |
    | `f16` | f16 | f32, then cast to f16 | f16 |

    Inputs and outputs of a function keep the framework's types: casts stand at its edges. A cast
    stands behind the op that makes the value and serves all users.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
      %0 = graph.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
      %1 = graph.matmul %0, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
      func.return %1 : tensor<8x4xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
      %0 = graph.cast %x : tensor<8x4xf32> -> tensor<8x4xf16>
      %1 = graph.cast %w : tensor<4x4xf32> -> tensor<4x4xf16>
      %2 = graph.matmul %0, %1 : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf32>
      %3 = graph.cast %2 : tensor<8x4xf32> -> tensor<8x4xf16>
      %4 = graph.matmul %3, %1 : tensor<8x4xf16>, tensor<4x4xf16> -> tensor<8x4xf32>
      func.return %4 : tensor<8x4xf32>
    }
    ```
    Leaves alone: f64, integers, bool, and all ops but those of the graph dialect, which get the
    types they had. Casts that cancel out, and casts of weights, are for `graph-canonicalize`.
    """

    name = "graph-apply-precision"

    policy: Policy = "mixed"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Retype all blocks, the outer ones first."""
        retyping = _Retyping(self.policy)
        for outer in [*op.walk()]:
            for region in outer.regions:
                for block in region.blocks:
                    retyping.block(block)
        retyping.finish()


class _Retyping:
    """One run of the pass: which new value stands for each old one, and the casts made so far."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._heirs: dict[SSAValue, SSAValue] = {}
        self._casts: dict[tuple[SSAValue, str], SSAValue] = {}
        self._argument_casts: dict[Block, Operation] = {}
        self._replaced: list[Operation] = []

    def block(self, block: Block) -> None:
        """Replace the graph ops of a block; other ops get their operands in the old types."""
        for op in [*block.ops]:
            if isinstance(op, GraphOp):
                self._replace(op)
            else:
                for index, operand in enumerate(op.operands):
                    if operand in self._heirs:
                        op.operands[index] = self._cast(self._heirs[operand], dtype(operand))

    def finish(self) -> None:
        """Remove what was replaced."""
        for op in reversed(self._replaced):
            op.detach()
            op.erase()

    def _replace(self, op: GraphOp) -> None:
        """Put an op with the policy's types before `op`, and a cast behind it if need be."""
        factors = op.FACTORS if isinstance(op, ContractionOp) else 0
        operands = [
            self._cast(self._heirs.get(operand, operand), self._operand_type(op, index, factors))
            for index, operand in enumerate(op.operands)
        ]
        results = [_retyped(value, self._result_type(op, value, factors)) for value in op.results]
        attributes = {name: value for name, value in op.attributes.items() if name != ORIGINS}
        new = type(op).create(
            operands=operands,
            result_types=results,
            properties=op.properties.copy(),
            attributes=attributes,
        )
        move_location(op, new)
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        self._replaced.append(op)
        for old, value in zip(op.results, new.results, strict=True):
            value.name_hint = old.name_hint
            heir = self._cast(value, self._working(dtype(old)))
            self._heirs[old] = heir
            move_origins(old, heir)

    def _operand_type(self, op: GraphOp, index: int, factors: int) -> str:
        own = dtype(op.operands[index])
        if not factors:
            return self._working(own)
        factor = self._factor(dtype(op.operands[0]))
        return factor if index < factors else accumulator(factor)

    def _result_type(self, op: GraphOp, value: SSAValue, factors: int) -> str:
        if not factors:
            return self._working(dtype(value))
        return accumulator(self._factor(dtype(op.operands[0])))

    def _working(self, own: str) -> str:
        """The type between operators, for a value of type `own` in the model."""
        return _WORKING.get(self._policy, own) if own in _GOVERNED else own

    def _factor(self, own: str) -> str:
        """The type of a contraction's factors, for factors of type `own` in the model."""
        return _FACTOR.get(self._policy, own) if own in _GOVERNED else own

    def _cast(self, value: SSAValue, target: str) -> SSAValue:
        """`value` with the element type `target`, by the one cast behind what makes it."""
        if dtype(value) == target:
            return value
        key = (value, target)
        if key not in self._casts:
            cast = CastOp(value, target)
            self._insert_behind(value, cast)
            self._casts[key] = cast.out
        return self._casts[key]

    def _insert_behind(self, value: SSAValue, cast: CastOp) -> None:
        """Insert `cast` after the op that makes `value`; for an argument, first in the block."""
        owner = value.owner
        if isinstance(owner, Operation):
            block, behind = owner.parent, owner
            move_location(owner, cast)
        else:
            block, behind = owner, self._argument_casts.get(owner)
            self._argument_casts[owner] = cast
        assert block is not None
        if behind is not None:
            block.insert_op_after(cast, behind)
        elif block.first_op is not None:
            block.insert_op_before(cast, block.first_op)
        else:
            block.add_op(cast)


def _retyped(value: SSAValue, target: str) -> TensorType[Attribute]:
    """The type of `value` with the element type `target`."""
    return tensor_of(target, static_shape(value))
