"""`tensor-fuse-groups`: structured ops that share an iteration space become one kernel."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.core.errors import InputError
from ...dialects.core.origins import move_location
from ...dialects.target.attributes import attribute_of
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import Axis, StructuredOp
from ..analysis.iteration_space import GroupSpace
from ..base import NpucPass
from .fusion_plan import FusionPlan
from .fusion_rules import RULES, FusionRule, group_kind


@dataclass(frozen=True)
class TensorFuseGroupsPass(NpucPass):
    """Put every structured op into a `tensor.group`, together with others where a rule allows it.

    Before:
    ```mlir
    func.func @main(%x : tensor<8xf32>) -> tensor<8xf32> {
      %0 = tensor.map(%x) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)>
          iterators [parallel] {
      ^bb0(%a : f32):
        %b = math.exp %a : f32
        tensor.yield %b : f32
      } : (tensor<8xf32>) -> tensor<8xf32>
      %1 = tensor.map(%0) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)>
          iterators [parallel] {
      ^bb0(%a : f32):
        %b = math.sqrt %a : f32
        tensor.yield %b : f32
      } : (tensor<8xf32>) -> tensor<8xf32>
      func.return %1 : tensor<8xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x : tensor<8xf32>) -> tensor<8xf32> {
      %g = tensor.group(%i = %x : tensor<8xf32>) kind "vector" stopped "its result is returned" {
        %0 = tensor.map(%i) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)>
            iterators [parallel] {
        ^bb0(%a : f32):
          %b = math.exp %a : f32
          tensor.yield %b : f32
        } : (tensor<8xf32>) -> tensor<8xf32>
        %1 = tensor.map(%0) maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)>
            iterators [parallel] {
        ^bb0(%a : f32):
          %b = math.sqrt %a : f32
          tensor.yield %b : f32
        } : (tensor<8xf32>) -> tensor<8xf32>
        tensor.yield %1 : tensor<8xf32>
      } -> (tensor<8xf32>)
      func.return %g : tensor<8xf32>
    }
    ```
    Leaves alone: `tensor.view`, weights and constants, which are no work.
    Assumes: canonical code (what movement could be folded into maps, constants into bodies, is).
    Algorithm: `fusion_plan` decides by the rules of `fusion_rules`; then the groups and the other
    ops are put in an order in which each comes after what it reads, as early as it stood before.
    """

    name = "tensor-fuse-groups"
    RULES: ClassVar[tuple[FusionRule, ...]] = RULES

    disable: tuple[str, ...] = ()
    """Names of rules not to use."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Group the structured ops of every block; InputError for an unknown rule in `disable`."""
        known = [rule.name for rule in self.RULES]
        unknown = [name for name in self.disable if name not in known]
        if unknown:
            raise InputError(
                f"there is no fusion rule {', '.join(unknown)}", hint=f"rules: {', '.join(known)}"
            )
        rules = [rule for rule in self.RULES if rule.name not in self.disable]
        machine = attribute_of(op)
        capacity = None if machine is None else machine.machine().size("ub")
        for block in list(_blocks_of_tensor_code(op)):
            plan = FusionPlan(block, rules, capacity)
            order = _order(block, plan)
            for ops in order:
                for member in ops:
                    member.detach()
            for ops in order:
                _emit(block, ops, plan)


def _blocks_of_tensor_code(op: Operation) -> Iterator[Block]:
    """The blocks that hold structured ops, other than those of groups."""
    for region in op.regions:
        for block in region.blocks:
            if any(isinstance(inner, StructuredOp) for inner in block.ops):
                yield block
            for inner in block.ops:
                if not isinstance(inner, StructuredOp | GroupOp):
                    yield from _blocks_of_tensor_code(inner)


def _order(block: Block, plan: FusionPlan) -> list[tuple[Operation, ...]]:
    """Groups and other ops, each after what it reads; of those ready the earliest first."""
    last = block.last_op
    assert last is not None
    units: dict[Operation, tuple[Operation, ...]] = {}
    leader: dict[Operation, Operation] = {}
    for op in block.ops:
        unit = plan.groups[op] if isinstance(op, StructuredOp) else (op,)
        units[unit[0]] = unit
        leader[op] = unit[0]
    positions = {op: number for number, op in enumerate(units)}
    waits = {
        first: {leader[p] for op in unit for p in plan.producers(op)} - {first}
        for first, unit in units.items()
    }
    readers: dict[Operation, list[Operation]] = {first: [] for first in units}
    for first, sources in waits.items():
        for source in sources:
            readers[source].append(first)
    ready = [(positions[first], first) for first, sources in waits.items() if not sources]
    heapq.heapify(ready)
    order: list[tuple[Operation, ...]] = []
    while ready:
        _, first = heapq.heappop(ready)
        order.append(units[first])
        for reader in readers[first]:
            waits[reader].discard(first)
            if not waits[reader]:
                heapq.heappush(ready, (positions[reader], reader))
    # The terminator ends the block whatever it reads.
    order.remove((last,))
    return [*order, (last,)]


def _emit(block: Block, unit: Sequence[Operation], plan: FusionPlan) -> None:
    """Append a unit to the block; structured ops inside a new group."""
    ops = [op for op in unit if isinstance(op, StructuredOp)]
    if not ops:
        block.add_ops(unit)
        return
    stopped = plan.stopped(ops)
    space = GroupSpace.of_ops(ops)
    outputs = space.outputs or (ops[-1].output,)
    inputs, body = _body(space)
    body.add_op(YieldOp(*outputs))
    group = GroupOp(inputs, body, group_kind(ops), stopped)
    move_location(ops[-1], group)
    block.add_op(group)
    for output, result in zip(outputs, group.outputs, strict=True):
        result.name_hint = output.name_hint
        output.replace_uses_with_if(result, lambda use: use.operation.parent is not body)


def _body(space: GroupSpace) -> tuple[list[SSAValue], Block]:
    """The operands of a group, in order of first use, and its ops in a block that reads arguments.

    A value that ops read in different ways becomes an operand for each of them.
    """
    body = Block()
    arguments: dict[tuple[SSAValue, tuple[Axis, ...]], SSAValue] = {}
    made = {op.output for op in space.ops}
    for op in space.ops:
        for index, value in enumerate(op.inputs):
            if value in made:
                continue
            key = (value, space.axes_of_use(op, index))
            if key not in arguments:
                arguments[key] = body.insert_arg(value.type, len(arguments))
                arguments[key].name_hint = value.name_hint
            op.operands[index] = arguments[key]
        body.add_op(op)
    return [value for value, _ in arguments], body
