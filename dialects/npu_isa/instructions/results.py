"""Results in L0C on their way out, for every drain: where they lie and what scales them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dtypes import to_numpy
from ...target.costs import FRACTAL, ceil_div
from ..effects import Footprint, Space
from ..memory import Array, Memory
from ..spec import Operands
from .atomics import Update, replace
from .fractals import ROW_BYTES

ACCUMULATOR = 4
"""Bytes of an accumulator."""
WORD_BYTES = 8
"""Bytes of the parameters of one channel."""
OFFSET_BITS = 9
"""Bits of the offset of integer results, which is signed."""
_OFFSET_AT = np.uint64(37)
_LOW = np.uint64(0xFFFFFFFF)


def source_footprint(o: Operands) -> Footprint:
    """m rows of each block column in L0C, relative to `src`."""
    return Footprint("l0c", 0, o.m * ROW_BYTES, ceil_div(o.n, FRACTAL), source_away(o))


def take(l0c: Memory, o: Operands, dtype: str) -> Array:
    """The m x n result, [ceil(n / 16), m, 16]."""
    kind = to_numpy(dtype)
    shape = (ceil_div(o.n, FRACTAL), o.m, FRACTAL)
    return l0c.view(o.src, shape, (source_away(o), ROW_BYTES, kind.itemsize), kind)


def source_away(o: Operands) -> int:
    """Bytes from one block column in L0C to the next."""
    return (o.src_stride or ceil_div(o.m, FRACTAL) * FRACTAL) * ROW_BYTES


def block_footprints(
    space: Space, m: int, columns: int, width: int, itemsize: int, away: int
) -> tuple[Footprint, ...]:
    """m rows and so many columns of blocks of `width` columns, `away` bytes apart."""
    row = width * itemsize
    whole, rest = divmod(columns, width)
    found: list[Footprint] = []
    if whole:
        found.append(Footprint(space, 0, m * row, whole, away))
    if rest:
        found.append(Footprint(space, whole * away, rest * itemsize, m, row))
    return tuple(found)


def put_blocks(
    memory: Memory, start: int, blocks: Array, width: int, away: int, update: Update = replace
) -> None:
    """Store a matrix [columns, m, 16] as blocks of 8, 16 or 32 columns, `away` bytes apart."""
    columns, m, _ = blocks.shape
    dtype: np.dtype[Any] = blocks.dtype
    size = dtype.itemsize
    if width < FRACTAL:
        parts = FRACTAL // width
        split = blocks.reshape(columns, m, parts, width).transpose(0, 2, 1, 3)
        strides = (parts * away, away, width * size, size)
        update(memory.view(start, (columns, parts, m, width), strides, dtype), split)
        return
    parts = width // FRACTAL
    for part in range(min(parts, columns)):
        own = blocks[part::parts]
        place = start + part * FRACTAL * size
        update(memory.view(place, own.shape, (away, width * size, size), dtype), own)


def put_rows(
    memory: Memory, start: int, blocks: Array, n: int, pitch: int, update: Update = replace
) -> None:
    """Store the first n columns of a matrix [columns, m, 16] row by row, `pitch` bytes apart."""
    m, size = blocks.shape[1], blocks.dtype.itemsize
    whole, rest = divmod(n, FRACTAL)
    if whole:
        strides = (FRACTAL * size, pitch, size)
        update(memory.view(start, (whole, m, FRACTAL), strides, blocks.dtype), blocks[:whole])
    if rest:
        place = start + whole * FRACTAL * size
        target = memory.view(place, (m, rest), (pitch, size), blocks.dtype)
        update(target, blocks[whole, :, :rest])


def parameters(memory: Memory, start: int, channels: int) -> tuple[Array, Array]:
    """Scale (f32) and offset (i64) of each channel, from words of 8 bytes, as
    [ceil(channels / 16), 1, 16].

    Bits 0..31 are the scale, bits 37..45 the signed offset; the others are ignored.
    """
    words = by_blocks(memory.flat(start, channels, np.dtype(np.uint64)))
    scale = (words & _LOW).astype(np.uint32).view(np.float32)
    raw = (words >> _OFFSET_AT).astype(np.int64) & ((1 << OFFSET_BITS) - 1)
    half = 1 << (OFFSET_BITS - 1)
    return scale, (raw ^ half) - half


def by_blocks(channels: Array) -> Array:
    """A number for each channel as [ceil(channels / 16), 1, 16], zeros after the last."""
    padded = np.zeros(ceil_div(len(channels), FRACTAL) * FRACTAL, channels.dtype)
    padded[: len(channels)] = channels
    return padded.reshape(-1, 1, FRACTAL)
