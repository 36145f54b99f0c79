"""Windows of an image as rows of a matrix in L0A."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bare_core import BareCore, execute, operands
from npuc.dialects.core.errors import BoundsError
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.npu_isa.spec import Operands
from npuc.dialects.target.machine import load

LOAD = MNEMONICS["load3d_l1_l0a"]
SRC, DST = 96, 512


class Case(NamedTuple):
    """An image of `blocks` channel blocks, and the windows of it that are loaded."""

    dtype: str
    blocks: int
    fields: dict[str, int]

    @property
    def c0(self) -> int:
        """Channels of a block."""
        return 8 if self.dtype == "f32" else 16

    def windows(self, axis: str) -> int:
        """Windows along `h` or `w`."""
        f = self.fields
        before, after = ("pad_top", "pad_bottom") if axis == "h" else ("pad_left", "pad_right")
        padded = f[f"l1_{axis}"] + f[before] + f[after]
        reach = f[f"dilation_{axis}"] * (f[f"filter_{axis}"] - 1) + 1
        return (padded - reach) // f[f"stride_{axis}"] + 1


def image_of(case: Case) -> Array:
    """Any bits but zero, as [blocks, h, w, C0], so that padding shows."""
    shape = (case.blocks, case.fields["l1_h"], case.fields["l1_w"], case.c0)
    numbers = np.arange(1, 1 + int(np.prod(shape)), dtype=np.uint32).reshape(shape)
    return numbers if case.dtype == "f32" else (numbers % 65535 + 1).astype(np.uint16)


def im2col(case: Case, image: Array) -> Array:
    """The whole matrix, an element at a time."""
    f = case.fields
    out_h, out_w = case.windows("h"), case.windows("w")
    columns = list(product(range(case.blocks), range(f["filter_h"]), range(f["filter_w"])))
    matrix = np.zeros((out_h * out_w, len(columns) * case.c0), image.dtype)
    for row, (oh, ow) in enumerate(product(range(out_h), range(out_w))):
        for column, (c1, kh, kw) in enumerate(columns):
            y = oh * f["stride_h"] + kh * f["dilation_h"] - f["pad_top"]
            x = ow * f["stride_w"] + kw * f["dilation_w"] - f["pad_left"]
            if 0 <= y < f["l1_h"] and 0 <= x < f["l1_w"]:
                part = slice(column * case.c0, (column + 1) * case.c0)
                matrix[row, part] = image[c1, y, x]
    return matrix


def core_with(case: Case, image: Array) -> BareCore:
    """A core with the image at `SRC` in L1, ones between its channel blocks and in L0A."""
    core = BareCore()
    core.l1.data[:] = core.l0a.data[:] = 0xFF
    for number, block in enumerate(image):
        core.put("l1", SRC + number * case.fields["src_c0_stride"] * 32, block)
    return core


def loaded(core: BareCore, case: Case) -> Array:
    """Execute; what lies in L0A, unpacked: all rows of whole fractals."""
    execute(core, "load3d_l1_l0a", dst=DST, src=SRC, dtype=case.dtype, **case.fields)
    tall, deep = -(-case.fields["m"] // 16), case.fields["k"] // case.c0
    dtype = np.uint32 if case.dtype == "f32" else np.uint16
    packed = core.get("l0a", DST, (tall, deep, 16, case.c0), dtype)
    return packed.transpose(0, 2, 1, 3).reshape(tall * 16, deep * case.c0)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small images with any windows that fit, and any part of their matrix."""
    fields: dict[str, int] = {}
    for axis, before, after in (("h", "pad_top", "pad_bottom"), ("w", "pad_left", "pad_right")):
        size = draw(st.integers(0 if axis == "h" else 1, 9))
        pads = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
        padded = size + sum(pads)
        taps = draw(st.integers(1, min(3, padded))) if padded else 1
        farthest = (padded - 1) // (taps - 1) if taps > 1 else 3
        fields[f"l1_{axis}"], fields[before], fields[after] = (
            size,
            max(pads[0], not padded),
            pads[1],
        )
        fields[f"filter_{axis}"] = taps
        fields[f"dilation_{axis}"] = draw(st.integers(1, farthest))
        fields[f"stride_{axis}"] = draw(st.integers(1, 4))
    case = Case(draw(st.sampled_from(["f16", "f32"])), draw(st.integers(1, 3)), fields)
    depth = case.blocks * fields["filter_h"] * fields["filter_w"]
    first = draw(st.integers(0, depth - 1))
    fields["k_pos"] = first * case.c0
    fields["k"] = draw(st.integers(1, min(depth - first, 6))) * case.c0
    fields["m_pos"] = draw(st.integers(0, case.windows("h") * case.windows("w")))
    fields["m"] = draw(st.integers(1, 40))
    fields["src_c0_stride"] = max(fields["l1_h"] * fields["l1_w"], 1) + draw(st.integers(0, 20))
    return case


@given(case=cases())
def test_windows_become_rows(case: Case) -> None:
    f, image = case.fields, image_of(case)
    matrix = im2col(case, image)
    found = loaded(core_with(case, image), case)
    wanted = np.zeros_like(found)
    rows = matrix[f["m_pos"] : f["m_pos"] + len(wanted), f["k_pos"] : f["k_pos"] + f["k"]]
    wanted[: len(rows)] = rows
    np.testing.assert_array_equal(found, wanted)


