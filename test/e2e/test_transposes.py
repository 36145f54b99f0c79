"""Transposes move exact bits at every level, on the emulator with all its checks."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import Options, parse_passes, run_passes, run_stages
from npuc.dialects.core.attributes import tensor_of
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.registry import make_context
from npuc.dialects.tensor.ops import TransposeOp

SOME = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SIZES = st.lists(st.sampled_from((1, 2, 3, 7, 16, 20, 33)), min_size=2, max_size=4)
DTYPES = st.sampled_from(("f32", "f16"))


def transpose(shape: Sequence[int], permutation: Sequence[int], dtype: str) -> ModuleOp:
    block = Block(arg_types=[tensor_of(dtype, list(shape))])
    op = TransposeOp.of(block.args[0], permutation)
    block.add_ops([op, func.ReturnOp(op.output)])
    types = FunctionType.from_lists([block.args[0].type], [op.output.type])
    return ModuleOp([func.FuncOp("main", types, Region(block))])


def check(shape: Sequence[int], permutation: Sequence[int], dtype: str, target: str) -> int:
    """Run it below the tensor level; the cycles it takes."""
    module, ctx, options = transpose(shape, permutation, dtype), make_context(), Options(target)
    x = np.arange(np.prod(shape)).astype(to_numpy(dtype)).reshape(shape)
    wanted = x.transpose(permutation)
    run_passes(module, ctx, parse_passes("target-attach-machine", options))
    run_stages(module, ctx, "planned", start="tensor", options=options)
    assert np.array_equal(Interpreter(module, ctx.store).call("main", x)[0], wanted)
    run_stages(module, ctx, "final", options=options)
    program = emit_program(module, ctx.store)
    result = Emulator(program, checks=True).run({program.entries[0].inputs[0].name: x})
    assert np.array_equal(next(iter(result.outputs.values())), wanted)
    return result.cycles


@pytest.mark.parametrize("target", ["tiny", "ascend310p"])
@SOME
@given(data=st.data(), shape=SIZES, dtype=DTYPES)
def test_any_permutation(target: str, data: st.DataObject, shape: list[int], dtype: str) -> None:
    permutation = data.draw(st.permutations(range(len(shape))))
    check(shape, permutation, dtype, target)


def test_an_image_to_channels_last() -> None:
    """600 KB: at 204 GB/s reading and writing them takes 6,250 cycles."""
    assert check((1, 3, 224, 224), (0, 2, 3, 1), "f32", "ascend310p") == 9083
