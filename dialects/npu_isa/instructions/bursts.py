"""Moves of runs of any number of bytes between GM and UB, with padding and atomic stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic, ceil_div
from ..effects import Effects, UndefinedUse
from ..spec import Access, Field, Footprint, Instruction, Operands, layout
from .atomics import ATOMIC, ATOMIC_DTYPES, atomic_features, atomic_kind, update_of
from .fractals import BITS
from .mte import MAX_BURSTS

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core, Memory

MAX_BURST_BYTES = (1 << 21) - 1
PAD_UNITS = ("b8", "b16", "b32")
"""Elements that pad a run, by their bits, in the order of their codes."""

_BLOCK = np.dtype((np.void, BLOCK))
_ZERO_BLOCK = np.void(bytes(BLOCK))
BURSTS = Field("nburst", "ri", 12, max=MAX_BURSTS, default=1)
_BYTES = Field("len", "ri", 21, unit="bytes", max=MAX_BURST_BYTES)


def byte_stride(name: str) -> Field:
    """Bytes in GM from run to run."""
    return Field(name, "imm", 32, unit="bytes", default=0)


def block_stride(name: str) -> Field:
    """Blocks on chip from run to run."""
    return Field(name, "imm", 16, unit="32 bytes", default=0)


def _round_up(value: int, step: int) -> int:
    return ceil_div(value, step) * step


class MovGmUb(Instruction):
    """Load `nburst` runs of `len` bytes from GM, `src_stride` bytes apart, into UB, `dst_stride`
    blocks of 32 bytes apart.

    Each run may get `left_pad` elements in front and `right_pad` behind it, of `pad_unit` and with
    the bits of `pad_value`.  The last block of each run is filled up with zeros.
    """

    opcode = 0x041
    mnemonic = "mov_gm_ub"
    pipe = "MTE2"
    moves = True
    restates = (
        "DataCopyPad GM to UB: blockCount <= 4095, blockLen < 2 MiB bytes, source gap in bytes, "
        "destination gap in 32-byte blocks, left and right padding of at most 32 bytes each with "
        "one value; what is left of the last block is undefined there, zeros here."
    )
    fields = layout(
        Field("dst", "addr", space="ub", align=BLOCK),
        Field("src", "addr", space="gm"),
        BURSTS,
        _BYTES,
        byte_stride("src_stride"),
        block_stride("dst_stride"),
        Field("pad_unit", "imm", 2, enum=PAD_UNITS, default="b8"),
        Field("left_pad", "imm", 6, unit="elements", max=BLOCK, default=0),
        Field("right_pad", "imm", 6, unit="elements", max=BLOCK, default=0),
        Field("pad_value", "ri", 32, unit="bits of an element", default=0, wide=True),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Runs that are not whole blocks, or padded, need padded copies."""
        return ("pad_copy",) if o.left_pad or o.right_pad else _pad_features(o)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Padding is no longer than a block; runs in UB do not overlap."""
        for name in ("left_pad", "right_pad"):
            size = getattr(o, name) * _pad_bytes(o)
            if size > BLOCK:
                return f"{name} = {getattr(o, name)} elements are {size} bytes, {BLOCK} at most"
        if o.nburst is None or o.len is None or o.nburst <= 1:
            return None
        size = _padded(o)
        if size <= o.dst_stride * BLOCK:
            return None
        what = "len" if size == o.len else "padding and len"
        return f"dst_stride = {o.dst_stride} blocks of 32 bytes is less than {what} = {size} bytes"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of GM read; whole blocks of UB written."""
        del machine
        blocks = _round_up(_padded(o), BLOCK) if o.len else 0
        stride = o.dst_stride * BLOCK
        return (
            Access("src", "r", Footprint("gm", 0, o.len, o.nburst, o.src_stride)),
            Access("dst", "w", Footprint("ub", 0, blocks, o.nburst, stride)),
        )

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy the runs and pad them; zero the rest of each last block."""
        count, size = o.nburst, o.len
        if count <= 0 or size <= 0:
            return
        stride, total = o.dst_stride * BLOCK, _padded(o)
        if total % BLOCK:
            last = total - total % BLOCK
            core.ub.view(o.dst + last, (count,), (stride,), _BLOCK)[...] = _ZERO_BLOCK
        start = o.dst + o.left_pad * _pad_bytes(o)
        if total != size:
            _pad(core.ub, o, o.dst, o.left_pad)
            _pad(core.ub, o, start + size, o.right_pad)
        run = np.dtype((np.void, size))
        source = core.gm.view(o.src, (count,), (o.src_stride,), run)
        core.ub.view(start, (count,), (stride,), run)[...] = source

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """Padding is defined, whatever it holds."""
        return super().follow(shadow, core, o.changed(pad_value=0), effects)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; runs off the burst boundary cost the path's factor."""
        return gm_cycles(machine, "gm_ub", o.src, (o.nburst, o.len, o.src_stride), traffic)


