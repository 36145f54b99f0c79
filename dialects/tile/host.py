"""Calls of the host engine between launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent
from xdsl.utils.exceptions import VerifyException

from ..core.errors import InputError
from ..core.kernels.host import Typed, host_function
from ..core.ops import EffectOp
from .memory import buffer_type
from .program import ProgramOp
from .types import BufferType

if TYPE_CHECKING:
    from ..core.interpreter import Frame


@irdl_op_definition
class HostCallOp(EffectOp):
    """Run a function of the host engine's closed table on whole buffers in GM.

    ```mlir
    tile.host_call "matmul"(%a, %b) -> %c : !tile.buffer<2x3xi32, gm>, !tile.buffer<3x4xi32, gm>
      to !tile.buffer<2x4xi32, gm>
    ```

    `core/kernels/host.py` has the table, with the reason for each entry.
    """

    name = "tile.host_call"
    callee = prop_def(StringAttr)
    sources = var_operand_def(BufferType)
    target = operand_def(BufferType)
    traits = traits_def(HasParent(ProgramOp))
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$callee `(` $sources `)` `->` $target attr-dict `:` type($sources) `to` type($target)"
    )

    def __init__(self, callee: str, sources: Sequence[SSAValue], target: SSAValue) -> None:
        super().__init__(operands=[sources, target], properties={"callee": StringAttr(callee)})

    def verify_(self) -> None:
        """The function exists, takes such tensors and gives such a result."""
        try:
            result = host_function(self.callee.data).infer([typed(v) for v in self.sources])
        except InputError as error:
            raise VerifyException(error.what) from error
        if result != typed(self.target):
            raise VerifyException(
                f"`{self.callee.data}` gives {result[0]}{list(result[1])}, "
                f"the target is {buffer_type(self.target)}"
            )

    def run(self, frame: Frame) -> None:
        """Call the function."""
        arrays = [frame.get(value) for value in self.sources]
        frame.get(self.target)[...] = host_function(self.callee.data).function(*arrays)


def typed(value: SSAValue) -> Typed:
    """Element type name and shape of a buffer."""
    return buffer_type(value).dtype, buffer_type(value).dims
