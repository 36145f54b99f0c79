"""Bit fields and the messages about operands that do not fit them."""

import pytest

from npuc.dialects.core.errors import InternalError
from npuc.dialects.npu_isa.instructions import MNEMONICS, OPCODES
from npuc.dialects.npu_isa.instructions.scalar import Scalar
from npuc.dialects.npu_isa.record import Addr, Operand, Record, Reg
from npuc.dialects.npu_isa.registry import by_opcode
from npuc.dialects.npu_isa.spec import (
    OPCODE_BITS,
    WORD_BITS,
    Field,
    Instruction,
    Part,
    bind,
    layout,
)

SPECS = list(OPCODES.values())


def mnemonic_of(spec: type[Instruction]) -> str:
    return spec.mnemonic


def test_the_message_about_a_count() -> None:
    field = MNEMONICS["mmad"].field("m")
    assert field.check(5000) == "m = 5000 is outside 0..4095 (12 bits, unit 1)"
    assert field.check(-1) == "m = -1 is outside 0..4095 (12 bits, unit 1)"
    assert field.check(0) is None
    assert field.check(4095) is None
    assert field.check(Reg(63)) is None
    assert field.check(Reg(64)) == "m = r64 is outside r0..r63"
    assert field.check(Reg(64), physical=False) is None
    assert field.check("m") == "m takes a register or an integer, not 'm'"


@pytest.mark.parametrize(
    ("mnemonic", "name", "value", "message"),
    [
        ("vadd", "dtype", "f64", "dtype = f64 is not one of f32, f16, i32, i16"),
        ("vadd", "dtype", 3, "dtype takes one of f32, f16, i32, i16, not 3"),
        ("vadd", "dst", 64, "dst takes an address in ub, not 64"),
        ("vadd", "dst", Addr(None, 40), "dst = 40 is not a multiple of 32 bytes"),
        (
            "vadd",
            "dst",
            Addr(None, 1 << 24),
            "dst offset = 16777216 is outside 0..16777215 (24 bits, unit 1)",
        ),
        ("mov_gm_ub", "src", Addr(None, 0), "src takes an address in gm, which needs a register"),
        ("mov_gm_ub", "src", Addr(Reg(64), 0), "src = r64 is outside r0..r63"),
        ("mov_gm_ub", "src_stride", Reg(1), "src_stride takes an integer, not r1"),
        ("vadds", "scalar", 1, "scalar takes a float, not 1"),
        ("s_add", "dst", 1, "dst takes a register, not 1"),
    ],
)
def test_messages(mnemonic: str, name: str, value: Operand, message: str) -> None:
    assert MNEMONICS[mnemonic].field(name).check(value) == message


@pytest.mark.parametrize("spec", SPECS, ids=mnemonic_of)
def test_what_is_out_of_range_is_refused_by_name(spec: type[Instruction]) -> None:
    for field in spec.fields:
        if field.kind in ("imm", "ri") and field.enum is None:
            for good in (field.low, field.high):
                assert field.check(good) is None
            for bad in (field.low - 1, field.high + 1):
                wrong = field.check(bad) or ""
                assert wrong.startswith(
                    f"{field.name} = {bad} is outside {field.low}..{field.high}"
                )
        assert field.name in (field.check(Reg(-1)) or "")
        assert field.name in (field.check(Addr(Reg(-1), 0)) or "")


@pytest.mark.parametrize("spec", SPECS, ids=mnemonic_of)
def test_immediates_fit_their_bits(spec: type[Instruction]) -> None:
    for field in spec.fields:
        if field.kind in ("imm", "ri"):
            signed = field.low < 0
            assert not signed or field.low >= -(1 << field.width - 1)
            assert field.high < 1 << field.width - signed
            assert field.enum is None or len(field.enum) <= 1 << field.width


@pytest.mark.parametrize("spec", SPECS, ids=mnemonic_of)
def test_bits_of_a_word_are_used_once(spec: type[Instruction]) -> None:
    used = set(range(OPCODE_BITS))
    for field in spec.fields:
        for part in field.parts:
            bits = set(range(part.lo, part.lo + part.width))
            assert not used & bits
            used |= bits
    assert max(used) < WORD_BITS


def test_parts_of_each_kind() -> None:
    fields = {f.name: f for f in MNEMONICS["mov_gm_ub"].fields}
    assert fields["dst"].parts == (Part("mode", 10, 1), Part("reg", 11, 6), Part("offset", 17, 24))
    assert fields["src"].parts == (Part("reg", 41, 6), Part("offset", 47, 32))
    assert fields["nburst"].parts == (Part("mode", 79, 1), Part("value", 80, 12))
    assert MNEMONICS["set_flag"].field("id").parts[1].width == 6, "a register number fits"


@pytest.mark.parametrize("spec", SPECS, ids=mnemonic_of)
def test_every_instruction_says_what_it_is(spec: type[Instruction]) -> None:
    assert spec.__doc__
    assert spec.restates
    assert spec.Operands.__slots__ == tuple(f.name for f in spec.fields)


def test_opcodes_and_mnemonics_are_taken_once() -> None:
    with pytest.raises(InternalError, match="share an opcode or a mnemonic"):
        type("Again", (Scalar,), _namespace(opcode=0x002, mnemonic="again"))
    with pytest.raises(InternalError, match="share an opcode or a mnemonic"):
        type("Again", (Scalar,), _namespace(opcode=0x3FF, mnemonic="s_add"))
    assert 0x3FF not in by_opcode()


def test_bad_specifications_are_refused() -> None:
    overlapping = (Field("a", "imm", 8, lo=10), Field("b", "imm", 8, lo=17))
    with pytest.raises(InternalError, match="field b overlaps another"):
        type("Bad", (Scalar,), _namespace(fields=overlapping))
    with pytest.raises(InternalError, match="two fields of one name"):
        type("Bad", (Scalar,), _namespace(fields=layout(Field("a", "in"), Field("a", "in"))))
    wide = layout(*(Field(f"f{i}", "f32") for i in range(8)))
    with pytest.raises(InternalError, match="bits of 256"):
        type("Bad", (Scalar,), _namespace(fields=wide))
    with pytest.raises(InternalError, match="does not define cycles"):
        type("Bad", (Instruction,), _namespace())


def _nothing(cls: type[Instruction], core: object, operands: object) -> None:
    """An `execute`."""


def _namespace(**changes: object) -> dict[str, object]:
    namespace: dict[str, object] = {
        "opcode": 0x3FF,
        "mnemonic": "bad",
        "restates": "nothing",
        "fields": (),
        "execute": classmethod(_nothing),
    }
    return namespace | changes


def test_records_give_operands_by_name() -> None:
    spec = MNEMONICS["s_add"]
    record = Record(spec, (Reg(1), Reg(2), 5))
    assert record.operand("rhs") == 5
    with pytest.raises(KeyError, match="s_add has no field src"):
        record.operand("src")
    assert bind(spec, (1, 2, 5)).lhs == 2
