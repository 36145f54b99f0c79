"""Whole programs of the vector set on the emulator, with every check on."""

import numpy as np
import pytest

from hand_written import Array, program, small_machine
from npuc.backend.emulator.emulator import Emulator
from npuc.dialects.core.errors import BoundsError, UndefinedReadError

N = 64
LARGEST = """
mov_gm_ub dst = [0], src = [r0], len = 256
barrier pipe = ALL
vdupr dst = [256], value = 0, dtype = i32, mask = 64, repeat = 1
{indices}
vsort32 dst = [512], src0 = [0], src1 = [256], dtype = f32, repeat = 2
r5 = vmrgsort4 dst = [1024], src0 = [512], src1 = [768], {merge}
r6 = vreducev2 dst = [2048], src0 = [1024], src1 = [0], pattern = even, {full}, repeat = 2
barrier pipe = ALL
r7 = s_mul lhs = r6, rhs = 4
mov_ub_gm dst = [r1], src = [2048], len = r7
end
"""
FULL = "dtype = f32, mask = 64"
MERGE = "src2 = [0], src3 = [0], dtype = f32, length0 = 32, length1 = 32"
INDICES = "\n".join(
    f"vdupr dst = [{256 + 32 * block}], value = {block}, dtype = i32, mask = 8, repeat = 1"
    for block in range(8)
)


def run(text: str, x: Array, y: Array) -> Array:
    built = program(text, {"x": x}, {"y": y}, machine=small_machine())
    return Emulator(built, checks=True).run({"x": x}).outputs["y"]


def test_scores_in_falling_order() -> None:
    x = np.random.default_rng(0).normal(size=N).astype(np.float32)
    found = run(LARGEST.format(indices=INDICES, merge=MERGE, full=FULL), x, np.zeros(N, np.float32))
    np.testing.assert_array_equal(found, -np.sort(-x))


MASKED = """
mov_gm_ub dst = [0], src = [r0], len = 160
barrier pipe = ALL
vcmps dst = [1024], src0 = [0], scalar = 0.0, dtype = f32, mask = {mask}, repeat = 1, compare = gt
vsels dst = [512], src0 = [0], select = [1024], scalar = -1.0, dtype = f32, mask = 64, repeat = 1
vcmax dst = [768], src0 = [512], dtype = f32, mask = 64, repeat = 1
barrier pipe = ALL
mov_ub_gm dst = [r1], src = [768], len = 4
end
"""


def test_a_selection_fills_lanes_that_lack_values() -> None:
    """40 of 64 lanes are loaded; the bits of the others are 0 when they are not compared."""
    x = np.linspace(-3, 2, N, dtype=np.float32)
    found = run(MASKED.format(mask=40), x, np.zeros(1, np.float32))
    assert found[0] == x[:40].max()
    with pytest.raises(UndefinedReadError, match="bytes of ub") as caught:
        run(MASKED.format(mask=64), x, np.zeros(1, np.float32))
    assert "vcmax at word 4" in (caught.value.where or "")


GATHER = """
mov_gm_ub dst = [0], src = [r0], len = 256
barrier pipe = ALL
vdupr dst = [512], value = {offset}, dtype = i32, mask = {defined}, repeat = 1
vgather dst = [1024], src = [0], offsets = [512], src_bytes = 256, dtype = f32, mask = 8, repeat = 1
barrier pipe = ALL
mov_ub_gm dst = [r1], src = [1024], len = 32
end
"""


def test_gathers() -> None:
    x = np.arange(N, dtype=np.float32)
    y = np.zeros(8, np.float32)
    assert run(GATHER.format(offset=20, defined=8), x, y).tolist() == [5.0] * 8
    with pytest.raises(BoundsError, match="an offset of vgather points to nothing") as bounds:
        run(GATHER.format(offset=256, defined=8), x, y)
    assert "vgather at word 3" in (bounds.value.where or "")
    with pytest.raises(UndefinedReadError) as undefined:
        run(GATHER.format(offset=20, defined=7), x, y)
    assert undefined.value.why == "the offset of lane 7 of repeat 0 has no value"
    assert "vgather at word 3" in (undefined.value.where or "")


TRANSPOSE = """
mov_gm_ub dst = [0], src = [r0], nburst = 16, len = 32, src_stride = 32, dst_stride = 1
barrier pipe = ALL
vnchwconv dst = [512], src = [0], dtype = f32, repeat = 1, dst_row_stride = 2, src_row_stride = 1
barrier pipe = ALL
mov_ub_gm dst = [r1], src = [512], len = {stored}
end
"""


def test_transposes_take_what_lacks_a_value_along() -> None:
    x = np.arange(128, dtype=np.float32)
    y = np.zeros(128, np.float32)
    found = run(TRANSPOSE.format(stored=512), x, y)
    np.testing.assert_array_equal(found.reshape(8, 16), x.reshape(16, 8).T)
    part = TRANSPOSE.replace("nburst = 16", "nburst = 15")
    run(part.format(stored=60), x, y)
    with pytest.raises(UndefinedReadError, match="byte 572 of it has no value"):
        run(part.format(stored=64), x, y)


def test_counter_mode_from_a_register() -> None:
    counted = "mask = 1, repeat = 1, count_mode = 1, count = r5"
    text = f"""
r5 = s_mov src = 50
mov_gm_ub dst = [0], src = [r0], len = 256
barrier pipe = ALL
vadds dst = [0], src0 = [0], scalar = 1.0, dtype = f32, {counted}
r6 = s_mov src = 5
vmuls dst = [0], src0 = [0], scalar = 2.0, dtype = f32, mask = 64, repeat = 1, lanes_low = r6
barrier pipe = ALL
mov_ub_gm dst = [r1], src = [0], len = 256
end
"""
    x = np.arange(N, dtype=np.float32)
    expected = np.where(np.arange(N) < 50, x + 1, x)
    expected[[0, 2]] *= 2
    np.testing.assert_array_equal(run(text, x, np.zeros_like(x)), expected)
