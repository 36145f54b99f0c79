"""Random kernels: after the pass the checks of the emulator find nothing."""

from __future__ import annotations

from random import Random

from flag_checks import apply, order_errors, parse_kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from npuc.passes.npu_isa.npu_isa_insert_sync import NpuIsaInsertSyncPass
from random_kernels import RandomKernel


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32))
def test_no_race_is_left(seed: int) -> None:
    text = RandomKernel(Random(seed)).text()
    module = apply(parse_kernel(text), NpuIsaInsertSyncPass())
    assert [str(error) for error in order_errors(module)] == []
