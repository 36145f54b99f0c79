"""Copies with offsets, ragged sizes, batch axes and strides, in loops over cores."""

from __future__ import annotations

import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array
from tile_kernels import (
    LOWER,
    count_instructions,
    planned,
    program,
    run_instructions,
    run_passes,
    run_tiles,
)


def both(text: str, arrays: list[Array]) -> tuple[list[Array], list[Array]]:
    """Results at tile level and as instructions."""
    module = planned(text)
    expected = run_tiles(module, arrays)
    return expected, run_instructions(run_passes(module, LOWER), arrays)


def numbers(*shape: int) -> Array:
    """1, 2, 3, ..., so that a misplaced element shows."""
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype(np.float32)


def constants(*values: int) -> str:
    """`%c<value>` for each value."""
    return "\n".join(f"%c{v} = arith.constant {v} : index" for v in sorted(set(values)))


def tiled_copy(rows: int, cols: int, tile: int, cores: int) -> str:
    """A copy in tiles of rows, the last one ragged, dealt out to cores."""
    of = f"{rows}x{cols}xf32"
    gm, ub = f"!tile.buffer<{of}, gm>", f"!tile.buffer<{tile}x{cols}xf32, ub>"
    body = f"""
      {constants(0, cores, tile, rows, cols, -(-rows // tile))}
      %id = tile.core_id
      scf.for %t = %id to %c{-(-rows // tile)} step %c{cores} {{
        %row = arith.muli %t, %c{tile} : index
        %left = arith.subi %c{rows}, %row : index
        %size = arith.minsi %c{tile}, %left : index
        %u = tile.alloc : {ub}
        tile.copy %x[%row, %c0] -> %u[%c0, %c0] valid [%size, %c{cols}] : {gm} to {ub}
        %v = tile.alloc : {ub}
        tile.scalar mul %u, 2.0 : f32 -> %v : {ub} to {ub}
        tile.copy %v[%c0, %c0] -> %y[%row, %c0] valid [%size, %c{cols}] : {ub} to {gm}
      }}
    """
    return program({"x": of}, {"y": of}, body, cores)


@pytest.mark.parametrize(
    ("rows", "cols", "tile", "cores"), [(64, 64, 16, 2), (37, 10, 8, 3), (5, 7, 8, 1), (3, 9, 1, 8)]
)
def test_tiles_dealt_out_to_cores(rows: int, cols: int, tile: int, cores: int) -> None:
    x = numbers(rows, cols)
    expected, got = both(tiled_copy(rows, cols, tile, cores), [x])
    np.testing.assert_array_equal(got[0], 2 * x)
    np.testing.assert_array_equal(expected[0], got[0])


def test_the_number_of_instructions_does_not_depend_on_the_number_of_tiles() -> None:
    counts = {
        count_instructions(run_passes(planned(tiled_copy(rows, 64, 16, 8)), LOWER))
        for rows in (64, 512, 4096)
    }
    assert len(counts) == 1


def test_batch_axes_are_fixed_and_axes_are_chosen() -> None:
    """Columns 8.. of matrix 1 of a batch, to a plane of a channels-last tensor."""
    x = numbers(2, 6, 20)
    body = f"""
      {constants(0, 1, 2, 5, 8, 12)}
      %u = tile.alloc : !tile.buffer<6x16xf32, ub>
      tile.copy %x[%c1, %c1, %c8] -> %u[%c0, %c0] valid [%c5, %c12]
        : !tile.buffer<2x6x20xf32, gm> to !tile.buffer<6x16xf32, ub>
      tile.copy %u[%c0, %c0] -> %y[%c0, %c1, %c0] valid [%c5, %c12] {{axes = array<i64: 0, 2>}}
        : !tile.buffer<6x16xf32, ub> to !tile.buffer<5x3x12xf32, gm>
      %z = tile.alloc : !tile.buffer<12xf32, ub>
      tile.fill %z, 0.0 : f32 : !tile.buffer<12xf32, ub>
      scf.for %i = %c0 to %c5 step %c1 {{
        tile.copy %z -> %y[%i, %c0, %c0] valid [%c12]
          : !tile.buffer<12xf32, ub> to !tile.buffer<5x3x12xf32, gm>
        tile.copy %z -> %y[%i, %c2, %c0] valid [%c12]
          : !tile.buffer<12xf32, ub> to !tile.buffer<5x3x12xf32, gm>
      }}
    """
    expected, got = both(program({"x": "2x6x20xf32"}, {"y": "5x3x12xf32"}, body), [x])
    np.testing.assert_array_equal(got[0][:, 1], x[1, 1:6, 8:20])
    np.testing.assert_array_equal(got[0], expected[0])


def test_offsets_in_ub() -> None:
    """Two halves of a buffer are loaded apart, and its middle is stored."""
    x = numbers(8, 16)
    of, ub = "!tile.buffer<8x16xf32, gm>", "!tile.buffer<8x32xf32, ub>"
    body = f"""
      {constants(0, 2, 4, 8, 16)}
      %u = tile.alloc : {ub}
      tile.copy %x -> %u[%c0, %c0] valid [%c8, %c16] : {of} to {ub}
      tile.copy %x -> %u[%c0, %c16] valid [%c8, %c16] : {of} to {ub}
      tile.copy %u[%c2, %c8] -> %y[%c0, %c0] valid [%c4, %c16]
        : {ub} to !tile.buffer<4x16xf32, gm>
    """
    expected, got = both(program({"x": "8x16xf32"}, {"y": "4x16xf32"}, body), [x])
    np.testing.assert_array_equal(got[0], np.hstack([x, x])[2:6, 8:24])
    np.testing.assert_array_equal(got[0], expected[0])


