"""The canonicalization driver: folding, steps of weights, equal and dead ops, origins."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import InternalError
from npuc.dialects.core.locations import where
from npuc.dialects.core.ops import ConstantOp, Cost, NpucOp, WeightOp
from npuc.dialects.core.origins import all_origins, origins_of
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.steps import Step
from npuc.dialects.core.verify import verify
from npuc.passes.canonicalization import CanonicalizePass, canonicalize_module


class Swap(RewritePattern):
    """Turns `try.left` into `try.right` and back, for ever."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        other = RightOp if isinstance(op, LeftOp) else LeftOp
        if isinstance(op, LeftOp | RightOp):
            rewriter.replace(op, other.create(operands=op.operands, result_types=op.result_types))


class SwapOp(HasCanonicalizationPatternsInterface, NpucOp):
    """An op whose pattern never ends."""

    source = operand_def(TensorType)
    result = result_def(TensorType)

    def infer(self) -> Sequence[Attribute]:
        return [self.source.type]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        return args

    def cost(self) -> Cost:
        return Cost(0, 0, 0)

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return (Swap(),)


@irdl_op_definition
class LeftOp(SwapOp):
    name = "try.left"


@irdl_op_definition
class RightOp(SwapOp):
    name = "try.right"


@dataclass(frozen=True)
class TryPass(CanonicalizePass):
    """The driver as a pass."""

    name = "try-canonicalize"


def canonicalized(text: str) -> tuple[list[Operation], TryPass, ModuleOp]:
    """The ops of the only function after the pass, which must then have nothing left to do."""
    module = parse_module(make_context(), text, "f.mlir")
    pass_ = TryPass()
    pass_.apply(make_context(), module)
    verify(module)
    again = print_ir(module)
    assert canonicalize_module(module) == []
    assert print_ir(module) == again
    (function,) = module.ops
    return list(function.regions[0].block.ops), pass_, module


def test_small_constants_are_folded() -> None:
    ops, _, _ = canonicalized("""
    func.func @main() -> tensor<4x300xf32> {
      %a = core.constant dense<"0x000000400000803F"> : tensor<2xf32>
      %b = core.constant dense<"0x0000803F"> : tensor<2x1xf32>
      %c = graph.add %a, %b {core.origins = [[#core.origin<"/add", "c">]]}
        : tensor<2xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
      %d = core.constant dense<"0x00000040"> : tensor<4x300xf32>
      %e = graph.relu %d : tensor<4x300xf32>
      "test.op"(%c) : (tensor<2x2xf32>) -> ()
      func.return %e : tensor<4x300xf32>
    }""")
    folded, splat, *_ = ops
    assert isinstance(folded, ConstantOp)
    assert folded.value.array().tolist() == [[3, 2], [3, 2]]
    assert where(folded) == 'f.mlir:5:7 (node "/add")'
    assert isinstance(splat, ConstantOp)
    assert splat.value.is_splat()
    assert [op.name for op in ops[2:]] == ["test.op", "func.return"]


def test_large_values_are_not_folded() -> None:
    ops, _, _ = canonicalized("""
    func.func @main() -> tensor<20x20xf32> {
      %a = core.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]>
        : tensor<20xi32>
      %f = graph.cast %a : tensor<20xi32> -> tensor<20xf32>
      %r = graph.reshape %f : tensor<20xf32> -> tensor<20x1xf32>
      %s = graph.add %f, %r : tensor<20xf32>, tensor<20x1xf32> -> tensor<20x20xf32>
      func.return %s : tensor<20x20xf32>
    }""")
    # Both operands fold, but the sum has 1600 bytes of different numbers.
    assert [op.name for op in ops] == ["core.constant", "core.constant", "graph.add", "func.return"]


WEIGHT = '#core.blob<tensor<4x6xf32>, "d", "file:m#0+96">'


def test_steps_move_into_weights() -> None:
    ops, pass_, module = canonicalized(f"""
    func.func @main() -> tensor<24xf16> {{
      %w = core.weight {WEIGHT} {{core.origins = [[#core.origin<"", "w">]]}} : tensor<4x6xf32>
      %t = graph.transpose %w perm [1, 0] {{core.origins = [[#core.origin<"/t", "t">]]}}
        : tensor<4x6xf32> -> tensor<6x4xf32>
      %c = graph.cast %t : tensor<6x4xf32> -> tensor<6x4xf16>
      %r = graph.reshape %c : tensor<6x4xf16> -> tensor<24xf16>
      func.return %r : tensor<24xf16>
    }}""")
    weight, _ = ops
    assert isinstance(weight, WeightOp)
    steps = (Step("transpose", (1, 0)), Step("cast", "f16"), Step("reshape", (24,)))
    assert weight.blob.recipe == steps
    views = {origin.tensor.data: origin.view for origin in origins_of(weight.result)}
    assert views == {"w": steps, "t": steps[1:]}
    assert pass_.report.losses == []
    assert len(all_origins(module)) == 2


