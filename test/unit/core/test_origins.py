"""Origins: read, moved, listed; and where ops are said to be."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from npuc.dialects.core.attributes import OriginAttr, tensor_of
from npuc.dialects.core.errors import InternalError
from npuc.dialects.core.locations import where
from npuc.dialects.core.origins import (
    ORIGINS,
    add_origins,
    all_origins,
    move_location,
    move_origins,
    name_of,
    node_of,
    origins_of,
    set_origins,
)
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.steps import Step

F32 = tensor_of("f32", (2, 3))
A, B = OriginAttr.of("n", "a"), OriginAttr.of("n", "b")

TEXT = """
func.func @main(%x: tensor<2x3xf32> {core.name = "in:0", core.origins = [#core.origin<"", "in:0">]},
                %y: tensor<2x3xf32>) {
  %0, %1 = "test.op"(%x) {core.origins = [[#core.origin<"/conv", "c">], []]}
    : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  "test.op"() ({
    "test.op"() {tap = #core.origin<"/relu", "r">} : () -> ()
  }) : () -> ()
  func.return
}
"""


def module() -> ModuleOp:
    return parse_module(make_context(), TEXT, "f.mlir")


def body(op: ModuleOp) -> Block:
    (function,) = op.ops
    assert isinstance(function, FuncOp)
    return function.body.block


def two_results() -> Operation:
    return test.TestOp(result_types=[F32, F32])


def test_reading() -> None:
    block = body(module())
    first = block.first_op
    assert first is not None
    assert [o.key for o in origins_of(first.results[0])] == [("/conv", "c")]
    assert origins_of(first.results[1]) == ()
    assert [o.key for o in origins_of(block.args[0])] == [("", "in:0")]
    assert origins_of(block.args[1]) == ()
    assert name_of(block.args[0]) == "in:0"
    assert name_of(block.args[1]) is None
    assert node_of(first) == "/conv"
    assert set(all_origins(module())) == {("", "in:0"), ("/conv", "c"), ("/relu", "r")}


def test_results_keep_their_own() -> None:
    op = two_results()
    set_origins(op.results[1], [A])
    assert str(op.attributes[ORIGINS]) == '[[], [#core.origin<"n", "a">]]'
    add_origins(op.results[0], [A, B, A])
    assert [origins_of(r) for r in op.results] == [(A, B), (A,)]
    set_origins(op.results[0], [])
    set_origins(op.results[1], [])
    assert ORIGINS not in op.attributes


def test_moving_takes_them_along_and_records_the_step() -> None:
    old, new = two_results(), two_results()
    set_origins(old.results[0], [A])
    set_origins(new.results[1], [B])
    step = Step("transpose", (1, 0))
    move_origins(old.results[0], new.results[1], step)
    assert origins_of(old.results[0]) == ()
    assert origins_of(new.results[1]) == (B, A.after(step))
    assert origins_of(new.results[1])[1].view == (step,)
    move_origins(new, old)
    assert origins_of(old.results[1]) == (B, A.after(step))
    move_origins(old.results[1], old.results[1])
    assert len(origins_of(old.results[1])) == 2


def test_function_arguments_can_take_and_give() -> None:
    op = module()
    block = body(op)
    first = block.first_op
    assert first is not None
    move_origins(first.results[0], block.args[1])
    assert [o.key for o in origins_of(block.args[1])] == [("/conv", "c")]
    move_origins(block.args[0], first.results[1])
    assert name_of(block.args[0]) == "in:0"
    again = parse_module(make_context(), print_ir(op))
    assert print_ir(again) == print_ir(op)
    assert set(all_origins(again)) == set(all_origins(module()))


def test_other_block_arguments_cannot_carry_any() -> None:
    block = Block(arg_types=[F32])
    with pytest.raises(InternalError, match="only op results and function arguments"):
        set_origins(block.args[0], [A])
    with pytest.raises(InternalError, match="cannot hand origins"):
        move_origins(two_results(), test.TestOp(result_types=[F32]))


def test_places() -> None:
    op = module()
    first = body(op).first_op
    assert first is not None
    assert where(first) == 'f.mlir:4:3 (node "/conv")'
    made = test.TestOp()
    assert where(made) is None
    move_location(first, made)
    assert where(made) == "f.mlir:4:3"
    second = first.next_op
    assert second is not None
    inner = second.regions[0].block.first_op
    assert inner is not None
    inner.location = UnknownLoc()
    assert where(inner) == 'f.mlir:6:3 (node "/relu")'


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ('"m":1:2', "m:1:2"),
        ('"name"("m":1:2)', "m:1:2"),
        ('callsite("m":1:2 at "n":3:4)', "m:1:2"),
        ('fused["name", "m":1:2]', "m:1:2"),
        ('"name"', None),
    ],
)
def test_nested_locations(location: str, expected: str | None) -> None:
    text = f'"test.op"() : () -> () loc({location})'
    (op,) = parse_module(make_context(), text, "f").ops
    op.detach()
    assert where(op) == expected
