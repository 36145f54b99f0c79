"""Padded and atomic moves, moves of blocks, fills, and stores of fractals as rows."""

from itertools import product

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.target.costs import Cycles
from npuc.dialects.target.machine import load
from rounding import rounded


def random_bytes(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).integers(1, 255, shape, np.uint8)


@pytest.mark.parametrize("unit", [1, 2, 4])
@pytest.mark.parametrize(("left", "right"), [(0, 3), (2, 0), (5, 8)])
@pytest.mark.parametrize("size", [4, 32, 52])
def test_runs_are_padded(unit: int, left: int, right: int, size: int) -> None:
    core = BareCore()
    core.ub.data[:] = 0xFF
    runs = random_bytes(3, 60)
    core.put("gm", 17, runs)
    value = 0xC0FFEE42
    execute(
        core, "mov_gm_ub", dst=32, src=17, nburst=3, len=size, src_stride=60, dst_stride=5,
        pad_unit=f"b{8 * unit}", left_pad=left, right_pad=right, pad_value=value,
    )  # fmt: skip
    element = list(value.to_bytes(4, "little")[:unit])
    for run, found in zip(
        runs.tolist(), core.get("ub", 32, (3, 160), np.uint8).tolist(), strict=True
    ):
        want = element * left + run[:size] + element * right
        want += [0] * (-len(want) % 32)
        assert found == want + [0xFF] * (160 - len(want))


def test_padding_that_is_too_long_or_overlaps() -> None:
    spec = MNEMONICS["mov_gm_ub"]
    run = operands(spec, dst=0, src=0, nburst=2, len=64, src_stride=64, dst_stride=2)
    assert spec.constraint(run) is None
    assert spec.constraint(run.changed(pad_unit="b16", left_pad=17)) == (
        "left_pad = 17 elements are 34 bytes, 32 at most"
    )
    assert spec.constraint(run.changed(right_pad=1)) == (
        "dst_stride = 2 blocks of 32 bytes is less than padding and len = 65 bytes"
    )


