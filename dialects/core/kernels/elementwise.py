"""Elementwise arithmetic with exact element types.

Operands have one element type and shapes that broadcast; the result has the same element type. f16
and bf16 are computed in f32 and rounded once; integers wrap. NaN passes through everything, maxima
included.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from ..dtypes import BFLOAT16, Array
from ..errors import ExecutionError

_HALVES = frozenset((np.dtype(np.float16), BFLOAT16))
_F32 = np.dtype(np.float32)

Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]


def _unary(function: Unary) -> Unary:
    """Round once from f32 for 16-bit floats, without numpy's warnings."""

    @wraps(function)
    def kernel(x: Array) -> Array:
        with np.errstate(all="ignore"):
            dtype = x.dtype
            if dtype in _HALVES:
                return function(x.astype(_F32)).astype(dtype)
            return function(x)

    return kernel


def _binary(function: Binary) -> Binary:
    """As `_unary`, for two operands of the same element type."""

    @wraps(function)
    def kernel(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            dtype = a.dtype
            if dtype in _HALVES:
                return function(a.astype(_F32), b.astype(_F32)).astype(dtype)
            return function(a, b)

    return kernel


@_binary
def add(a: Array, b: Array) -> Array:
    """a + b."""
    return np.add(a, b)


@_binary
def sub(a: Array, b: Array) -> Array:
    """a - b."""
    return np.subtract(a, b)


@_binary
def mul(a: Array, b: Array) -> Array:
    """a * b."""
    return np.multiply(a, b)


@_binary
def div(a: Array, b: Array) -> Array:
    """a / b; integers truncate towards zero and raise `ExecutionError` for a zero divisor."""
    if a.dtype.kind in "iu":
        return _divide_integers(a, b)
    return np.divide(a, b)


@_binary
def rem(a: Array, b: Array) -> Array:
    """The remainder of `div`, with the sign of `a`; `ExecutionError` for a zero integer divisor."""
    if a.dtype.kind in "iu":
        return np.subtract(a, np.multiply(_divide_integers(a, b), b))
    return np.fmod(a, b)


@_binary
def floor_div(a: Array, b: Array) -> Array:
    """Integer quotient rounded towards minus infinity; `ExecutionError` for a zero divisor."""
    _refuse_zero(b)
    return np.floor_divide(a, b)


@_binary
def ceil_div(a: Array, b: Array) -> Array:
    """Integer quotient rounded towards plus infinity; `ExecutionError` for a zero divisor."""
    _refuse_zero(b)
    quotient = np.floor_divide(a, b)
    inexact = np.not_equal(np.multiply(quotient, b), a)
    return np.add(quotient, inexact.astype(quotient.dtype))


def _divide_integers(a: Array, b: Array) -> Array:
    _refuse_zero(b)
    quotient = np.floor_divide(a, b)
    inexact = np.not_equal(np.multiply(quotient, b), a)
    negative = np.less(a, 0) != np.less(b, 0)
    return np.add(quotient, (inexact & negative).astype(quotient.dtype))


def _refuse_zero(divisor: Array) -> None:
    if not np.all(divisor):
        raise ExecutionError("integer division by zero", hint="guard the divisor in the model")


@_binary
def maximum(a: Array, b: Array) -> Array:
    """The larger; NaN if either is NaN."""
    return np.maximum(a, b)


@_binary
def minimum(a: Array, b: Array) -> Array:
    """The smaller; NaN if either is NaN."""
    return np.minimum(a, b)


@_binary
def power(a: Array, b: Array) -> Array:
    """a to the power of b."""
    return np.power(a, b)


@_unary
def exp(x: Array) -> Array:
    """e to the power of x."""
    return np.exp(x)


@_unary
def ln(x: Array) -> Array:
    """The natural logarithm; NaN below zero, minus infinity at zero."""
    return np.log(x)


@_unary
def sqrt(x: Array) -> Array:
    """The square root; NaN below zero."""
    return np.sqrt(x)


@_unary
def rsqrt(x: Array) -> Array:
    """1 / sqrt(x), rounded after each of the two operations in the computing type."""
    return np.divide(x.dtype.type(1), np.sqrt(x))


@_unary
def rec(x: Array) -> Array:
    """1 / x."""
    return np.divide(x.dtype.type(1), x)


@_unary
def absolute(x: Array) -> Array:
    """The magnitude; the smallest integer of a type wraps to itself."""
    return np.absolute(x)


@_unary
def neg(x: Array) -> Array:
    """-x, also for zeros and NaN; integers wrap."""
    return np.negative(x)


@_unary
def relu(x: Array) -> Array:
    """max(x, 0), NaN for NaN."""
    return np.maximum(x, x.dtype.type(0))


@_unary
def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return np.tanh(x)


@_unary
def erf(x: Array) -> Array:
    """The error function, within 2 ULP of f32 and 1e-14 of f64.

    A Taylor series of degree 8 around the nearest of 2**-6 spaced points, all in f64.
    """
    points, coefficients = _erf_table()
    wide = np.clip(np.abs(x.astype(np.float64)), 0.0, _ERF_END)
    near = np.rint(np.nan_to_num(wide) * _ERF_POINTS_PER_UNIT).astype(np.intp)
    step = wide - points[near]
    total = coefficients[-1][near]
    for coefficient in coefficients[-2::-1]:
        total = total * step + coefficient[near]
    return np.copysign(total, x.astype(np.float64)).astype(x.dtype)


_ERF_END = 6.0  # erf(6) is 1 - 2e-17, which is 1 in f64
_ERF_POINTS_PER_UNIT = 64
_ERF_DEGREE = 8


@lru_cache(maxsize=1)
def _erf_table() -> tuple[Array, list[Array]]:
    """Expansion points on [0, 6] and, per power, the Taylor coefficient of erf at each of them."""
    from math import erf as scalar_erf  # only ever needed for the table

    count = int(_ERF_END) * _ERF_POINTS_PER_UNIT + 1
    points: Array = np.arange(count) / _ERF_POINTS_PER_UNIT
    slope = 2.0 / np.sqrt(np.pi) * np.exp(-points * points)
    # The n-th derivative of exp(-x*x) is (-1)**n * H_n(x) * exp(-x*x) with Hermite polynomials H_n.
    before, hermite = np.zeros(count), np.ones(count)
    coefficients: list[Any] = [np.array([scalar_erf(p) for p in points])]
    factor = 1.0
    for n in range(_ERF_DEGREE):
        factor /= n + 1
        coefficients.append((-1) ** n * hermite * slope * factor)
        before, hermite = hermite, 2.0 * points * hermite - 2.0 * n * before
    return points, coefficients