def test_more_rows_than_one_copy_takes() -> None:
    x = numbers(5000, 1)
    ub, gm = "!tile.buffer<5000x1xf32, ub>", "!tile.buffer<5000x1xf32, gm>"
    body = f"""
      %u = tile.alloc : {ub}
      tile.copy %x -> %u : {gm} to {ub}
      tile.copy %u -> %y : {ub} to {gm}
    """
    _, got = both(program({"x": "5000x1xf32"}, {"y": "5000x1xf32"}, body), [x])
    np.testing.assert_array_equal(got[0], x)


def tiled_product(m: int, k: int, n: int, tile: tuple[int, int, int]) -> str:
    """A product in tiles of `tile`, ragged at every edge, accumulated over k."""
    tm, tk, tn = tile
    counts = [-(-size // step) for size, step in zip((m, k, n), tile, strict=True)]
    body = f"""
      {constants(0, 1, m, k, n, *tile, *counts, counts[0] * counts[2])}
      scf.for %t = %c0 to %c{counts[0] * counts[2]} step %c1 {{
        %ti = arith.divsi %t, %c{counts[2]} : index
        %tj = arith.remsi %t, %c{counts[2]} : index
        %i = arith.muli %ti, %c{tm} : index
        %j = arith.muli %tj, %c{tn} : index
        %mleft = arith.subi %c{m}, %i : index
        %mm = arith.minsi %c{tm}, %mleft : index
        %nleft = arith.subi %c{n}, %j : index
        %nn = arith.minsi %c{tn}, %nleft : index
        %c = tile.alloc : !tile.buffer<{tm}x{tn}xf32, l0c>
        scf.for %tk = %c0 to %c{counts[1]} step %c1 {{
          %p = arith.muli %tk, %c{tk} : index
          %kleft = arith.subi %c{k}, %p : index
          %kk = arith.minsi %c{tk}, %kleft : index
          %a1 = tile.alloc : !tile.buffer<{tm}x{tk}xf16, l1>
          tile.copy %a[%i, %p] -> %a1[%c0, %c0] valid [%mm, %kk]
            : !tile.buffer<{m}x{k}xf16, gm> to !tile.buffer<{tm}x{tk}xf16, l1>
          %b1 = tile.alloc : !tile.buffer<{tk}x{tn}xf16, l1>
          tile.copy %b[%p, %j] -> %b1[%c0, %c0] valid [%kk, %nn]
            : !tile.buffer<{k}x{n}xf16, gm> to !tile.buffer<{tk}x{tn}xf16, l1>
          %a0 = tile.alloc : !tile.buffer<{tm}x{tk}xf16, l0a>
          tile.copy %a1[%c0, %c0] -> %a0[%c0, %c0] valid [%mm, %kk]
            : !tile.buffer<{tm}x{tk}xf16, l1> to !tile.buffer<{tm}x{tk}xf16, l0a>
          %b0 = tile.alloc : !tile.buffer<{tk}x{tn}xf16, l0b>
          tile.copy %b1[%c0, %c0] -> %b0[%c0, %c0] valid [%kk, %nn]
            : !tile.buffer<{tk}x{tn}xf16, l1> to !tile.buffer<{tk}x{tn}xf16, l0b>
          tile.mmad %a0, %b0 -> %c accumulate %tk valid [%mm, %kk, %nn]
            : !tile.buffer<{tm}x{tk}xf16, l0a>, !tile.buffer<{tk}x{tn}xf16, l0b>
            to !tile.buffer<{tm}x{tn}xf32, l0c>
        }}
        %d = tile.alloc : !tile.buffer<{tm}x{tn}xf32, ub, nz>
        tile.copy %c -> %d : !tile.buffer<{tm}x{tn}xf32, l0c> to !tile.buffer<{tm}x{tn}xf32, ub, nz>
        %r = tile.alloc : !tile.buffer<{tm}x{tn}xf32, ub>
        tile.unary copy %d -> %r
          : !tile.buffer<{tm}x{tn}xf32, ub, nz> to !tile.buffer<{tm}x{tn}xf32, ub>
        tile.copy %r[%c0, %c0] -> %y[%i, %j] valid [%mm, %nn]
          : !tile.buffer<{tm}x{tn}xf32, ub> to !tile.buffer<{m}x{n}xf32, gm>
      }}
    """
    return program({"a": f"{m}x{k}xf16", "b": f"{k}x{n}xf16"}, {"y": f"{m}x{n}xf32"}, body)


@pytest.mark.parametrize(
    ("m", "k", "n", "tile"),
    [(40, 50, 60, (16, 32, 32)), (64, 64, 64, (32, 32, 32)), (17, 5, 100, (32, 16, 48))],
)
def test_a_tiled_product(m: int, k: int, n: int, tile: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(m)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    expected, got = both(tiled_product(m, k, n, tile), [a, b])
    np.testing.assert_array_equal(got[0], expected[0])
    wide = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(got[0], wide, rtol=1e-5, atol=1e-4)


def test_a_product_of_more_tiles_has_as_many_instructions() -> None:
    counts = {
        count_instructions(run_passes(planned(tiled_product(size, size, 64, (32, 32, 32))), LOWER))
        for size in (64, 512)
    }
    assert len(counts) == 1
