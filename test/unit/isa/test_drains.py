"""Results on their way out of L0C, against a conversion of one number at a time."""

from collections.abc import Callable
from itertools import product
from math import inf, isnan, nan

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from packed import put_result, up
from rounding import rounded, times, to_integer, without_low_bits

SHAPES = [(16, 32), (5, 48), (20, 16), (1, 64), (7, 33)]
FLOATS = [
    0.0, -0.0, nan, inf, -inf, 1e-45, -1e-40, 65504.0, 65519.9, 65520.0, -65536.0, 0.5, 1.5, 2.5,
    -0.5, -2.5, 127.5, 128.0, 255.5, -128.5, 3.4e38, 1.0009765625, 1.00048828125,
]  # fmt: skip
INTEGERS = [0, 1, -1, 127, 128, -128, -129, 255, 256, (1 << 31) - 1, -(1 << 31), 16777217, 33554435]
BOUNDS = {"i8": (-128, 127), "ui8": (0, 255), "i32": (-(1 << 31), (1 << 31) - 1)}
Convert = Callable[[float, int], float]


def accumulators(dtype: str, shape: tuple[int, int]) -> Array:
    """Edge values among random ones."""
    rng = np.random.default_rng(sum(shape))
    edges: Array
    if dtype == "f32":
        values: Array = (rng.standard_normal(shape) * 300).astype(np.float32)
        edges = np.array(FLOATS, np.float32)
    else:
        values = rng.integers(-70000, 70000, shape, np.int32)
        edges = np.array(INTEGERS, np.int32)
    flat = values.reshape(-1)
    where = rng.permutation(flat.size)[: len(edges)]
    flat[where] = edges[: len(where)]
    return values


def uniform(count: int, bound: float) -> list[float]:
    """Random f32 numbers of at most `bound`."""
    values: Array = np.random.default_rng(count).uniform(-bound, bound, count).astype(np.float32)
    found: list[float] = values.tolist()
    return found


def clamped(x: float, kind: str, slope: float) -> float:
    if kind == "none" or isnan(x):
        return x
    if kind == "relu":
        return x if x > 0 else 0.0
    return times(x, slope) if x < 0 else x


def scaled(x: float, scale: float) -> float:
    return times(rounded(x if isinstance(x, float) else int(x), "f32"), without_low_bits(scale))


def finish(x: float, dtype: str, offset: int) -> float:
    """A scaled number as the type of the result."""
    if dtype == "f16":
        if isnan(x):
            return 0.0
        return min(max(rounded(x, "f16"), -65504.0), 65504.0)
    return to_integer(x, *BOUNDS[dtype], offset)


def assert_bits(found: Array, want: Array) -> None:
    """Equal bits; any NaN equals any NaN."""
    if found.dtype.kind in "iu":
        np.testing.assert_array_equal(found, want)
        return
    missing = np.isnan(want.astype(np.float32))
    assert (np.isnan(found.astype(np.float32)) == missing).all()
    bits = np.dtype(f"u{found.dtype.itemsize}")
    left, right = (np.ascontiguousarray(x).view(bits) for x in (found, want))
    np.testing.assert_array_equal(left[~missing], right[~missing])


def each(values: Array, dtype: str, convert: Convert) -> Array:
    """`convert` of every number and its column."""
    rows = [[convert(x, j) for j, x in enumerate(row)] for row in values.tolist()]
    return np.array(rows).astype(to_numpy(dtype))


def from_blocks(blocks: Array, m: int) -> Array:
    """[blocks, rows, width] as a matrix of m rows."""
    return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:m]


