"""Bytes outside their memory, constants that are written, and bytes that were never written."""

from dataclasses import replace

import numpy as np
import pytest

from hand_written import (
    ADD,
    Array,
    add_inputs,
    add_program,
    matmul_program,
    matmul_text,
    program,
)
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Constant, Program
from npuc.dialects.core.errors import BoundsError, UndefinedReadError


def check(built: Program, inputs: dict[str, Array]) -> None:
    Emulator(built, checks=True).run(inputs)


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "space"),
    [
        ("src0 = [0]", "src0 = [32736]", "ub"),
        ("dst = [512]", "dst = [65536]", "ub"),
        ("src = [r0]", "src = [r0 + 9000]", "gm"),
        ("src = [r1]", "src = [r9]", "gm"),
    ],
)
def test_accesses_outside_a_memory(old: str, new: str, space: str, checks: bool) -> None:
    text = "r9 = s_mov src = -8\n" + ADD.replace(old, new)
    with pytest.raises(BoundsError, match=f"outside {space}") as caught:
        Emulator(add_program(text), checks=checks).run(add_inputs())
    assert " of kernel k, for /node, on core 0" in (caught.value.where or "")


@pytest.mark.parametrize("checks", [True, False])
def test_a_misaligned_address(checks: bool) -> None:
    text = "r9 = s_mov src = 8\n" + ADD.replace("src0 = [0]", "src0 = [r9]")
    with pytest.raises(BoundsError, match="misaligned address of vadd") as caught:
        Emulator(add_program(text), checks=checks).run(add_inputs())
    assert caught.value.why == "src0 = 8 is not a multiple of 32 bytes"
    assert (caught.value.where or "").startswith("vadd at word 5 of kernel k")


@pytest.mark.parametrize("checks", [True, False])
def test_constants_are_not_written(checks: bool) -> None:
    built = add_program()
    constant = Constant.of("w", 1024 + 252, np.ones(4, np.float32))
    with pytest.raises(BoundsError, match="write to the constant w"):
        Emulator(replace(built, constants=(constant,)), checks=checks).run(add_inputs())
    beside = Constant.of("w", 1024 + 256, np.ones(4, np.float32))
    Emulator(replace(built, constants=(beside,)), checks=checks).run(add_inputs())


def test_constants_are_inputs() -> None:
    built = add_program()
    (entry,) = built.entries
    constant = Constant.of("b", entry.inputs[1].address, add_inputs()["b"])
    entry = replace(entry, inputs=entry.inputs[:1])
    emulator = Emulator(replace(built, entries=(entry,), constants=(constant,)), checks=True)
    for factor in (1, 5):
        a = add_inputs()["a"] * factor
        got = emulator.run({"a": a}).outputs["y"]
        np.testing.assert_array_equal(got, a + add_inputs()["b"])


def test_undefined_bytes_that_are_stored() -> None:
    with pytest.raises(UndefinedReadError, match="bytes of ub that were never written") as caught:
        check(add_program(ADD.replace("src1 = [256]", "src1 = [4096]")), add_inputs())
    assert caught.value.why == "byte 512 of it has no value"
    assert "mov_ub_gm at word 7 of kernel k, for /node" in (caught.value.where or "")


def test_undefinedness_passes_through_lanes_alone() -> None:
    """Half a row is undefined; the half that is stored is not."""
    text = ADD.replace("src = [r1], len = 256", "src = [r1], len = 128")
    with pytest.raises(UndefinedReadError, match="byte 640"):
        check(program(text, add_inputs(), {"y": add_inputs()["a"]}), add_inputs())
    stored = text.replace("src = [512], len = 256", "src = [512], len = 128")
    check(program(stored, add_inputs(), {"y": np.zeros(32, np.float32)}), add_inputs())


def test_undefined_gm() -> None:
    text = ADD.replace("src = [r1]", "src = [r2]")
    with pytest.raises(UndefinedReadError, match="bytes of ub"):
        check(add_program(text), add_inputs())


REDUCE = """
mov_gm_ub dst = [0], src = [r0], len = {length}
barrier pipe = ALL
{fill}
vcmax dst = [1024], src0 = [0], dtype = f32, mask = {mask}, repeat = {repeat}
vbrcb dst = [2048], src0 = [1024], dtype = f32, repeat = 1
barrier pipe = ALL
mov_ub_gm dst = [r1], src = [{source}], len = {stored}
end
"""
FILL = "vdup dst = [160], scalar = -1.0, dtype = f32, mask = 24, repeat = 1"


def reduce(**parts: object) -> None:
    text = REDUCE.format(
        **{"length": 160, "fill": "", "mask": 64, "repeat": 1, "source": 2048, "stored": 4, **parts}
    )
    x = np.arange(64, dtype=np.float32)
    check(program(text, {"x": x}, {"y": np.zeros(64, np.float32)}), {"x": x})


def test_a_reduction_with_undefined_lanes() -> None:
    with pytest.raises(UndefinedReadError) as caught:
        reduce()
    assert caught.value.why == "lane 40 of repeat 0 has no value, others of it have"
    assert "vcmax at word 2 of kernel k" in (caught.value.where or "")
    reduce(fill=FILL)
    reduce(mask=40)


def test_rows_that_are_undefined_as_a_whole_are_only_undefined() -> None:
    """Vector work runs whole buffers; rows beyond the valid ones matter only when they are used."""
    reduce(length=256, repeat=3)
    reduce(length=256, repeat=3, stored=32)
    with pytest.raises(UndefinedReadError, match="byte 2080 of it"):
        reduce(length=256, repeat=3, stored=64)
    with pytest.raises(UndefinedReadError, match="byte 1028 of it"):
        reduce(length=256, repeat=3, source=1024, stored=12)


def test_padding_that_a_load_fills_is_defined() -> None:
    reduce(length=4, mask=8)
    with pytest.raises(UndefinedReadError):
        reduce(length=4, mask=9)


def test_a_product_of_undefined_fractals() -> None:
    _, inputs = matmul_program(16, 32, 16)
    outputs: dict[str, Array] = {"c": np.zeros((16, 16), np.float32)}
    text = matmul_text(16, 32, 16).replace("rows = 16, k = 32", "rows = 16, k = 16")
    with pytest.raises(UndefinedReadError, match="bytes of l0") as caught:
        check(program(text, inputs, outputs), inputs)
    assert "mmad at word" in (caught.value.where or "")


def test_nothing_is_defined_on_chip_when_a_kernel_starts() -> None:
    built = add_program()
    (entry,) = built.entries
    text = ADD.replace("mov_gm_ub dst = [256], src = [r1], len = 256\n", "")
    second = add_program(text).kernels["k"]
    twice = replace(
        built,
        entries=(replace(entry, tasks=(*entry.tasks, replace(entry.tasks[0], kernel="second"))),),
        kernels={"k": built.kernels["k"], "second": replace(second, name="second")},
    )
    with pytest.raises(UndefinedReadError, match="bytes of ub"):
        check(twice, add_inputs())
