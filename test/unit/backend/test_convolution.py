"""A convolution by hand: windows on the way to L0A, taps of a filter in batches."""

from itertools import product

import numpy as np
import pytest

from hand_written import Array, program, small_machine, without
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Program
from npuc.dialects.core.errors import RaceError, UndefinedReadError

# An image of 5 x 6 with 32 channels and windows of 3 x 3 give the last 16 of 32 channels.
CONVOLUTION = """
nd2nz_gm_l1 dst = [0], src = [r0], dtype = f16, rows = 30, cols = 32, src_stride = 64, dst_c0_stride = 32
nd2nz_gm_l1 dst = [4096], src = [r1 + 32], dtype = f16, rows = 16, cols = 16, src_stride = 64, dst_c0_stride = 288, nd_num = 9, src_nd_stride = 2048, dst_nd_stride = 16
nd2nz_gm_l1 dst = [8704], src = [r1 + 1056], dtype = f16, rows = 16, cols = 16, src_stride = 64, dst_c0_stride = 288, nd_num = 9, src_nd_stride = 2048, dst_nd_stride = 16
set_flag src = MTE2, dst = MTE1, id = 0
wait_flag src = MTE2, dst = MTE1, id = 0
loop r3 in 2 {
  r4 = s_mul lhs = r3, rhs = 144
  r5 = s_mul lhs = r3, rhs = 9216
  r6 = s_mul lhs = r3, rhs = 4608
  load3d_l1_l0a dst = [r5], src = [0], dtype = f16, l1_h = 5, l1_w = 6, m_pos = 0, m = 30, k_pos = r4, k = 144, stride_h = 1, stride_w = 1, filter_h = 3, filter_w = 3, dilation_h = 1, dilation_w = 1, pad_left = 1, pad_right = 1, pad_top = 1, pad_bottom = 1, src_c0_stride = 32
  load2d_l1_l0b dst = [r6], src = [r6 + 4096], dtype = f16, rows = 16, k = 144, src_c0_stride = 288, transpose = 1
  set_flag src = MTE1, dst = M, id = r3
  wait_flag src = MTE1, dst = M, id = r3
  mmad dst = [0], src0 = [r5], src1 = [r6], dtype = f16, m = 30, k = 144, n = 16, accumulate = r3
}
set_flag src = M, dst = V, id = 0
wait_flag src = M, dst = V, id = 0
mov_l0c_ub dst = [0], src = [0], dtype = f32, m = 30, n = 16, dst_stride = 30
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
mov_ub_gm dst = [r2], src = [0], len = 1920
end
"""  # noqa: E501 - one instruction a line


def convolution(text: str = CONVOLUTION) -> tuple[Program, dict[str, Array]]:
    """The program and its inputs: small integers, so that sums are exact."""
    random = np.random.default_rng(0)
    image = random.integers(-4, 5, (5, 6, 32)).astype(np.float16)
    weights = random.integers(-4, 5, (3, 3, 32, 32)).astype(np.float16)
    inputs = {"x": image, "w": weights}
    machine = small_machine(l0a=1 << 15, l0b=1 << 15)
    result = np.zeros((5, 6, 16), np.float32)
    return program(text, inputs, {"y": result}, machine=machine), inputs


def test_values_and_checks() -> None:
    built, inputs = convolution()
    result = Emulator(built, checks=True).run(inputs)
    padded = np.pad(inputs["x"].astype(np.float32), ((1, 1), (1, 1), (0, 0)))
    wanted = np.zeros((5, 6, 16), np.float32)
    for kh, kw in product(range(3), range(3)):
        wanted += padded[kh : kh + 5, kw : kw + 6] @ inputs["w"][kh, kw, :, 16:].astype(np.float32)
    np.testing.assert_array_equal(result.outputs["y"], wanted)
    assert len(result.report) == 0


def test_what_is_moved_is_what_is_asked_for() -> None:
    """The filter is read as nine matrices with gaps; L2 sees each of them."""
    built, inputs = convolution()
    (task,) = Emulator(built).run(inputs).tasks
    image, filters = 30 * 64, 2 * 9 * 16 * 32
    assert task.work.moved["gm_l1"] == image + filters
    assert task.work.missed == image + filters


def test_a_tap_that_is_not_loaded_has_no_value() -> None:
    first, rest = CONVOLUTION.split("nd_num = 9", 1)
    built, inputs = convolution(f"{first}nd_num = 8{rest}")
    with pytest.raises(UndefinedReadError, match="bytes of l0b that were never written"):
        Emulator(built, checks=True).run(inputs)


def test_a_row_of_the_image_that_is_not_loaded_has_no_value() -> None:
    built, inputs = convolution(CONVOLUTION.replace("rows = 30", "rows = 16"))
    with pytest.raises(UndefinedReadError, match="bytes of l0a that were never written"):
        Emulator(built, checks=True).run(inputs)


def test_windows_wait_for_their_image() -> None:
    built, inputs = convolution(without(CONVOLUTION, "src = MTE2, dst = MTE1"))
    with pytest.raises(RaceError, match="MTE2 and MTE1 race for byte 0 of l1"):
        Emulator(built, checks=True).run(inputs)
