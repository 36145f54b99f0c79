"""The pass `tile-assign-depth`."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.target.attributes import machine_of
from ...dialects.target.machine import Machine
from ...dialects.tile.memory import AllocOp, buffer_type
from ...dialects.tile.program import KernelOp
from ..analysis.buffer_plan import allocs_of, peaks, pipes_of, plan
from ..base import NpucPass

PIPELINED = 2
"""Slots of a buffer between two pipes: one is filled while the other is read."""


@dataclass(frozen=True)
class TileAssignDepthPass(NpucPass):
    """Decide how many slots each buffer of a loop gets.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.kernel @k(%x: !tile.buffer<64x8xf32, gm>) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %u = tile.alloc : !tile.buffer<8x8xf32, ub>
          tile.copy %x[%i, %c0] -> %u : !tile.buffer<64x8xf32, gm> to !tile.buffer<8x8xf32, ub>
          tile.unary exp %u -> %u : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
        }
        tile.end
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.kernel @k(%x: !tile.buffer<64x8xf32, gm>) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        scf.for %i = %c0 to %c8 step %c1 {
          %u = tile.alloc {depth = 2 : i64} : !tile.buffer<8x8xf32, ub>
          tile.copy %x[%i, %c0] -> %u : !tile.buffer<64x8xf32, gm> to !tile.buffer<8x8xf32, ub>
          tile.unary exp %u -> %u : !tile.buffer<8x8xf32, ub> to !tile.buffer<8x8xf32, ub>
        }
        tile.end
      }
    }
    ```

    1. A buffer of a loop that two pipes touch gets two slots, so that both work at once. A buffer
       of one pipe gains nothing, one outside all loops is filled once: one slot.
    2. While a space overflows, its largest buffer with two slots gives one back, with a remark.

    A depth that stands in the IR already is kept, unless the space overflows.
    """

    name: ClassVar[str] = "tile-assign-depth"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide for every kernel."""
        machine = machine_of(op)
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                assign_depths(kernel)
                for alloc in give_back(kernel, machine):
                    self.remark(alloc, f"one slot for {buffer_type(alloc.buffer)}: two do not fit")


def assign_depths(kernel: KernelOp) -> None:
    """Two slots for each buffer of a loop that two pipes touch."""
    for alloc in allocs_of(kernel):
        if alloc.depth is None:
            in_loop = alloc.parent_op() is not kernel
            alloc.decide(depth=PIPELINED if in_loop and len(pipes_of(alloc)) > 1 else 1)


def give_back(kernel: KernelOp, machine: Machine) -> list[AllocOp]:
    """Take slots back, largest buffers first, until all spaces fit; the buffers that lost one.

    Leaves an overflow that remains to the planner, which says what is in the way.
    """
    losers: list[AllocOp] = []
    while True:
        full = {s for s, used in peaks(plan(kernel)).items() if used > machine.size(s)}
        deep = [
            a for a in allocs_of(kernel) if a.slots > 1 and buffer_type(a.buffer).space.data in full
        ]
        if not deep:
            return losers
        largest = max(deep, key=lambda a: buffer_type(a.buffer).nbytes)
        largest.decide(depth=largest.slots - 1)
        losers.append(largest)
