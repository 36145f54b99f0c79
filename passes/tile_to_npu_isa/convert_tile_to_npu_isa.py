"""`convert-tile-to-npu-isa`: every kernel becomes instructions on virtual registers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import Rewriter

from ...dialects.core.origins import origins_on
from ...dialects.npu_isa import structure
from ...dialects.npu_isa.ops import Address
from ...dialects.target.attributes import machine_of
from ...dialects.target.machine import Machine
from ...dialects.tile.memory import TapOp, buffer_type
from ...dialects.tile.program import KernelOp
from ..analysis.sources import inherit_source
from ..base import NpucPass
from .lowering import Lowering, Place
from .selectors import lower_block


@dataclass(frozen=True)
class ConvertTileToNpuIsaPass(NpucPass):
    """Turn every `tile.kernel` into an `npu_isa.kernel`; the program around them stays.

    Before:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      tile.kernel @relu(%x: !tile.buffer<1024x64xf32, gm>, %y: !tile.buffer<1024x64xf32, gm>) {
        %zero = arith.constant 0 : index
        %step = arith.constant 16 : index
        %end = arith.constant 1024 : index
        scf.for %i = %zero to %end step %step {
          %u = tile.alloc {depth = 2 : i64, address = 0 : i64} : !tile.buffer<16x64xf32, ub>
          tile.copy %x[%i, %zero] -> %u
            : !tile.buffer<1024x64xf32, gm> to !tile.buffer<16x64xf32, ub>
          tile.unary relu %u -> %u : !tile.buffer<16x64xf32, ub> to !tile.buffer<16x64xf32, ub>
          tile.copy %u -> %y[%i, %zero]
            : !tile.buffer<16x64xf32, ub> to !tile.buffer<1024x64xf32, gm>
        }
        tile.end
      }
    }
    ```
    After:
    ```mlir
    builtin.module attributes {target.machine = #target.machine<"tiny">} {
      npu_isa.kernel @relu(%x, %y) {
        npu_isa.loop %t in 64 {
          %i = npu_isa.s_mul lhs = %t, rhs = 16
          %slot = npu_isa.s_rem lhs = %t, rhs = 2
          %u = npu_isa.s_mul lhs = %slot, rhs = 4096
          %skip = npu_isa.s_mul lhs = %i, rhs = 256
          %from = npu_isa.s_add lhs = %x, rhs = %skip
          npu_isa.mov_gm_ub dst = [%u], src = [%from], nburst = 16, len = 256, src_stride = 256,
            dst_stride = 8
          npu_isa.vrelu dst = [%u], src0 = [%u], dtype = f32, mask = 64, repeat = 16
          %to = npu_isa.s_add lhs = %y, rhs = %skip
          npu_isa.mov_ub_gm dst = [%to], src = [%u], nburst = 16, len = 256, dst_stride = 256,
            src_stride = 8
        }
        npu_isa.end
      }
    }
    ```

    Assumes: depths and addresses are decided; strides of GM buffers fit their fields; index
    arithmetic that does not overflow 64 bits.

    Algorithm: one linear walk (`lowering`), each op by its entry in the table (`selectors`):
    `control` for loops, indices and buffers, `copies`, `cube`, `vector` and `reductions` for the
    rest. Loops stay loops, and long vector work becomes loops, so that the number of instructions
    depends on tile shapes only. Taps have no instruction: their origins are listed as lost.
    """

    name = "convert-tile-to-npu-isa"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every kernel of the module."""
        kernels = [inner for inner in op.body.block.ops if isinstance(inner, KernelOp)]
        machine = machine_of(op) if kernels else None
        for kernel in kernels:
            assert machine is not None
            for inner in kernel.walk():
                if isinstance(inner, TapOp):
                    for origin in origins_on(inner):
                        self.lose(origin, "instructions do not say which tensor they work on")
            Rewriter.replace_op(kernel, lower_kernel(kernel, machine), [])


def lower_kernel(kernel: KernelOp, machine: Machine) -> structure.KernelOp:
    """The instructions of one kernel, detached."""
    arguments = kernel.body.block.args
    new = structure.KernelOp.empty(kernel.sym_name.data, len(arguments))
    new.attributes.update(kernel.attributes)
    inherit_source(kernel, new)
    low = Lowering(new, machine)
    low.op = kernel
    for old, register in zip(arguments, new.body.block.args, strict=True):
        register.name_hint = old.name_hint
        low.places[old] = Place(buffer_type(old), Address(register, 0))
    lower_block(low, kernel.body.block)
    return new
