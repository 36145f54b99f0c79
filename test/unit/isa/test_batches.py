"""Several matrices in one load from GM to L1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bare_core import BareCore, execute, operands
from npuc.backend.assembler import parse
from npuc.backend.decoder import decode
from npuc.backend.encoder import encode
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.target import costs
from npuc.dialects.target.machine import load

LOAD = MNEMONICS["nd2nz_gm_l1"]
SRC, DST = 102, 64
BASE: dict[str, float | str] = {
    "dst": 0, "src": 0, "dtype": "f16", "rows": 9, "cols": 40, "src_stride": 80,
    "dst_c0_stride": 64, "nd_num": 4, "src_nd_stride": 4096, "dst_nd_stride": 16,
}  # fmt: skip


@st.composite
def batches(draw: st.DrawFn) -> dict[str, float | str]:
    """Matrices one after the other in each block column, or each after all of the one before."""
    dtype = draw(st.sampled_from(["f16", "bf16", "f32"]))
    size = 4 if dtype == "f32" else 2
    count, rows, cols = draw(st.integers(1, 5)), draw(st.integers(1, 20)), draw(st.integers(1, 40))
    row = cols * size + draw(st.sampled_from([0, 0, 6]))
    tall = -(-rows // 16) * 16
    if draw(st.booleans()):
        matrix = draw(st.sampled_from([rows, rows + 3, tall, tall + 5]))
        column = count * matrix + draw(st.integers(0, 9)) + 16
    else:
        column = tall + draw(st.integers(0, 3))
        matrix = -(-cols * size // 32) * column + draw(st.integers(0, 3))
    apart = draw(st.sampled_from([rows * row, 2 * rows * row, 10, 0]))
    return {
        "dtype": dtype, "rows": rows, "cols": cols, "src_stride": row, "dst_c0_stride": column,
        "nd_num": count, "src_nd_stride": apart, "dst_nd_stride": matrix,
    }  # fmt: skip


def expected(core: BareCore, o: dict[str, int], dtype: np.dtype[np.unsignedinteger]) -> Array:
    """L1 as rows of C0 elements after the load, an element at a time."""
    c0 = 32 // dtype.itemsize
    l1 = core.l1.data.copy().view(dtype).reshape(-1, c0)
    blocks = -(-o["cols"] // c0)
    tall = min(-(-o["rows"] // 16) * 16, o["dst_nd_stride"])
    for matrix in range(o["nd_num"]):
        start = DST // 32 + matrix * o["dst_nd_stride"]
        for block in range(blocks):
            at = start + block * o["dst_c0_stride"]
            l1[at : at + tall] = 0
        for i in range(o["rows"]):
            source = SRC + matrix * o["src_nd_stride"] + i * o["src_stride"]
            row = core.gm.data[source : source + o["cols"] * dtype.itemsize].copy().view(dtype)
            for j, value in enumerate(row):
                l1[start + j // c0 * o["dst_c0_stride"] + i, j % c0] = value
    return l1.view(np.uint8).reshape(-1)


@given(values=batches())
def test_matrices_become_fractals(values: dict[str, float | str]) -> None:
    core = BareCore()
    core.put("gm", 0, np.random.default_rng(0).integers(1, 255, len(core.gm.data), np.uint8))
    core.l1.data[:] = 0xFF
    dtype = np.dtype(np.uint32 if values["dtype"] == "f32" else np.uint16)
    numbers = {name: value for name, value in values.items() if isinstance(value, int)}
    wanted = expected(core, numbers, dtype)
    bound = execute(core, "nd2nz_gm_l1", dst=DST, src=SRC, **values)
    np.testing.assert_array_equal(core.l1.data, wanted)
    written = np.zeros(len(core.l1.data), np.bool_)
    for shape in LOAD.writes(bound, load("tiny")):
        for row in range(shape.rows):
            at = shape.start + row * shape.stride
            assert not written[at : at + shape.row_bytes].any(), "a byte is declared twice"
            written[at : at + shape.row_bytes] = True
    assert (core.l1.data[~written] == 0xFF).all()
    assert not (core.l1.data[written] == 0xFF).any()


@pytest.mark.parametrize(
    ("values", "ranges"),
    [
        ({}, [(0, 720, 4, 4096)]),
        ({"src_nd_stride": 720}, [(0, 80, 36, 80)]),
        ({"rows": 1, "src_stride": 7}, [(0, 80, 4, 4096)]),
        ({"src_stride": 96, "nd_num": 2}, [(0, 80, 9, 96), (4096, 80, 9, 96)]),
        ({"src_stride": 96, "src_nd_stride": 0}, [(0, 80, 9, 96)]),
    ],
)
def test_ranges_read(
    values: dict[str, float | str], ranges: list[tuple[int, int, int, int]]
) -> None:
    bound = operands(LOAD, **(BASE | values))
    found = [tuple(shape)[1:] for shape in LOAD.reads(bound, load("tiny"))]
    assert found == ranges


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({}, None),
        ({"nd_num": 1, "dst_nd_stride": 0}, None),
        ({"nd_num": 2, "dst_nd_stride": 0}, "dst_nd_stride = 0 is less than rows = 9"),
        ({"nd_num": 1, "dst_nd_stride": 8}, "dst_nd_stride = 8 is less than rows = 9"),
        (
            {"dst_c0_stride": 63},
            "dst_c0_stride = 63 is less than the 64 rows of all 4 matrices, and "
            "dst_nd_stride = 16 less than the 142 of one",
        ),
        ({"dst_c0_stride": 57, "dst_nd_stride": 9, "nd_num": 6}, None),
        ({"dst_c0_stride": 16, "dst_nd_stride": 48}, None),
        ({"dst_c0_stride": 16, "dst_nd_stride": 47}, "dst_c0_stride = 16 is less than the 157"),
        ({"dst_c0_stride": 1, "cols": 16}, None),
    ],
)
def test_matrices_that_overlap_are_refused(
    values: dict[str, float | str], fault: str | None
) -> None:
    found = LOAD.constraint(operands(LOAD, **(BASE | values)))
    assert found == fault or (fault and (found or "").startswith(fault))


@pytest.mark.parametrize("name", ["rows", "cols", "nd_num"])
def test_what_is_not_known_is_not_refused(name: str) -> None:
    bound = operands(LOAD, **BASE)
    setattr(bound, name, None)
    assert LOAD.constraint(bound) is None


def test_every_row_of_every_matrix_is_a_burst() -> None:
    machine = load("tiny")

    def busy(**values: float | str) -> int:
        return LOAD.cycles(operands(LOAD, **(BASE | values)), machine).busy

    def move(rows: int, size: int, stride: int, *, aligned: bool) -> int:
        return costs.gm_move(machine, "gm_l1", rows, size, stride, aligned=aligned).busy

    assert busy() == move(4, 720, 4096, aligned=True)
    assert busy(src_nd_stride=720) == move(36, 80, 80, aligned=True)
    assert busy(src_stride=512, src_nd_stride=8192) == move(36, 80, 512, aligned=True)
    assert busy(src_stride=512, src_nd_stride=8100) == move(36, 80, 512, aligned=False)
    assert busy(src_stride=512, src_nd_stride=8192, src=2) == move(36, 80, 512, aligned=False)


def test_words_from_before_there_were_batches_load_one_matrix() -> None:
    text = (
        "nd2nz_gm_l1 dst = [0], src = [r0], dtype = f16, rows = 16, cols = 16, src_stride = 32, "
        "dst_c0_stride = 16\nend"
    )
    words = encode(parse(text))
    first = LOAD.field("nd_num").lo
    number = int.from_bytes(words[0].tobytes(), "little")
    assert number >> first == 0, "the fields that were added are all 0"
    (record, _) = decode(words)
    assert [record.operand(f) for f in ("nd_num", "src_nd_stride", "dst_nd_stride")] == [1, 0, 0]
    more = parse(text.replace("16\nend", "16, nd_num = 4095, dst_nd_stride = 16\nend"))
    assert decode(encode(more)) == more
