"""One kernel on its way from tile ops to instructions: what is emitted, and what stands for what.

The rebuild is linear: ops are visited once, in order, and each emits instructions at the end of
the open block.  An index is a register or, where it is known, an integer; a buffer is a `Place`.
Scalar work is folded where both operands are known, and not repeated where a register that is still
visible holds the same value.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue

from ...dialects.core.errors import InternalError, PassError, UnsupportedError
from ...dialects.core.locations import where
from ...dialects.npu_isa.instructions import MNEMONICS
from ...dialects.npu_isa.instructions.scalar import ScalarBinary
from ...dialects.npu_isa.ops import Address, InstrOp, Value, build
from ...dialects.npu_isa.structure import KernelOp, LoopOp, YieldOp
from ...dialects.target.machine import Machine
from ...dialects.tile.types import BufferType
from ..analysis.sources import inherit_source

Scalar: TypeAlias = SSAValue | int
"""A register, or a value known now."""

FEW = 4
"""Up to so many repetitions of a piece of straight code are written out instead of looped."""


@dataclass(frozen=True)
class Place:
    """Where a buffer is: its type and the address of its first byte."""

    type: BufferType
    address: Address


class Turn(NamedTuple):
    """One enclosing loop: the iteration from 0, and how many there are when that is known."""

    iteration: SSAValue
    trips: int | None


class Lowering:
    """The state of one kernel's lowering, and the emission of scalar work."""

    def __init__(self, kernel: KernelOp, machine: Machine) -> None:
        self.machine = machine
        self.op: Operation = kernel
        """The tile op at hand: emitted instructions inherit its location and source node."""
        self.scalars: dict[SSAValue, Scalar] = {}
        """What stands for an index of the tile kernel."""
        self.places: dict[SSAValue, Place] = {}
        """Where each buffer of the tile kernel is."""
        self.nest: list[Turn] = []
        """The loops of the tile kernel around the op at hand, outermost first."""
        self._block = kernel.body.block
        self._visible: list[dict[tuple[str, Scalar, Scalar], SSAValue]] = [{}]

    # Instructions.

    def emit(self, mnemonic: str, **operands: Value) -> InstrOp:
        """Append an instruction; UnsupportedError if the machine or the element type is wrong."""
        spec = MNEMONICS[mnemonic]
        for name in ("dtype", "src_dtype"):
            known = spec.field(name).enum if name in operands else None
            if known and operands[name] not in known:
                raise self.unsupported(
                    f"{mnemonic} does not take {operands[name]}", f"it takes {', '.join(known)}"
                )
        op = build(spec, operands)
        for feature in spec.features(op.bind(lambda _: None)):
            if feature not in self.machine.features:
                raise self.unsupported(
                    f"{mnemonic} needs the feature {feature}",
                    f"{self.machine.name} has {', '.join(sorted(self.machine.features))}",
                )
        inherit_source(self.op, op)
        self._block.add_op(op)
        return op

    def unsupported(self, what: str, why: str | None = None) -> UnsupportedError:
        """An error about the tile op at hand."""
        return UnsupportedError(f"{self.op.name}: {what}", where=where(self.op), why=why)

    def refuse(self, what: str, why: str | None = None, hint: str | None = None) -> PassError:
        """An error about a form of the tile op at hand that has no lowering."""
        return PassError(f"{self.op.name}: {what}", where=where(self.op), why=why, hint=hint)

    @contextmanager
    def loop(self, count: Scalar) -> Generator[SSAValue]:
        """Open a loop; what is emitted goes into its body until the block is left."""
        op = LoopOp.empty(count)
        self._block.add_op(op)
        outer, self._block = self._block, op.body.block
        self._visible.append({})
        yield op.iteration
        self._visible.pop()
        self._block.add_op(YieldOp(()))
        self._block = outer
        inherit_source(self.op, op)

    def repeat(self, count: int, body: Callable[[Scalar], None], unroll: int = 1) -> None:
        """Emit `body(i)` for each i below `count`: written out if there are few, else a loop."""
        if count <= unroll:
            for i in range(count):
                body(i)
            return
        with self.loop(count) as iteration:
            body(iteration)

    # Scalar arithmetic.

    def index(self, value: SSAValue) -> Scalar:
        """What stands for an index of the tile kernel."""
        if value not in self.scalars:
            raise InternalError(f"{self.op.name} uses an index that was not lowered")
        return self.scalars[value]

    def binary(self, mnemonic: str, lhs: Scalar, rhs: Scalar) -> Scalar:
        """`lhs op rhs`, now if both are known."""
        if isinstance(lhs, int) and isinstance(rhs, int):
            spec = MNEMONICS[mnemonic]
            assert issubclass(spec, ScalarBinary)
            return spec.value(lhs, rhs)
        key = (mnemonic, lhs, rhs)
        for visible in self._visible:
            if key in visible:
                return visible[key]
        result = self.emit(mnemonic, lhs=lhs, rhs=rhs).result
        self._visible[-1][key] = result
        return result

    def add(self, lhs: Scalar, rhs: Scalar) -> Scalar:
        """`lhs + rhs`."""
        if lhs == 0:
            return rhs
        return lhs if rhs == 0 else self.binary("s_add", lhs, rhs)

    def sub(self, lhs: Scalar, rhs: Scalar) -> Scalar:
        """`lhs - rhs`."""
        return lhs if rhs == 0 else self.binary("s_sub", lhs, rhs)

    def mul(self, lhs: Scalar, rhs: Scalar) -> Scalar:
        """`lhs * rhs`."""
        if lhs == 0 or rhs == 0:
            return 0
        if lhs == 1:
            return rhs
        return lhs if rhs == 1 else self.binary("s_mul", lhs, rhs)

    def ceil_div(self, lhs: Scalar, rhs: Scalar) -> Scalar:
        """`lhs / rhs` rounded up; 0 or less for a negative `lhs`."""
        return self.binary("s_div", self.add(lhs, self.sub(rhs, 1)), rhs)

    # Addresses.

    def shifted(self, address: Address, offset: Scalar) -> Address:
        """The address `offset` bytes further on."""
        if isinstance(offset, int):
            return Address(address.base, address.offset + offset)
        base = offset if address.base is None else self.add(address.base, offset)
        assert not isinstance(base, int)
        return Address(base, address.offset)
