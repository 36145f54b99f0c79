"""Containers: one encoding a program, and no bytes that do anything but load or be refused."""

import contextlib
import json
import os
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from container_damage import (
    CODE,
    CONSTANTS,
    HEADER,
    assemble,
    header,
    mutate,
    sections,
    with_header,
)
from hand_written import Array, add_inputs, add_program, scale_program, small_machine
from npuc.backend import container
from npuc.backend.emulator.emulator import Emulator
from npuc.backend.program import Buffer, Constant, Entry, Kernel, Program, Task
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.errors import InputError, NpucError, ProgramError
from npuc.dialects.npu_isa.record import Record, Reg
from npuc.dialects.target import machine as machines


def rich_program() -> Program:
    """Two kernels and entries, constants, a machine of its own, every optional part in use."""
    scale, _ = scale_program(3)
    add = add_program()
    constants = (
        Constant.of("w", 4096, np.arange(5, dtype=np.float32)),
        Constant.of("empty", 8192, np.zeros(0, np.float16)),
        Constant.of("v", 4224, np.arange(70, dtype=np.int8)),
    )
    kernels = {
        "scale": replace(
            scale.kernels["k"], name="scale", nodes=("/a", "/b"), source_map={1: "/b"}
        ),
        "add": replace(
            add.kernels["k"], name="add", nodes=("/a",), source_map={0: "/x", 1: "/x", 4: "/a"}
        ),
    }
    entries = tuple(
        Entry(
            name,
            built.entries[0].inputs,
            built.entries[0].outputs,
            (replace(built.entries[0].tasks[0], kernel=name),),
        )
        for name, built in (("add", add), ("scale", scale))
    )
    return Program(
        machine=small_machine(2, ub=65536),
        entries=entries,
        kernels=kernels,
        gm_bytes=8192,
        constants=constants,
        buffers=(Buffer("x", 0, 256),),
        modelled=("pad_copy", "nd2nz"),
        source_engines={"/a": "vector", "/é": "cube"},
        compiler="0.1.0",
    )


@pytest.fixture(scope="module")
def rich() -> bytes:
    return container.to_bytes(rich_program())


def test_everything_survives(rich: bytes) -> None:
    first, again = rich_program(), container.from_bytes(rich)
    for name in (
        "machine",
        "entries",
        "kernels",
        "gm_bytes",
        "buffers",
        "source_engines",
        "compiler",
    ):
        assert getattr(again, name) == getattr(first, name), name
    assert again.modelled == ("nd2nz", "pad_copy")
    assert [c.name for c in again.constants] == ["w", "v", "empty"]
    np.testing.assert_array_equal(again.constants[1].data, np.arange(70, dtype=np.uint8))
    assert container.to_bytes(again) == rich


def test_the_order_of_construction_does_not_show(rich: bytes) -> None:
    program = rich_program()
    other = replace(
        program,
        kernels=dict(sorted(program.kernels.items())),
        constants=program.constants[::-1],
        modelled=program.modelled[::-1],
        source_engines=dict(sorted(program.source_engines.items(), reverse=True)),
    )
    assert container.to_bytes(other) == rich


def test_sections_and_constants_are_aligned(rich: bytes) -> None:
    content = sections(rich)
    assert sorted(content) == [(HEADER, 0), (CODE, 0), (CODE, 1), (CONSTANTS, 0)]
    assert [c["offset"] % 64 for c in header(rich)["constants"]] == [0, 0, 0]
    assert header(rich)["machine"]["description"] is not None
    assert assemble(content) == rich


def test_a_built_in_machine_is_only_named() -> None:
    program = replace(add_program(), machine=machines.load("tiny"))
    data = container.to_bytes(program)
    assert header(data)["machine"] == {
        "name": "tiny",
        "digest": program.machine.digest,
        "description": None,
    }
    assert container.from_bytes(data).machine is machines.load("tiny")


