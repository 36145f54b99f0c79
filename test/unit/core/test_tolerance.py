"""The one rule for comparing results."""

import numpy as np
import pytest

from npuc.dialects.core.errors import InputError
from npuc.dialects.core.tolerance import LIMITS, compare

REF = np.array([[1.0, -4.0], [0.0, 2.0]], np.float32)


def test_equal_tensors_have_no_error() -> None:
    result = compare(REF, REF, "origin")
    assert result.ok
    assert (result.max_abs, result.max_rel, result.worst, result.why) == (0.0, 0.0, None, None)


@pytest.mark.parametrize(("precision", "limit"), LIMITS.items())
def test_the_error_is_relative_to_the_largest_reference(precision: str, limit: float) -> None:
    for factor, ok in ((0.9, True), (1.1, False)):
        got = REF.copy()
        got[1, 0] += 4.0 * limit * factor
        result = compare(got, REF, precision)
        assert result.ok is ok
        assert result.worst == (1, 0)
        assert result.max_rel == pytest.approx(limit * factor, rel=1e-4)
        assert (result.why is None) is ok


def test_types_may_differ_but_shapes_may_not() -> None:
    assert compare(REF.astype(np.float16), REF, "f16").ok
    result = compare(REF[0], REF, "f16")
    assert not result.ok
    assert result.why == "shape [2], expected [2, 2]"


def test_integers_and_bools_are_exact() -> None:
    ref = np.array([1, 2, 3], np.int32)
    assert compare(ref, ref, "f16").ok
    result = compare(np.array([1, 2, 4], np.int32), ref, "f16")
    assert (result.ok, result.worst, result.max_abs) == (False, (2,), 1.0)
    assert not compare(np.array([True]), np.array([False]), "f16").ok


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_patterns_of_nan_and_infinity_must_agree(special: float) -> None:
    ref = np.array([1.0, special], np.float32)
    assert compare(ref, ref, "origin").ok
    for other in (0.0, np.nan, np.inf, -np.inf):
        if not np.array_equal([other], [special], equal_nan=True):
            assert not compare(np.array([1.0, other], np.float32), ref, "origin").ok
            assert not compare(ref, np.array([1.0, other], np.float32), "origin").ok


def test_elementwise_bound_sees_small_elements() -> None:
    ref = np.array([1.0, 0.01], np.float32)
    got = np.array([1.0, 0.01005], np.float32)
    assert compare(got, ref, "origin").ok
    assert not compare(got, ref, "origin", elementwise=1e-3).ok


def test_empty_and_zero_tensors() -> None:
    assert compare(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32), "mixed").ok
    zero = np.zeros(3, np.float32)
    assert compare(zero, zero, "mixed").ok
    assert not compare(zero + 1e-3, zero, "mixed").ok


def test_unknown_precision_is_refused() -> None:
    with pytest.raises(InputError, match="`fast` is not a precision"):
        compare(REF, REF, "fast")
