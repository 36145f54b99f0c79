"""Words and text of instructions: every instruction survives both, and damage is named."""

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npuc.backend.assembler import parse, print_records
from npuc.backend.decoder import decode
from npuc.backend.encoder import Words, encode
from npuc.dialects.core.errors import ProgramError
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.instructions.scalar import End, Loop, SMov
from npuc.dialects.npu_isa.record import Addr, Record, Reg
from npuc.dialects.npu_isa.spec import Instruction
from random_records import closed, kernels, records

SPECS = pytest.mark.parametrize("spec", MNEMONICS.values(), ids=lambda spec: spec.mnemonic)
SLOW = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])

VADD = "vadd dst = [0], src0 = [r5], src1 = [r2 + 64], dtype = f32, mask = 64, repeat = 1"


@SPECS
@given(data=st.data())
@settings(SLOW, max_examples=25)
def test_words_and_text_hold_every_instruction(
    spec: type[Instruction], data: st.DataObject
) -> None:
    kernel = closed(data.draw(records(spec)))
    assert decode(encode(kernel)) == kernel
    assert parse(print_records(kernel)) == kernel


@given(kernel=kernels())
@settings(SLOW, max_examples=60)
def test_words_and_text_hold_whole_kernels(kernel: list[Record]) -> None:
    words = encode(kernel)
    assert decode(words) == kernel
    np.testing.assert_array_equal(encode(decode(words)), words)
    text = print_records(kernel)
    assert parse(text) == kernel
    assert print_records(parse(text)) == text


@given(flips=st.lists(st.integers(0, 255), min_size=1, max_size=4), kernel=kernels(depth=1))
@settings(SLOW, max_examples=200)
def test_damaged_words_are_refused_or_are_other_instructions(
    flips: list[int], kernel: list[Record]
) -> None:
    words = encode(kernel)
    for place, flip in enumerate(flips):
        words[place % len(words), flip // 64] ^= np.uint64(1 << flip % 64)
    with contextlib.suppress(ProgramError):
        np.testing.assert_array_equal(encode(decode(words)), words)


def add_words() -> Words:
    return encode(parse(f"{VADD}\nend"))


def test_unknown_opcode() -> None:
    words = add_words()
    words[0, 0] |= np.uint64(0x3FF)
    with pytest.raises(ProgramError) as caught:
        decode(words, where="kernel k")
    assert caught.value.why == "opcode 0x3ff is unknown"
    assert caught.value.where == "kernel k, byte 0 of its code"


def test_bits_of_no_field() -> None:
    words = add_words()
    words[1, 3] = np.uint64(1 << 63)
    with pytest.raises(ProgramError) as caught:
        decode(words)
    assert caught.value.why == "bit 255 is set, and end does not use it"


def test_absolute_address_with_a_register_number() -> None:
    words = add_words()
    words[0, 0] |= np.uint64(1 << 11)
    with pytest.raises(ProgramError, match="dst has a register number"):
        decode(words)


def test_code_beyond_an_enum() -> None:
    kernel = parse(f"{VADD}\nend")
    field = kernel[0].spec.field("dtype")
    words = encode(kernel)
    lane, shift = divmod(field.lo, 64)
    words[0, lane] |= np.uint64(15 << shift)
    with pytest.raises(ProgramError, match=r"dtype has code 15, its codes end at 3"):
        decode(words)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (Record(SMov, (Reg(64), 0)), "dst = r64 is outside r0..r63"),
        (Record(SMov, (Reg(1), 1 << 31)), "src = 2147483648 is outside -2147483648..2147483647"),
        (Record(SMov, (Reg(1),)), "1 operands where s_mov has 2 fields"),
        (Record(SMov, (Addr(None, 0), 1)), "dst takes a register"),
        (Record(Loop, (Reg(1), -1, 0)), "count = -1 is outside 0..2147483647"),
    ],
)
def test_what_does_not_fit_a_word_is_named(record: Record, why: str) -> None:
    with pytest.raises(ProgramError) as caught:
        encode([record, Record(End, ())], where="kernel k")
    assert why in str(caught.value)
    assert f"word 0 ({record.spec.mnemonic}) of kernel k" in caught.value.what


END = Record(End, ())


