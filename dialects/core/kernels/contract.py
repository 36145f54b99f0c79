"""Matrix products: floats in f32 by BLAS, integers exactly in i32.

One call is one product of exactly its own m, k and n: products are never padded, merged or
concatenated, because BLAS sums in an order that depends on the shape of the call.
"""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from .elementwise import add

_F32 = np.dtype(np.float32)
_F64 = np.dtype(np.float64)
_I32 = np.dtype(np.int32)
_F32_EXACT = 1 << 24
_F64_EXACT = 1 << 53


def matmul(a: Array, b: Array) -> Array:
    """a [..., m, k] times b [..., k, n], the leading dimensions broadcast.

    f32, f16 and bf16 give f32, f64 gives f64, integers (also mixed signs) give i32 and wrap.
    """
    with np.errstate(all="ignore"):
        if a.dtype.kind in "iu":
            return _integer_product(a, b)
        wide = _F64 if a.dtype == _F64 else _F32
        # BLAS sums transposed operands in another order: always hand it row-major ones.
        left = np.ascontiguousarray(a, dtype=wide)
        right = np.ascontiguousarray(b, dtype=wide)
        return np.matmul(left, right)


def mmad(accumulator: Array, a: Array, b: Array, accumulate: bool) -> Array:
    """One product a [m, k] times b [k, n], then one addition of `accumulator` if `accumulate`.

    Element types as `matmul`; the accumulator is like the product, not modified, nor
    read unless `accumulate`.
    """
    product = matmul(a, b)
    return add(accumulator, product) if accumulate else product


def _magnitude_bits(x: Array) -> int:
    return 8 * x.dtype.itemsize - (x.dtype.kind == "i")


def _integer_product(a: Array, b: Array) -> Array:
    # A float product is exact as long as no partial sum leaves the mantissa.
    bound = a.shape[-1] << (_magnitude_bits(a) + _magnitude_bits(b))
    wide = _F32 if bound <= _F32_EXACT else _F64 if bound <= _F64_EXACT else np.dtype(np.int64)
    product = np.matmul(a.astype(wide), b.astype(wide))
    return product.astype(np.int64).astype(_I32)
