"""Which lanes of an elementwise instruction are active, beyond the first `mask` of each repeat.

* Bits (the published normal mode): lane i of a repeat is active if it is below `mask` and bit i of
  `lanes_low`, or bit i - 64 of `lanes_high` for i >= 64, is 1.  A register holds 64 of them; -1,
  the default, is all.  Lanes from 128 on, which only 8-bit elements have, need all.
* Counter mode: with `count_mode` = 1 the first `count` lanes of as many repeats as that takes are
  active; `mask` and `repeat` have no meaning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.kernels.compare import unpack_bits
from ..spec import Field, Operands
from .lanes import Flags

ALL = -1
"""All 64 lanes of a word of the mask."""
_WORD = 64
_COUNT_BITS = 14


class Part(NamedTuple):
    """Repeats that have the same number of active lanes: the first one, how many, the lanes."""

    first: int
    repeat: int
    mask: int


def mask_fields() -> tuple[Field, ...]:
    """The fields of an instruction whose lanes can be masked; they come last."""
    bits = [
        Field(name, "ri", 6, unit="a bit a lane", min=-31, max=30, default=ALL, bias=ALL, wide=True)
        for name in ("lanes_low", "lanes_high")
    ]
    mode = Field("count_mode", "imm", 1, default=0)
    return (*bits, mode, Field("count", "ri", _COUNT_BITS, unit="lanes", default=0))


def has_bits(o: Operands) -> bool:
    """Whether some of the first `mask` lanes may not be active; bits not known may be any."""
    return o.lanes_low != ALL or o.lanes_high != ALL


def active(o: Operands, mask: int) -> Flags:
    """Which of the first `mask` lanes of a repeat are active."""
    words = np.array([o.lanes_low, o.lanes_high], np.int64)
    flags = unpack_bits(words.view(np.uint8), 2 * _WORD)
    return flags[:mask]


def check_masks(o: Operands, lanes: int) -> str | None:
    """What is wrong with the mask of an instruction of `lanes` lanes a repeat, or None."""
    if not o.count_mode:
        if o.count:
            return f"count = {o.count} goes with count_mode = 1"
        if has_bits(o) and lanes > 2 * _WORD and (o.mask is None or o.mask > 2 * _WORD):
            return f"lanes_low and lanes_high mask {2 * _WORD} lanes, and mask = {o.mask}"
    elif has_bits(o):
        return "lanes_low and lanes_high go with count_mode = 0"
    return None


def counted(count: int, lanes: int) -> tuple[Part, ...]:
    """What runs in counter mode, of an instruction of `lanes` lanes a repeat: whole repeats and a
    rest."""
    whole, rest = divmod(count, lanes)
    both = (Part(0, whole, lanes), Part(whole, 1, rest))
    return tuple(part for part in both if part.repeat and part.mask)