def test_a_file_runs_like_the_program(tmp_path: Path) -> None:
    path = tmp_path / "add.npu"
    container.save(rich_program(), path)
    assert os.listdir(tmp_path) == ["add.npu"]
    loaded = container.load(path)
    result = Emulator(loaded, checks=True).run(add_inputs(), "add")
    np.testing.assert_array_equal(result.outputs["y"], add_inputs()["a"] * 3)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_save_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = tmp_path / "a.npu"
    path.write_bytes(b"before")

    def interrupted(descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises((KeyboardInterrupt, InputError)):
        container.save(add_program(), path)
    assert os.listdir(tmp_path) == ["a.npu"]
    assert path.read_bytes() == b"before"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(path.read_bytes)
        container.save(rich_program(), path)
    assert path.is_fifo()
    assert received.result() == container.to_bytes(rich_program())


def test_a_wrong_program_is_not_saved(tmp_path: Path) -> None:
    program = add_program()
    kernel = program.kernels["k"]
    first = kernel.records[0]
    virtual = Record(
        first.spec, (first.operands[0], *first.operands[1:3], Reg(99), *first.operands[4:])
    )
    wrong = replace(program, kernels={"k": replace(kernel, records=(virtual, *kernel.records[1:]))})
    with pytest.raises(ProgramError, match=r"r99 is outside r0\.\.r63"):
        container.save(wrong, tmp_path / "a.npu")
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        container.save(add_program(), tmp_path / "none" / "a.npu")
    with pytest.raises(InputError, match="cannot read"):
        container.load(tmp_path / "none.npu")
    (tmp_path / "empty.npu").touch()
    with pytest.raises(ProgramError, match="not a valid program file") as caught:
        container.load(tmp_path / "empty.npu")
    assert caught.value.where == f"{tmp_path / 'empty.npu'}, byte 0"


def test_every_truncation_is_refused(rich: bytes) -> None:
    for size in range(len(rich)):
        with pytest.raises(ProgramError, match="not a valid program file"):
            container.from_bytes(rich[:size])
    with pytest.raises(ProgramError, match="not a valid program") as caught:
        container.from_bytes(rich + b"\0")
    assert caught.value.why == "1 bytes follow the last section"


def test_every_changed_byte_is_refused(rich: bytes) -> None:
    chance = random.Random(0)
    for place in range(len(rich)):
        damaged = bytearray(rich)
        damaged[place] ^= chance.randrange(1, 256)
        with pytest.raises(ProgramError) as caught:
            container.from_bytes(bytes(damaged))
        assert ", byte " in (caught.value.where or "")


def load_or_refuse(data: bytes) -> Program | None:
    with contextlib.suppress(ProgramError):
        return container.from_bytes(data)
    return None


def run_or_refuse(program: Program) -> None:
    """What loads also runs, or says what is wrong with it."""
    for entry in program.entries[:1]:
        inputs: Mapping[str, Array] = {
            tensor.name: np.zeros(tensor.shape, to_numpy(tensor.dtype)) for tensor in entry.inputs
        }
        with contextlib.suppress(NpucError):
            Emulator(program, checks=True, budget=10_000).run(inputs, entry.name)


def test_headers_that_say_something_else(rich: bytes) -> None:
    chance = random.Random(1)
    loaded = 0
    for _ in range(1500):
        changed: Any = header(rich)
        for _ in range(chance.choice((1, 1, 2, 5))):
            changed = mutate(changed, chance)
        program = load_or_refuse(with_header(rich, changed))
        if program is not None:
            loaded += 1
            if program.gm_bytes < 1 << 20:
                run_or_refuse(program)
    assert loaded > 20


def test_code_that_says_something_else(rich: bytes) -> None:
    chance = random.Random(2)
    content = sections(rich)
    loaded = 0
    for _ in range(600):
        code = bytearray(content[CODE, 0])
        for _ in range(chance.choice((1, 1, 2, 8))):
            code[chance.randrange(len(code))] ^= 1 << chance.randrange(8)
        program = load_or_refuse(assemble(content | {(CODE, 0): bytes(code)}))
        if program is not None:
            loaded += 1
            run_or_refuse(program)
    assert loaded > 20


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[" * 100_000, b"nul", b"\xff", b"{}", b"[]", b"1" * 5000, b'{"gm":NaN}'],
    ids=range(9),
)
def test_headers_that_are_none(rich: bytes, text: bytes) -> None:
    with pytest.raises(ProgramError) as caught:
        container.from_bytes(assemble(sections(rich) | {(HEADER, 0): text}))
    assert "header" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (["gm", "bytes"], "x", "'x' where an integer in 0..2^63-1 is right"),
        (["gm", "bytes"], 1 << 63, "9223372036854775808 where an integer"),
        (["kernels", 0, "words"], 3, "3 where 9, the words of its code section is right"),
        (["kernels", 0, "engine"], "gpu", "'gpu' where one of cube, vector is right"),
        (["entries", 0, "inputs", 0, "bytes"], 255, "255 where 256, the bytes of f32[64] is right"),
        (["constants", 1, "offset"], 32, "32 where 64 is right"),
        (["machine", "digest"], "0", "it says digest 0, here tiny has"),
        (["machine", "description", "core", "clock"], 5, "core.clock is not a table"),
        (["gm", "bytes"], 1 << 30, "1073741824 bytes, tiny has 67108864"),
        (["entries", 0, "tasks", 0, "kernel"], "q", "there is no kernel q"),
        (["entries", 0, "tasks", 0, "grid"], 3, "its grid is 3, tiny has 2 cores"),
        (["entries", 0, "tasks", 0, "args"], [0] * 65, "it has 65 arguments, 64 is the most"),
        (["entries", 0, "outputs", 0, "address"], 8000, "bytes 8000..8256 are outside the 8192"),
        (["constants", 0, "address"], 8190, "bytes 8190..8210 are outside the 8192 of the plan"),
        (["entries", 0, "inputs", 1, "name"], "a", "the name a occurs twice"),
    ],
)
def test_headers_that_do_not_agree(
    rich: bytes, path: list[str | int], value: object, why: str
) -> None:
    changed = header(rich)
    place: Any = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ProgramError) as caught:
        container.from_bytes(with_header(rich, changed))
    assert why in str(caught.value)