def loop(body: int) -> Record:
    return Record(Loop, (Reg(1), 2, body))


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        ([], "a kernel needs at least an `end`"),
        ([END, END], "`end` stands before the last word, 1"),
        ([loop(0)], "a kernel must close with `end`"),
        ([loop(1), END], "the body of the loop reaches word 2, its block only 1"),
        ([loop(1), loop(1), END, END], "the body of the loop reaches word 3, its block only 2"),
        ([*(loop(70 - i) for i in range(71)), END], "loops nest 65 deep, 64 is the most"),
    ],
)
def test_misplaced_words(kernel: list[Record], why: str) -> None:
    with pytest.raises(ProgramError) as caught:
        encode(kernel)
    assert caught.value.why == why


def test_the_form_of_the_text() -> None:
    text = (
        "r3 = s_core_id\n"
        "loop r4 in 3 {\n"
        "  loop r5 in r4 {\n"
        "    vadds dst = [r5 + 32], src0 = [0], scalar = 0.1, dtype = f16, mask = r3, repeat = 2\n"
        "  }\n"
        "}\n"
        "wait_flag src = MTE2, dst = V, id = 1\n"
        "end\n"
    )
    assert print_records(parse(text)) == text


def test_text_may_have_comments_and_any_order() -> None:
    shuffled = "  vadd repeat=1 ,mask=64, dtype = f32,src1=[ r2+64 ],  src0 =[r5],dst=[0] // sum"
    assert parse(f"// first\n\n{shuffled}\nend") == parse(f"{VADD}\nend")


def test_notes_become_comments() -> None:
    kernel = parse(f"loop r1 in 2 {{\n{VADD}\n}}\nend")
    text = print_records(kernel, {1: "/layer/add\n2"})
    assert text.splitlines()[1].endswith("repeat = 1  // /layer/add 2")
    assert parse(text) == kernel


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), -0.0, 1e-45, 16777217.0, 0.1])
def test_floats_survive_text(value: float) -> None:
    line = f"vdup dst = [0], scalar = {value}, dtype = f32, mask = 64, repeat = 1"
    kernel = parse(f"{line}\nend")
    again = parse(print_records(kernel))
    bits = [np.float32(str(k[0].operand("scalar"))).tobytes() for k in (kernel, again)]
    assert bits[0] == bits[1] == np.float32(value).tobytes()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("vfoo dst = [0]", "there is no instruction `vfoo`"),
        ("vadd dst = [0]", "src0 is missing"),
        (VADD.replace("mask = 64", "mask = 300"), "mask = 300 is outside 1..256"),
        (VADD.replace("mask = 64", "mask = 65"), "mask = 65 is outside 1..64 (lanes of f32)"),
        (VADD.replace("f32", "f64"), "dtype = f64 is not one of"),
        (VADD.replace("[0]", "0"), "dst = 0 is not `[rN + offset]` or `[offset]`"),
        (VADD.replace("[0]", "[5]"), "dst = 5 is not a multiple of 32 bytes"),
        (VADD + ", mask = 3", "mask is given twice"),
        (VADD + ", size = 3", "vadd has no operand size; it has dst, src0"),
        (VADD + ", size", "`size` is not `name = value`"),
        (f"r3 = {VADD}", "vadd writes no register"),
        ("s_mov src = 3", "s_mov writes a register: `rN = s_mov ...`"),
        ("r3 = s_mov src = x", "src = x is neither a register nor an integer"),
        (
            "vdup dst = [0], scalar = 1e39, dtype = f32, mask = 1, repeat = 1",
            "scalar = 1e+39 is beyond the numbers of f32",
        ),
        ("vdup dst = [0], scalar = x, dtype = f32, mask = 1, repeat = 1", "is not a number"),
        ("loop r3 in 4", "a loop is written `loop rN in COUNT {`"),
        ("}", "`}` closes nothing"),
        ("%&", "an instruction is written"),
    ],
)
def test_bad_lines_are_named(line: str, why: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse(f"r1 = s_core_id\n{line}\nend")
    assert why in (caught.value.why or "")
    assert caught.value.where == f"line 2: {line}"


def test_an_open_loop_is_named() -> None:
    with pytest.raises(ProgramError, match="ends inside a loop"):
        parse("loop r1 in 2 {\nend")
