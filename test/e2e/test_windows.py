"""Convolutions, poolings, reductions of outer axes: the same on all levels, with all checks."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from npuc.backend.emulator.emulator import Emulator
from npuc.compiler.emit import emit_program
from npuc.compiler.pipeline import Options, parse_passes, run_passes, run_stages
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import PassError
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.tensor.ops import GroupOp
from npuc.dialects.tile.schedule import ScheduleAttr
from npuc.passes.tensor_to_tile.convert_tensor_to_tile import SCHEDULE
from window_programs import (
    Reduction,
    Windows,
    convolution,
    depthwise,
    outer_reduction,
    pooling,
    reductions,
    windows,
)

SOME = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TARGETS = pytest.mark.parametrize("target", ["tiny", "ascend310p"])


def cycles(module: ModuleOp, arguments: list[Array]) -> tuple[int, int]:
    """Cycles of the one kernel of a program on ascend310p, predicted and emulated."""
    ctx, options = make_context(), Options("ascend310p", "origin")
    run_passes(module, ctx, parse_passes("target-attach-machine", options))
    run_stages(module, ctx, "final", start="tensor", options=options)
    (schedule,) = (k.attributes[SCHEDULE] for k in module.walk() if isinstance(k, KernelOp))
    assert isinstance(schedule, ScheduleAttr)
    program = emit_program(module, ctx.store)
    names = [port.name for port in program.entries[0].inputs]
    (task,) = Emulator(program).run(dict(zip(names, arguments, strict=True))).tasks
    assert schedule.predicted is not None
    return schedule.predicted, max(task.core_cycles)


def cut(module: ModuleOp, tiles: tuple[int, ...]) -> None:
    """Give the one group of a module a schedule."""
    (group,) = (op for op in module.walk() if isinstance(op, GroupOp))
    group.attributes[SCHEDULE] = ScheduleAttr.of(tiles, tiles, 4, "set by hand")


def instructions(module: ModuleOp, tiles: tuple[int, ...]) -> list[str]:
    """The instructions of the one kernel of a program, cut by hand."""
    ctx, options = make_context(), Options("ascend310p", "origin")
    run_passes(module, ctx, parse_passes("target-attach-machine", options))
    run_stages(module, ctx, "scheduled", start="tensor", options=options)
    cut(module, tiles)
    run_stages(module, ctx, "final", start="scheduled", options=options)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return [op.name for op in kernel.walk()]


def image(size: int, channels: int, stride: int = 1) -> Windows:
    """3 x 3 windows with padding on a square image."""
    square, pads = (size, size), ((1, 1), (1, 1))
    return Windows(1, square, channels, (3, 3), (stride, stride), (1, 1), pads, "f16")


def global_sum(size: int) -> Reduction:
    """The sum of a square image with 96 channels."""
    return Reduction((1, size, size, 96), (1, 2), (3,), "add", "f32")


def run_all_levels(
    module: ModuleOp, arguments: list[Array], target: str, tiles: tuple[int, ...] = ()
) -> None:
    """From the tensor level down, perhaps cut by hand; products are exact enough for the tightest
    limit."""
    ctx, options = make_context(), Options(target, "origin")
    run_passes(module, ctx, parse_passes("target-attach-machine", options))
    (reference,) = Interpreter(module, ctx.store).call("main", *arguments)
    limit = "f16" if reference.dtype.itemsize == 2 else "origin"
    for start, stage in (("tensor", "scheduled"), ("scheduled", "planned")):
        run_stages(module, ctx, stage, start=start, options=options)
        if tiles and stage == "scheduled":
            cut(module, tiles)
        (got,) = Interpreter(module, ctx.store).call("main", *arguments)
        result = compare(got, reference, limit)
        assert result.ok, f"{stage}: {result.why}"
    run_stages(module, ctx, "final", options=options)
    program = emit_program(module, ctx.store)
    names = [port.name for port in program.entries[0].inputs]
    outputs = Emulator(program, checks=True).run(dict(zip(names, arguments, strict=True))).outputs
    result = compare(next(iter(outputs.values())), reference, limit)
    assert result.ok, f"emulator: {result.why}"


@TARGETS
@SOME
@given(sizes=windows(), outputs=st.sampled_from((1, 5, 16, 40)))
def test_convolutions(target: str, sizes: Windows, outputs: int) -> None:
    assume(min(sizes.points) > 0)
    run_all_levels(*convolution(sizes, outputs), target)


@TARGETS
@SOME
@given(sizes=windows())
def test_depthwise_convolutions(target: str, sizes: Windows) -> None:
    assume(min(sizes.points) > 0)
    run_all_levels(*depthwise(sizes), target)


@TARGETS
@SOME
@given(sizes=windows(), combiner=st.sampled_from(("max", "min", "add")))
def test_poolings(target: str, sizes: Windows, combiner: str) -> None:
    assume(min(sizes.points) > 0)
    run_all_levels(*pooling(sizes, combiner), target)


@TARGETS
@SOME
@given(case=reductions())
def test_outer_reductions(target: str, case: Reduction) -> None:
    run_all_levels(*outer_reduction(case), target)


@pytest.mark.parametrize("taps", [(3, 3), (1, 3), (3, 1), (1, 1)])
@pytest.mark.parametrize("points", [(3, 20), (1, 20), (1, 8)])
@pytest.mark.parametrize("stride", [1, 2])
def test_patches_of_all_forms(stride: int, points: tuple[int, int], taps: tuple[int, int]) -> None:
    """Rows of the result and parts of them, all taps at once and some."""
    tiles = (1, *points, 16, *taps)
    run_all_levels(*depthwise(image(20 * stride, 40, stride)), "ascend310p", tiles)


def test_taps_are_cut_evenly() -> None:
    with pytest.raises(PassError, match="tile size 2 does not suit dim 4"):
        instructions(depthwise(image(24, 32))[0], (1, 1, 8, 32, 2, 3))


def test_what_a_depthwise_convolution_costs() -> None:
    """With a load a tap, two such images took 25,465 cycles."""
    predicted, emulated = cycles(*depthwise(image(24, 32)))
    assert emulated == 2_421
    assert predicted < 2 * emulated


def test_what_a_global_sum_costs() -> None:
    """With a load for each element of the image, two such images took 25,415 cycles."""
    predicted, emulated = cycles(*outer_reduction(global_sum(12)))
    assert emulated == 1_125
    assert predicted < 2 * emulated


@pytest.mark.parametrize("stride", [1, 2])
def test_a_larger_image_is_the_same_code(stride: int) -> None:
    """With tiles of one size and as many of them as do not coincide with other counts."""
    small, large = (
        instructions(depthwise(image(size, 32, stride))[0], (1, 1, 8, 32, 3, 3))
        for size in (48, 144)
    )
    assert small == large
    assert len(small) < 200


def test_a_larger_sum_is_the_same_code() -> None:
    small, large = (
        instructions(outer_reduction(global_sum(size))[0], (1, 1, 8, 32)) for size in (24, 80)
    )
    assert small == large
