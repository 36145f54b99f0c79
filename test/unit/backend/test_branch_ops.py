"""Branches as ops: text, words, and what the passes of the level make of them."""

import random

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from npuc.backend.emulator.emulator import Emulator
from npuc.backend.encoder import encode
from npuc.backend.program import IO, Entry, Kernel, Program, Task
from npuc.dialects.core.errors import PassError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.flatten import flatten
from npuc.dialects.npu_isa.structure import KernelOp
from npuc.dialects.target import machine as machines
from npuc.passes.npu_isa.npu_isa_allocate_registers import NpuIsaAllocateRegistersPass
from npuc.passes.npu_isa.npu_isa_canonicalize import NpuIsaCanonicalizePass
from npuc.passes.npu_isa.npu_isa_insert_sync import NpuIsaInsertSyncPass

CLAMP = """
npu_isa.kernel @k(%x, %y) {
  %zero = npu_isa.s_mov src = 0
  %sum, %seen = npu_isa.loop %i in 8 iter (%a = %zero, %b = %zero) {
    %skip = npu_isa.s_mul lhs = %i, rhs = 4
    %at = npu_isa.s_add lhs = %x, rhs = %skip
    %value = npu_isa.s_load_gm src = [%at], dtype = i32
    %next, %last = npu_isa.if lt %value, 0 {
      %less = npu_isa.s_sub lhs = %a, rhs = %value
      npu_isa.yield %b, %less
    } else {
      %more = npu_isa.s_add lhs = %a, rhs = %value
      %small = npu_isa.if ge 10, %value {
        %one = npu_isa.s_add lhs = %b, rhs = 1
        npu_isa.yield %one
      } else {
        npu_isa.yield %a
      }
      npu_isa.yield %more, %small
    }
    npu_isa.yield %next, %last
  }
  npu_isa.s_store_gm dst = [%y], value = %sum, dtype = i32
  npu_isa.s_store_gm dst = [%y + 4], value = %seen, dtype = i32
  npu_isa.end
}
"""


def by_hand(values: list[int]) -> list[int]:
    a = b = 0
    for value in values:
        if value < 0:
            a, b = b, a - value
        else:
            a, b = a + value, b + 1 if value <= 10 else a
    return [a, b]


def run(module: ModuleOp, values: list[int]) -> list[int]:
    (op,) = module.body.block.ops
    assert isinstance(op, KernelOp)
    kernel = Kernel("k", tuple(flatten(op).records), "vector")
    x, y = IO("x", "i32", (8,), 0), IO("y", "i32", (2,), 512)
    entry = Entry("main", (x,), (y,), (Task("k", 1, (0, 512)),))
    built = Program(machines.load("tiny"), (entry,), {"k": kernel}, 1024)
    found = Emulator(built, checks=True).run({"x": np.array(values, np.int32)})
    return found.outputs["y"].tolist()


def parsed(text: str) -> ModuleOp:
    text = f'builtin.module attributes {{target.machine = #target.machine<"tiny">}} {{{text}}}'
    module = parse_module(make_context(), text)
    verify(module)
    return module


def test_text_reads_back() -> None:
    for generic in (False, True):
        text = print_ir(parsed(CLAMP), generic=generic)
        assert print_ir(parse_module(make_context(), text), generic=generic) == text


@pytest.mark.parametrize("passes", range(4))
def test_every_pass_keeps_what_it_does(passes: int) -> None:
    module = parsed(CLAMP)
    pipeline = [NpuIsaCanonicalizePass(), NpuIsaInsertSyncPass(), NpuIsaAllocateRegistersPass()]
    for one in pipeline[:passes]:
        one.apply(Context(), module)
        verify(module)
    rng = random.Random(0)
    for _ in range(20):
        values = [rng.randint(-20, 20) for _ in range(8)]
        assert run(module, values) == by_hand(values)


def test_allocated_branches_read_back_and_encode() -> None:
    module = parsed(CLAMP)
    NpuIsaAllocateRegistersPass().apply(Context(), module)
    text = print_ir(module)
    again = parse_module(make_context(), text)
    assert print_ir(again) == text
    (op,) = again.body.block.ops
    assert isinstance(op, KernelOp)
    assert len(encode(flatten(op).records))


def test_words_of_a_branch() -> None:
    module = parsed("""
    npu_isa.kernel @k(%a, %b) {
      npu_isa.if ne %a, 7 {
        npu_isa.barrier pipe = V
      }
      %r = npu_isa.if lt %a, %b {
        npu_isa.yield %a
      } else {
        npu_isa.yield %b
      }
      npu_isa.s_store_ub dst = [0], value = %r, dtype = i32
      npu_isa.end
    }""")
    (op,) = module.body.block.ops
    assert isinstance(op, KernelOp)
    assert [(r.spec.mnemonic, r.operands) for r in flatten(op).records] == [
        ("branch", ("eq", 0, 7, 2)),
        ("barrier", ("V",)),
        ("branch", ("ge", 0, 1, 3)),
        ("s_mov", (2, 0)),
        ("jump", (2,)),
        ("s_mov", (2, 1)),
        ("s_store_ub", ((None, 0), 2, "i32")),
        ("end", ()),
    ]


def test_work_on_a_condition_cannot_be_ordered() -> None:
    module = parsed("""
    npu_isa.kernel @k(%a) {
      npu_isa.if ne %a, 7 {
        npu_isa.vdup dst = [0], scalar = 0.0, dtype = f32, mask = 64, repeat = 1
      }
      npu_isa.end
    }""")
    with pytest.raises(PassError, match="cannot be ordered by flags") as caught:
        NpuIsaInsertSyncPass().apply(Context(), module)
    assert "npu_isa.vdup runs on a condition" in (caught.value.why or "")


def test_loads_are_ordered_with_the_pipes() -> None:
    module = parsed("""
    npu_isa.kernel @k(%x) {
      npu_isa.mov_gm_ub dst = [0], src = [%x], len = 64
      %a = npu_isa.s_load_ub src = [0], dtype = i32
      %b = npu_isa.s_load_ub src = [4], dtype = i32
      %c = npu_isa.s_add lhs = %a, rhs = %b
      npu_isa.s_store_ub dst = [8], value = %c, dtype = i32
      npu_isa.mov_ub_gm dst = [%x], src = [0], len = 64
      npu_isa.end
    }""")
    NpuIsaCanonicalizePass().apply(Context(), module)
    NpuIsaInsertSyncPass().apply(Context(), module)
    (op,) = module.body.block.ops
    assert isinstance(op, KernelOp)
    kernel = Kernel("k", tuple(flatten(op).records), "vector")
    x = IO("x", "i32", (16,), 0)
    entry = Entry("main", (x,), (x,), (Task("k", 1, (0,)),))
    built = Program(machines.load("tiny"), (entry,), {"k": kernel}, 1024)
    found = Emulator(built, checks=True).run({"x": np.arange(16, dtype=np.int32) + 5})
    assert found.outputs["x"].tolist()[:4] == [5, 6, 11, 8]
