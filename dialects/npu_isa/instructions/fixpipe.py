"""The drain of parts that have a pipe of its own for it: from L0C to GM, L1 and UB, on FIX."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize
from ...core.kernels.rescale import Rescaling, rescale
from ...target import costs
from ...target.costs import BLOCK, FRACTAL, RESIDENT, Cycles, Traffic, ceil_div
from ..effects import Space
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .atomics import (
    ATOMIC,
    ATOMIC_DTYPES,
    Update,
    atomic_features,
    atomic_kind,
    replace,
    update_of,
)
from .fractals import MAX_EXTENT, ROW_BYTES
from .results import (
    ACCUMULATOR,
    OFFSET_BITS,
    WORD_BYTES,
    block_footprints,
    by_blocks,
    parameters,
    put_blocks,
    put_rows,
    source_away,
    take,
)

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Array, Core, Memory

SLOPES_AT = 2048
"""Where the slopes of the channels lie, from their scales on: FB1 comes after the 2 KiB of FB0."""
_SLOPE_BYTES = 4
_KEPT = {("f32", "f32"), ("f32", "f16"), ("f32", "bf16"), ("i32", "i32")}
_SCALED = {("f32", "i8"), ("f32", "ui8"), ("i32", "f16"), ("i32", "i8"), ("i32", "ui8")}

_OPERANDS = (
    Field("src", "addr", space="l0c", align=ROW_BYTES),
    Field("src_dtype", "imm", 1, enum=("f32", "i32")),
    Field("dtype", "imm", 3, enum=("f32", "f16", "bf16", "i32", "i8", "ui8")),
    Field("m", "ri", 12, max=MAX_EXTENT),
    Field("n", "ri", 12, max=MAX_EXTENT),
    Field("src_stride", "imm", 16, unit="rows", default=0),
    Field("dst_stride", "imm", 24, unit="elements (nd) or 32 bytes (nz)", min=1),
)
_LAYOUT = Field("layout", "imm", 1, enum=("nd", "nz"), default="nd")
_CONVERSION = (
    Field("quant", "imm", 2, enum=("none", "tensor", "channel"), default="none"),
    Field("scale", "f32", default=0.0),
    Field("offset", "imm", OFFSET_BITS, min=-(1 << (OFFSET_BITS - 1)), default=0),
    Field("clamp", "imm", 2, enum=("none", "relu", "leaky", "prelu"), default="none"),
    Field("slope", "f32", default=0.0),
    Field("params", "addr", 13, space="fb", align=64, default=0),
)


class Fixpipe(Instruction):
    """Base of the drains on FIX."""

    pipe = "FIX"
    space: ClassVar[Space]
    """Where it drains to."""

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The types have such a conversion, its operands are given, and nothing overlaps."""
        return _conversion_fault(o) or cls._overlap(o)

    @classmethod
    def _overlap(cls, o: Operands) -> str | None:
        if o.m is None or o.n is None or o.m <= 1:
            return None
        if cls.by_rows(o):
            return (
                f"dst_stride = {o.dst_stride} is less than n = {o.n}"
                if o.dst_stride < o.n
                else None
            )
        if o.n > BLOCK // itemsize(o.dtype) and o.dst_stride < o.m:
            return f"dst_stride = {o.dst_stride} is less than m = {o.m}"
        return None

    @classmethod
    def by_rows(cls, o: Operands) -> bool:
        """Whether the result is stored row by row, not in fractals."""
        return o.layout == "nd"

    @classmethod
    def channels(cls, o: Operands) -> int:
        """Columns that move: those of whole blocks unless stored row by row."""
        return o.n if cls.by_rows(o) else ceil_div(o.n, FRACTAL) * FRACTAL

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """m rows of the columns that move, their parameters, and what is written."""
        del machine
        if not (o.m and o.n):
            return ()
        columns = cls.channels(o)
        source = block_footprints("l0c", o.m, columns, FRACTAL, ACCUMULATOR, source_away(o))
        accesses = [Access("src", "r", shape) for shape in source]
        if o.quant == "channel":
            words = Footprint("fb", 0, columns * WORD_BYTES)
            accesses.append(Access("params", "r", words))
        if o.clamp == "prelu":
            slopes = Footprint("fb", SLOPES_AT, columns * _SLOPE_BYTES)
            accesses.append(Access("params", "r", slopes))
        return (*accesses, *(Access("dst", "w", shape) for shape in cls.written(o)))

    @classmethod
    def written(cls, o: Operands) -> tuple[Footprint, ...]:
        """What is written, relative to `dst`."""
        size = itemsize(o.dtype)
        if cls.by_rows(o):
            return (Footprint(cls.space, 0, o.n * size, o.m, o.dst_stride * size),)
        width, away = BLOCK // size, o.dst_stride * BLOCK
        return block_footprints(cls.space, o.m, cls.channels(o), width, size, away)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Scale, clamp and round, then store."""
        cls.store(core, o, replace)

    @classmethod
    def store(cls, core: Core, o: Operands, update: Update) -> None:
        """Scale, clamp and round, then put the results in place by `update`."""
        if o.m <= 0 or o.n <= 0:
            return
        memory: Memory = getattr(core, cls.space)
        results = rescale(take(core.l0c, o, o.src_dtype), _how(core, o, cls.channels(o)))
        if cls.by_rows(o):
            put_rows(memory, o.dst, results, o.n, o.dst_stride * results.itemsize, update)
        else:
            width, away = BLOCK // results.itemsize, o.dst_stride * BLOCK
            put_blocks(memory, o.dst, results, width, away, update)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Elements at the path's rate for 16-bit ones."""
        del traffic
        path = "l0c_l1" if cls.space == "l1" else "l0c_ub"
        return costs.local_move(machine, path, cls.channels(o) * o.m * 2)


