"""A product of 8-bit integers with biases, drained by the pipe for it, and machines without one."""

import numpy as np
import pytest

from hand_written import fixpipe_machine, program, small_machine
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Program
from npuc.dialects.core.errors import ProgramError, RaceError
from npuc.dialects.npu_isa.memory import Array
from npuc.dialects.target.machine import Machine

M, K, N = 16, 64, 32
TEXT = f"""
nd2nz_gm_l1 dst = [0], src = [r0], dtype = i8, rows = {M}, cols = {K}, src_stride = {K}, dst_c0_stride = {M}
nd2nz_gm_l1 dst = [8192], src = [r1], dtype = i8, rows = {K}, cols = {N}, src_stride = {N}, dst_c0_stride = {K}
mov_gm_l1 dst = [16384], src = [r2], len = {N * 4 // 32}
mov_gm_l1 dst = [20480], src = [r3], len = {N * 8 // 32}
set_flag src = MTE2, dst = MTE1, id = 0
set_flag src = MTE2, dst = FIX, id = 0
wait_flag src = MTE2, dst = MTE1, id = 0
load2d_l1_l0a dst = [0], src = [0], dtype = i8, rows = {M}, k = {K}, src_c0_stride = {M}
load2d_l1_l0b dst = [0], src = [8192], dtype = i8, rows = {N}, k = {K}, src_c0_stride = {K}, transpose = 1
mov_l1_bt dst = [64], src = [16384], dtype = b32, len = {N * 4 // 64}
set_flag src = MTE1, dst = M, id = 0
wait_flag src = MTE1, dst = M, id = 0
mmad_bias dst = [0], src0 = [0], src1 = [0], bias = [64], dtype = i8, m = {M}, k = {K}, n = {N}
set_flag src = M, dst = FIX, id = 0
wait_flag src = MTE2, dst = FIX, id = 0
mov_l1_fb dst = [0], src = [20480], len = {N * 8 // 64}
wait_flag src = M, dst = FIX, id = 0
fixpipe_l0c_gm dst = [r4], src = [0], src_dtype = i32, dtype = i8, m = {M}, n = {N}, dst_stride = {N}, quant = channel, clamp = relu
end
"""  # noqa: E501 - one instruction a line


def quantised(text: str = TEXT, machine: Machine | None = None) -> tuple[Program, dict[str, Array]]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((M, K), (K, N)))
    bias = rng.integers(-9999, 9999, N, np.int32)
    scale = rng.uniform(0.0005, 0.002, N).astype(np.float32)
    words = scale.view(np.uint32).astype(np.uint64) | (np.uint64(3) << np.uint64(37))
    inputs = {"a": a, "b": b, "bias": bias, "words": words}
    inputs = {name: array.view(np.float32) for name, array in inputs.items()}
    y = np.zeros((M, N), np.int8).view(np.float32)
    return program(text, inputs, {"y": y}, machine=machine or fixpipe_machine()), inputs


def test_a_quantised_product() -> None:
    built, inputs = quantised()
    result = Emulator(built, checks=True, trace=True).run(inputs)
    a, b = inputs["a"].view(np.int8), inputs["b"].view(np.int8)
    sums = a.astype(np.int64) @ b.astype(np.int64) + inputs["bias"].view(np.int32)
    words = inputs["words"].view(np.uint64)
    bits = (words & np.uint64(0xFFFFE000)).astype(np.uint32)
    scaled = np.maximum(sums.astype(np.float32) * bits.view(np.float32), 0)
    want = np.clip(np.rint(scaled) + 3, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(result.outputs["y"].view(np.int8), want)
    task = result.tasks[0]
    assert task.busy[0]["FIX"] > 0
    assert task.work.macs == M * K * N
    assert task.work.moved["l0c_gm"] == M * N * 4
    assert task.work.moved["l1_bt"] == N * 4
    assert task.work.moved["l1_fb"] == N * 8
    spans = [event.span for event in result.trace.events if event.span.pipe == "FIX"]
    assert [span.kind for span in spans] == ["wait", "work", "wait", "work"]


@pytest.mark.parametrize(
    ("source", "space"),
    [
        ("src = M, dst = FIX", "l0c"),
        ("src = MTE1, dst = M", "l0a"),
        ("src = MTE2, dst = FIX", "l1"),
    ],
)
def test_the_drain_is_a_pipe_like_others(source: str, space: str) -> None:
    lines = [line for line in TEXT.splitlines() if source not in line]
    built, inputs = quantised("\n".join(lines))
    with pytest.raises(RaceError, match=f"of {space}"):
        Emulator(built, checks=True).run(inputs)


@pytest.mark.parametrize(
    ("line", "feature"),
    [
        ("set_flag src = M, dst = FIX, id = 0", "fixpipe"),
        ("barrier pipe = FIX", "fixpipe"),
        (TEXT.splitlines()[-2], "fixpipe"),
        (TEXT.splitlines()[13], "bias_table"),
        ("mov_l1_gm dst = [r0], src = [0], len = 1", "l1_gm"),
    ],
)
def test_coupled_machines_refuse_it(line: str, feature: str) -> None:
    built, _ = quantised(f"{line}\nend", small_machine())
    with pytest.raises(ProgramError) as caught:
        built.check()
    assert f"it needs the feature {feature}, which tiny lacks" in (caught.value.why or "")