@pytest.mark.parametrize(("relu", "shape"), list(product((0, 1), SHAPES)))
def test_integers_are_kept(relu: int, shape: tuple[int, int]) -> None:
    m, n = shape
    core = BareCore()
    values = accumulators("i32", shape)
    put_result(core, 64, values)
    kept = {"m": m, "n": n, "dst_stride": m + 1, "relu": relu}
    execute(core, "mov_l0c_ub", dst=32, src=64, dtype="i32", **kept)
    found = core.get("ub", 32, (up(n, 16) // 16, m + 1, 16), np.int32)
    want = np.maximum(values, 0) if relu else values
    np.testing.assert_array_equal(from_blocks(found, m)[:, :n], want)


@pytest.mark.parametrize("dtype", ["f16", "i8", "ui8"])
@pytest.mark.parametrize(("relu", "shape"), list(product((0, 1), SHAPES)))
@pytest.mark.parametrize("channels", [False, True])
def test_scaled_through_the_vector_pipe(
    dtype: str, relu: int, shape: tuple[int, int], channels: bool
) -> None:
    m, n = shape
    core = BareCore()
    core.ub.data[:] = 0xFF
    values = accumulators("i32", shape)
    put_result(core, 64, values)
    moved = {"m": m, "n": n, "dst_stride": m + 1, "relu": relu, "dtype": dtype}
    scales, offsets = [0.0123] * n, [-7 if dtype != "f16" else 0] * n
    if channels:
        scales = uniform(n, 0.01)
        offsets = [(j * 37) % 512 - 256 if dtype != "f16" else 0 for j in range(n)]
        core.put("ub", 8192, words(scales, [(j * 37) % 512 - 256 for j in range(n)], up(n, 16)))
        execute(core, "vdeq_l0c_ub", dst=32, src=64, params=8192, **moved)
    else:
        given = {"scale": scales[0], "offset": offsets[0]}
        execute(core, "deq_l0c_ub", dst=32, src=64, **moved, **given)
    kind = "relu" if relu else "none"

    def convert(x: float, j: int) -> float:
        return finish(clamped(scaled(x, scales[j]), kind, 0.0), dtype, offsets[j])

    width = 16 if dtype == "f16" else 32
    found = core.get("ub", 32, (up(n, width) // width, m + 1, width), to_numpy(dtype))
    assert_bits(from_blocks(found, m)[:, :n], each(values, dtype, convert))
    assert (found[:, m].view(np.uint8) == 0xFF).all(), "the row after the last one is kept"
    if up(n, 16) % width:
        assert (found[-1, :, 16:].view(np.uint8) == 0xFF).all(), "half a block is left alone"


def words(scales: list[float], offsets: list[int], count: int) -> Array:
    """The parameters of channels; bits that do not count are set."""
    found = np.zeros(count, np.uint64)
    for j, (scale, offset) in enumerate(zip(scales, offsets, strict=True)):
        low = int(np.float32(scale).view(np.uint32))
        found[j] = np.uint64(low | (0x1F << 32) | ((offset & 0x1FF) << 37) | (1 << 46))
    return found


FIX = [
    ("f32", "f32", "none"), ("f32", "f16", "none"), ("f32", "bf16", "none"), ("i32", "i32", "none"),
    *product(("f32", "i32"), ("i8", "ui8"), ("tensor", "channel")),
    ("i32", "f16", "tensor"), ("i32", "f16", "channel"),
]  # fmt: skip


def drained(
    core: BareCore, case: tuple[str, str, str], values: Array, clamp: str, **fields: float | str
) -> Array:
    """Parameters put in place; what a drain with these operands gives for every number."""
    _, dtype, quant = case
    n = values.shape[1]
    scales, offsets = [0.0123] * n, [11 if dtype != "f16" else 0] * n
    slopes = [0.3] * n
    if quant == "channel":
        scales = uniform(n, 0.01)
        offsets = [(j * 37) % 512 - 256 for j in range(n)]
        core.put("fb", 128, words(scales, offsets, up(n, 16)))
    if clamp == "prelu":
        slopes = uniform(n, 2)
        core.put("fb", 128 + 2048, np.array(slopes, np.float32))
    given: dict[str, float | str] = {"quant": quant, "clamp": clamp, "params": 128}
    if quant == "tensor":
        given["scale"] = float(np.float32(scales[0]))
        given["offset"] = offsets[0]
    if clamp == "leaky":
        given["slope"] = slopes[0] = float(np.float32(0.3))
        slopes = slopes[:1] * n
    types: dict[str, float | str] = {"src_dtype": case[0], "dtype": dtype}
    sizes = {"m": values.shape[0], "n": n}
    execute(core, str(fields.pop("mnemonic")), src=64, **types, **sizes, **given, **fields)

    def convert(x: float, j: int) -> float:
        if quant == "none":
            kept = clamped(x, clamp, slopes[j])
            return kept if dtype == "i32" else rounded(kept, dtype)
        return finish(clamped(scaled(x, scales[j]), clamp, slopes[j]), dtype, offsets[j])

    return each(values, dtype, convert)


@pytest.mark.parametrize("case", FIX, ids="-".join)
@pytest.mark.parametrize("clamp", ["none", "relu", "leaky", "prelu"])
@pytest.mark.parametrize("shape", [(5, 48), (20, 16), (7, 33)])
def test_fixpipe_to_rows(case: tuple[str, str, str], clamp: str, shape: tuple[int, int]) -> None:
    if case[1] == "i32" and clamp in ("leaky", "prelu"):
        pytest.skip("integers have no slope")
    m, n = shape
    core = BareCore()
    core.gm.data[:] = 0xFF
    values = accumulators(case[0], shape)
    put_result(core, 64, values)
    fields = {"mnemonic": "fixpipe_l0c_gm", "dst": 1001, "dst_stride": n + 3}
    want = drained(core, case, values, clamp, **fields)
    found = core.get("gm", 1001, (m, n + 3), to_numpy(case[1]))
    assert_bits(found[:, :n], want)
    assert (np.ascontiguousarray(found[:, n:]).view(np.uint8) == 0xFF).all()


@pytest.mark.parametrize("case", FIX, ids="-".join)
@pytest.mark.parametrize("shape", [(5, 48), (20, 16), (7, 64)])
@pytest.mark.parametrize("space", ["gm", "l1", "ub"])
def test_fixpipe_to_fractals(
    case: tuple[str, str, str], shape: tuple[int, int], space: str
) -> None:
    m, n = shape
    core = BareCore()
    core.memory(space).data[:] = 0xFF
    values = accumulators(case[0], shape)
    put_result(core, 64, values)
    fields: dict[str, float | str] = {"dst": 1024, "dst_stride": m + 2}
    if space != "l1":
        fields["layout"] = "nz"
    want = drained(core, case, values, "none", mnemonic=f"fixpipe_l0c_{space}", **fields)
    dtype = to_numpy(case[1])
    width = 32 // dtype.itemsize
    found = core.get(space, 1024, (up(n, width) // width, m + 2, width), dtype)
    assert_bits(from_blocks(found, m)[:, :n], want)
    assert (np.ascontiguousarray(found[:, m:]).view(np.uint8) == 0xFF).all()
    if n % width:
        assert (np.ascontiguousarray(found[-1, :, n % width :]).view(np.uint8) == 0xFF).all()


def test_fixpipe_to_rows_in_ub() -> None:
    core = BareCore()
    values = accumulators("f32", (5, 24))
    put_result(core, 64, values)
    case = ("f32", "f16", "none")
    want = drained(core, case, values, "none", mnemonic="fixpipe_l0c_ub", dst=64, dst_stride=32)
    assert_bits(core.get("ub", 64, (5, 32), np.float16)[:, :24], want)


@pytest.mark.parametrize("atomic", ["add", "max", "min"])
@pytest.mark.parametrize("case", [c for c in FIX if c[1] in ("f32", "f16", "bf16", "i32", "i8")])
def test_fixpipe_combines(atomic: str, case: tuple[str, str, str]) -> None:
    core = BareCore()
    values = np.clip(accumulators(case[0], (5, 20)), -30000, 30000)
    put_result(core, 64, values)
    before = np.arange(100).reshape(5, 20).astype(to_numpy(case[1]))
    core.put("gm", 512, before)
    fields = {"dst": 512, "dst_stride": 20, "atomic": atomic}
    new = drained(core, case, values, "none", mnemonic="fixpipe_l0c_gm", **fields)
    found = core.get("gm", 512, (5, 20), to_numpy(case[1]))
    wide = np.float32 if before.dtype.kind not in "iu" else before.dtype
    left, right = before.astype(wide), new.astype(wide)
    together = {"add": np.add, "max": np.maximum, "min": np.minimum}[atomic](left, right)
    assert_bits(found, together.astype(before.dtype))


def test_a_part_of_a_result() -> None:
    core = BareCore()
    values = np.arange(2 * 32 * 16, dtype=np.float32).reshape(2, 32, 16)
    core.put("l0c", 0, values)
    sizes = {"m": 3, "n": 20, "src_stride": 32, "dst_stride": 20}
    types = {"src_dtype": "f32", "dtype": "f32"}
    execute(core, "fixpipe_l0c_gm", dst=0, src=16 * 64, **types, **sizes)
    want = values[:, 16:19].transpose(1, 0, 2).reshape(3, 32)[:, :20]
    np.testing.assert_array_equal(core.get("gm", 0, (3, 20), np.float32), want)


BASE = {"dst": 0, "src": 0, "m": 4, "n": 16, "dst_stride": 32}


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"src_dtype": "f32", "dtype": "i8"}, "f32 to i8 needs a scale"),
        ({"src_dtype": "f32", "dtype": "i32"}, "there is no drain of f32 to i32"),
        (
            {"src_dtype": "f32", "dtype": "f16", "quant": "tensor", "scale": 2.0},
            "f32 to f16 takes no scale",
        ),
        (
            {"src_dtype": "i32", "dtype": "f16", "quant": "tensor"},
            "quant = tensor with scale = 0.0",
        ),
        (
            {"src_dtype": "i32", "dtype": "i8", "quant": "channel", "scale": 1.0},
            "quant = channel with scale = 1.0",
        ),
        (
            {"src_dtype": "i32", "dtype": "f16", "quant": "tensor", "scale": 1.0, "offset": 2},
            "offset = 2 goes with quant = tensor and 8-bit results",
        ),
        (
            {"src_dtype": "i32", "dtype": "i32", "clamp": "prelu"},
            "clamp = prelu does not go with i32 results",
        ),
        (
            {"src_dtype": "f32", "dtype": "f32", "slope": 0.5},
            "slope = 0.5 goes with clamp = leaky",
        ),
        (
            {"src_dtype": "f32", "dtype": "f32", "dst_stride": 15},
            "dst_stride = 15 is less than n = 16",
        ),
        (
            {"src_dtype": "f32", "dtype": "f32", "layout": "nz", "dst_stride": 3},
            "dst_stride = 3 is less than m = 4",
        ),
        (
            {"src_dtype": "i32", "dtype": "ui8", "quant": "tensor", "scale": 1.0, "atomic": "add"},
            "atomic stores do not take ui8",
        ),
        ({"src_dtype": "i32", "dtype": "i32"}, None),
    ],
)
def test_what_a_drain_takes(fields: dict[str, float | str], fault: str | None) -> None:
    spec = MNEMONICS["fixpipe_l0c_gm"]
    assert spec.constraint(operands(spec, **{**BASE, **fields})) == fault


def test_features_of_drains() -> None:
    spec = MNEMONICS["fixpipe_l0c_gm"]
    plain = operands(spec, **BASE, src_dtype="f32", dtype="f16")
    assert spec.features(plain) == ("fixpipe",)
    assert spec.features(plain.changed(atomic="add")) == ("fixpipe", "atomic_f16")
    assert spec.features(plain.changed(atomic="max")) == ("fixpipe", "atomic_f16", "atomic_minmax")
    assert spec.atomic(plain) is None
    assert spec.atomic(plain.changed(atomic="max")) == "max f16"
    assert MNEMONICS["deq_l0c_ub"].features(plain) == ("l0c_ub_deq",)


def test_tables() -> None:
    core = BareCore()
    halves = np.arange(64).astype(np.float16)
    core.put("l1", 96, halves)
    execute(
        core, "mov_l1_bt", dst=64, src=96, dtype="f16", len=2, nburst=2, src_stride=2, dst_stride=3
    )
    found = core.get("bt", 64, (2, 48), np.float32)
    np.testing.assert_array_equal(found[:, :32], halves.reshape(2, 32)[:, :32])
    numbers = np.arange(64, dtype=np.int32)
    core.put("l1", 256, numbers)
    execute(core, "mov_l1_bt", dst=0, src=256, dtype="b32", len=4)
    np.testing.assert_array_equal(core.get("bt", 0, (64,), np.int32), numbers)
    execute(core, "mov_l1_fb", dst=128, src=256, len=1, nburst=2, src_stride=4, dst_stride=2)
    kept = core.get("fb", 128, (2, 32), np.int32)[:, :16]
    np.testing.assert_array_equal(kept, numbers.reshape(2, 32)[:, :16])
    spec = MNEMONICS["mov_l1_fb"]
    assert spec.constraint(operands(spec, dst=0, src=0, len=2, nburst=2, dst_stride=1)) == (
        "dst_stride = 1 is less than len = 2, both in units of 64 bytes"
    )
