"""Random kernels: after the pass the checks of the emulator find nothing."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flag_checks import apply, order_errors, parse_kernel
from npuc.passes.npu_isa.npu_isa_insert_sync import NpuIsaInsertSyncPass
from random_kernels import RandomKernel


@pytest.mark.parametrize(("event_ids", "budget"), [(4, 14), (4, 24), (2, 14), (1, 10)])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_no_race_is_left(event_ids: int, budget: int, seed: int) -> None:
    text = RandomKernel(Random(seed), budget=budget).text()
    module = apply(parse_kernel(text, event_ids), NpuIsaInsertSyncPass())
    assert [str(error) for error in order_errors(module)] == []
