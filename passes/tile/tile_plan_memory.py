"""The pass `tile-plan-memory`."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.target.attributes import machine_of
from ...dialects.tile.program import KernelOp
from ..analysis.buffer_plan import check_capacity, plan
from ..base import NpucPass


@dataclass(frozen=True)
class TilePlanMemoryPass(NpucPass):
    """Give every on-chip buffer its address.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.kernel @k(%x: !tile.buffer<8x8xf32, gm>) {
        %u = tile.alloc {depth = 2 : i64} : !tile.buffer<8x8xf32, ub>
        %v = tile.alloc {depth = 1 : i64} : !tile.buffer<8x8xf32, ub>
        tile.copy %x -> %u : !tile.buffer<8x8xf32, gm> to !tile.buffer<8x8xf32, ub>
        tile.unary exp %u -> %v : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
        tile.end
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.kernel @k(%x: !tile.buffer<8x8xf32, gm>) {
        %u = tile.alloc {depth = 2 : i64, address = 0 : i64} : !tile.buffer<8x8xf32, ub>
        %v = tile.alloc {depth = 1 : i64, address = 512 : i64} : !tile.buffer<8x8xf32, ub>
        tile.copy %x -> %u : !tile.buffer<8x8xf32, gm> to !tile.buffer<8x8xf32, ub>
        tile.unary exp %u -> %v : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
        tile.end
      }
    }
    ```

    First fit in program order; `analysis/buffer_plan.py` says which buffers may share bytes. A
    space that overflows is a CapacityError that names the buffers.
    """

    name: ClassVar[str] = "tile-plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every kernel."""
        machine = machine_of(op)
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                placements = plan(kernel)
                check_capacity(kernel, placements, machine)
                for item in placements:
                    item.alloc.decide(address=item.address)
