"""The vector unit: elementwise work on UB.

A vector instruction runs `repeat` times over 8 blocks of 32 bytes.  In repeat r, block b of an
operand lies at `address + (r * rep_stride + b * blk_stride) * 32`.  `mask` is the number of active
lanes, counted from the first across the 8 blocks; other lanes of the destination keep their value.
Repeats happen in order: a repeat sees what an earlier one wrote.
"""

from __future__ import annotations

from ...core.kernels import elementwise
from ..memory import Array
from ..spec import Field, Operands, layout
from .lanewise import (
    ANY,
    FLOATS,
    LIMITS,
    NUMBERS,
    Lanewise,
    address,
    counts,
    dtype_field,
    low_bits,
    scalar_of,
    strides,
)
from .masks import mask_fields


def binary_fields(dtypes: tuple[str, ...]) -> tuple[Field, ...]:
    """Fields of two sources of one of these types."""
    return layout(
        address("dst"),
        address("src0"),
        address("src1"),
        dtype_field(dtypes),
        *counts(),
        *strides("dst", "src0", "src1"),
        *mask_fields(),
    )


class Binary(Lanewise):
    """Base of `dst = src0 op src1`."""

    sources = ("src0", "src1")
    group = "pair"
    fields = binary_fields(NUMBERS)


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
    fields = binary_fields(FLOATS)
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


def unary_fields(dtypes: tuple[str, ...]) -> tuple[Field, ...]:
    """Fields of one source of one of these types."""
    return layout(
        address("dst"),
        address("src0"),
        dtype_field(dtypes),
        *counts(),
        *strides("dst", "src0"),
        *mask_fields(),
    )


class Unary(Lanewise):
    """Base of `dst = op(src0)`."""

    sources = ("src0",)
    group = "single"
    fields = unary_fields(FLOATS)


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
    fields = unary_fields(("f32", "f16", "i32"))
    kernel = staticmethod(elementwise.relu)


class VCopy(Unary):
    """`dst = src0`, lane by lane."""

    opcode = 0x140
    mnemonic = "vcopy"
    restates = "Copy VECIN to VECOUT: 16- and 32-bit elements; " + LIMITS
    fields = unary_fields(ANY)

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """The source."""
        del o
        return sources[0]


def immediate_fields(dtypes: tuple[str, ...]) -> tuple[Field, ...]:
    """Fields of a source of one of these types and a scalar."""
    return layout(
        address("dst"),
        address("src0"),
        Field("scalar", "f32"),
        dtype_field(dtypes),
        *counts(),
        *strides("dst", "src0"),
        *mask_fields(),
    )


class Immediate(Lanewise):
    """Base of `dst = src0 op scalar`; the scalar is rounded to the element type first."""

    sources = ("src0",)
    group = "single"
    fields = immediate_fields(NUMBERS)

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
        address("dst"),
        Field("scalar", "f32"),
        dtype_field(NUMBERS),
        *counts(),
        *strides("dst"),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """The scalar."""
        del sources
        return scalar_of(o)


class VDupR(Lanewise):
    """`dst` = the low bits of `value`, as many as an element has, in every active lane."""

    opcode = 0x144
    mnemonic = "vdupr"
    restates = "Duplicate of a scalar that is in a register: 16- and 32-bit elements; " + LIMITS
    sources = ()
    group = "single"
    fields = layout(
        address("dst"),
        Field("value", "ri", 32, min=-(1 << 31), wide=True),
        dtype_field((*NUMBERS, "bf16")),
        *counts(),
        *strides("dst"),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """The bits."""
        del sources
        return low_bits(o.value, o.dtype)
