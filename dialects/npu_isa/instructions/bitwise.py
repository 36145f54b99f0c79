"""Vector instructions on the bits of integers."""

from __future__ import annotations

from ...core.dtypes import itemsize
from ...core.kernels import bitwise
from ..memory import Array
from ..spec import Field, Operands, layout
from .lanewise import LIMITS, Lanewise, address, counts, dtype_field, strides
from .masks import mask_fields
from .vector import Binary, Unary, binary_fields, unary_fields

_LOGIC = ("i16",)
"""16-bit elements, as published; twice as many of them are the bits of 32-bit elements."""
_SHIFTED = ("i32", "i16")


class VAnd(Binary):
    """`dst = src0 & src1`, bit by bit."""

    opcode = 0x118
    mnemonic = "vand"
    restates = "And: s16, u16; " + LIMITS
    group = "logic"
    fields = binary_fields(_LOGIC)
    kernel = staticmethod(bitwise.bit_and)


class VOr(Binary):
    """`dst = src0 | src1`, bit by bit."""

    opcode = 0x119
    mnemonic = "vor"
    restates = "Or: s16, u16; " + LIMITS
    group = "logic"
    fields = binary_fields(_LOGIC)
    kernel = staticmethod(bitwise.bit_or)


class VNot(Unary):
    """`dst = ~src0`, bit by bit."""

    opcode = 0x127
    mnemonic = "vnot"
    restates = "Not: s16, u16; " + LIMITS
    fields = unary_fields(_LOGIC)
    kernel = staticmethod(bitwise.bit_not)


_SHIFT = Field("shift", "ri", 6, unit="bits", max=32)


class Shift(Lanewise):
    """Base: by the same number of bits in each lane."""

    sources = ("src0",)
    group = "single"

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """No more bits than an element has."""
        bits = 8 * itemsize(o.dtype)
        if o.shift is not None and o.shift > bits:
            return f"shift = {o.shift} is more than the {bits} bits of {o.dtype}"
        return super().constraint(o)


class VShl(Shift):
    """`dst = src0 << shift`; zeros follow, what leaves is lost."""

    opcode = 0x135
    mnemonic = "vshl"
    restates = "ShiftLeft: s16, u16, s32, u32 by a scalar; " + LIMITS
    fields = layout(
        address("dst"),
        address("src0"),
        _SHIFT,
        dtype_field(_SHIFTED),
        *counts(),
        *strides("dst", "src0"),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Shift."""
        return bitwise.shift_left(sources[0], o.shift)


class VShr(Shift):
    """`dst = src0 >> shift`: copies of the sign follow, or zeros when `logical` is 1.

    With `nearest` = 1 the last bit that left is added to the result.
    """

    opcode = 0x136
    mnemonic = "vshr"
    restates = (
        "ShiftRight by a scalar: s16, s32, u16, u32 (the unsigned are `logical`), roundEn "
        "(`nearest`) for the signed; " + LIMITS
    )
    fields = layout(
        address("dst"),
        address("src0"),
        _SHIFT,
        dtype_field(_SHIFTED),
        *counts(),
        *strides("dst", "src0"),
        Field("logical", "imm", 1, default=0),
        Field("nearest", "imm", 1, default=0),
        *mask_fields(),
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Rounding goes with copies of the sign."""
        if o.logical and o.nearest:
            return "nearest = 1 is for signed elements, and logical = 1 takes them as unsigned"
        return super().constraint(o)

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Shift."""
        how = {"logical": bool(o.logical), "nearest": bool(o.nearest)}
        return bitwise.shift_right(sources[0], o.shift, **how)
