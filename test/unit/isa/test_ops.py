"""Instructions as operations: building, text, verification, flattening."""

import math
import struct
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.core.errors import InputError, InternalError, VerifyError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.verify import verify
from npuc.dialects.npu_isa.flatten import flatten, records
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.instructions.branches import Redirection
from npuc.dialects.npu_isa.instructions.scalar import End, Loop, SAdd, SMov, SSub
from npuc.dialects.npu_isa.ops import OPS, Address, InstrOp, Value, build
from npuc.dialects.npu_isa.record import Addr, Record, Reg
from npuc.dialects.npu_isa.spec import Instruction
from npuc.dialects.npu_isa.structure import KernelOp, LoopOp, YieldOp
from npuc.dialects.npu_isa.types import FieldsAttr, Float, RegType, float_text
from random_records import records as random_records

SPECS = [s for s in MNEMONICS.values() if s is not Loop and not issubclass(s, Redirection)]
REGISTERS = 64


def kernel_with(make: Callable[[tuple[SSAValue, ...]], list[InstrOp]]) -> KernelOp:
    """A kernel of 64 arguments, so that value i is register i, around some instructions."""
    kernel = KernelOp.empty("k", REGISTERS)
    block = kernel.body.block
    block.add_ops(make(tuple(block.args)))
    block.add_op(build(End, {}))
    return kernel


def built_from(record: Record, values: tuple[SSAValue, ...]) -> InstrOp:
    """The op of a record, register i being value i."""
    operands: dict[str, Value] = {}
    for field, operand in zip(record.spec.fields, record.operands, strict=True):
        if isinstance(operand, Reg):
            operands[field.name] = values[operand]
        elif isinstance(operand, Addr):
            base = None if operand.reg is None else values[operand.reg]
            operands[field.name] = Address(base, operand.offset)
        else:
            operands[field.name] = operand
        if field.kind == "out":
            del operands[field.name]
    return build(record.spec, operands)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.mnemonic)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_text_reads_back(spec: type[Instruction], data: st.DataObject) -> None:
    if spec is End:
        return
    record = data.draw(random_records(spec))
    module = ModuleOp([kernel_with(lambda values: [built_from(record, values)])])
    verify(module)
    for generic in (False, True):
        text = print_ir(module, generic=generic)
        read = parse_module(make_context(), text)
        assert print_ir(read, generic=generic) == text
        verify(read)
        again = next(iter(read.body.block.ops))
        assert isinstance(again, KernelOp)
        found, end = records(again)
        assert end == Record(End, ())
        for field, one, two in zip(spec.fields, found.operands, record.operands, strict=True):
            assert field.kind == "out" or one == two


def test_fields_are_read_by_name() -> None:
    kernel = kernel_with(
        lambda v: [
            build(MNEMONICS["mov_gm_ub"], {"dst": (None, 64), "src": (v[0], 8), "len": v[1]})
        ]
    )
    op, values = next(iter(kernel.body.block.ops)), kernel.body.block.args
    assert isinstance(op, InstrOp)
    assert op.spec is MNEMONICS["mov_gm_ub"]
    assert op.field("dst") == Address(None, 64)
    assert op.field("src") == Address(values[0], 8)
    assert op.field("len") is values[1]
    assert op.field("nburst") == 1, "a field left out has its default"
    with pytest.raises(KeyError, match="has no field src0"):
        op.field("src0")
    with pytest.raises(InternalError, match="writes no register"):
        _ = op.result
    op.set_field("len", 32)
    op.set_field("dst", Address(values[2], 0))
    assert tuple(op.operands) == (values[2], values[0])
    bound = op.bind(lambda value: 1000 if value is values[0] else None)
    assert (bound.dst, bound.src, bound.len) == (None, 1008, 32)


def test_building_needs_the_right_fields() -> None:
    with pytest.raises(InternalError, match="s_add is built without rhs"):
        build(SAdd, {"lhs": 1})
    with pytest.raises(InternalError, match="s_add has no field src"):
        build(SAdd, {"lhs": 1, "rhs": 1, "src": 2})


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, 0.1, 1e-45, 3.4028235e38, 16777216.0, 1e20, -2.5e-7]
)
def test_floats_keep_their_bits(value: float) -> None:
    rounded = struct.unpack("<f", struct.pack("<f", value))[0]
    text = float_text(Float.of(value))
    assert "." in text
    assert struct.pack("<f", float(text)) == struct.pack("<f", rounded)
    assert Float.of(value).value == rounded


def test_floats_beyond_numbers() -> None:
    assert [float_text(Float.of(v)) for v in (math.inf, -math.inf, -math.nan, 1e39)] == [
        "inf",
        "neg_inf",
        "nan",
        "inf",
    ]
    assert FieldsAttr((Float.of(0.0),)) != FieldsAttr((Float.of(-0.0),))
    assert FieldsAttr((Float.of(math.nan),)) == FieldsAttr((Float.of(-math.nan),))


def test_a_register_the_machine_does_not_have() -> None:
    with pytest.raises(VerifyException, match=r"r64 is outside r0\.\.r63"):
        RegType.of(64)


def parsed(text: str) -> KernelOp:
    module = parse_module(make_context(), text)
    verify(module)
    kernel = next(iter(module.body.block.ops))
    assert isinstance(kernel, KernelOp)
    return kernel


