"""16-bit floats as f32."""

import numpy as np
import pytest

from npuc.dialects.core.dtypes import BFLOAT16, Array
from npuc.dialects.core.kernels.widen import widen

CODES = np.arange(1 << 16, dtype=np.uint16)


def same_bits(a: Array, b: Array) -> None:
    np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16])
def test_every_code(dtype: np.dtype[np.generic]) -> None:
    codes = CODES.view(dtype)
    finite = codes[np.isfinite(codes.astype(np.float32))]
    same_bits(widen(finite), finite.astype(np.float32))
    for some in (codes, codes[-1000:]):
        np.testing.assert_array_equal(widen(some), some.astype(np.float32))


def test_strides_and_shapes() -> None:
    x = np.arange(6 * 40 * 50, dtype=np.float16).reshape(6, 40, 50)
    for view in (x.transpose(2, 0, 1), x[:, ::2], x[:, :0], x.astype(np.float32).transpose()):
        wide = widen(view)
        assert wide.flags.c_contiguous
        assert wide.dtype == np.float32
        np.testing.assert_array_equal(wide, view)


def test_the_source_is_not_changed() -> None:
    x = np.full(10_000, -2.0, np.float16)
    x[3] = np.inf
    widen(x)
    assert x[2:5].tolist() == [-2.0, np.inf, -2.0]
