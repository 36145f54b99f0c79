"""Conversions in every rounding, value by value against exact rational arithmetic."""

import math
from fractions import Fraction
from typing import get_args

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.errors import InputError
from npuc.dialects.core.kernels.cast import Rounding, cast, round_to_integer
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from scalar_values import NUMPY, array, convert, edges, round_fraction

VCONV = MNEMONICS["vconv"]
TYPES = tuple(NUMPY)
ROUNDINGS = get_args(Rounding)


def executed(mnemonic: str, values: Array, target: str, **fields: float | str) -> Array:
    """Convert a row of values with a repeat for each 64 of them."""
    core = BareCore()
    repeat = -(-len(values) // 64)
    core.put("ub", 0, values)
    after = np.dtype(NUMPY[target])
    execute(
        core, mnemonic, dst=16384, src0=0, dtype=target, mask=64, repeat=repeat,
        dst_rep_stride=2 * after.itemsize, src0_rep_stride=2 * values.itemsize, **fields,
    )  # fmt: skip
    return core.get("ub", 16384, (len(values),), after)


def same(found: Array, expected: list[float], target: str) -> None:
    """Equal to the bit but for the payload of NaN."""
    wanted = array(expected, target)
    if wanted.dtype.kind in "iu":
        np.testing.assert_array_equal(found, wanted)
        return
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_every_pair_and_rounding(source: str, target: str, rounding: Rounding) -> None:
    values = edges(source)
    if rounding == "odd" and (source, target) != ("f32", "f16"):
        bound = operands(
            VCONV, dst=0, src0=0, dtype=target, src_dtype=source, mask=1, repeat=1, rounding="odd"
        )
        wanted = f"rounding = odd goes from f32 to f16, not from {source} to {target}"
        assert VCONV.constraint(bound) == wanted
        return
    for saturate in ("integers", "all", "none"):
        how = {"rounding": rounding, "saturate": saturate}
        found = executed("vconv", array(values, source), target, src_dtype=source, **how)
        converted = [convert(v, target, rounding, saturate) for v in values]
        same(found, values if source == target else converted, target)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("target", ["f16", "bf16"])
def test_random_floats(target: str, rounding: Rounding) -> None:
    bits = np.random.default_rng(1).integers(0, 1 << 32, 3000, np.uint32)
    steps = np.arange(-2, 3).astype(np.uint32)
    near = array(edges("f32"), "f32").view(np.uint32)[:, None] + steps
    values = np.concatenate((bits, near.ravel())).view(np.float32)
    expected = [convert(float(v), target, rounding) for v in values]
    same(cast(values, target, rounding), expected, target)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_integers_and_wide_floats_are_rounded_once(rounding: Rounding) -> None:
    """Types that only the levels above have."""
    integers = [2**62 + 2**38 + 1, 2**62 + 2**38, -(2**62) - 2**38 - 1, 2**63 - 1, -(2**63)]
    found = cast(np.array(integers, np.int64), "f32", rounding)
    same(found, [convert(v, "f32", rounding) for v in integers], "f32")
    floats = [1 + 2.0**-8 + 2.0**-50, 1 + 2.0**-24, 1 + 2.0**-24 + 2.0**-52, -1e300, 2.0**-1060]
    for target in ("f32", "f16", "bf16"):
        found = cast(np.array(floats), target, rounding)
        same(found, [convert(v, target, rounding) for v in floats], target)


@pytest.mark.parametrize("rounding", ROUNDINGS[:-1])
def test_rounding_within_f32(rounding: Rounding) -> None:
    values = edges("f32")
    expected = [
        math.copysign(float(round_fraction(Fraction(v), rounding)), v) if math.isfinite(v) else v
        for v in values
    ]
    same(executed("vround", array(values, "f32"), "f32", rounding=rounding), expected, "f32")


def test_no_integer_is_odd() -> None:
    assert MNEMONICS["vround"].field("rounding").check("odd") is not None
    with pytest.raises(InputError, match="odd"):
        round_to_integer(np.ones(1, np.float32), "odd")


@pytest.mark.parametrize(
    ("source", "target", "saturate", "features"),
    [
        ("f32", "f16", "integers", ()),
        ("f32", "bf16", "integers", ("convert_910b",)),
        ("i8", "bf16", "integers", ("convert_any",)),
        ("i32", "i16", "none", ("convert_910b", "convert_saturation")),
        ("f32", "f16", "all", ("convert_saturation",)),
        ("i8", "i8", "integers", ()),
    ],
)
def test_features(source: str, target: str, saturate: str, features: tuple[str, ...]) -> None:
    bound = operands(
        VCONV, dst=0, src0=0, dtype=target, src_dtype=source, mask=1, repeat=1, saturate=saturate
    )
    assert VCONV.features(bound) == features