def test_versions(rich: bytes) -> None:
    newer_minor = {**header(rich), "invented later": {"x": 1}}
    text = json.dumps(newer_minor).encode()
    content = sections(rich) | {(HEADER, 0): text}
    assert container.to_bytes(container.from_bytes(assemble(content, minor=9))) == rich
    with pytest.raises(ProgramError, match=r"has format version 2\.0") as caught:
        container.from_bytes(assemble(content, major=2))
    assert caught.value.hint == "use a newer npuc"


def test_a_machine_without_the_features(rich: bytes) -> None:
    changed = header(rich)
    description = changed["machine"]["description"]
    del description["features"]["pad_copy"]
    changed["machine"]["digest"] = machines.digest_of(description)
    program = rich_program()
    short = [
        replace(kernel, records=tuple(_shorter(record) for record in kernel.records))
        for kernel in program.kernels.values()
    ]
    assert container.from_bytes(with_header(rich, changed)).kernels.keys() == {"add", "scale"}
    with pytest.raises(ProgramError) as caught:
        replace(
            program,
            kernels={kernel.name: kernel for kernel in short},
            machine=machines.from_description(description, "a test"),
        ).check()
    assert caught.value.why == "it needs the feature pad_copy, which tiny lacks"


def _shorter(record: Record) -> Record:
    """A copy of 250 bytes in place of 256, which are whole blocks."""
    values = tuple(250 if value == 256 else value for value in record.operands)
    return Record(record.spec, values) if record.spec.mnemonic.startswith("mov_") else record


def test_tasks_of_a_program_are_data() -> None:
    entry = rich_program().entry("scale")
    assert entry.tasks == (Task("scale", 1, (0, 1024)),)
    kernel = Kernel("k", (), "cube", ("/a",))
    assert (kernel.node_of(0), replace(kernel, nodes=("/a", "/b")).node_of(0)) == ("/a", None)


@pytest.mark.parametrize(
    ("address", "nbytes", "fits"),
    [
        (4096, 4, False),
        (4115, 1, False),
        (4116, 8, True),
        (512, 8, False),
        (768, 8, True),
        (0, 0, True),
    ],
)
def test_constants_lie_apart(address: int, nbytes: int, fits: bool) -> None:
    """Beside a constant at 4096..4116, and inputs of two entries at 0..768 and 512..768."""
    program = rich_program()
    extra = Constant.of("extra", address, np.ones(nbytes, np.uint8))
    program = replace(program, constants=(*program.constants, extra))
    if fits:
        program.check()
    else:
        with pytest.raises(ProgramError, match="share byte"):
            program.check()
