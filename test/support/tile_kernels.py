"""Single kernels of tile ops as text, run at tile level and as instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import parse_passes
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.structure import KernelOp, instructions_of

PLAN = "target-attach-machine{target=ascend310p},tile-assign-depth,tile-plan-memory,tile-plan-gm"
LOWER = (
    "convert-tile-to-npu-isa,npu-isa-canonicalize,npu-isa-insert-sync,npu-isa-allocate-registers"
)


def program(
    inputs: Mapping[str, str], outputs: Mapping[str, str], body: str, cores: int = 1
) -> str:
    """A program that launches one kernel with `body` once.

    `inputs` and `outputs` give shape and element type, as in `16x64xf32`, of the GM buffers, which
    the kernel knows by their names.
    """

    def gm(shape: str) -> str:
        return f"!tile.buffer<{shape}, gm>"

    def listed(names: Mapping[str, str]) -> list[str]:
        return [f"%{name}: {gm(shape)}" for name, shape in names.items()]

    both = {**inputs, **outputs}
    arg_attrs = ", ".join(f'{{core.name = "{name}"}}' for name in inputs)
    res_attrs = ", ".join(f'{{core.name = "{name}"}}' for name in outputs)
    allocs = "\n".join(f"%{name} = tile.alloc : {gm(shape)}" for name, shape in outputs.items())
    results = ", ".join(gm(shape) for shape in outputs.values())
    return f"""
    tile.program @main({", ".join(listed(inputs))}) -> ({results})
        attributes {{arg_attrs = [{arg_attrs}], res_attrs = [{res_attrs}]}} {{
      {allocs}
      tile.launch @k grid {cores} ({", ".join(f"%{name}" for name in both)})
        : {", ".join(gm(shape) for shape in both.values())}
      tile.return {", ".join(f"%{name}" for name in outputs)} : {results}
    }}
    tile.kernel @k({", ".join(listed(both))}) attributes {{engine = "vector"}} {{
      {body}
      tile.end
    }}
    """


def planned(text: str) -> ModuleOp:
    """The module of a text with its buffers planned."""
    module = parse_module(make_context(), text)
    verify(module)
    return run_passes(module, PLAN)


def run_passes(module: ModuleOp, passes: str) -> ModuleOp:
    """The module after some passes, which is verified after each."""
    for step in parse_passes(passes):
        step.apply(make_context(), module)
        verify(module)
    return module


def run_tiles(module: ModuleOp, arrays: Sequence[Array]) -> list[Array]:
    """Results of the program at tile level."""
    context = make_context()
    return [np.asarray(array) for array in Interpreter(module, context.store).call("main", *arrays)]


def run_instructions(module: ModuleOp, arrays: Sequence[Array]) -> list[Array]:
    """Results of the program as instructions, with every check on."""
    compiled = emit_program(module, make_context().store)
    entry = compiled.entry()
    inputs = dict(zip((tensor.name for tensor in entry.inputs), arrays, strict=True))
    result = Emulator(compiled, checks=True).run(inputs)
    return [result.outputs[tensor.name] for tensor in entry.outputs]


def count_instructions(module: ModuleOp) -> int:
    """Instructions and loops of the first kernel."""
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))
    return sum(1 for _ in instructions_of(kernel.body.block))
