"""Each tile op as instructions gives what the tile level says, bit for bit where sums allow."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array, to_numpy
from npuc.dialects.core.errors import ExecutionError, PassError, UnsupportedError
from npuc.dialects.target.attributes import MACHINE, MachineAttr
from npuc.dialects.target.machine import from_description
from npuc.dialects.target.machine import load as load_machine
from tile_kernels import LOWER, planned, program, run_instructions, run_passes, run_tiles


def values(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Numbers of both signs, away from 0."""
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.5, 2, shape) * rng.choice((-1, 1), shape)).astype(to_numpy(dtype))


def check(
    inputs: Mapping[str, str], outputs: Mapping[str, str], body: str, tolerance: float = 0
) -> None:
    """Both levels agree on random inputs."""
    arrays: list[Array] = []
    for number, text in enumerate(inputs.values()):
        *dims, dtype = text.split("x")
        arrays.append(values(tuple(map(int, dims)), dtype, number))
    module = planned(program(inputs, outputs, body))
    expected = run_tiles(module, arrays)
    got = run_instructions(run_passes(module, LOWER), arrays)
    for left, right in zip(got, expected, strict=True):
        if tolerance:
            np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(left, right)


def load(name: str, shape: str) -> str:
    """A UB buffer `%u<name>` with the whole of a GM buffer."""
    return f"""
      %u{name} = tile.alloc : !tile.buffer<{shape}, ub>
      tile.copy %{name} -> %u{name} : !tile.buffer<{shape}, gm> to !tile.buffer<{shape}, ub>
    """


def store(shape: str) -> str:
    """The whole of `%uy` to the GM buffer `%y`."""
    return f"tile.copy %uy -> %y : !tile.buffer<{shape}, ub> to !tile.buffer<{shape}, gm>"


SHAPES = ("5", "64", "1x5", "3x7", "4x64", "10x100", "300x16", "2x1000", "64x256", "260x70")
DTYPES = ("f32", "f16")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["copy", "absolute"])
def test_unary(kind: str, shape: str, dtype: str) -> None:
    of = f"{shape}x{dtype}"
    body = f"""
      {load("x", of)}
      %uy = tile.alloc : !tile.buffer<{of}, ub>
      tile.unary {kind} %ux -> %uy : !tile.buffer<{of}, ub> to !tile.buffer<{of}, ub>
      {store(of)}
    """
    check({"x": of}, {"y": of}, body)


@pytest.mark.parametrize("kind", ["exp", "rec", "relu"])
def test_other_unary_kinds(kind: str) -> None:
    of = "6x20xf32"
    body = f"""
      {load("x", of)}
      %uy = tile.alloc : !tile.buffer<{of}, ub>
      tile.unary {kind} %ux -> %uy : !tile.buffer<{of}, ub> to !tile.buffer<{of}, ub>
      {store(of)}
    """
    check({"x": of}, {"y": of}, body)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_binary_full(shape: str, dtype: str) -> None:
    of = f"{shape}x{dtype}"
    ub = f"!tile.buffer<{of}, ub>"
    body = f"""
      {load("x", of)}
      {load("z", of)}
      %uy = tile.alloc : {ub}
      tile.binary sub %ux, %uz -> %uy : {ub}, {ub} to {ub}
      {store(of)}
    """
    check({"x": of, "z": of}, {"y": of}, body)


@pytest.mark.parametrize("kind", ["add", "mul", "maximum", "minimum"])
def test_scalar(kind: str) -> None:
    of = "9x33xf32"
    ub = f"!tile.buffer<{of}, ub>"
    body = f"""
      {load("x", of)}
      %uy = tile.alloc : {ub}
      tile.scalar {kind} %ux, 0.75 : f32 -> %uy : {ub} to {ub}
      {store(of)}
    """
    check({"x": of}, {"y": of}, body)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if "x" in s])
