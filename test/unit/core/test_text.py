"""IR text: constants that read back bit for bit, attributes, places of errors."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FileLineColLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation

from npuc.dialects.core.attributes import BlobAttr, DenseAttr, OriginAttr, tensor_of
from npuc.dialects.core.dtypes import NAMES, Array, to_numpy
from npuc.dialects.core.errors import InputError, VerifyError
from npuc.dialects.core.ops import ConstantOp, WeightOp
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.steps import Step
from npuc.dialects.core.upstream import constant_value
from npuc.dialects.core.verify import verify

HARD = [np.inf, -np.inf, np.nan, -0.0, 0.0, 16777217.0, 123456792.0, 1e-45, 3.4e38, 0.1]


def reread(op: Operation, *, generic: bool = False) -> Operation:
    """The op printed and parsed again; the second print must equal the first."""
    text = print_ir(op, generic=generic)
    module = parse_module(make_context(), text)
    (again,) = module.ops
    verify(module)
    assert print_ir(again, generic=generic) == text
    return again


def same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_constants_of_every_type_survive(name: str, generic: bool) -> None:
    rng = np.random.default_rng(0)
    dtype = to_numpy(name)
    raw = rng.integers(0, 2 if name == "bool" else 256, 6 * dtype.itemsize, dtype=np.uint8)
    array = raw.view(dtype).reshape(2, 3)
    for value in (array, array[:1], array[0, 0], np.broadcast_to(array[0, 0], (4, 5)), array[:0]):
        again = reread(ConstantOp.of(np.asarray(value)), generic=generic)
        assert isinstance(again, ConstantOp)
        assert same_bits(again.value.array(), np.asarray(value))


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=8))
def test_every_f32_bit_pattern_survives(bits: list[int]) -> None:
    array = np.array(bits, np.uint32).view(np.float32)
    again = reread(ConstantOp.of(array))
    assert isinstance(again, ConstantOp)
    assert same_bits(again.value.array(), array)


def test_a_splat_keeps_one_element() -> None:
    value = DenseAttr.of(np.full((64, 64), 1.5, np.float32))
    assert len(value.data) == 4
    assert value.is_splat()
    assert str(value) == '#core.dense<"0x0000C03F", tensor<64x64xf32>>'
    assert value.array().shape == (64, 64)


def test_a_large_constant_does_not_verify() -> None:
    with pytest.raises(VerifyError, match="1028 bytes are too many"):
        verify(ConstantOp.of(np.arange(257, dtype=np.int32)))


@pytest.mark.parametrize(
    ("data", "type_", "message"),
    [
        ("1.0", "tensor<f32>", "integer literal"),
        ("0x3F800000", "tensor<f32>", "floats are written as bytes in hex"),
        ("[1, 2]", "tensor<2xf16>", "floats are written as bytes in hex"),
        ('"0x3F8"', "tensor<f32>", "expected bytes in hex"),
        ('"0x3F800000"', "tensor<2x2xf16>", "takes 8 bytes, got 4"),
        ("[1, 2]", "tensor<3xi32>", "the list has shape [2], the type [3]"),
        ("[[1], [2, 3]]", "tensor<2x1xi32>", "do not fit"),
        ("[300]", "tensor<1xi8>", "do not fit"),
        ("1", "i32", "is not a tensor type"),
        ("1", "tensor<2xi7>", "`i7` is not an element type"),
    ],
)
def test_what_is_no_constant_is_refused(data: str, type_: str, message: str) -> None:
    text = f"\n%0 = core.constant dense<{data}> : {type_}"
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        parse_module(make_context(), text, "f.mlir")
    assert (refused.value.where or "").startswith("f.mlir:2:2")


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("number", HARD)
def test_scalar_constants_survive(number: float, dtype: str) -> None:
    with np.errstate(all="ignore"):
        value = np.asarray(number).astype(to_numpy(dtype))
    bits = value.tobytes()[::-1].hex()
    text = f"%0 = arith.constant 0x{bits} : {dtype}\n"
    op = parse_module(make_context(), text).body.block.first_op
    assert op is not None
    again = reread(op)
    got = np.asarray(constant_value(again.properties["value"]))
    assert same_bits(got, value)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_upstream_dense_floats_survive(dtype: str) -> None:
    array = np.array(HARD).astype(np.float32).astype(to_numpy(dtype))
    text = f'%0 = arith.constant dense<"0x{array.tobytes().hex()}"> : tensor<10x{dtype}>\n'
    op = parse_module(make_context(), text).body.block.first_op
    assert op is not None
    for generic in (False, True):
        again = reread(op, generic=generic)
        assert same_bits(constant_value(again.properties["value"]), array)


def test_upstream_decimal_floats_are_read_exactly() -> None:
    text = "%0 = arith.constant dense<[16777217.0, 123456792.0, -0.0]> : tensor<3xf32>"
    op = parse_module(make_context(), text).body.block.first_op
    assert op is not None
    expected = np.array([16777217.0, 123456792.0, -0.0], np.float32)
    assert same_bits(constant_value(op.properties["value"]), expected)
    assert '"0x' in print_ir(op)


@pytest.mark.parametrize("data", ["0xFF800000", "[1.0, 0x7F800000]", "[[0x7FC00000], [1.0]]"])
def test_bare_hex_among_upstream_floats_is_refused(data: str) -> None:
    rows = "2x1x" if data.startswith("[[") else "2x"
    text = f"%0 = arith.constant dense<{data}> : tensor<{rows}f32>"
    with pytest.raises(InputError, match="bare hex is read as an integer here"):
        parse_module(make_context(), text)


def test_bare_hex_among_integers_is_fine() -> None:
    text = "%0 = arith.constant dense<[0xFF, 2]> : tensor<2xi32>"
    op = parse_module(make_context(), text).body.block.first_op
    assert op is not None
    assert constant_value(op.properties["value"]).tolist() == [255, 2]


def test_float_arrays_survive_or_are_refused() -> None:
    text = '"test.op"() {{a = array<f32: {}>}} : () -> ()'
    op = parse_module(make_context(), text.format("1.5, -0.0, 0.1")).body.block.first_op
    assert op is not None
    assert reread(op).attributes == op.attributes
    large = parse_module(make_context(), text.format("123456792.0"))
    for refused in (print_ir(large), text.format("0x7F800000")):
        with pytest.raises(InputError, match="Expected float literal"):
            parse_module(make_context(), refused)


def test_text_that_is_not_ascii_survives() -> None:
    for text in ("größe/Conv:0", "层", 'a "b" \\ c\nd\te', "\0", ""):
        op = parse_module(make_context(), '"test.op"() : () -> ()').body.block.first_op
        assert op is not None
        op.attributes["name"] = StringAttr(text)
        assert reread(op).attributes["name"] == StringAttr(text)


def test_attributes_read_back() -> None:
    steps = (
        Step("cast", "ui8"),
        Step("transpose", (1, 0)),
        Step("reshape", ()),
        Step("slice", ((0, 1), (2, 3))),
    )
    blob = BlobAttr.of(tensor_of("f32", (1, 1)), "00ff", "file:a b#c#0+4", steps[:3])
    assert blob.result() == tensor_of("ui8", ())
    weight = WeightOp(blob)
    origin = OriginAttr.of('/conv "1":0', "täns\nor", steps)
    weight.attributes["core.origins"] = origin
    for generic in (False, True):
        again = reread(weight, generic=generic)
        assert again.attributes["core.origins"] == origin
        assert again.properties["blob"] == blob
    assert str(OriginAttr.of("n", "t")) == '#core.origin<"n", "t">'
    assert str(origin.steps.data[3]) == '#core.step<"slice", [[0, 1], [2, 3]]>'


def test_a_weight_has_the_type_of_its_steps() -> None:
    text = '%0 = core.weight #core.blob<tensor<2x3xf32>, "d", "mem:", [{}]> : tensor<3x2xf32>'
    verify(parse_module(make_context(), text.format('#core.step<"transpose", [1, 0]>')))
    with pytest.raises(VerifyError, match="result #0 is `tensor<3x2xf32>`, but the operands give"):
        verify(parse_module(make_context(), text.format("")))
    with pytest.raises(InputError, match="does not permute 2 dimensions"):
        parse_module(make_context(), text.format('#core.step<"transpose", [1, 1]>'))


def place(op: Operation) -> tuple[str, int, int]:
    assert isinstance(op.location, FileLineColLoc)
    location = op.location
    return location.filename.data, location.line.data, location.column.data


def test_ops_know_where_they_stand() -> None:
    text = 'func.func @f() {\n  %a =\n  arith.constant 1 : i32\n  "test.op"() : () -> ()\n  return}'
    module = parse_module(make_context(), text, "dir/f.mlir")
    (function,) = module.ops
    ops = list(function.regions[0].block.ops)
    assert place(function) == ("dir/f.mlir", 1, 1)
    assert [place(op)[1:] for op in ops] == [(2, 3), (4, 3), (5, 3)]
    assert place(next(iter(parse_module(make_context(), text, "f", 10).ops))) == ("f", 10, 1)


def test_a_location_in_the_text_wins() -> None:
    text = '"test.op"() : () -> () loc("model.onnx":7:2)\n%0 = arith.constant 1 : i32 loc("m":1:2)'
    first, second = parse_module(make_context(), text, "f.mlir").ops
    assert place(first) == ("model.onnx", 7, 2)
    assert place(second) == ("m", 1, 2)
    assert not isinstance(second.location, UnknownLoc)


def test_locations_can_be_printed_and_read() -> None:
    module = parse_module(make_context(), '"test.op"() : () -> ()', "f.mlir")
    text = print_ir(module, locations=True)
    again = parse_module(make_context(), text, "g.mlir")
    assert place(next(iter(again.ops))) == ("f.mlir", 1, 1)


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("", "f:1:1", "Could not parse entire input!"),
        ("func.func @f() {\n  no.such\n}", "f:2:3", "operation `no.such` is not registered"),
        ('"test.op"(%x) : (i32) -> ()\n\n', "f:1:1", "values used but not defined: [%x]"),
        ("\n%0 = arith.constant 1 : nope", "f:2:25", ""),
        ('"test.op"() {a = #nope.x} : () -> ()', "f:1:25", "nope"),
        ("module {\n", "f:2:1", ""),
        ("\n.no", "f:2:1", "Expected three consecutive"),
        ('"test.op"() ({\n^1:\n}) : () -> ()', "f:2:3", "Invalid Block name"),
    ],
)
def test_parse_errors_say_where(text: str, where: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_module(make_context(), text, "f")
    assert message in refused.value.what
    assert refused.value.where == where


@pytest.mark.parametrize("before", ["", '"test.op"() {a = '])
def test_a_missing_quote_is_found_at_once(before: str) -> None:
    with pytest.raises(InputError, match="End of file reached before closing string"):
        parse_module(make_context(), f'{before}"{"word " * 1000}\n')


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    depth = 2000
    text = '"test.op"() ({\n' * depth + "}) : () -> ()\n" * depth
    with pytest.raises(InputError, match="nested too deeply"):
        parse_module(make_context(), text)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_half_constants_print_their_bytes(dtype: Any) -> None:
    assert 'dense<"0x' in print_ir(ConstantOp.of(np.ones(3, dtype)))


def test_a_value_that_only_an_inner_region_defines() -> None:
    text = """builtin.module {
  func.func @main(%n: index) {
    scf.for %i = %n to %n step %c {
      %c = arith.constant 1 : index
      scf.yield
    }
    func.return
  }
}"""
    with pytest.raises(InputError, match="used and not defined") as caught:
        parse_module(make_context(), text, "m.mlir")
    assert caught.value.where == "m.mlir:3:5"
