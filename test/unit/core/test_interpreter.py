"""Running functions, control flow and bodies on numpy."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import irdl_op_definition, operand_def, region_def, result_def
from xdsl.irdl.operations import OpDef

from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import ExecutionError, InputError, InternalError
from npuc.dialects.core.interpreter import Frame, Interpreter, evaluate_block
from npuc.dialects.core.ops import Cost, EffectOp, NpucOp, WeightOp
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import NpucContext, make_context
from npuc.dialects.core.store import MEMORY, Store


@irdl_op_definition
class TwiceOp(NpucOp):
    """Doubles a tensor."""

    name = "try.twice"
    source = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def infer(self) -> Sequence[Attribute]:
        return [self.source.type]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        return [args[0] * args[0].dtype.type(2)]

    def cost(self) -> Cost:
        return Cost(0, *self.traffic())


@irdl_op_definition
class CountdownOp(EffectOp):
    """Runs its body three times, and the function `log` with the count in the environment."""

    name = "try.countdown"
    body = region_def("single_block")
    CALLS: ClassVar[list[Any]] = []
    assembly_format = "attr-dict-with-keyword $body"

    def run(self, frame: Frame) -> None:
        for count in (3, 2, 1):
            (value,) = frame.run_block(self.body.block, [count])
            self.CALLS.append((value, frame.call("log", [value], {"count": count})))


@irdl_op_definition
class CountOp(EffectOp):
    """The count that the environment holds."""

    name = "try.count"
    result = result_def()
    assembly_format = "attr-dict `:` type($result)"

    def run(self, frame: Frame) -> None:
        frame.set(self.result, frame.env["count"])


TRY = Dialect("try", [TwiceOp, CountdownOp, CountOp])


def context(store: Store | None = None) -> NpucContext:
    ctx = make_context(store)
    ctx.load_dialect(TRY)
    return ctx


def run(text: str, *arguments: Any, store: Store | None = None, name: str = "main") -> Any:
    module = parse_module(context(), text, "f.mlir")
    return Interpreter(module, store).call(name, *arguments)


def test_definitions_are_complete() -> None:
    assert isinstance(TwiceOp.get_irdl_definition(), OpDef)


LOOP = """
func.func @main(%x: tensor<2x3xf32>, %n: index) -> (tensor<2x3xf32>, index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r, %s = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %zero)
      -> (tensor<2x3xf32>, index) {
    %big = arith.cmpi sgt, %i, %one : index
    %c = scf.if %big -> (tensor<2x3xf32>) {
      %t = func.call @twice(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
      scf.yield %t : tensor<2x3xf32>
    } else {
      %t = arith.addf %a, %x : tensor<2x3xf32>
      scf.yield %t : tensor<2x3xf32>
    }
    %d = arith.addi %b, %i : index
    scf.yield %c, %d : tensor<2x3xf32>, index
  }
  func.return %r, %s : tensor<2x3xf32>, index
}
func.func @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = try.twice %x : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
"""


def test_loops_branches_and_calls() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    got, count = run(LOOP, x, 4)
    assert np.array_equal(got, x * 12)
    assert got.dtype == np.float32
    assert count == 6
    got, count = run(LOOP, x, 0)
    assert np.array_equal(got, x)
    assert count == 0


def test_recursion_has_its_own_frames() -> None:
    text = """
    func.func @main(%n: index) -> index {
      %one = arith.constant 1 : index
      %end = arith.cmpi sle, %n, %one : index
      %r = scf.if %end -> (index) {
        scf.yield %one : index
      } else {
        %less = arith.subi %n, %one : index
        %below = func.call @main(%less) : (index) -> index
        %product = arith.muli %n, %below : index
        scf.yield %product : index
      }
      func.return %r : index
    }
    """
    assert run(text, 10) == (3628800,)


def test_an_if_without_else_does_nothing() -> None:
    text = """
    func.func @main(%c: i1) {
      scf.if %c {
        "no.meaning"() : () -> ()
      }
      func.return
    }
    """
    module = parse_module(make_context(allow_unregistered=True), text)
    with pytest.raises(ExecutionError, match=r"cannot be run"):
        Interpreter(module).call("main", np.bool_(False))
    assert run('func.func @main(%c: i1) {\n scf.if %c {\n }\n func.return\n}', np.bool_(True)) == ()


def test_effects_run_regions_and_call_with_an_environment() -> None:
    text = """
    func.func @main(%k: index) {
      try.countdown {
      ^bb0(%i: index):
        %p = arith.muli %i, %k : index
        scf.yield %p : index
      }
      func.return
    }
    func.func @log(%x: index) -> index {
      %c = func.call @inner() : () -> index
      func.return %c : index
    }
    func.func @inner() -> index {
      %c = try.count : index
      func.return %c : index
    }
    """
    CountdownOp.CALLS.clear()
    run(text, 10)
    assert CountdownOp.CALLS == [(30, (3,)), (20, (2,)), (10, (1,))]


def test_weights_come_from_the_store() -> None:
    store = Store()
    digest = store.add(np.arange(6, dtype=np.float32).reshape(2, 3))
    text = f"""
    func.func @main() -> tensor<3x2xf16> {{
      %w = core.weight #core.blob<tensor<2x3xf32>, "{digest}", "{MEMORY}",
        [#core.step<"transpose", [1, 0]>, #core.step<"cast", f16>]> : tensor<3x2xf16>
      func.return %w : tensor<3x2xf16>
    }}
    """
    (got,) = run(text, store=store)
    assert got.dtype == np.float16
    assert got.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(InputError, match="is not in memory"):
        run(text)
    assert WeightOp.name == "core.weight"


def test_values_with_origins_are_observed_in_order() -> None:
    text = """
    func.func @main(%x: tensor<1xf32> {core.origins = [#core.origin<"", "x">]}) -> tensor<1xf32> {
      %0 = try.twice %x {core.origins = [[#core.origin<"n", "a">, #core.origin<"n", "b">]]}
        : tensor<1xf32> -> tensor<1xf32>
      %1 = try.twice %0 : tensor<1xf32> -> tensor<1xf32>
      %2 = func.call @f(%1) {core.origins = [[#core.origin<"m", "d">]]}
        : (tensor<1xf32>) -> tensor<1xf32>
      func.return %2 : tensor<1xf32>
    }
    func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
      %0 = try.twice %x {core.origins = [[#core.origin<"f", "c">]]}
        : tensor<1xf32> -> tensor<1xf32>
      func.return %0 : tensor<1xf32>
    }
    """
    seen: list[tuple[str, float]] = []

    def observe(origin: OriginAttr, array: Array) -> None:
        seen.append((origin.tensor.data, float(array[0])))

    module = parse_module(context(), text)
    Interpreter(module, observe=observe).call("main", np.ones(1, np.float32))
    assert seen == [("x", 1), ("a", 2), ("b", 2), ("c", 8), ("d", 8)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "`main` takes 2 arguments"),
        ([np.zeros((3, 2), np.float32), 1], "argument #0 does not fit"),
        ([np.zeros((2, 3)), 1], "it must be f32[2, 3], got float64[2, 3]"),
    ],
)
def test_arguments_must_fit(arguments: list[Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        run(LOOP, *arguments)
    assert message in str(refused.value)


def test_an_argument_is_named_as_in_the_model() -> None:
    text = 'func.func @main(%x: tensor<1xf32> {core.name = "img:0"}) {\n func.return\n}'
    with pytest.raises(InputError, match="argument img:0 does not fit"):
        run(text, np.zeros(2, np.float32))


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(InputError, match="no function `f` to run"):
        run(LOOP, name="f")


def test_branches_between_blocks_are_refused() -> None:
    text = """
    func.func @main() {
      "test.termop"() [^next] : () -> ()
    ^next:
      func.return
    }
    """
    with pytest.raises(ExecutionError, match="branches to another block"):
        run(text)


def test_errors_say_where() -> None:
    text = """func.func @main(%a: i32, %b: i32) -> i32 {
      %c = arith.divsi %a, %b {core.origins = [[#core.origin<"/div", "c">]]} : i32
      func.return %c : i32
    }"""
    assert run(text, np.int32(7), np.int32(2)) == (3,)
    with pytest.raises(ExecutionError, match="division by zero") as failed:
        run(text, np.int32(7), np.int32(0))
    assert failed.value.where == 'f.mlir:2:7 (node "/div")'


def body(text: str) -> Any:
    return parse_module(context(), text).body.block.first_op.regions[0].block  # pyright: ignore


def test_bodies_run_on_whole_arrays() -> None:
    block = body("""
    "test.op"() ({
    ^bb0(%x: f16, %y: f16, %z: f32):
      %0 = arith.extf %x : f16 to f32
      %1 = arith.extf %y : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %2, %z : f32
      "test.termop"(%3, %x) : (f32, f16) -> ()
    }) : () -> ()
    """)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((4, 5)).astype(np.float16) for _ in range(2))
    got, same = evaluate_block(block, [x, y[0], 0.5])
    assert got.dtype == np.float32
    wide = x.astype(np.float32) * y[0].astype(np.float32)
    assert np.array_equal(got, wide + np.float32(0.5))
    assert same is x


def test_a_body_sees_its_changes_and_nothing_outside() -> None:
    block = body("""
    "test.op"() ({
    ^bb0(%x: f32):
      %0 = arith.addf %x, %x : f32
      "test.termop"(%0) : (f32) -> ()
    }) : () -> ()
    """)
    assert evaluate_block(block, [1.5]) == (3.0,)
    (add,) = list(block.ops)[:-1]
    add.operands = [block.args[0], add.results[0]]
    with pytest.raises(ExecutionError, match="a value from outside is used"):
        evaluate_block(block, [1.5])


def test_a_body_does_not_call() -> None:
    call = "func.call @f() : () -> ()"
    block = body(f'"test.op"() ({{\n {call}\n "test.termop"() : () -> ()\n}}) : () -> ()')
    with pytest.raises(InternalError, match="calls a function"):
        evaluate_block(block, [])


def test_ops_must_be_complete() -> None:
    class HalfOp(NpucOp):
        name = "try.half"

    with pytest.raises(TypeError, match="abstract"):
        HalfOp()  # pyright: ignore[reportAbstractUsage]
