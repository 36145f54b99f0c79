"""The pass `convert-tensor-to-tile`."""

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.core.attributes import tensor_type
from ...dialects.core.errors import PassError
from ...dialects.core.kernels.host import listing
from ...dialects.core.locations import where
from ...dialects.core.ops import ConstantOp as TensorConstantOp
from ...dialects.core.ops import WeightOp
from ...dialects.core.origins import NODE, move_location, move_origins, node_of
from ...dialects.tensor.host import HostCallOp
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.ops import ViewOp as TensorViewOp
from ...dialects.tile.host import HostCallOp as TileHostCallOp
from ...dialects.tile.memory import AllocOp
from ...dialects.tile.program import ConstantOp, LaunchOp, ProgramOp, ReturnOp, ViewOp
from ...dialects.tile.schedule import ScheduleAttr
from ...dialects.tile.types import BufferType
from ..base import NpucPass
from .geometry import geometry_of
from .kernel import KernelEmitter, nodes_of

SCHEDULE = "tile.schedule"
"""Discardable attribute of a group: its `#tile.schedule`."""


@dataclass(frozen=True)
class ConvertTensorToTilePass(NpucPass):
    """Make a kernel of every group, and a program that launches them.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
      %0 = tensor.group(%a = %x : tensor<8x64xf32>) kind "vector" stopped "end" attributes {
          tile.schedule = #tile.schedule<tiles [8, 64], steps [8, 64], cores 1, reason "">} {
        %1 = tensor.map(%a) maps [affine_map<(d0, d1) -> (d0, d1)>]
            -> affine_map<(d0, d1) -> (d0, d1)> iterators [parallel, parallel] {
        ^bb0(%p : f32):
          %q = math.exp %p : f32
          tensor.yield %q : f32
        } : (tensor<8x64xf32>) -> tensor<8x64xf32>
        tensor.yield %1 : tensor<8x64xf32>
      } -> (tensor<8x64xf32>)
      func.return %0 : tensor<8x64xf32>
    }
    ```
    After:
    ```mlir
    tile.program @main(%x: !tile.buffer<8x64xf32, gm>) -> (!tile.buffer<8x64xf32, gm>) {
      %y = tile.alloc : !tile.buffer<8x64xf32, gm>
      tile.launch @main_0 grid 1 (%x, %y) : !tile.buffer<8x64xf32, gm>, !tile.buffer<8x64xf32, gm>
      tile.return %y : !tile.buffer<8x64xf32, gm>
    }
    tile.kernel @main_0(%x: !tile.buffer<8x64xf32, gm>, %y: !tile.buffer<8x64xf32, gm>) attributes {
        engine = "vector", nodes = [],
        tile.schedule = #tile.schedule<tiles [8, 64], steps [8, 64], cores 1, reason "">} {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %u = tile.alloc : !tile.buffer<8x64xf32, ub>
      tile.copy %x[%c0, %c0] -> %u[%c0, %c0] valid [%c8, %c64]
        : !tile.buffer<8x64xf32, gm> to !tile.buffer<8x64xf32, ub>
      %core = tile.core_id
      scf.for %t = %core to %c1 step %c1 {
        %v = tile.alloc : !tile.buffer<8x64xf32, ub>
        tile.unary exp %u -> %v : !tile.buffer<8x64xf32, ub> to !tile.buffer<8x64xf32, ub>
        tile.copy %v[%c0, %c0] -> %y[%c0, %c0] valid [%c8, %c64]
          : !tile.buffer<8x64xf32, ub> to !tile.buffer<8x64xf32, gm>
      }
      tile.end
    }
    ```

    1. Every tensor value becomes one GM buffer: an argument, a constant, or an allocation that the
       launch of its group writes; a view is another shape of the same bytes.
    2. `tensor.host_call` becomes `tile.host_call`; with `strict=true` it is refused.
    3. `kernel.py` emits the kernel of each group from its schedule and its indexing maps alone.
    """

    name: ClassVar[str] = "convert-tensor-to-tile"
    strict: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert every function of the module."""
        calls = [call for call in op.walk() if isinstance(call, HostCallOp)]
        if self.strict and calls:
            raise PassError(
                "the module needs the host engine, which `strict` forbids",
                where=where(calls[0]),
                why=listing((call.callee.data, _node_of_call(call)) for call in calls),
                hint="change the model, or allow the host engine",
            )
        for function in list(op.ops):
            if isinstance(function, func.FuncOp):
                _Program(function, op).convert()


def gm_type(value: SSAValue) -> BufferType:
    """The GM buffer of a tensor value."""
    type_ = tensor_type(value)
    return BufferType.of(type_.get_shape(), type_.element_type, "gm")


def _node_of_call(call: HostCallOp) -> str | None:
    """The source node a call works for: its own, or that of the view which names its tensor."""
    value = call.output
    node = node_of(call)
    while node is None and (use := value.get_user_of_unique_use()):
        if not isinstance(use, TensorViewOp):
            break
        node, value = node_of(use), use.output
    return node


class _Program:
    """Rebuilds one function as a `tile.program` and its kernels."""

    def __init__(self, function: func.FuncOp, module: ModuleOp) -> None:
        self.function, self.module = function, module
        self.name = function.sym_name.data
        source = function.body.block
        self.block = Block(arg_types=[gm_type(a) for a in source.args])
        self.values: dict[SSAValue, SSAValue] = dict(zip(source.args, self.block.args, strict=True))
        self.kernels = 0

    def convert(self) -> None:
        """Convert op by op, then replace the function."""
        for op in self.function.body.block.ops:
            self._convert(op)
        outputs = [a.type for a in cast(ReturnOp, self.block.last_op).operands]
        program = ProgramOp(
            self.name,
            FunctionType.from_lists([a.type for a in self.block.args], outputs),
            Region(self.block),
            self.function.arg_attrs,
            self.function.res_attrs,
        )
        move_location(self.function, program)
        block = self.function.parent
        assert block is not None
        block.insert_op_before(program, self.function)
        self.function.detach()
        self.function.erase(safe_erase=False)

    def _add(self, op: Operation, source: Operation) -> None:
        self.block.add_op(op)
        move_location(source, op)

    def _convert(self, op: Operation) -> None:
        match op:
            case WeightOp():
                self._define(op, ConstantOp(op.blob, gm_type(op.result)))
            case TensorConstantOp():
                self._define(op, ConstantOp(op.value, gm_type(op.result)))
            case TensorViewOp():
                self._define(op, ViewOp(self.values[op.operands[0]], gm_type(op.results[0])))
            case GroupOp():
                self._convert_group(op)
            case HostCallOp():
                self._convert_host_call(op)
            case func.ReturnOp():
                self._add(ReturnOp([self.values[v] for v in op.arguments]), op)
            case _:
                raise PassError(
                    f"'{op.name}' is in no group, so no kernel can compute it",
                    where=where(op),
                    hint="run tensor-fuse-groups first",
                )

    def _define(self, old: Operation, new: Operation) -> None:
        """Add `new` in the place of the one-result op `old`."""
        self._add(new, old)
        move_origins(old, new)
        self.values[old.results[0]] = new.results[0]

    def _convert_host_call(self, call: HostCallOp) -> None:
        node = _node_of_call(call)
        result = AllocOp(gm_type(call.output))
        self._add(result, call)
        move_origins(call.output, result.buffer)
        self.values[call.output] = result.buffer
        sources = [self.values[v] for v in call.inputs]
        host_call = TileHostCallOp(call.callee.data, sources, result.buffer)
        if node:
            host_call.attributes[NODE] = StringAttr(node)
        self._add(host_call, call)

    def _convert_group(self, group: GroupOp) -> None:
        schedule = group.attributes.get(SCHEDULE)
        place = where(group) or f"@{self.name}"
        if not isinstance(schedule, ScheduleAttr):
            raise PassError(
                "a group has no #tile.schedule",
                where=place,
                hint="run tensor-choose-schedule first",
            )
        geometry = geometry_of(group, place)
        geometry.check(schedule, place)
        name = f"{self.name}_{self.kernels}"
        self.kernels += 1
        nodes = nodes_of(group)
        kernel = KernelEmitter(group, geometry, schedule, name, place).emit()
        kernel.attributes["engine"] = StringAttr("cube" if geometry.contraction else "vector")
        kernel.attributes["nodes"] = ArrayAttr([StringAttr(n) for n in nodes])
        kernel.attributes[SCHEDULE] = schedule
        move_location(group, kernel)
        results = [AllocOp(gm_type(r)) for r in group.results]
        for result, alloc in zip(group.results, results, strict=True):
            self._add(alloc, group)
            self.values[result] = alloc.buffer
        arguments = [self.values[v] for v in group.operands] + [a.buffer for a in results]
        self._add(LaunchOp(name, schedule.cores.data, arguments), group)
        block = self.function.parent
        assert block is not None
        block.add_op(kernel)