def test_a_loop_becomes_a_word_its_body_and_moves() -> None:
    kernel = parsed("""
    npu_isa.kernel @k(%x) {
      %zero = npu_isa.s_mov src = 0
      %sum = npu_isa.loop %i in 8 iter (%at = %zero) {
        npu_isa.loop %j in %at {
          npu_isa.barrier pipe = V
        }
        %next = npu_isa.s_add lhs = %at, rhs = %i
        npu_isa.yield %next
      }
      npu_isa.mov_ub_gm dst = [%x], src = [%sum], len = 32
      npu_isa.end
    }""")
    flat = flatten(kernel)
    assert [(r.spec.mnemonic, r.operands) for r in flat.records] == [
        ("s_mov", (1, 0)),
        ("s_mov", (2, 1)),
        ("loop", (3, 8, 4)),
        ("loop", (4, 2, 1)),
        ("barrier", ("V",)),
        ("s_add", (5, 2, 3)),
        ("s_mov", (2, 5)),
        ("mov_ub_gm", (Addr(Reg(0), 0), Addr(Reg(2), 0), 1, 32, 0, 0, "none", "f32")),
        ("end", ()),
    ]
    names = [op.name.removeprefix("npu_isa.") for op in flat.ops]
    assert names == [
        "s_mov",
        "loop",
        "loop",
        "loop",
        "barrier",
        "s_add",
        "loop",
        "mov_ub_gm",
        "end",
    ]


def test_a_loop_in_physical_registers_moves_only_what_is_elsewhere() -> None:
    kernel = parsed("""
    npu_isa.kernel @k(%x : !npu_isa.reg<0>) {
      %zero = npu_isa.s_mov src = 0 : !npu_isa.reg<5>
      %sum = npu_isa.loop %i : !npu_isa.reg<2> in 8 iter (%at : !npu_isa.reg<5> = %zero) {
        %next = npu_isa.s_add lhs = %at, rhs = %i : !npu_isa.reg<5>
        npu_isa.yield %next
      }
      npu_isa.end
    }""")
    assert records(kernel) == [
        Record(SMov, (Reg(5), 0)),
        Record(Loop, (Reg(2), 8, 1)),
        Record(SAdd, (Reg(5), Reg(5), Reg(2))),
        Record(End, ()),
    ]


@pytest.mark.parametrize(
    "order", [(0, 1, 2, 3), (1, 0, 2, 3), (1, 2, 3, 0), (1, 0, 3, 2), (0, 0, 1, 2), (3, 3, 3, 3)]
)
def test_carried_registers_are_exchanged_as_if_at_once(order: tuple[int, ...]) -> None:
    kernel = KernelOp.empty("k", 4)
    block = kernel.body.block
    loop = LoopOp.empty(1, block.args)
    loop.body.block.add_op(YieldOp([loop.iter_args[i] for i in order]))
    block.add_ops([loop, build(End, {})])
    values = dict(enumerate([10, 20, 30, 40]))
    for record in records(kernel):
        if record.spec is SMov:
            target, source = record.operands
            values[target] = values[source]  # pyright: ignore[reportArgumentType]
        elif record.spec in (SAdd, SSub):
            target, lhs, rhs = record.operands
            sign = 1 if record.spec is SAdd else -1
            values[target] = values[lhs] + sign * values[rhs]  # pyright: ignore[reportArgumentType]
    carried = [values[4 + i] for i in range(4)]
    assert carried == [(10, 20, 30, 40)[i] for i in order]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("npu_isa.kernel @k() { npu_isa.barrier pipe = V }", "a kernel ends with npu_isa.end"),
        (
            "npu_isa.kernel @k(%x : !npu_isa.reg<3>) { npu_isa.end }",
            "argument 0 arrives in r0, not r3",
        ),
        (
            "npu_isa.kernel @k() { npu_isa.loop %i in -1 { npu_isa.yield } npu_isa.end }",
            "count = -1 is outside 0..2147483647",
        ),
    ],
)
def test_bad_structure(text: str, message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        parsed(text)


def test_carried_registers_must_agree() -> None:
    kernel = KernelOp.empty("k", 2)
    loop = LoopOp.empty(1, kernel.body.block.args)
    loop.body.block.add_op(YieldOp([loop.iter_args[0]]))
    kernel.body.block.add_ops([loop, build(End, {})])
    with pytest.raises(VerifyError, match="number 2, 2, 1, 2"):
        verify(ModuleOp([kernel]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%a = npu_isa.s_add lhs = %q, rhs = 1", "%q is not defined here"),
        ("%a = npu_isa.s_add lhs = 1", "npu_isa.s_add needs rhs"),
        ("%a = npu_isa.s_add lhs = 1, lhs = 1", "expected one of lhs, rhs, each once, not lhs"),
        ("%a = npu_isa.s_add lhs = 1, src = 1", "expected one of lhs, rhs, each once, not src"),
        (
            "npu_isa.vdup dst = [0], scalar = 1, dtype = f32, mask = 1, repeat = 1",
            "scalar takes a number with a point, such as 1.0",
        ),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_module(make_context(), text)


def test_every_instruction_has_its_op() -> None:
    assert set(OPS) == set(SPECS)
