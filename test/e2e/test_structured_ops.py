"""A structured op that npuc has never seen tiles, fuses and runs; nothing in `passes/` knows it."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import Float32Type, FunctionType, ModuleOp
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import irdl_op_definition

from npuc.backend.container import from_bytes, to_bytes
from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import Options, run_passes, run_stages, stage_named, stage_passes
from npuc.dialects.core.attributes import OriginAttr, tensor_of
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.origins import set_origins
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare
from npuc.dialects.tensor.structured import StructuredOp, map_from_axes

F32 = Float32Type()
ROWS, COLS = 50, 40


@irdl_op_definition
class ShiftedScaleOp(StructuredOp):
    """`(x[i, j] + shift[j]) * scale[i]`: one operand a row, one a column."""

    name = "tensor.shifted_scale"

    @classmethod
    def of(cls, x: SSAValue, shift: SSAValue, scale: SSAValue) -> "ShiftedScaleOp":
        """Build it over f32[ROWS, COLS]."""
        body = Block(arg_types=[F32, F32, F32])
        added = arith.AddfOp(body.args[0], body.args[1])
        scaled = arith.MulfOp(added.result, body.args[2])
        body.add_ops([added, scaled, YieldOp(scaled.result)])
        maps = [map_from_axes(2, axes) for axes in ((0, 1), (1,), (0,), (0, 1))]
        return cls([x, shift, scale], maps, ["parallel", "parallel"], body, x.type)


@irdl_op_definition
class SumOfSquaresOp(StructuredOp):
    """`sum over j of x[i, j] ** 2`."""

    name = "tensor.sum_of_squares"

    @classmethod
    def of(cls, x: SSAValue) -> "SumOfSquaresOp":
        """Build it over f32[ROWS, COLS]."""
        body = Block(arg_types=[F32])
        square = arith.MulfOp(body.args[0], body.args[0])
        body.add_ops([square, YieldOp(square.result)])
        maps = [map_from_axes(2, axes) for axes in ((0, 1), (0,))]
        result = tensor_of("f32", [ROWS])
        return cls([x], maps, ["parallel", "reduction"], body, result, "add")


def function(ops: Sequence[StructuredOp], block: Block) -> ModuleOp:
    """A module with `@main`, which returns the result of the last op."""
    for index, op in enumerate(ops):
        block.add_op(op)
        set_origins(op.output, [OriginAttr.of(f"node{index}", f"tensor{index}")])
    block.add_op(func.ReturnOp(ops[-1].output))
    types = FunctionType.from_lists([a.type for a in block.args], [ops[-1].output.type])
    return ModuleOp([func.FuncOp("main", types, Region(block))])


def shifted_scale() -> ModuleOp:
    shapes = ([ROWS, COLS], [COLS], [ROWS])
    block = Block(arg_types=[tensor_of("f32", shape) for shape in shapes])
    x, shift, scale = block.args
    return function([ShiftedScaleOp.of(x, shift, scale)], block)


def sum_of_squares() -> ModuleOp:
    block = Block(arg_types=[tensor_of("f32", [ROWS, COLS])])
    return function([SumOfSquaresOp.of(block.args[0])], block)


def both() -> ModuleOp:
    shapes = ([ROWS, COLS], [COLS], [ROWS])
    block = Block(arg_types=[tensor_of("f32", shape) for shape in shapes])
    x, shift, scale = block.args
    scaled = ShiftedScaleOp.of(x, shift, scale)
    return function([scaled, SumOfSquaresOp.of(scaled.output)], block)


@pytest.mark.parametrize("target", ["tiny", "ascend310p"])
@pytest.mark.parametrize("make", [shifted_scale, sum_of_squares, both])
def test_a_new_op_runs_on_the_emulator(make: Callable[[], ModuleOp], target: str) -> None:
    ctx, module = make_context(), make()
    rng = np.random.default_rng(3)
    shapes: list[tuple[int, ...]] = [(ROWS, COLS), (COLS,), (ROWS,)]
    takes = len(cast(func.FuncOp, module.body.block.first_op).body.block.args)
    inputs: list[Array] = [
        rng.standard_normal(shape).astype(np.float32) for shape in shapes[:takes]
    ]
    (expected,) = Interpreter(module).call("main", *inputs)
    attach = stage_passes(stage_named("tensor"), Options(target))[:1]
    run_passes(module, ctx, attach)
    run_stages(module, ctx, "final", start="tensor")
    program = from_bytes(to_bytes(emit_program(module, ctx.store)))
    named = {io.name: array for io, array in zip(program.entry().inputs, inputs, strict=True)}
    (got,) = Emulator(program, checks=True).run(named).outputs.values()
    comparison = compare(got, expected, "origin")
    assert comparison.ok, comparison.why