def test_a_weight_with_another_use_stays_beside_its_step() -> None:
    ops, pass_, _ = canonicalized(f"""
    func.func @main() -> (tensor<4x6xf32>, tensor<6x4xf32>) {{
      %w = core.weight {WEIGHT} {{core.origins = [[#core.origin<"", "w">]]}} : tensor<4x6xf32>
      %t = graph.transpose %w perm [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
      func.return %w, %t : tensor<4x6xf32>, tensor<6x4xf32>
    }}""")
    assert [op.name for op in ops] == ["core.weight", "core.weight", "func.return"]
    assert len(origins_of(ops[0].results[0])) == 1
    assert origins_of(ops[1].results[0]) == ()
    assert pass_.report.losses == []


def test_equal_ops_are_merged_with_their_origins() -> None:
    ops, pass_, _ = canonicalized("""
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %a = graph.relu %x {core.origins = [[#core.origin<"n", "a">]]} : tensor<4xf32>
      %b = graph.relu %x {core.origins = [[#core.origin<"n", "b">]]} : tensor<4xf32>
      %c = graph.relu %x {other = 1 : i32} : tensor<4xf32>
      func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    }""")
    first, second, end = ops
    assert [o.tensor.data for o in origins_of(first.results[0])] == ["a", "b"]
    assert list(end.operands) == [first.results[0], first.results[0], second.results[0]]
    assert pass_.report.losses == []


def test_equal_ops_are_merged_into_regions_that_see_them_only() -> None:
    module = parse_module(make_context(), """
    func.func @main(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
      %r = scf.if %c -> (tensor<4xf32>) {
        %a = math.exp %x : tensor<4xf32>
        scf.yield %a : tensor<4xf32>
      } else {
        %b = math.exp %x : tensor<4xf32>
        scf.yield %b : tensor<4xf32>
      }
      %d = math.exp %x : tensor<4xf32>
      %s = scf.if %c -> (tensor<4xf32>) {
        %e = math.exp %x : tensor<4xf32>
        scf.yield %e : tensor<4xf32>
      } else {
        scf.yield %r : tensor<4xf32>
      }
      %t = arith.addf %s, %d : tensor<4xf32>
      func.return %t : tensor<4xf32>
    }
    func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = math.exp %x : tensor<4xf32>
      func.return %a : tensor<4xf32>
    }""")
    canonicalize_module(module)
    verify(module)
    assert print_ir(module).count("math.exp") == 4


@pytest.mark.parametrize(("constant", "merged"), [("1.0", True), ("2.0", False)])
def test_bodies_must_be_equal(constant: str, merged: bool) -> None:
    body = """
      maps [affine_map<(d0) -> (d0)>] -> affine_map<(d0) -> (d0)> iterators [parallel] {{
    ^bb0(%e: f32):
      %k = arith.constant {} : f32
      %s = arith.addf %e, %k : f32
      tensor.yield %s : f32
    }} : (tensor<4xf32>) -> tensor<4xf32>"""
    ops, _, _ = canonicalized(f"""
    func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
      %a = tensor.map(%x) {body.format("1.0")}
      %b = tensor.map(%x) {body.format(constant)}
      func.return %a, %b : tensor<4xf32>, tensor<4xf32>
    }}""")
    assert len(ops) == (2 if merged else 3)


def test_dead_code_goes_and_is_listed() -> None:
    ops, pass_, _ = canonicalized("""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = graph.relu %x {core.origins = [[#core.origin<"n", "a">]]} : tensor<4xf32>
      %b = graph.add %a, %x {core.origins = [[#core.origin<"n", "b">]]}
        : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      "test.op"() : () -> ()
      func.return %x : tensor<4xf32>
    }""")
    assert [op.name for op in ops] == ["test.op", "func.return"]
    lost = {(loss.origin.tensor.data, loss.why) for loss in pass_.report.losses}
    assert lost == {("a", "`graph.relu` is dead code"), ("b", "`graph.add` is dead code")}


def test_patterns_that_undo_each_other_are_a_bug() -> None:
    ctx = make_context()
    ctx.load_dialect(Dialect("try", [LeftOp, RightOp]))
    module = parse_module(
        ctx,
        'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
        '  %a = "try.left"(%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "  func.return %a : tensor<4xf32>\n}",
    )
    with pytest.raises(InternalError, match="undo each other"):
        canonicalize_module(module)
