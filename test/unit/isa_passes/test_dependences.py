"""What must keep its order, and how far apart: small kernels, one rule each."""

from __future__ import annotations

import pytest

from flag_checks import kernel_of, parse_kernel
from npuc.dialects.target.attributes import machine_of
from npuc.passes.analysis.addresses import model_kernel
from npuc.passes.analysis.dependences import find_dependences

LOAD = "npu_isa.mov_gm_ub dst = [{}], src = [%x], len = 256"
STORE = "npu_isa.mov_ub_gm dst = [%y], src = [{}], len = 256"


def distances(body: str) -> list[tuple[str, str, int]]:
    """Pipes and distance of every dependence."""
    module = parse_kernel(f"npu_isa.kernel @k(%x, %y) {{ {body} \n npu_isa.end }}")
    model = model_kernel(kernel_of(module), machine_of(module))
    return [(d.first.pipe, d.second.pipe, d.distance) for d in find_dependences(model.accesses)]


def slots(count: str, depth: int, size: int) -> str:
    """Definition of `%at`, the slot in use."""
    return f"""
      %slot = npu_isa.s_rem lhs = {count}, rhs = {depth}
      %at = npu_isa.s_mul lhs = %slot, rhs = {size}
    """


def loop(body: str, trips: int | str = 6, name: str = "%i") -> str:
    """A loop."""
    return f"npu_isa.loop {name} in {trips} {{ {body} }}"


def both(address: str) -> str:
    """A load and a store of one buffer."""
    return f"{LOAD.format(address)}\n{STORE.format(address)}"


ONCE, NEXT = [("MTE2", "MTE3", 0)], [("MTE2", "MTE3", 1)]


def test_straight_code() -> None:
    assert distances(both("0")) == ONCE
    assert distances(f"{LOAD.format(0)}\n{STORE.format(256)}") == []
    assert distances(f"{LOAD.format(0)}\n{STORE.format(224)}") == ONCE


def test_a_fixed_buffer_in_a_loop_is_used_again_in_the_next_iteration() -> None:
    assert distances(loop(both("0"))) == NEXT


@pytest.mark.parametrize("depth", [2, 3])
def test_slots_set_the_distance(depth: int) -> None:
    assert distances(loop(slots("%i", depth, 256) + both("%at"))) == [("MTE2", "MTE3", depth)]


def test_slots_must_hold_what_is_touched() -> None:
    assert distances(loop(slots("%i", 2, 224) + both("%at"))) == NEXT
    inside = slots("%i", 2, 512) + f"{LOAD.format('%at')}\n{STORE.format('%at + 256')}"
    assert distances(loop(inside)) == []
    across = slots("%i", 2, 512) + f"{LOAD.format('%at')}\n{STORE.format('%at + 384')}"
    assert distances(loop(across)) == NEXT


def test_the_count_must_grow_by_one_over_the_whole_nest() -> None:
    count = """
      %before = npu_isa.s_mul lhs = %i, rhs = {}
      %count = npu_isa.s_add lhs = %before, rhs = %j
    """
    body = slots("%count", 2, 256) + both("%at")
    assert distances(loop(loop(count.format(5) + body, 5, "%j"))) == [("MTE2", "MTE3", 2)]
    assert distances(loop(loop(count.format(4) + body, 5, "%j"))) == NEXT
    assert distances(loop(loop(slots("%i", 2, 256) + both("%at"), 5, "%j"))) == NEXT
    assert distances(loop(loop(slots("%j", 2, 256) + both("%at"), 4, "%j"))) == NEXT


def test_the_count_of_an_inner_loop_must_be_constant() -> None:
    count = """
      %before = npu_isa.s_mul lhs = %i, rhs = 5
      %count = npu_isa.s_add lhs = %before, rhs = %j
    """
    body = loop(loop(count + slots("%count", 2, 256) + both("%at"), "%n", "%j"))
    assert distances(f"%n = npu_isa.s_core_id\n{body}") == NEXT
    outer = loop(slots("%i", 2, 256) + both("%at"), "%n")
    assert distances(f"%n = npu_isa.s_core_id\n{outer}") == [("MTE2", "MTE3", 2)]


def test_the_loop_that_holds_both_decides() -> None:
    """The load rotates in the inner loop, the store is outside: the slot does not say when."""
    count = """
      %before = npu_isa.s_mul lhs = %i, rhs = 2
      %count = npu_isa.s_add lhs = %before, rhs = %j
    """
    inner = loop(count + slots("%count", 2, 256) + LOAD.format("%at"), 2, "%j")
    assert distances(loop(f"{inner}\n{STORE.format(0)}")) == NEXT


def test_gm_conflicts_only_through_one_argument() -> None:
    load, store = "npu_isa.mov_gm_ub dst = [{}], src = [%y + {}], len = 256", STORE.format(0)
    assert distances(f"{store}\n{load.format(512, 0)}") == [("MTE3", "MTE2", 0)]
    assert distances(f"{store}\n{load.format(512, 256)}") == []
    assert distances(f"{store}\n{LOAD.format(512)}") == []


def test_an_address_loaded_from_nowhere_known_may_be_anything() -> None:
    body = """
      %id = npu_isa.s_core_id
      %base = npu_isa.loop %i in 3 iter (%a = %x) {
        %b = npu_isa.s_mul lhs = %a, rhs = %id
        npu_isa.yield %b
      }
      npu_isa.mov_ub_gm dst = [%y], src = [0], len = 256
      npu_isa.mov_gm_ub dst = [512], src = [%base], len = 256
    """
    assert distances(body) == [("MTE3", "MTE2", 0)]


def test_counts_in_registers_take_their_largest_value() -> None:
    body = """
      %id = npu_isa.s_core_id
      %rows = npu_isa.s_min lhs = 4, rhs = %id
      npu_isa.mov_gm_ub dst = [0], src = [%x], nburst = %rows, len = 64,
        src_stride = 64, dst_stride = 2
      npu_isa.mov_ub_gm dst = [%y], src = [{}], len = 64
    """
    assert distances(body.format(192)) == ONCE
    assert distances(body.format(256)) == []