class FixpipeL0cGm(Fixpipe):
    """Move an m x n result from L0C to GM: scale, clamp, convert, lay out in rows or fractals.

    L0C holds `[ceil(n / 16)][src_stride][16]` of type `src_dtype`, m padded to 16 rows apart when
    `src_stride` is 0.  With layout `nd`, m rows of n elements are written, `dst_stride` elements
    apart; with `nz`, blocks of 32 bytes, `[blocks][dst_stride][32 bytes]`: n rounded up to 16
    columns, 8 columns a block for 4-byte results, 32 for 1-byte ones, the last then half used.

    With `quant` the result is x as f32 times a scale (low 13 bits not counted): `scale`, or for
    `channel` that of word j at `params` for column j, with its offset (bits 0..31 the scale, bits
    37..45 the offset).  `clamp` is max(x, 0), or x times `slope` where negative, or times the f32
    of column j at `params` + 2048.  Scaled results become f16, saturated, or the nearest integer
    plus the offset, saturated; the others are converted once.  `atomic` combines with what is in
    GM.
    """

    opcode = 0x090
    mnemonic = "fixpipe_l0c_gm"
    feature = "fixpipe"
    space = "gm"
    restates = (
        "Fixpipe CO1 to GM with FixpipeParamsV220: quantPre NoQuant, F322F16, F322BF16, DEQF16, "
        "VDEQF16, QF322B8_PRE, VQF322B8_PRE, REQ8, VREQ8; reluEn, leaky and per-channel relu; "
        "NZ2ND, channel split and merge; n <= 4095; SetAtomicAdd, SetAtomicMax, SetAtomicMin.  One "
        "matrix (ndNum 1), no unit flags.  It has no bias of its own: products start from it."
    )
    fields = layout(Field("dst", "addr", space="gm"), *_OPERANDS, _LAYOUT, *_CONVERSION, ATOMIC)

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """The drain, and those of atomic stores."""
        return ("fixpipe", *atomic_features(o.atomic, o.dtype))

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """As every drain; atomic stores have types of their own."""
        if o.atomic != "none" and o.dtype not in ATOMIC_DTYPES:
            return f"atomic stores do not take {o.dtype}"
        return super().constraint(o)

    @classmethod
    def atomic(cls, o: Operands) -> str | None:
        """The mode and type of an atomic store."""
        return atomic_kind(o.atomic, o.dtype)

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """As every drain; an atomic store also reads what it writes."""
        accesses = super().footprints(o, machine)
        if o.atomic == "none":
            return accesses
        return (*accesses, *(a._replace(mode="r") for a in accesses if a.mode == "w"))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Scale, clamp and round, then store or combine."""
        cls.store(core, o, update_of(o.atomic))

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; rows off the burst boundary cost the path's factor."""
        size = itemsize(o.dtype)
        run = (
            (o.m, o.n * size, o.dst_stride * size)
            if cls.by_rows(o)
            else (ceil_div(cls.channels(o) * size, BLOCK), o.m * BLOCK, o.dst_stride * BLOCK)
        )
        aligned = costs.is_aligned(machine, o.dst, *run)
        return costs.gm_move(machine, "l0c_gm", *run, aligned=aligned, traffic=traffic)