def test_binary_row(shape: str, dtype: str) -> None:
    of, row = f"{shape}x{dtype}", f"{shape.split('x')[1]}x{dtype}"
    ub, row_ub = f"!tile.buffer<{of}, ub>", f"!tile.buffer<{row}, ub>"
    body = f"""
      {load("x", of)}
      {load("z", row)}
      %uy = tile.alloc : {ub}
      tile.binary div %uz, %ux -> %uy {{lhs_mode = #tile<mode row>}} : {row_ub}, {ub} to {ub}
      {store(of)}
    """
    check({"x": of, "z": row}, {"y": of}, body)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["1x5", "3x7", "8x64", "10x100", "17x20", "2x1000", "300x16"])
def test_binary_block(shape: str, dtype: str) -> None:
    rows = shape.split("x")[0]
    of, column = f"{shape}x{dtype}", f"{rows}x{dtype}"
    blocks = f"{rows}x{8 if dtype == 'f32' else 16}x{dtype}"
    ub, blocks_ub = f"!tile.buffer<{of}, ub>", f"!tile.buffer<{blocks}, ub>"
    body = f"""
      {load("x", of)}
      {load("z", column)}
      %b = tile.alloc : {blocks_ub}
      tile.broadcast %uz -> %b : !tile.buffer<{column}, ub> to {blocks_ub}
      %uy = tile.alloc : {ub}
      tile.binary mul %ux, %b -> %uy {{rhs_mode = #tile<mode block>}} : {ub}, {blocks_ub} to {ub}
      {store(of)}
    """
    check({"x": of, "z": column}, {"y": of}, body)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("source", "target"), [("f32", "f16"), ("f16", "f32"), ("f32", "i32")])
def test_cast(shape: str, source: str, target: str) -> None:
    before, after = f"{shape}x{source}", f"{shape}x{target}"
    body = f"""
      {load("x", before)}
      %uy = tile.alloc : !tile.buffer<{after}, ub>
      tile.cast %ux -> %uy : !tile.buffer<{before}, ub> to !tile.buffer<{after}, ub>
      {store(after)}
    """
    check({"x": before}, {"y": after}, body)


@pytest.mark.parametrize("kind", ["add", "max", "min"])
@pytest.mark.parametrize("shape", ["1x5", "3x64", "10x100", "5x128", "300x70", "2x1000"])
def test_reduce(kind: str, shape: str) -> None:
    rows, cols = shape.split("x")
    of, column = f"{shape}xf32", f"{rows}xf32"
    body = f"""
      {load("x", of)}
      %uy = tile.alloc : !tile.buffer<{column}, ub>
      %s = tile.alloc : !tile.buffer<{column}, ub>
      tile.reduce {kind} %ux scratch %s : !tile.buffer<{column}, ub> -> %uy {{cols = {cols} : i64}}
        : !tile.buffer<{of}, ub> to !tile.buffer<{column}, ub>
      {store(column)}
    """
    check({"x": of}, {"y": column}, body, tolerance=1e-5 if kind == "add" else 0)


def test_reduce_takes_the_first_columns_only() -> None:
    body = f"""
      {load("x", "4x16xf32")}
      %uy = tile.alloc : !tile.buffer<4xf32, ub>
      tile.reduce max %ux -> %uy {{cols = 9 : i64}}
        : !tile.buffer<4x16xf32, ub> to !tile.buffer<4xf32, ub>
      {store("4xf32")}
    """
    check({"x": "4x16xf32"}, {"y": "4xf32"}, body)


@pytest.mark.parametrize("shape", ["7", "3x5", "300x64"])
def test_fill(shape: str) -> None:
    of = f"{shape}xf32"
    body = f"""
      %uy = tile.alloc : !tile.buffer<{of}, ub>
      tile.fill %uy, 2.5 : f32 : !tile.buffer<{of}, ub>
      {store(of)}
    """
    check({"x": "1xf32"}, {"y": of}, body)