class MovUbGm(Instruction):
    """Store `nburst` runs of `len` bytes from UB, `src_stride` blocks of 32 bytes apart, to GM,
    `dst_stride` bytes apart.  Exactly `len` bytes of each run are written.

    With `atomic` the elements of `dtype` are added to what is in GM, or the larger or smaller one
    is kept, each in one step: 16-bit floats in f32 and rounded once, integers wrap, NaN wins.
    """

    opcode = 0x070
    mnemonic = "mov_ub_gm"
    pipe = "MTE3"
    restates = (
        "DataCopyPad UB to GM: blockCount <= 4095, blockLen < 2 MiB bytes, source gap in 32-byte "
        "blocks, destination gap in bytes; with SetAtomicAdd, SetAtomicMax or SetAtomicMin, as an "
        "operand here.  Whether integer sums wrap is not published."
    )
    fields = layout(
        Field("dst", "addr", space="gm"),
        Field("src", "addr", space="ub", align=BLOCK),
        BURSTS,
        _BYTES,
        byte_stride("dst_stride"),
        block_stride("src_stride"),
        ATOMIC,
        Field("dtype", "imm", 4, enum=ATOMIC_DTYPES, default=ATOMIC_DTYPES[0]),
    )

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Runs that are not whole blocks need padded copies; atomic stores those of their type."""
        return (*_pad_features(o), *atomic_features(o.atomic, o.dtype))

    @classmethod
    def atomic(cls, o: Operands) -> str | None:
        """The mode and type of an atomic store."""
        return atomic_kind(o.atomic, o.dtype)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """Runs in GM do not overlap, and hold whole elements."""
        if o.atomic == "none" and o.dtype != ATOMIC_DTYPES[0]:
            return f"dtype = {o.dtype} goes with an atomic store"
        if o.atomic != "none" and o.len is not None and o.len % itemsize(o.dtype):
            return f"len = {o.len} bytes are no whole number of {o.dtype}"
        if o.nburst is None or o.len is None or o.nburst <= 1 or o.len <= o.dst_stride:
            return None
        return f"dst_stride = {o.dst_stride} bytes is less than len = {o.len}"

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Runs of UB read, runs of GM written, and read when they are combined with."""
        del machine
        stride = o.src_stride * BLOCK
        target = Footprint("gm", 0, o.len, o.nburst, o.dst_stride)
        accesses = (
            Access("src", "r", Footprint("ub", 0, o.len, o.nburst, stride)),
            Access("dst", "w", target),
        )
        return accesses if o.atomic == "none" else (*accesses, Access("dst", "r", target))

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Copy or combine the runs."""
        count, size = o.nburst, o.len
        if count <= 0 or size <= 0:
            return
        if o.atomic != "none":
            dtype = to_numpy(o.dtype)
            shape, step = (count, size // dtype.itemsize), dtype.itemsize
            source = core.ub.view(o.src, shape, (o.src_stride * BLOCK, step), dtype)
            target = core.gm.view(o.dst, shape, (o.dst_stride, step), dtype)
            update_of(o.atomic)(target, source)
            return
        run = np.dtype((np.void, size))
        source = core.ub.view(o.src, (count,), (o.src_stride * BLOCK,), run)
        core.gm.view(o.dst, (count,), (o.dst_stride,), run)[...] = source

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """GM transfer; runs off the burst boundary cost the path's factor."""
        return gm_cycles(machine, "ub_gm", o.dst, (o.nburst, o.len, o.dst_stride), traffic)


def gm_cycles(
    machine: Machine, path: costs.GmPath, start: int, run: tuple[int, int, int], traffic: Traffic
) -> Cycles:
    """Cycles of a transfer of runs (count, bytes, bytes apart) that start at `start` in GM."""
    aligned = costs.is_aligned(machine, start, *run)
    return costs.gm_move(machine, path, *run, aligned=aligned, traffic=traffic)


def _pad_features(o: Operands) -> tuple[str, ...]:
    return ("pad_copy",) if o.len is None or o.len % BLOCK else ()


def _pad_bytes(o: Operands) -> int:
    """Bytes of an element that pads."""
    return 1 << PAD_UNITS.index(o.pad_unit)


def _padded(o: Operands) -> int:
    """Bytes of a run with its padding."""
    return o.len + (o.left_pad + o.right_pad) * _pad_bytes(o)


def _pad(ub: Memory, o: Operands, start: int, count: int) -> None:
    """Write `count` elements of padding at `start` of each run."""
    size = _pad_bytes(o)
    value = o.pad_value & ((1 << 8 * size) - 1)
    shape = (o.nburst, count)
    ub.view(start, shape, (o.dst_stride * BLOCK, size), BITS[size])[...] = value