@given(case=cases())
def test_only_the_image_is_read(case: Case) -> None:
    """What is declared lies in the image, and what lies outside it makes no difference."""
    image = image_of(case)
    core = core_with(case, image)
    bound = operands(LOAD, dst=DST, src=SRC, dtype=case.dtype, **case.fields)
    inside = np.zeros(len(core.l1.data), np.bool_)
    for block in range(case.blocks):
        start = SRC + block * case.fields["src_c0_stride"] * 32
        inside[start : start + image[block].nbytes] = True
    for shape in LOAD.reads(bound, load("tiny")):
        for row in range(shape.rows):
            start = shape.start + row * shape.stride
            assert inside[start : start + shape.row_bytes].all()
    first = loaded(core, case)
    core.l1.data[~inside] = 0x55
    np.testing.assert_array_equal(loaded(core, case), first)


BASE = {
    "l1_h": 6, "l1_w": 5, "m_pos": 0, "m": 16, "k_pos": 0, "k": 32, "stride_h": 1, "stride_w": 1,
    "filter_h": 3, "filter_w": 3, "dilation_h": 1, "dilation_w": 1, "pad_left": 1, "pad_right": 1,
    "pad_top": 1, "pad_bottom": 1, "src_c0_stride": 30,
}  # fmt: skip


def changed(**values: int | str | None) -> Operands:
    bound = operands(LOAD, dst=DST, src=SRC, dtype="f16", **BASE)
    for name, value in values.items():
        setattr(bound, name, value)
    return bound


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"k": 24}, "k = 24 is not a multiple of C0 = 16"),
        ({"k_pos": 8}, "k_pos = 8 is not a multiple of C0 = 16"),
        ({"dilation_w": 4}, "a window of 9 columns does not fit the 7 of the padded image"),
        ({"l1_h": 0}, "a window of 3 rows does not fit the 2 of the padded image"),
        ({"l1_h": 0, "pad_top": None}, None),
        ({"src_c0_stride": 29}, "src_c0_stride = 29 is less than l1_h * l1_w = 30"),
        ({"src_c0_stride": 29, "l1_h": None}, None),
    ],
)
def test_windows_that_make_no_sense_are_refused(
    values: dict[str, int | None], fault: str | None
) -> None:
    assert LOAD.constraint(changed(**values)) == fault


def test_limits_are_those_published() -> None:
    fields = {field.name: field for field in LOAD.fields}
    limits = {"l1_h": 32767, "l1_w": 32767, "stride_h": 63, "stride_w": 63}
    for name in ("filter_h", "filter_w", "dilation_h", "dilation_w"):
        limits[name] = 255
    for name in ("pad_left", "pad_right", "pad_top", "pad_bottom"):
        limits[name] = 255
    assert {name: fields[name].high for name in limits} == limits
    assert fields["stride_w"].check(64) == "stride_w = 64 is outside 1..63 (6 bits, unit 1)"
    assert fields["filter_h"].check(0) == "filter_h = 0 is outside 1..255 (8 bits, unit 1)"
    assert fields["pad_top"].check(256) == "pad_top = 256 is outside 0..255 (8 bits, unit 1)"


def test_an_image_that_leaves_l1_is_refused() -> None:
    with pytest.raises(BoundsError, match="access outside l1"):
        LOAD.execute(BareCore(), changed(src=(1 << 16) - 32))


def test_the_distance_of_channel_blocks_bounds_what_is_read() -> None:
    """Passes ask with the largest height a register may hold."""
    reads = LOAD.reads(changed(l1_h=32767, k=160), load("tiny"))
    assert max(shape.end for shape in reads) == SRC + 2 * 30 * 32


@pytest.mark.parametrize("name", ["m", "k"])
def test_nothing_is_loaded_from_nowhere(name: str) -> None:
    core = BareCore()
    core.l0a.data[:] = 0xFF
    bound = changed(**{name: 0, "src": 1 << 20, "k_pos": 288})
    LOAD.execute(core, bound)
    assert (core.l0a.data == 0xFF).all()
    touched = (*LOAD.reads(bound, load("tiny")), *LOAD.writes(bound, load("tiny")))
    assert all(shape.bytes == 0 for shape in touched)


def test_features_follow_the_channel_blocks() -> None:
    assert LOAD.features(changed()) == ("load3d",)
    assert LOAD.features(changed(src_c0_stride=32)) == ("load3d", "load3d_c0_stride")
    assert LOAD.features(changed(l1_h=None)) == ("load3d", "load3d_c0_stride")
    assert LOAD.features(changed(dtype="f32")) == ("load3d", "cube_f32")


def test_the_instruction_costs_what_the_path_says() -> None:
    # 7 windows a row: three rows of the image a fractal, at 2 / 5 of 256 bytes a cycle.
    bound = changed(pad_left=2, pad_right=2)
    assert LOAD.cycles(bound, load("tiny")).busy == 2 * 512 * 5 // 512
    assert LOAD.cycles(bound, load("tiny")).tail == 2
