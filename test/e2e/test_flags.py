"""Every flag of the digits network's kernels is needed: without it the emulator finds fault."""

from collections.abc import Iterator
from functools import cache
from typing import cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.driver import Lowered, lower_model
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import Options, run_stages
from npuc.dialects.core.errors import DeadlockError, FlagError, RaceError
from npuc.dialects.core.registry import make_context
from npuc.dialects.npu_isa.ops import InstrOp
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.tensor.ops import GroupOp
from npuc.dialects.tile.schedule import ScheduleAttr
from npuc.passes.tensor_to_tile.convert_tensor_to_tile import SCHEDULE
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"
TARGETS = ("tiny", "ascend310p")
FLAGS = ("set_flag", "wait_flag")
UNNEEDED = [(2, "MTE2", "V"), (2, "MTE3", "V"), (2, "V", "M")]
"""Kernel and pipes whose flags the rest implies; the race check proves it, as it finds nothing.

The second product has only two tiles, one for each slot, so nothing is written over; and its bias
is loaded ahead of the factors, by the same pipe, so the product's flags order it too.
"""


@cache
def synced(target: str) -> Lowered:
    """The network with flags and virtual registers."""
    return lower_model(DIGITS, Options(target), "synced")


def flags(module: Operation) -> Iterator[InstrOp]:
    """The flag instructions of all kernels, in order."""
    for op in module.walk():
        if isinstance(op, InstrOp) and op.spec.mnemonic in FLAGS:
            yield op


def run(lowered: Lowered, module: ModuleOp) -> None:
    """Finish a changed copy of the module and run it with all checks."""
    run_stages(module, make_context(lowered.store), "final")
    program = emit_program(module, lowered.store)
    with np.load(ROOT / "examples/digits/heldback.npz") as arrays:
        Emulator(program, checks=True).run({"image": arrays["image"]})


def pair_of(op: InstrOp) -> tuple[str, str]:
    """The two pipes of a flag."""
    return str(op.field("src")), str(op.field("dst"))


@pytest.mark.parametrize("target", TARGETS)
def test_no_flag_can_be_left_out(target: str) -> None:
    lowered = synced(target)
    module = lowered.module
    run(lowered, module.clone())
    count = sum(1 for _ in flags(module))
    assert count > 60
    for number in range(count):
        copy = module.clone()
        flag = list(flags(copy))[number]
        Rewriter.erase_op(flag)
        with pytest.raises((RaceError, FlagError, DeadlockError)):
            run(lowered, copy)


@cache
def long_loops() -> Lowered:
    """The network on one core, with small tiles by hand so that loops turn over their slots."""
    lowered = lower_model(DIGITS, Options("tiny"), "scheduled")
    for group in lowered.module.walk():
        if isinstance(group, GroupOp):
            chosen = cast(ScheduleAttr, group.attributes[SCHEDULE])
            rank = len(chosen.tile_sizes)
            tiles = (16, 16, 16) if rank == 3 else (4, chosen.tile_sizes[1])
            group.attributes[SCHEDULE] = ScheduleAttr.of(tiles, tiles, 1, "by hand")
    run_stages(lowered.module, make_context(lowered.store), "synced")
    return lowered


def test_without_the_flags_of_two_pipes_there_is_a_race() -> None:
    """Set and wait together: nothing leaks or hangs, only the order is missing."""
    lowered = long_loops()
    kernels = [op for op in lowered.module.ops if isinstance(op, KernelOp)]
    unneeded: list[tuple[int, str, str]] = []
    for number, kernel in enumerate(kernels):
        for pair in sorted({pair_of(op) for op in flags(kernel)}):
            copy = lowered.module.clone()
            changed = [op for op in copy.ops if isinstance(op, KernelOp)][number]
            for op in list(flags(changed)):
                if pair_of(op) == pair:
                    Rewriter.erase_op(op)
            try:
                run(lowered, copy)
            except RaceError:
                continue
            unneeded.append((number, *pair))
    assert unneeded == UNNEEDED