def combined(left: float, right: float, atomic: str, dtype: str) -> float:
    if atomic == "max":
        return max(left, right)
    if atomic == "min":
        return min(left, right)
    if dtype in ("f32", "f16", "bf16"):
        return rounded(left + right, dtype)
    bits = 8 * to_numpy(dtype).itemsize
    return (int(left + right) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


@pytest.mark.parametrize(
    ("atomic", "dtype"),
    list(product(("add", "max", "min"), ("f32", "f16", "bf16", "i32", "i16", "i8"))),
)
def test_atomic_stores(atomic: str, dtype: str) -> None:
    kind = to_numpy(dtype)
    rng = np.random.default_rng(4)
    if kind.kind == "i":
        bounds = np.iinfo(kind)
        before, new = (rng.integers(bounds.min, bounds.max, (2, 24), kind) for _ in range(2))
    else:
        before, new = (rng.standard_normal((2, 24)).astype(kind) for _ in range(2))
    core = BareCore()
    row = 24 * kind.itemsize
    blocks = -(-row // 32)
    padded = np.zeros((2, blocks * 32), np.uint8)
    padded[:, :row] = np.ascontiguousarray(new).view(np.uint8)
    core.put("ub", 64, padded)
    core.put("gm", 100, before)
    runs = {"nburst": 2, "len": row, "dst_stride": row, "src_stride": blocks}
    execute(core, "mov_ub_gm", dst=100, src=64, atomic=atomic, dtype=dtype, **runs)
    want = [
        [combined(a, b, atomic, dtype) for a, b in zip(left, right, strict=True)]
        for left, right in zip(before.tolist(), new.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(core.get("gm", 100, (2, 24), kind), np.array(want).astype(kind))


def test_nan_wins_and_zeros_keep_their_sign() -> None:
    core = BareCore()
    core.put("gm", 0, np.array([np.nan, 1, -0.0, -0.0], np.float32))
    core.put("ub", 0, np.array([1, np.nan, -0.0, 0.0], np.float32))
    execute(core, "mov_ub_gm", dst=0, src=0, len=16, atomic="max", dtype="f32")
    found = core.get("gm", 0, (4,), np.float32)
    assert np.isnan(found[:2]).all()
    assert np.signbit(found[2])
    execute(core, "mov_ub_gm", dst=0, src=0, len=16, atomic="add", dtype="f32")
    assert core.get("gm", 0, (4,), np.float32)[2:].tolist() == [0.0, 0.0]


def test_what_atomic_stores_need() -> None:
    spec = MNEMONICS["mov_ub_gm"]
    run = operands(spec, dst=0, src=0, len=64)
    assert spec.features(run.changed(atomic="add")) == ("atomic_f32",)
    assert spec.features(run.changed(atomic="min", dtype="i16")) == ("atomic_i16", "atomic_minmax")
    assert spec.constraint(run.changed(dtype="f16")) == "dtype = f16 goes with an atomic store"
    assert (
        spec.constraint(run.changed(atomic="add", len=66))
        == "len = 66 bytes are no whole number of f32"
    )
    assert spec.atomic(run.changed(atomic="add")) == "add f32"
    reads = spec.reads(run.changed(atomic="add"), load("tiny"))
    assert [shape.space for shape in reads] == ["ub", "gm"]


@pytest.mark.parametrize(
    ("mnemonic", "source", "target"),
    [
        ("mov_gm_l1", "gm", "l1"),
        ("mov_l1_gm", "l1", "gm"),
        ("mov_ub_l1", "ub", "l1"),
        ("mov_l1_ub", "l1", "ub"),
    ],
)
def test_moves_of_blocks(mnemonic: str, source: str, target: str) -> None:
    core = BareCore()
    core.memory(target).data[:] = 0xFF
    away = {space: 100 if space == "gm" else 128 for space in (source, target)}
    runs = random_bytes(3, away[source])
    core.put(source, 32, runs)
    strides = {
        "src_stride": away[source] // (1 if source == "gm" else 32),
        "dst_stride": away[target] // (1 if target == "gm" else 32),
    }
    execute(core, mnemonic, dst=64, src=32, nburst=3, len=2, **strides)
    found = core.get(target, 64, (3, away[target]), np.uint8)
    np.testing.assert_array_equal(found[:, :64], runs[:, :64])
    assert (found[:, 64:] == 0xFF).all()
    spec = MNEMONICS[mnemonic]
    close = operands(spec, dst=0, src=0, nburst=2, len=2, dst_stride=1)
    assert "is less than len = 2 blocks of 32 bytes" in (spec.constraint(close) or "")
    if mnemonic != "mov_l1_gm":
        rate = getattr(load("tiny").paths, f"{source}_{target}").rate
        cycles = spec.cycles(close.changed(nburst=4, len=64), load("tiny"))
        assert cycles.busy == 4 * 64 * 32 // rate


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i32", "i8", "ui8"])
@pytest.mark.parametrize("shape", [(5, 48), (3, 7), (20, 40), (1, 33)])
def test_fractals_become_rows(dtype: str, shape: tuple[int, int]) -> None:
    rows, cols = shape
    size = to_numpy(dtype).itemsize
    width = max(16, 32 // size)
    columns, pitch = -(-cols // width), cols * size + 3
    blocks = random_bytes(columns, rows + 2, width * size)
    core = BareCore()
    core.gm.data[:] = 0xFF
    core.put("ub", 96, blocks)
    execute(
        core, "nz2nd_ub_gm", dst=1001, src=96, dtype=dtype, rows=rows, cols=cols,
        dst_stride=pitch, src_stride=rows + 2,
    )  # fmt: skip
    found = core.get("gm", 1001, (rows, pitch), np.uint8)
    want = blocks[:, :rows].transpose(1, 0, 2).reshape(rows, -1)[:, : cols * size]
    np.testing.assert_array_equal(found[:, : cols * size], want)
    assert (found[:, cols * size :] == 0xFF).all()


def test_rows_that_overlap_are_refused() -> None:
    spec = MNEMONICS["nz2nd_ub_gm"]
    rows = {"rows": 2, "cols": 16, "dst_stride": 31, "src_stride": 2, "dtype": "f16"}
    assert spec.constraint(operands(spec, dst=0, src=0, **rows)) == (
        "dst_stride = 31 bytes is less than the 32 of a row"
    )


@pytest.mark.parametrize(
    ("mnemonic", "space", "step"),
    [("fill_l1", "l1", 32), ("fill_l0a", "l0a", 512), ("fill_l0b", "l0b", 512)],
)
@pytest.mark.parametrize("unit", [2, 4])
def test_fills(mnemonic: str, space: str, step: int, unit: int) -> None:
    core = BareCore()
    core.memory(space).data[:] = 0xFF
    value = 0xDEADBEEF
    runs = {"repeat": 3, "len": 2, "dst_stride": 4, "value": value}
    execute(core, mnemonic, dst=step, unit=f"b{8 * unit}", **runs)
    found = core.get(space, step, (3, 4 * step), np.uint8)
    element = list(value.to_bytes(4, "little")[:unit])
    assert found[:, : 2 * step].tolist() == [element * (2 * step // unit)] * 3
    assert (found[:, 2 * step :] == 0xFF).all()
    spec = MNEMONICS[mnemonic]
    filled = operands(spec, dst=0, unit="b16", value=0, len=8)
    path = {"l1": "gm_l1", "l0a": "l1_l0a", "l0b": "l1_l0b"}[space]
    busy = 8 * step // getattr(load("tiny").paths, path).rate
    assert spec.cycles(filled, load("tiny")) == Cycles(busy, 0)
    assert spec.constraint(filled.changed(repeat=2, dst_stride=7)) == (
        f"dst_stride = 7 is less than len = 8, both in {step} bytes"
    )


def test_a_negative_value_keeps_its_low_bits() -> None:
    core = BareCore()
    execute(core, "fill_l1", dst=0, unit="b16", value=-1, len=1)
    assert (core.get("l1", 0, (16,), np.int16) == -1).all()


@pytest.mark.parametrize("mnemonic", ["mov_gm_l1", "mov_ub_l1", "nz2nd_ub_gm", "fill_l1"])
def test_nothing_moves_nowhere(mnemonic: str) -> None:
    core = BareCore()
    spec = MNEMONICS[mnemonic]
    values: dict[str, float | str] = {
        f.name: f.enum[0] if f.enum else f.low for f in spec.fields if f.default is None
    }
    execute(core, mnemonic, **values)
    assert not any(core.memory(space).data.any() for space in ("gm", "l1", "ub"))


def test_undefined_bytes_go_along_and_padding_is_defined() -> None:
    shadow = BareCore()
    shadow.gm.data[:] = 0xFF
    spec = MNEMONICS["mov_gm_ub"]
    run = operands(spec, dst=0, src=0, len=10, left_pad=4, right_pad=3, pad_value=0xFF)
    assert spec.follow(shadow, BareCore(), run, ()) is None
    assert shadow.ub.data[:32].tolist() == [0] * 4 + [0xFF] * 10 + [0] * 18
    fill = MNEMONICS["fill_l1"]
    shadow.l1.data[:] = 0xFF
    fill.follow(shadow, BareCore(), operands(fill, dst=0, unit="b32", value=-1, len=1), ())
    assert shadow.l1.data[:33].tolist() == [0] * 32 + [0xFF]
