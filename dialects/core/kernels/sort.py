"""Orders of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..dtypes import Array

Indices = npt.NDArray[np.intp]


def descending(scores: Array) -> Indices:
    """Indices that put float scores (any float type, [..., n]) in order over the last axis.

    NaN comes first, then the largest; equal scores, zeros of either sign among them, stay in the
    order they are in.
    """
    wide: Any = scores.astype(np.float32)
    missing = np.isnan(wide)
    return np.lexsort((np.where(missing, np.float32(0), -wide), ~missing), axis=-1)


def is_descending(scores: Array) -> bool:
    """Whether scores [..., n] are in the order that `descending` makes, over the last axis."""
    wide: Any = scores.astype(np.float32)
    before, after = wide[..., :-1], wide[..., 1:]
    return bool(np.all(np.isnan(before) | (before >= after)))
