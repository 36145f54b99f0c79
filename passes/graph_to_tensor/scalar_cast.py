"""Conversion of one scalar, as `graph.cast` means it, in `arith` ops.

Floats round to nearest even, floats become integers by truncation, integers saturate, and a bool is
whether the value is not zero.
"""

from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import element_name
from ...dialects.core.dtypes import itemsize
from .emit import constant, is_float_type

_BOOL = IntegerType(1)


def cast_scalar(builder: Builder, value: SSAValue, target: Attribute) -> SSAValue:
    """Insert the conversion of `value` to the element type `target`; nothing if it has it."""
    if value.type == target:
        return value
    if target == _BOOL:
        return _is_not_zero(builder, value)
    if is_float_type(target):
        return _to_float(builder, value, cast(AnyFloat, target))
    return _to_integer(builder, value, cast(IntegerType, target))


def _is_not_zero(builder: Builder, value: SSAValue) -> SSAValue:
    zero = constant(builder, 0, value.type)
    if is_float_type(value.type):
        # Unordered: NaN is not zero either.
        return builder.insert(arith.CmpfOp(value, zero, "une")).result
    return builder.insert(arith.CmpiOp(value, zero, "ne")).result


def _to_float(builder: Builder, value: SSAValue, target: AnyFloat) -> SSAValue:
    if value.type == _BOOL:
        return builder.insert(arith.UIToFPOp(value, target)).result
    if not is_float_type(value.type):
        return builder.insert(arith.SIToFPOp(value, target)).result
    before, after = (itemsize(element_name(t)) for t in (value.type, target))
    if before > after:
        return builder.insert(arith.TruncFOp(value, target)).result
    if before < after:
        return builder.insert(arith.ExtFOp(value, target)).result
    # The two 16-bit formats convert through f32, which holds both exactly.
    wide = builder.insert(arith.ExtFOp(value, f32)).result
    return builder.insert(arith.TruncFOp(wide, target)).result


def _to_integer(builder: Builder, value: SSAValue, target: IntegerType) -> SSAValue:
    if is_float_type(value.type):
        return builder.insert(arith.FPToSIOp(value, target)).result
    source = cast(IntegerType, value.type)
    if source == _BOOL:
        return builder.insert(arith.ExtUIOp(value, target)).result
    if source.width.data < target.width.data:
        return builder.insert(arith.ExtSIOp(value, target)).result
    # trunci wraps, a cast saturates.
    high = 2 ** (target.width.data - 1) - 1
    low = builder.insert(arith.MaxSIOp(value, constant(builder, -high - 1, source))).result
    clamped = builder.insert(arith.MinSIOp(low, constant(builder, high, source))).result
    return builder.insert(arith.TruncIOp(clamped, target)).result
