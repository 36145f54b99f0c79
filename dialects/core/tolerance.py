"""The one rule for comparing results, used by every check and every test.

The error of a tensor is max|got - ref| / (max|ref| + tiny). It may reach 1e-4 for precision
`origin`, 2e-2 for `mixed` and 4e-2 for `f16`; integers and bools are exact; NaN and infinities
stand in the same places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .dtypes import Array, from_numpy, is_float
from .errors import InputError

LIMITS: dict[str, float] = {"origin": 1e-4, "mixed": 2e-2, "f16": 4e-2}
"""The largest error allowed for each precision policy."""

_TINY = 1e-30


@dataclass(frozen=True)
class Comparison:
    """How far `got` is from `ref`: errors are 0 for equal tensors, inf where none can be given."""

    ok: bool
    max_abs: float
    max_rel: float
    """max_abs / (max|ref| + tiny): the error that is compared with the limit."""
    limit: float
    worst: tuple[int, ...] | None
    """Index of the element that differs most or breaks a pattern; None for equal tensors."""
    why: str | None
    """What is wrong, with the two values; None if `ok`."""


def compare(
    got: Array, ref: Array, precision: str, *, elementwise: float | None = None
) -> Comparison:
    """Compare a result with its reference (any equal shapes) by the limit of `precision`.

    Floats are compared in f64 whatever their types. `elementwise`, where a suite asks for it, also
    bounds |got - ref| / |ref| for every element, with an absolute slack of the same share of
    max|ref| * 1e-3. Raises `InputError` for an unknown precision.
    """
    if precision not in LIMITS:
        raise InputError(
            f"`{precision}` is not a precision", hint=f"use one of {', '.join(LIMITS)}"
        )
    exact = not (is_float(from_numpy(got.dtype)) and is_float(from_numpy(ref.dtype)))
    limit = 0.0 if exact else LIMITS[precision]
    if got.shape != ref.shape:
        why = f"shape {list(got.shape)}, expected {list(ref.shape)}"
        return Comparison(False, np.inf, np.inf, limit, None, why)
    if exact:
        return _exact(got, ref)
    return _close(got.astype(np.float64), ref.astype(np.float64), limit, elementwise)


def _exact(got: Array, ref: Array) -> Comparison:
    different = np.asarray(got != ref)
    if not different.any():
        return Comparison(True, 0.0, 0.0, 0.0, None, None)
    worst = _first(different)
    gap = np.abs(got.astype(np.float64) - ref.astype(np.float64))
    top = float(np.max(np.abs(ref.astype(np.float64))))
    why = f"{got[worst]}, expected exactly {ref[worst]}"
    biggest = float(np.max(gap))
    return Comparison(False, biggest, biggest / (top + _TINY), 0.0, worst, why)


def _close(got: Array, ref: Array, limit: float, elementwise: float | None) -> Comparison:
    finite = np.isfinite(ref)
    pattern = ~((got == ref) | (np.isnan(got) & np.isnan(ref)) | (finite & np.isfinite(got)))
    if pattern.any():
        worst = _first(pattern)
        why = f"{got[worst]}, expected {ref[worst]}"
        return Comparison(False, np.inf, np.inf, limit, worst, why)
    gap = np.where(finite, np.abs(np.where(finite, got, 0.0) - np.where(finite, ref, 0.0)), 0.0)
    size = np.abs(np.where(finite, ref, 0.0))
    top, max_abs = float(size.max(initial=0.0)), float(gap.max(initial=0.0))
    max_rel = max_abs / (top + _TINY)
    worst = _index(int(gap.argmax()), gap.shape) if max_abs > 0.0 else None
    why = None
    if max_rel > limit and worst is not None:
        why = f"error {max_rel:.3g} above {limit:.3g}: {got[worst]}, expected {ref[worst]}"
    elif elementwise is not None and (over := gap > elementwise * (size + top * 1e-3)).any():
        worst = _first(over)
        why = f"{got[worst]}, expected {ref[worst]} within a relative {elementwise:.3g}"
    return Comparison(why is None, max_abs, max_rel, limit, worst, why)


def _first(mask: Array) -> tuple[int, ...]:
    return _index(int(np.argmax(mask)), mask.shape)


def _index(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape))
