"""What the families of the conversion share: where new ops go, and the usual maps and bodies."""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import Array, is_float
from ...dialects.core.errors import UnsupportedError
from ...dialects.core.locations import where
from ...dialects.core.ops import ConstantOp
from ...dialects.tensor.bodies import make_body
from ...dialects.tensor.host import HostCallOp
from ...dialects.tensor.ops import MapOp, ViewOp
from ...dialects.tensor.structured import StructuredOp, map_from_axes

BodyBuilder = Callable[[Builder, tuple[SSAValue, ...]], SSAValue]


class Emitter:
    """Inserts the ops that replace one graph op, before it."""

    def __init__(self, op: Operation):
        self._builder = Builder(InsertPoint.before(op))

    def add(self, op: StructuredOp) -> SSAValue:
        """Insert a structured op; its result."""
        return self._builder.insert(op).output

    def host_call(self, callee: str, inputs: Sequence[SSAValue]) -> SSAValue:
        """Insert a call of the host engine; its result."""
        return self._builder.insert(HostCallOp(callee, inputs)).output

    def constant(self, array: Array) -> SSAValue:
        """Insert a small constant tensor; its value."""
        return self._builder.insert(ConstantOp.of(array)).result

    def view(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Insert a `tensor.view`; its result."""
        return self._builder.insert(ViewOp(value, shape)).output

    def map(
        self,
        inputs: Sequence[SSAValue],
        shape: Sequence[int],
        element: Attribute,
        build: BodyBuilder,
    ) -> SSAValue:
        """A `tensor.map` into `shape`, to which the inputs broadcast by numpy's rules."""
        rank = len(shape)
        maps = [map_from_axes(rank, broadcast_axes(shape_of(value), shape)) for value in inputs]
        return self.add(
            MapOp(
                inputs,
                [*maps, AffineMap.identity(rank)],
                ["parallel"] * rank,
                make_body([element_of(value) for value in inputs], build),
                TensorType(element, shape),
            )
        )


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor value."""
    return tensor_type(value).get_shape()


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return tensor_type(value).element_type


def broadcast_axes(shape: Sequence[int], target: Sequence[int]) -> list[int | None]:
    """Per axis of `shape` the dim of `target` it walks; None where its size 1 is repeated."""
    skipped = len(target) - len(shape)
    return [
        skipped + axis if size == target[skipped + axis] else None
        for axis, size in enumerate(shape)
    ]


def constant(builder: Builder, value: float, type: Attribute) -> SSAValue:
    """A scalar constant of a float or signless integer type."""
    if not is_float_type(type):
        integer = IntegerAttr(int(value), cast(IntegerType, type))
        return builder.insert(arith.ConstantOp(integer)).result
    return builder.insert(arith.ConstantOp(FloatAttr(value, cast(AnyFloat, type)))).result


def require_computable(op: Operation, *types: Attribute) -> None:
    """Raise UnsupportedError if `op` would compute in one of the types that are only stored."""
    for type in types:
        if element_name(type) == "ui8":
            raise UnsupportedError(
                f"{op.name} on ui8 is not supported",
                where=where(op),
                why="ui8 is only stored; scalar code computes in signless types",
                hint="cast to i32 first",
            )


def is_float_type(type: Attribute) -> bool:
    """Whether an element type is a floating-point type."""
    return is_float(element_name(type))
