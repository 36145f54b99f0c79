"""Vector instructions that change the element type, or round within it."""

from __future__ import annotations

from ...core.kernels.cast import cast, round_to_integer
from ..memory import Array
from ..spec import Field, Operands, layout
from .lanewise import ANY, LIMITS, Lanewise, address, counts, dtype_field, strides
from .masks import mask_fields

_EVERYWHERE = {
    ("f16", "f32"), ("f16", "i32"), ("f16", "i8"), ("f16", "ui8"), ("f32", "f16"), ("f32", "i32"),
    ("i32", "f32"), ("i32", "f16"), ("i8", "f16"), ("ui8", "f16"),
}  # fmt: skip
"""Conversions, from and to, that are published for every part."""
_SINCE_910B = {
    ("f32", "bf16"), ("bf16", "f32"), ("bf16", "i32"), ("f32", "i16"), ("f16", "i16"),
    ("i16", "f16"), ("i16", "f32"), ("i32", "i16"),
}  # fmt: skip
_ROUNDINGS = ("even", "zero", "floor", "ceil", "away", "odd")
"""In the order of their codes: RINT, TRUNC, FLOOR, CEIL, ROUND and ODD of the publication."""


class VConv(Lanewise):
    """`dst = src0` in another element type.

    `rounding` says how a value that the type cannot hold is rounded: `even` (to nearest, ties to
    even), `zero`, `floor`, `ceil`, `away` (to nearest, ties away from zero), and for f32 to f16
    `odd` (the neighbour whose last bit is 1).  With `saturate = integers`, integers saturate, NaN
    becomes 0 and floats overflow to infinity.  With `all`, floats saturate too: what is beyond
    the largest finite value becomes that, NaN becomes 0.  With `none`, integers keep their low
    bits, and NaN and infinities become 0.

    A repeat holds as many lanes as fit 8 blocks of the wider type, so the narrower operand uses
    fewer blocks and usually a smaller repeat stride.
    """

    opcode = 0x142
    mnemonic = "vconv"
    restates = (
        "Cast with CAST_RINT, CAST_TRUNC, CAST_FLOOR, CAST_CEIL, CAST_ROUND, and CAST_ODD from f32 "
        "to f16, between f16, f32, bf16, s8, u8, s16 and s32, saturation as the control register "
        "says; " + LIMITS
    )
    group = "convert"
    sources = ("src0",)
    fields = layout(
        address("dst"),
        address("src0"),
        dtype_field(ANY),
        dtype_field(ANY, "src_dtype"),
        *counts(),
        *strides("dst", "src0"),
        Field("rounding", "imm", 3, enum=_ROUNDINGS, default="even"),
        Field("saturate", "imm", 2, enum=("integers", "all", "none"), default="integers"),
        *mask_fields(),
    )

    @classmethod
    def types(cls, o: Operands, name: str) -> str:
        """`dtype` is the destination's."""
        return o.dtype if name == "dst" else o.src_dtype

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """By the pair of types and the handling of overflow."""
        pair = (o.src_dtype, o.dtype)
        control = () if o.saturate == "integers" else ("convert_saturation",)
        if pair in _EVERYWHERE or o.src_dtype == o.dtype:
            return control
        return ("convert_910b" if pair in _SINCE_910B else "convert_any", *control)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element types, and rounding to odd goes from f32 to f16."""
        if o.rounding == "odd" and (o.src_dtype, o.dtype) != ("f32", "f16"):
            return f"rounding = odd goes from f32 to f16, not from {o.src_dtype} to {o.dtype}"
        return super().constraint(o)

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Convert."""
        return cast(sources[0], o.dtype, o.rounding, o.saturate)


class VRound(Lanewise):
    """`dst = src0` rounded to an integer, which stays a float; NaN and infinities stay."""

    opcode = 0x143
    mnemonic = "vround"
    feature = "round_f32"
    restates = (
        "Cast from f32 to f32 with CAST_RINT, CAST_TRUNC, CAST_FLOOR, CAST_CEIL or CAST_ROUND; "
        + LIMITS
    )
    group = "convert"
    sources = ("src0",)
    fields = layout(
        address("dst"),
        address("src0"),
        dtype_field(("f32",)),
        *counts(),
        *strides("dst", "src0"),
        Field("rounding", "imm", 3, enum=_ROUNDINGS[:-1]),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Round."""
        return round_to_integer(sources[0], o.rounding)
