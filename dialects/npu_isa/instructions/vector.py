"""The vector unit: elementwise work and conversion on UB.

A vector instruction runs `repeat` times over 8 blocks of 32 bytes.  In repeat r, block b of an
operand lies at `address + (r * rep_stride + b * blk_stride) * 32`.  `mask` is the number of active
lanes, counted from the first across the 8 blocks; other lanes of the destination keep their value.
Repeats happen in order: a repeat sees what an earlier one wrote.
"""

from __future__ import annotations

from ...core.kernels import elementwise
from ...core.kernels.cast import cast
from ..memory import Array
from ..spec import Field, Operands, layout
from .lanewise import (
    FLOATS,
    LIMITS,
    NUMBERS,
    Lanewise,
    address,
    counts,
    dtype_field,
    scalar_of,
    strides,
)

ANY = (*NUMBERS, "bf16", "i8", "ui8")


def _binary_fields(dtypes: tuple[str, ...]) -> tuple[Field, ...]:
    return layout(
        address("dst"),
        address("src0"),
        address("src1"),
        dtype_field(dtypes),
        *counts(),
        *strides("dst", "src0", "src1"),
    )


class Binary(Lanewise):
    """Base of `dst = src0 op src1`."""

    sources = ("src0", "src1")
    group = "pair"
    fields = _binary_fields(NUMBERS)


class VAdd(Binary):
    """`dst = src0 + src1`; integers wrap."""

    opcode = 0x110
    mnemonic = "vadd"
    restates = "Add: f16, f32, s16, s32; " + LIMITS
    kernel = staticmethod(elementwise.add)


class VSub(Binary):
    """`dst = src0 - src1`; integers wrap."""

    opcode = 0x111
    mnemonic = "vsub"
    restates = "Sub: f16, f32, s16, s32; " + LIMITS
    kernel = staticmethod(elementwise.sub)


class VMul(Binary):
    """`dst = src0 * src1`; integers wrap."""

    opcode = 0x112
    mnemonic = "vmul"
    restates = "Mul: f16, f32, s16, s32; " + LIMITS
    kernel = staticmethod(elementwise.mul)


class VDiv(Binary):
    """`dst = src0 / src1`."""

    opcode = 0x113
    mnemonic = "vdiv"
    restates = "Div: f16, f32; " + LIMITS
    group = "divide"
    fields = _binary_fields(FLOATS)
    kernel = staticmethod(elementwise.div)


class VMax(Binary):
    """`dst = max(src0, src1)`; NaN if either is NaN."""

    opcode = 0x114
    mnemonic = "vmax"
    restates = "Max: f16, f32, s16, s32; " + LIMITS
    kernel = staticmethod(elementwise.maximum)


class VMin(Binary):
    """`dst = min(src0, src1)`; NaN if either is NaN."""

    opcode = 0x115
    mnemonic = "vmin"
    restates = "Min: f16, f32, s16, s32; " + LIMITS
    kernel = staticmethod(elementwise.minimum)


def _unary_fields(dtypes: tuple[str, ...]) -> tuple[Field, ...]:
    return layout(
        address("dst"), address("src0"), dtype_field(dtypes), *counts(), *strides("dst", "src0")
    )


class Unary(Lanewise):
    """Base of `dst = op(src0)`."""

    sources = ("src0",)
    group = "single"
    fields = _unary_fields(FLOATS)


class VExp(Unary):
    """`dst = exp(src0)`."""

    opcode = 0x120
    mnemonic = "vexp"
    restates = "Exp: f16, f32; " + LIMITS
    group = "transcendental"
    kernel = staticmethod(elementwise.exp)


class VLn(Unary):
    """`dst = ln(src0)`, the natural logarithm."""

    opcode = 0x121
    mnemonic = "vln"
    restates = "Ln: f16, f32; " + LIMITS
    group = "transcendental"
    kernel = staticmethod(elementwise.ln)


class VSqrt(Unary):
    """`dst = sqrt(src0)`."""

    opcode = 0x122
    mnemonic = "vsqrt"
    restates = "Sqrt: f16, f32; " + LIMITS
    group = "transcendental"
    kernel = staticmethod(elementwise.sqrt)


