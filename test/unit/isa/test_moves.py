"""Moves between memories, and the layouts they leave."""

from itertools import product

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.errors import BoundsError
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array

CUBE = ("f16", "bf16", "f32", "i8")
EXTENTS = [(16, 16), (32, 48), (5, 3), (17, 33), (1, 64)]


def random_bits(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Any bits but zero, so that padding shows."""
    size = to_numpy(dtype).itemsize
    bits = np.random.default_rng(seed).integers(1, 255, (*shape, size), np.uint8)
    return bits.view(f"u{size}").reshape(shape)


def up(value: int, step: int) -> int:
    return -(-value // step) * step


def load(core: BareCore, values: Array, dtype: str, *, rows: int = 0) -> int:
    """Load a matrix into L1 at 64; rows between block columns."""
    pitch = values.shape[1] * values.itemsize + 6
    padded = np.zeros((values.shape[0], pitch), np.uint8)
    padded[:, : pitch - 6] = np.ascontiguousarray(values).view(np.uint8)
    core.put("gm", 100, padded)
    stride = max(rows, up(values.shape[0], 16))
    execute(
        core,
        "nd2nz_gm_l1",
        dst=64,
        src=100,
        dtype=dtype,
        rows=values.shape[0],
        cols=values.shape[1],
        src_stride=pitch,
        dst_c0_stride=stride,
    )
    return stride


@pytest.mark.parametrize(("dtype", "extent"), list(product(CUBE, EXTENTS)))
def test_rows_become_fractals(dtype: str, extent: tuple[int, int]) -> None:
    core = BareCore()
    core.l1.data[:] = 0xFF
    values = random_bits(extent, dtype)
    c0 = 32 // values.itemsize
    rows = load(core, values, dtype, rows=64)
    columns = up(extent[1], c0) // c0
    found = core.get("l1", 64, (columns, rows, c0), values.dtype)
    height = up(extent[0], 16)
    padded = np.zeros((height, columns * c0), values.dtype)
    padded[: extent[0], : extent[1]] = values
    want = padded.reshape(height, columns, c0).transpose(1, 0, 2)
    np.testing.assert_array_equal(found[:, :height], want)
    assert (found[:, height:].view(np.uint8) == 0xFF).all(), "rows beyond the padding are kept"


@pytest.mark.parametrize(("dtype", "extent"), list(product(CUBE, EXTENTS)))
@pytest.mark.parametrize("transpose", [0, 1])
@pytest.mark.parametrize("side", ["l0a", "l0b"])
def test_block_loads(dtype: str, extent: tuple[int, int], transpose: int, side: str) -> None:
    core = BareCore()
    rows, k = extent
    matrix = random_bits(extent, dtype)
    c0 = 32 // matrix.itemsize
    stride = load(core, matrix.T.copy() if transpose else matrix, dtype, rows=64)
    execute(
        core,
        f"load2d_l1_{side}",
        dst=512,
        src=64,
        dtype=dtype,
        rows=rows,
        k=k,
        src_c0_stride=stride,
        transpose=transpose,
    )
    tall, deep = up(rows, 16) // 16, up(k, c0) // c0
    if side == "l0a":
        found = core.get("l0a", 512, (tall, deep, 16, c0), matrix.dtype).transpose(0, 2, 1, 3)
    else:
        found = core.get("l0b", 512, (deep, tall, 16, c0), matrix.dtype).transpose(1, 2, 0, 3)
    want = np.zeros((tall * 16, deep * c0), matrix.dtype)
    want[:rows, :k] = matrix
    np.testing.assert_array_equal(found.reshape(want.shape), want)


@pytest.mark.parametrize("size", [32, 64, 3, 70])
def test_runs_to_ub_are_filled_up_with_zeros(size: int) -> None:
    core = BareCore()
    core.ub.data[:] = 0xFF
    runs = random_bits((3, 100), "ui8")
    core.put("gm", 17, runs)
    execute(core, "mov_gm_ub", dst=32, src=17, nburst=3, len=size, src_stride=100, dst_stride=4)
    found = core.get("ub", 32, (3, 128), np.uint8)
    np.testing.assert_array_equal(found[:, :size], runs[:, :size])
    assert (found[:, size : up(size, 32)] == 0).all()
    assert (found[:, up(size, 32) :] == 0xFF).all()


@pytest.mark.parametrize("size", [32, 3, 70])
def test_runs_to_gm_write_exactly_their_bytes(size: int) -> None:
    core = BareCore()
    core.gm.data[:] = 0xFF
    runs = random_bits((3, 128), "ui8")
    core.put("ub", 64, runs)
    execute(core, "mov_ub_gm", dst=1001, src=64, nburst=3, len=size, dst_stride=75, src_stride=4)
    found = core.get("gm", 1001, (3, 75), np.uint8)
    np.testing.assert_array_equal(found[:, :size], runs[:, :size])
    assert (found[:, size:] == 0xFF).all()


def test_one_run_needs_no_strides() -> None:
    core = BareCore()
    core.put("gm", 0, np.arange(64, dtype=np.uint8))
    execute(core, "mov_gm_ub", dst=0, src=0, len=64)
    execute(core, "mov_ub_gm", dst=100, src=0, len=64)
    assert core.get("gm", 100, (64,), np.uint8).tolist() == list(range(64))


@pytest.mark.parametrize("counts", [{"nburst": 0, "len": 32}, {"nburst": 1, "len": 0}])
def test_nothing_moves_nowhere(counts: dict[str, int]) -> None:
    core = BareCore()
    core.ub.data[:] = 0xFF
    execute(core, "mov_gm_ub", dst=1 << 20, src=1 << 20, **counts)
    execute(core, "mov_ub_gm", dst=1 << 20, src=1 << 20, **counts)
    assert (core.ub.data == 0xFF).all()


@pytest.mark.parametrize("address", [(1 << 15) - 32, -32])
def test_an_access_outside_is_refused(address: int) -> None:
    with pytest.raises(BoundsError, match="access outside ub of 32768 bytes"):
        execute(BareCore(), "mov_gm_ub", dst=address, src=0, len=64)


def test_runs_that_overlap_are_refused() -> None:
    load_spec, store_spec = MNEMONICS["mov_gm_ub"], MNEMONICS["mov_ub_gm"]
    run = {"dst": 0, "src": 0, "nburst": 2, "len": 64}
    load_operands = operands(load_spec, **run, src_stride=64, dst_stride=1)
    loaded = load_spec.constraint(load_operands)
    assert loaded == "dst_stride = 1 blocks of 32 bytes is less than len = 64 bytes"
    stored = store_spec.constraint(operands(store_spec, **run, dst_stride=63, src_stride=2))
    assert stored == "dst_stride = 63 bytes is less than len = 64"
    assert load_spec.constraint(load_operands.changed(nburst=None)) is None
    nd2nz = MNEMONICS["nd2nz_gm_l1"]
    assert nd2nz.constraint(nd2nz.Operands(0, 0, "f16", 33, 17, 64, 47, 1, 0, 0)) == (
        "dst_c0_stride = 47 is less than rows = 33 padded to 16"
    )


def test_features_follow_the_operands() -> None:
    move = MNEMONICS["mov_gm_ub"]
    run = operands(move, dst=0, src=0, len=64)
    assert move.features(run) == ()
    assert move.features(run.changed(len=65)) == ("pad_copy",)
    assert move.features(run.changed(left_pad=1)) == ("pad_copy",)
    assert move.features(run.changed(len=None)) == ("pad_copy",)
    block = MNEMONICS["load2d_l1_l0a"]
    assert block.features(block.Operands(0, 0, "f32", 16, 16, 16, 0)) == (
        "load2d_block",
        "cube_f32",
    )