class FixpipeL0cUb(Fixpipe):
    """Move an m x n result from L0C to UB; as `fixpipe_l0c_gm`, without atomic stores."""

    opcode = 0x091
    mnemonic = "fixpipe_l0c_ub"
    feature = "fixpipe_ub"
    space = "ub"
    restates = "Fixpipe CO1 to UB with FixpipeParamsM300: as to GM; without two destinations."
    fields = layout(
        Field("dst", "addr", space="ub", align=BLOCK), *_OPERANDS, _LAYOUT, *_CONVERSION
    )

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """As every drain; rows start on blocks."""
        row = o.dst_stride * itemsize(o.dtype)
        if cls.by_rows(o) and row % BLOCK:
            return f"rows {row} bytes apart are not a multiple of {BLOCK} bytes apart"
        return super().constraint(o)


class FixpipeL0cL1(Fixpipe):
    """Move an m x n result from L0C to L1, in fractals; as `fixpipe_l0c_gm` with layout `nz`."""

    opcode = 0x092
    mnemonic = "fixpipe_l0c_l1"
    feature = "fixpipe"
    space = "l1"
    restates = "Fixpipe CO1 to A1 with FixpipeParamsV220: as to GM, fractals only."
    fields = layout(Field("dst", "addr", space="l1", align=BLOCK), *_OPERANDS, *_CONVERSION)

    @classmethod
    def by_rows(cls, o: Operands) -> bool:
        """Never."""
        del o
        return False


def _conversion_fault(o: Operands) -> str | None:
    """What is wrong with the types and the operands of the conversion."""
    pair, name = (o.src_dtype, o.dtype), f"{o.src_dtype} to {o.dtype}"
    if o.quant == "none" and pair not in _KEPT:
        return f"{name} needs a scale" if pair in _SCALED else f"there is no drain of {name}"
    if o.quant != "none" and pair not in _SCALED:
        return f"{name} takes no scale"
    if (o.quant == "tensor") != (o.scale != 0):
        return f"quant = {o.quant} with scale = {o.scale}"
    if o.offset and not (o.quant == "tensor" and itemsize(o.dtype) == 1):
        return f"offset = {o.offset} goes with quant = tensor and 8-bit results"
    if o.dtype == "i32" and o.clamp not in ("none", "relu"):
        return f"clamp = {o.clamp} does not go with i32 results"
    if o.slope and o.clamp != "leaky":
        return f"slope = {o.slope} goes with clamp = leaky"
    return None


def _how(core: Core, o: Operands, channels: int) -> Rescaling:
    """The conversion, its parameters read."""
    scale: Array | None = None
    offset: Array | int = 0
    slope: Array | float = 0.0
    if o.quant == "tensor":
        scale, offset = np.array(o.scale, np.float32), o.offset
    elif o.quant == "channel":
        scale, offset = parameters(core.fb, o.params, channels)
    if o.clamp == "prelu":
        slopes = core.fb.flat(o.params + SLOPES_AT, channels, np.dtype(np.float32))
        slope = by_blocks(slopes)
    elif o.clamp == "leaky":
        slope = o.slope
    return Rescaling(o.dtype, scale, offset, o.clamp, slope)
