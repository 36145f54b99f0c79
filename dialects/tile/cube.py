"""The cube's multiply-accumulate on tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.irdl import ParsePropInAttrDict, irdl_op_definition, operand_def
from xdsl.utils.exceptions import VerifyException

from ..core.kernels import contract
from ..core.ops import EffectOp
from .memory import buffer_type

if TYPE_CHECKING:
    from ..core.interpreter import Frame


@irdl_op_definition
class MmadOp(EffectOp):
    """`c = a @ b`, or `c += a @ b` where `accumulate` is not 0, on the valid `m, k, n`.

    ```mlir
    tile.mmad %a, %b -> %c accumulate %k valid [%m, %kk, %n] : !tile.buffer<16x32xf16, l0a>,
      !tile.buffer<32x16xf16, l0b> to !tile.buffer<16x16xf32, l0c>
    ```

    The value is one f32 product of exactly `m, k, n` plus one add.
    """

    name = "tile.mmad"
    lhs = operand_def()
    rhs = operand_def()
    target = operand_def()
    accumulate = operand_def(IndexType())
    m = operand_def(IndexType())
    k = operand_def(IndexType())
    n = operand_def(IndexType())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$lhs `,` $rhs `->` $target `accumulate` $accumulate `valid` `[` $m `,` $k `,` $n `]` "
        "attr-dict `:` type($lhs) `,` type($rhs) `to` type($target)"
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        target: SSAValue,
        accumulate: SSAValue,
        valid: Sequence[SSAValue],
    ) -> None:
        super().__init__(operands=[lhs, rhs, target, accumulate, *valid])

    def verify_(self) -> None:
        """Spaces are L0A, L0B, L0C and the sizes agree."""
        lhs, rhs, target = (buffer_type(v) for v in (self.lhs, self.rhs, self.target))
        spaces = (lhs.space.data, rhs.space.data, target.space.data)
        if spaces != ("l0a", "l0b", "l0c"):
            raise VerifyException(f"mmad takes l0a, l0b and l0c, not {', '.join(spaces)}")
        if (lhs.dims[0], rhs.dims[1]) != target.dims or lhs.dims[1] != rhs.dims[0]:
            raise VerifyException(f"{lhs.dims} times {rhs.dims} is not {target.dims}")

    def run(self, frame: Frame) -> None:
        """One product, one add."""
        m, k, n = (int(frame.get(v)) for v in (self.m, self.k, self.n))
        lhs, rhs = frame.get(self.lhs)[:m, :k], frame.get(self.rhs)[:k, :n]
        target = frame.get(self.target)
        valid = target[:m, :n]
        valid[...] = contract.mmad(valid, lhs, rhs, bool(frame.get(self.accumulate)))
