"""What a set of flag pairs implies, on kernels small enough to see it."""

from __future__ import annotations

from flag_checks import kernel_of, parse_kernel
from npuc.dialects.target.attributes import machine_of
from npuc.passes.analysis.addresses import KernelModel, model_kernel
from npuc.passes.analysis.dependences import Loop
from npuc.passes.analysis.orderings import Point, Requirement, Sync, reuse_requirement, witness

NEST = """
npu_isa.kernel @k(%x) {
  %n = npu_isa.s_core_id
  npu_isa.loop %i in 4 {
    npu_isa.mov_gm_ub dst = [0], src = [%x], len = 256
    npu_isa.loop %j in COUNT {
      npu_isa.vexp dst = [0], src0 = [0], dtype = f32, mask = 64, repeat = 1
      npu_isa.mov_ub_gm dst = [%x], src = [0], len = 256
    }
    npu_isa.nd2nz_gm_l1 dst = [0], src = [%x], dtype = f16, rows = 16, cols = 16, src_stride = 32,
      dst_c0_stride = 16
  }
  npu_isa.end
}
"""


def model(count: str) -> KernelModel:
    """The nest with its inner loop of so many iterations."""
    module = parse_kernel(NEST.replace("COUNT", count))
    return model_kernel(kernel_of(module), machine_of(module))


def pair(
    of: KernelModel,
    names: tuple[str, str],
    pipes: tuple[str, str],
    loop: Loop | None,
    distance: int,
) -> Sync:
    """A pair of one slot between two statements, by their names."""
    source, target = (
        next(s for s in of.statements if s.op.name == f"npu_isa.{name}").within(loop)
        for name in names
    )
    return Sync(source, target, *pipes, loop, distance, max(distance, 1), None)


def need(
    of: KernelModel,
    names: tuple[str, str],
    pipes: tuple[str, str],
    loop: Loop | None,
    distance: int,
) -> Requirement:
    """An order between two instructions, by their names."""
    source, target = (
        next(s for s in of.statements if s.op.name == f"npu_isa.{name}") for name in names
    )
    points = [Point(p, s.start, s.loop) for p, s in zip(pipes, (source, target), strict=True)]
    return Requirement(points[0], points[1], loop, distance)


def test_a_chain_through_a_third_pipe() -> None:
    kernel = model("3")
    outer, inner = kernel.loops
    load = pair(kernel, ("mov_gm_ub", "vexp"), ("MTE2", "V"), outer, 0)
    store = pair(kernel, ("vexp", "mov_ub_gm"), ("V", "MTE3"), inner, 0)
    wanted = need(kernel, ("mov_gm_ub", "mov_ub_gm"), ("MTE2", "MTE3"), outer, 0)
    assert witness(wanted, [load, store]) == [store, load]
    assert witness(wanted, [load]) is None
    assert witness(wanted, [store]) is None


def test_a_loop_that_holds_the_target_runs_and_another_may_not() -> None:
    for count, runs in (("3", True), ("%n", False)):
        kernel = model(count)
        outer, inner = kernel.loops
        load = pair(kernel, ("mov_gm_ub", "vexp"), ("MTE2", "V"), outer, 0)
        store = pair(kernel, ("vexp", "mov_ub_gm"), ("V", "MTE3"), inner, 0)
        inside = need(kernel, ("mov_gm_ub", "mov_ub_gm"), ("MTE2", "MTE3"), outer, 0)
        assert witness(inside, [load, store]) is not None
        back = pair(kernel, ("mov_ub_gm", "nd2nz_gm_l1"), ("MTE3", "MTE2"), outer, 0)
        across = Requirement(
            Point("V", load.wait_at, outer), Point("MTE2", back.wait_at, outer), outer, 0
        )
        assert (witness(across, [store, back]) is not None) == runs


def test_distances_add_up() -> None:
    kernel = model("3")
    outer, _ = kernel.loops
    back = pair(kernel, ("vexp", "mov_gm_ub"), ("V", "MTE2"), outer, 2)
    for distance, holds in ((1, False), (2, True), (3, True)):
        wanted = need(kernel, ("vexp", "mov_gm_ub"), ("V", "MTE2"), outer, distance)
        assert (witness(wanted, [back]) is not None) == holds


def test_a_later_position_of_the_next_execution_is_in_order() -> None:
    """The wait at the top of an execution orders what stands below it, and not what the execution
    before still did."""
    kernel = model("3")
    outer, _ = kernel.loops
    back = pair(kernel, ("vexp", "mov_gm_ub"), ("V", "MTE2"), outer, 1)
    below = need(kernel, ("vexp", "nd2nz_gm_l1"), ("V", "MTE2"), outer, 1)
    same = need(kernel, ("vexp", "nd2nz_gm_l1"), ("V", "MTE2"), outer, 0)
    assert witness(below, [back]) == [back]
    assert witness(same, [back]) is None


def test_a_flag_is_free_again_when_its_wait_is_known_to_be_over() -> None:
    kernel = model("3")
    outer, _ = kernel.loops
    there = pair(kernel, ("mov_gm_ub", "vexp"), ("MTE2", "V"), outer, 0)
    back = pair(kernel, ("vexp", "mov_gm_ub"), ("V", "MTE2"), outer, 1)
    for sync in (there, back):
        wanted = reuse_requirement(sync)
        assert wanted is not None
        assert witness(wanted, [there, back]) is not None
        assert witness(wanted, [sync]) is None
