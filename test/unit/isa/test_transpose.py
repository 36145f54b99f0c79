"""Tiles transposed in UB, against an account of single elements."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bare_core import BareCore, execute, operands
from npuc.dialects.core.errors import BoundsError
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.target.machine import load

SPEC = MNEMONICS["vnchwconv"]
SIZES = {"f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2}


def numbered(core: BareCore) -> bytearray:
    """Put some bytes everywhere in UB; a copy of them."""
    core.ub.data[:] = np.random.default_rng(0).integers(0, 256, len(core.ub.data), np.uint8)
    return bytearray(core.ub.data.tobytes())


Two = tuple[int, int]
Place = tuple[int, int, int]
"""Address, row stride and repeat stride of an operand."""


def at(place: Place, repeat: int, row: int) -> int:
    start, row_stride, rep_stride = place
    return start + 32 * (repeat * rep_stride + row * row_stride)


def check(dtype: str, repeat: int, dst: Place, src: Place) -> None:
    """Against the definition: tile by tile, element by element."""
    core, size = BareCore(), SIZES[dtype]
    ub = numbered(core)
    values: dict[str, float | str] = {"dtype": dtype, "repeat": repeat}
    for name, place in (("dst", dst), ("src", src)):
        values |= {name: place[0], f"{name}_row_stride": place[1], f"{name}_rep_stride": place[2]}
    execute(core, "vnchwconv", **values)
    for r in range(repeat):
        tile = [ub[at(src, r, i) : at(src, r, i) + 32] for i in range(16)]
        for i in range(16):
            for j in range(32 // size):
                element = at(dst, r, j) + i * size
                ub[element : element + size] = tile[i][j * size : (j + 1) * size]
    assert core.ub.data.tobytes() == bytes(ub)


@given(
    dtype=st.sampled_from(list(SIZES)),
    repeat=st.integers(0, 7),
    places=st.tuples(st.integers(0, 200), st.integers(0, 200)),
    rows=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    repeats=st.tuples(st.integers(0, 40), st.integers(0, 40)),
)
def test_tiles_are_transposed_in_order(
    dtype: str, repeat: int, places: Two, rows: Two, repeats: Two
) -> None:
    row = max(rows[0], SIZES[dtype] // 2)
    dst, src = (32 * places[0], row, repeats[0]), (32 * places[1], rows[1], repeats[1])
    check(dtype, repeat, dst, src)


@pytest.mark.parametrize("dtype", SIZES)
def test_whole_matrices(dtype: str) -> None:
    """16 rows of 9 blocks become columns; and many tiles, each in place."""
    row = SIZES[dtype] // 2
    check(dtype, 9, (16384, row, 16), (0, 9, 1))
    check(dtype, 9, (16384, 9 * row, row), (0, 1, 16))
    check(dtype, 31, (0, row, 16), (0, 1, 16))


def test_rows_of_the_destination_do_not_overlap() -> None:
    values = {"dst": 0, "src": 0, "repeat": 1, "src_row_stride": 1}
    bound = operands(SPEC, dtype="f32", dst_row_stride=1, **values)
    assert SPEC.constraint(bound) == "dst_row_stride = 1 is less than the 2 blocks of a row"
    assert SPEC.constraint(operands(SPEC, dtype="f16", dst_row_stride=1, **values)) is None


@pytest.mark.parametrize("side", ["dst", "src"])
def test_tiles_that_leave_ub_are_refused(side: str) -> None:
    core = BareCore()
    before = numbered(core)
    places = {"dst": 0, "src": 0, side: (1 << 15) - 32 * 16}
    strides = {"dst_row_stride": 1, "src_row_stride": 1, f"{side}_rep_stride": 1}
    with pytest.raises(BoundsError, match="access outside ub"):
        execute(core, "vnchwconv", dtype="f16", repeat=2, **places, **strides)
    assert core.ub.data.tobytes() == bytes(before)


def test_what_is_touched_is_told_in_few_ranges() -> None:
    values: dict[str, float | str] = {"dtype": "f16", "dst": 4096, "src": 0, "repeat": 9}
    strides = {"dst_row_stride": 1, "src_row_stride": 9, "dst_rep_stride": 16, "src_rep_stride": 1}
    bound = operands(SPEC, **values, **strides)
    machine = load("tiny")
    assert SPEC.reads(bound, machine) == (("ub", 0, 9 * 32, 16, 9 * 32),)
    assert SPEC.writes(bound, machine) == (("ub", 4096, 512, 9, 512),)


def test_cycles() -> None:
    shared = {"dtype": "f16", "dst": 0, "src": 0, "dst_row_stride": 1, "src_row_stride": 1}
    machine = load("tiny")
    assert SPEC.cycles(operands(SPEC, repeat=1, **shared), machine) == (21, 24)
    assert SPEC.cycles(operands(SPEC, repeat=100, **shared), machine) == (200, 24)
