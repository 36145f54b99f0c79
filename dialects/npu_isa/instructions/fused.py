"""Vector instructions that do two things: multiply and add, or end in a relu."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...core.kernels import fused
from ...core.kernels.cast import cast
from ..memory import Array
from ..spec import Field, Operands, layout
from .lanewise import FLOATS, LIMITS, Lanewise, address, counts, dtype_field, strides
from .masks import mask_fields
from .vector import Binary, Immediate, binary_fields, immediate_fields

_TYPES = "f16, f32; "
_MIXED = "f16, f32, and f16 sources with an f32 destination; "


class VAddRelu(Binary):
    """`dst = max(src0 + src1, 0)`; NaN stays NaN, integers saturate."""

    opcode = 0x116
    mnemonic = "vaddrelu"
    restates = "AddRelu: f16, f32, s16; " + LIMITS
    fields = binary_fields((*FLOATS, "i16"))
    kernel = staticmethod(fused.add_relu)


class VSubRelu(Binary):
    """`dst = max(src0 - src1, 0)`; NaN stays NaN, integers saturate."""

    opcode = 0x117
    mnemonic = "vsubrelu"
    restates = "SubRelu: f16, f32, s16; " + LIMITS
    fields = binary_fields((*FLOATS, "i16"))
    kernel = staticmethod(fused.sub_relu)


class VMadd(Binary):
    """`dst = src0 * dst + src1`, rounded after each operation (f16 is computed in f32)."""

    opcode = 0x11B
    mnemonic = "vmadd"
    restates = "FusedMulAdd: " + _TYPES + LIMITS
    sources = ("src0", "src1", "dst")
    group = "multiply_add"
    fields = binary_fields(FLOATS)
    relu: ClassVar[bool] = False

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Multiply and add."""
        del o
        kernel = fused.multiply_add_relu if cls.relu else fused.multiply_add
        return kernel(sources[0], sources[2], sources[1])


class VMaddRelu(VMadd):
    """`dst = max(src0 * dst + src1, 0)`, as `vmadd`; NaN stays NaN."""

    opcode = 0x11C
    mnemonic = "vmaddrelu"
    restates = "FusedMulAddRelu: " + _TYPES + LIMITS
    relu = True


class Accumulation(Lanewise):
    """Base: adds to the destination, which may be wider than the sources."""

    @classmethod
    def types(cls, o: Operands, name: str) -> str:
        """`dtype` is the destination's."""
        return o.dtype if name == "dst" else o.src_dtype

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Sources are not wider than the destination."""
        if (o.src_dtype, o.dtype) == ("f32", "f16"):
            return "sources of f32 are wider than the destination of f16"
        return super().constraint(o)


class VMla(Accumulation):
    """`dst = src0 * src1 + dst`, rounded after each operation (f16 is computed in f32)."""

    opcode = 0x11A
    mnemonic = "vmla"
    restates = "MulAddDst: " + _MIXED + LIMITS
    sources = ("src0", "src1", "dst")
    group = "multiply_add"
    fields = layout(
        address("dst"),
        address("src0"),
        address("src1"),
        dtype_field(FLOATS),
        dtype_field(FLOATS, "src_dtype"),
        *counts(),
        *strides("dst", "src0", "src1"),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Multiply and add."""
        del o
        return fused.multiply_add(*sources)


class VAxpy(Accumulation):
    """`dst = src0 * scalar + dst`, as `vmla`; the scalar is rounded to the type of the source."""

    opcode = 0x137
    mnemonic = "vaxpy"
    restates = "Axpy: " + _MIXED + LIMITS
    sources = ("src0", "dst")
    group = "pair"
    fields = layout(
        address("dst"),
        address("src0"),
        Field("scalar", "f32"),
        dtype_field(FLOATS),
        dtype_field(FLOATS, "src_dtype"),
        *counts(),
        *strides("dst", "src0"),
        *mask_fields(),
    )

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Multiply and add."""
        scalar = cast(np.asarray(o.scalar, np.float32), o.src_dtype)
        return fused.multiply_add(sources[0], scalar, sources[1])


class VLrelu(Immediate):
    """`dst = src0`, or src0 * scalar where it is less than 0; NaN stays NaN."""

    opcode = 0x134
    mnemonic = "vlrelu"
    restates = "LeakyRelu: " + _TYPES + LIMITS
    fields = immediate_fields(FLOATS)
    kernel = staticmethod(fused.leaky_relu)


class VPrelu(Binary):
    """`dst = src0`, or src0 * src1 where it is less than 0; NaN stays NaN."""

    opcode = 0x11D
    mnemonic = "vprelu"
    feature = "vector_prelu"
    restates = "Prelu, published for 950: " + _TYPES + LIMITS
    fields = binary_fields(FLOATS)
    kernel = staticmethod(fused.leaky_relu)