class VRsqrt(Unary):
    """`dst = 1 / sqrt(src0)`."""

    opcode = 0x123
    mnemonic = "vrsqrt"
    restates = "Rsqrt: f16, f32; " + LIMITS + "  The published result is an approximation."
    kernel = staticmethod(elementwise.rsqrt)


class VRec(Unary):
    """`dst = 1 / src0`."""

    opcode = 0x124
    mnemonic = "vrec"
    restates = "Reciprocal: f16, f32; " + LIMITS + "  The published result is an approximation."
    kernel = staticmethod(elementwise.rec)


class VAbs(Unary):
    """`dst = |src0|`."""

    opcode = 0x125
    mnemonic = "vabs"
    restates = "Abs: f16, f32; " + LIMITS
    kernel = staticmethod(elementwise.absolute)


class VRelu(Unary):
    """`dst = max(src0, 0)`; NaN stays NaN."""

    opcode = 0x126
    mnemonic = "vrelu"
    restates = "Relu: f16, f32, s32; " + LIMITS
    fields = _unary_fields(("f32", "f16", "i32"))
    kernel = staticmethod(elementwise.relu)


class VCopy(Unary):
    """`dst = src0`, lane by lane."""

    opcode = 0x140
    mnemonic = "vcopy"
    restates = "Copy VECIN to VECOUT: 16- and 32-bit elements; " + LIMITS
    fields = _unary_fields(ANY)

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """The source."""
        del o
        return sources[0]


class VConv(Lanewise):
    """`dst = src0` in another element type, saturating to integers, NaN to 0.

    `rounding` is `even` (to nearest, ties to even) or, for floats that become integers, `zero`.

    A repeat holds as many lanes as fit 8 blocks of the wider type, so the narrower operand uses
    fewer blocks and usually a smaller repeat stride.
    """

    opcode = 0x142
    mnemonic = "vconv"
    restates = (
        "Cast with CAST_RINT, or CAST_TRUNC to integers, between f16, f32, bf16, s8, u8, s16 and "
        "s32; " + LIMITS
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
        Field("rounding", "imm", 3, enum=("even", "zero"), default="even"),
    )

    @classmethod
    def types(cls, o: Operands, name: str) -> str:
        """`dtype` is the destination's."""
        return o.dtype if name == "dst" else o.src_dtype

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Convert."""
        return cast(sources[0], o.dtype, o.rounding)


class Immediate(Lanewise):
    """Base of `dst = src0 op scalar`; the scalar is rounded to the element type first."""

    sources = ("src0",)
    group = "single"
    fields = layout(
        address("dst"),
        address("src0"),
        Field("scalar", "f32"),
        dtype_field(NUMBERS),
        *counts(),
        *strides("dst", "src0"),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Apply the kernel."""
        return cls.kernel(sources[0], scalar_of(o))


class VAdds(Immediate):
    """`dst = src0 + scalar`."""

    opcode = 0x130
    mnemonic = "vadds"
    restates = "Adds: f16, f32, s16, s32 with a scalar; " + LIMITS
    kernel = staticmethod(elementwise.add)


class VMuls(Immediate):
    """`dst = src0 * scalar`."""

    opcode = 0x131
    mnemonic = "vmuls"
    restates = "Muls: f16, f32, s16, s32 with a scalar; " + LIMITS
    kernel = staticmethod(elementwise.mul)


class VMaxs(Immediate):
    """`dst = max(src0, scalar)`; NaN stays NaN."""

    opcode = 0x132
    mnemonic = "vmaxs"
    restates = "Maxs: f16, f32, s16, s32 with a scalar; " + LIMITS
    kernel = staticmethod(elementwise.maximum)


class VMins(Immediate):
    """`dst = min(src0, scalar)`; NaN stays NaN."""

    opcode = 0x133
    mnemonic = "vmins"
    restates = "Mins: f16, f32, s16, s32 with a scalar; " + LIMITS
    kernel = staticmethod(elementwise.minimum)


class VDup(Lanewise):
    """`dst = scalar` in every active lane."""

    opcode = 0x141
    mnemonic = "vdup"
    restates = "Duplicate: 16- and 32-bit elements; " + LIMITS
    sources = ()
    group = "single"
    fields = layout(
        address("dst"), Field("scalar", "f32"), dtype_field(NUMBERS), *counts(), *strides("dst")
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """The scalar."""
        del sources
        return scalar_of(o)