MATRICES = [(16, 16, 16), (5, 7, 3), (33, 20, 18), (48, 64, 100), (1, 130, 17), (70, 16, 40)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("swapped", ["", "lhs", "rhs"])
@pytest.mark.parametrize(("m", "k", "n"), MATRICES)
def test_product(m: int, k: int, n: int, swapped: str, dtype: str) -> None:
    lhs, rhs = (k, m) if swapped == "lhs" else (m, k), (n, k) if swapped == "rhs" else (k, n)

    def buffer(dims: tuple[int, int], of: str, space: str) -> str:
        return f"!tile.buffer<{dims[0]}x{dims[1]}x{of}, {space}>"

    def fetch(name: str, dims: tuple[int, int], space: str, into: tuple[int, int]) -> str:
        transpose = "{transpose} " if dims != into or name == swapped else ""
        return f"""
          %{name}1 = tile.alloc : {buffer(dims, dtype, "l1")}
          tile.copy %{name} -> %{name}1 : {buffer(dims, dtype, "gm")} to {buffer(dims, dtype, "l1")}
          %{name}0 = tile.alloc : {buffer(into, dtype, space)}
          tile.copy %{name}1 -> %{name}0 {transpose}
            : {buffer(dims, dtype, "l1")} to {buffer(into, dtype, space)}
        """

    body = f"""
      %m = arith.constant {m} : index
      %k = arith.constant {k} : index
      %n = arith.constant {n} : index
      %zero = arith.constant 0 : index
      {fetch("lhs", lhs, "l0a", (m, k))}
      {fetch("rhs", rhs, "l0b", (k, n))}
      %c = tile.alloc : {buffer((m, n), "f32", "l0c")}
      tile.mmad %lhs0, %rhs0 -> %c accumulate %zero valid [%m, %k, %n]
        : {buffer((m, k), dtype, "l0a")}, {buffer((k, n), dtype, "l0b")}
        to {buffer((m, n), "f32", "l0c")}
      %d = tile.alloc : !tile.buffer<{m}x{n}x{dtype}, ub, nz>
      tile.copy %c -> %d : {buffer((m, n), "f32", "l0c")} to !tile.buffer<{m}x{n}x{dtype}, ub, nz>
      %uy = tile.alloc : {buffer((m, n), dtype, "ub")}
      tile.unary copy %d -> %uy
        : !tile.buffer<{m}x{n}x{dtype}, ub, nz> to {buffer((m, n), dtype, "ub")}
      {store(f"{m}x{n}x{dtype}")}
    """
    inputs = {"lhs": f"{lhs[0]}x{lhs[1]}x{dtype}", "rhs": f"{rhs[0]}x{rhs[1]}x{dtype}"}
    check(inputs, {"y": f"{m}x{n}x{dtype}"}, body)


def test_a_machine_without_a_feature_is_refused() -> None:
    of = "!tile.buffer<16x16xf16, "
    body = f"""
      %u = tile.alloc : {of}l1>
      tile.copy %x -> %u : {of}gm> to {of}l1>
    """
    module = planned(program({"x": "16x16xf16"}, {"y": "16x16xf16"}, body))
    description = deepcopy(dict(load_machine("ascend310p").description))
    del description["features"]["nd2nz"]
    module.attributes[MACHINE] = MachineAttr.of(from_description(description, "a test"))
    with pytest.raises(UnsupportedError, match="nd2nz_gm_l1 needs the feature nd2nz"):
        run_passes(module, "convert-tile-to-npu-isa")


def test_the_drain_must_know_how_its_accumulator_is_packed() -> None:
    body = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %a = tile.alloc : !tile.buffer<16x16xf16, l0a>
      %b = tile.alloc : !tile.buffer<16x16xf16, l0b>
      %c = tile.alloc : !tile.buffer<16x16xf32, l0c>
      scf.for %i = %c0 to %c4 step %c1 {
        %m = arith.addi %i, %c1 : index
        tile.mmad %a, %b -> %c accumulate %i valid [%m, %c16, %c16] : !tile.buffer<16x16xf16, l0a>,
          !tile.buffer<16x16xf16, l0b> to !tile.buffer<16x16xf32, l0c>
      }
      %d = tile.alloc : !tile.buffer<16x16xf32, ub, nz>
      tile.copy %c -> %d : !tile.buffer<16x16xf32, l0c> to !tile.buffer<16x16xf32, ub, nz>
    """
    module = planned(program({"x": "16xf32"}, {"y": "16xf32"}, body))
    with pytest.raises(PassError, match="the drain cannot know how its accumulator is packed"):
        run_passes(module, "convert-tile-to-npu-isa")


ROWS = ("2x5", "8x16", "13x40", "17x64", "20x100", "300x16", "9x800")
"""Rows of sub-views: few and many, of less than a block, of blocks, of whole vectors and more."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("step", [1, 3])
def test_subviews(step: int, shape: str, dtype: str) -> None:
    rows, cols = map(int, shape.split("x"))
    block = 8 if dtype == "f32" else 16
    whole, of, row = f"{rows * step + 2}x{cols}x{dtype}", f"{shape}x{dtype}", f"{cols}x{dtype}"
    stride = -(-cols // block) * block * step
    seen = f"!tile.buffer<{of}, ub{f', strides [{stride}, 1]' if step > 1 else ''}>"
    ub, row_ub = f"!tile.buffer<{of}, ub>", f"!tile.buffer<{row}, ub>"
    body = f"""
      {load("x", whole)}
      {load("z", whole)}
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %a = tile.subview %ux[%two] : !tile.buffer<{whole}, ub> to {seen}
      %b = tile.subview %uz[%one] : !tile.buffer<{whole}, ub> to {seen}
      %r = tile.subview %uz[%one] : !tile.buffer<{whole}, ub> to {row_ub}
      %uy = tile.alloc : {ub}
      tile.fill %b, 3.0 : {dtype} : {seen}
      tile.unary absolute %a -> %a : {seen} to {seen}
      tile.binary add %a, %b -> %uy : {seen}, {seen} to {ub}
      tile.scalar mul %uy, 0.5 : {dtype} -> %b : {ub} to {seen}
      tile.binary mul %b, %r -> %uy {{rhs_mode = #tile<mode row>}} : {seen}, {row_ub} to {ub}
      {store(of)}
      tile.copy %uz -> %w : !tile.buffer<{whole}, ub> to !tile.buffer<{whole}, gm>
    """
    check({"x": whole, "z": whole}, {"y": of, "w": whole}, body)


@pytest.mark.parametrize("shape", ROWS)
def test_subviews_cast(shape: str) -> None:
    rows, cols = map(int, shape.split("x"))
    whole = f"{rows * 2}x{cols}xf16"
    seen = f"!tile.buffer<{shape}xf16, ub, strides [{-(-cols // 16) * 32}, 1]>"
    body = f"""
      {load("x", whole)}
      %one = arith.constant 1 : index
      %a = tile.subview %ux[%one] : !tile.buffer<{whole}, ub> to {seen}
      %uy = tile.alloc : !tile.buffer<{shape}xf32, ub>
      tile.cast %a -> %uy : {seen} to !tile.buffer<{shape}xf32, ub>
      {store(f"{shape}xf32")}
    """
    check({"x": whole}, {"y": f"{shape}xf32"}, body)


def test_a_subview_beyond_its_buffer_does_not_run() -> None:
    body = """
      %ux = tile.alloc : !tile.buffer<4x8xf32, ub>
      %three = arith.constant 3 : index
      %a = tile.subview %ux[%three] : !tile.buffer<4x8xf32, ub> to !tile.buffer<2x8xf32, ub>
    """
    with pytest.raises(ExecutionError, match="rows 3 and on, 2 of them"):
        check({}, {"y": "4x8xf32"}, body)
