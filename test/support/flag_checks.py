"""Kernels of instructions as text: run passes on them, run them, and see what the checks find."""

from __future__ import annotations

from copy import deepcopy
from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import IO, Entry, Kernel, Program, Task
from npuc.dialects.core.errors import DeadlockError, ExecutionError, FlagError, RaceError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.flatten import records
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.target.attributes import MACHINE, MachineAttr, machine_of
from npuc.dialects.target.machine import Machine, from_description, load
from npuc.passes.base import NpucPass

ORDER_ERRORS = (RaceError, FlagError, DeadlockError)
GM_BYTES = 1 << 16
"""Bytes behind each argument of a kernel."""


def parse_kernel(text: str, event_ids: int = 4) -> ModuleOp:
    """The module of a text, for a machine with so many event ids for every two pipes."""
    module = parse_module(make_context(), text)
    module.attributes[MACHINE] = MachineAttr.of(machine_with(event_ids))
    return module


@lru_cache
def machine_with(event_ids: int) -> Machine:
    """The default machine, but for the number of its event ids."""
    description = deepcopy(dict(load("ascend310p").description))
    description["sync"]["event_ids"]["value"] = event_ids
    return from_description(description, "a test")


def apply(module: ModuleOp, *passes: NpucPass) -> ModuleOp:
    """The module after some passes, which is verified."""
    for step in passes:
        step.apply(make_context(), module)
    verify(module)
    return module


def kernel_of(module: ModuleOp) -> KernelOp:
    """The first kernel."""
    return next(op for op in module.walk() if isinstance(op, KernelOp))


def order_errors(module: ModuleOp) -> list[ExecutionError]:
    """What is wrong with the order of the first kernel's instructions when it runs on one core.

    Bytes that were never written are not looked at: what a kernel computes does not matter here.
    """
    kernel = kernel_of(module)
    count = len(kernel.body.block.args)
    inputs = tuple(IO(f"x{i}", "ui8", (GM_BYTES,), i * GM_BYTES) for i in range(count))
    task = Task("k", 1, tuple(tensor.address for tensor in inputs))
    program = Program(
        machine=machine_of(module),
        entries=(Entry("main", inputs, (), (task,)),),
        kernels={"k": Kernel("k", tuple(records(kernel)), "vector")},
        gm_bytes=max(count, 1) * GM_BYTES,
    )
    arrays = {tensor.name: np.zeros(tensor.shape, np.uint8) for tensor in inputs}
    try:
        result = Emulator(program, checks=True, collect=True).run(arrays)
    except ORDER_ERRORS as error:
        return [error]
    return [error for error in result.report if isinstance(error, ORDER_ERRORS)]
