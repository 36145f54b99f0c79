"""Verification: every op by its rules, and definitions before uses."""

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region

from npuc.dialects.core.dominance import check
from npuc.dialects.core.errors import VerifyError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify


def verified(text: str) -> None:
    verify(parse_module(make_context(), text, "f.mlir"))


@pytest.mark.parametrize(
    "text",
    [
        # in one block
        '"test.op"(%a) : (i32) -> ()\n%a = "test.op"() : () -> i32',
        # by the op itself
        '%a = "test.op"(%a) : (i32) -> i32',
        # through an op that is isolated from above
        '%a = "test.op"() : () -> i32\nfunc.func @f() {\n "test.op"(%a) : (i32) -> ()\n return\n}',
    ],
)
def test_uses_that_no_definition_dominates(text: str) -> None:
    module = parse_module(make_context(), text, "f.mlir")
    with pytest.raises(VerifyError, match="where it is not defined"):
        check(module)


def test_values_do_not_leave_their_region() -> None:
    inner = test.TestOp(result_types=[i32])
    beside = test.TestOp([inner.results[0]])
    regions = test.TestOp(regions=[Region(Block([inner])), Region(Block([beside]))])
    with pytest.raises(VerifyError, match="where it is not defined"):
        check(test.TestOp(regions=[Region(Block([regions]))]))
    beside.detach()
    after = test.TestOp(regions=[Region(Block([regions.clone(), beside]))])
    with pytest.raises(VerifyError, match="where it is not defined"):
        check(after)


def test_nested_regions_see_what_is_around_them() -> None:
    verified(
        '%a = "test.op"() : () -> i32\n'
        '"test.op"(%a) ({\n^bb0(%b: i32):\n  "test.op"(%a, %b) ({\n"test.termop"(%b) : (i32) -> ()'
        '\n  }) : (i32, i32) -> ()\n  "test.termop"() : () -> ()\n}) : (i32) -> ()'
    )


CFG = """
"test.op"() ({{
  %c = "test.op"() : () -> i1
  "test.termop"() [^left, ^right] : () -> ()
^left:
  %a = "test.op"() : () -> i32
  "test.termop"() [^join] : () -> ()
^right:
  "test.op"({right}) : ({type}) -> ()
  "test.termop"() [^join] : () -> ()
^join:
  "test.op"(%c) : (i1) -> ()
  "test.termop"() : () -> ()
}}) : () -> ()
"""


def test_blocks_see_what_dominates_them() -> None:
    check(parse_module(make_context(), CFG.format(right="%c", type="i1")))
    with pytest.raises(VerifyError, match="uses %a where it is not defined"):
        check(parse_module(make_context(), CFG.format(right="%a", type="i32")))


def test_rules_of_ops_are_checked_with_their_place() -> None:
    text = '\n  %w = core.weight #core.blob<tensor<2xf32>, "d", "mem:"> : tensor<3xf32>'
    with pytest.raises(VerifyError) as refused:
        verified(text)
    assert refused.value.where == "f.mlir:2:3"
    assert refused.value.what.startswith("`core.weight`: result #0 is `tensor<3xf32>`")


def test_an_empty_region_that_needs_a_terminator() -> None:
    with pytest.raises(VerifyError, match=r"`test.op`: .*terminator"):
        verified('"test.op"() ({\n^bb0:\n}) : () -> ()')


def test_long_blocks_take_linear_time() -> None:
    # A quadratic check takes minutes for this.
    block = Block()
    block.add_op(last := test.TestOp(result_types=[i32]))
    for _ in range(20000):
        block.add_op(last := test.TestOp([last.results[0]], result_types=[i32]))
    check(test.TestOp(regions=[Region(block)]))
