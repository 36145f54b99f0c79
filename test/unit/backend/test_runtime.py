"""Executables: calls, errors, profiles, files, and what they do without."""

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hand_written import add_inputs, add_program, matmul_program, scale_program
from npuc.backend.emulator.blas import blas_threads, single_threaded_blas
from npuc.backend.program import Program, Task
from npuc.backend.runtime.executable import Executable, load
from npuc.dialects.core.errors import InputError, ProgramError


def test_calls() -> None:
    executable = Executable(add_program())
    a, b = add_inputs().values()
    for got in (executable(a, b), executable(b=b, a=a), executable(a, b=b)):
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, a * 3)
    assert [(t.name, t.dtype, t.shape) for t in executable.inputs] == [
        ("a", "f32", (64,)),
        ("b", "f32", (64,)),
    ]
    assert [t.name for t in executable.outputs] == ["y"]


def test_an_output_is_not_shared_with_the_next_call() -> None:
    executable = Executable(add_program())
    a, b = add_inputs().values()
    first = executable(a, b)
    executable(a * 2, b)
    np.testing.assert_array_equal(first, a * 3)


def test_several_outputs_are_a_tuple() -> None:
    built = add_program()
    (entry,) = built.entries
    twice = replace(entry, outputs=(*entry.outputs, replace(entry.outputs[0], name="z")))
    got = Executable(replace(built, entries=(twice,)))(*add_inputs().values())
    assert isinstance(got, tuple)
    np.testing.assert_array_equal(got[0], got[1])


def test_wrong_inputs_are_one_paragraph() -> None:
    executable = Executable(add_program())
    a, b = add_inputs().values()
    with pytest.raises(InputError) as caught:
        executable(a.astype(np.float64), b)
    assert str(caught.value).splitlines() == [
        "the inputs do not fit entry main",
        "  why: a is float64[64]",
        "  do: pass numpy arrays a: float32[64], b: float32[64]",
    ]
    with pytest.raises(InputError, match="3 arrays for 2 inputs"):
        executable(a, b, b)
    with pytest.raises(InputError, match="a is given in order and by name"):
        executable(a, a=b)
    with pytest.raises(InputError, match="input a is no numpy array"):
        executable([1.0], b)  # pyright: ignore[reportArgumentType]


def entries_by_shape() -> Program:
    """Two entries, for 3 and for 5 rows."""
    three, five = scale_program(3)[0], scale_program(5)[0]
    shift = three.gm_bytes
    entry = five.entries[0]
    moved = replace(
        entry,
        name="five",
        inputs=tuple(replace(t, address=t.address + shift) for t in entry.inputs),
        outputs=tuple(replace(t, address=t.address + shift) for t in entry.outputs),
        tasks=tuple(
            replace(t, kernel="five", args=tuple(a + shift for a in t.args))
            for t in entry.tasks
            if isinstance(t, Task)
        ),
    )
    return replace(
        three,
        entries=(*three.entries, moved),
        kernels={"k": three.kernels["k"], "five": replace(five.kernels["k"], name="five")},
        gm_bytes=shift + five.gm_bytes,
    )


def test_the_entry_that_fits_is_taken() -> None:
    executable = Executable(entries_by_shape(), checks=True)
    for rows in (3, 5, 3):
        x = scale_program(rows)[1]["x"]
        np.testing.assert_array_equal(executable(x), x * 2)
    with pytest.raises(InputError, match="the inputs do not fit entry main"):
        executable(np.zeros((4, 64), np.float32))


def test_cycles_and_profile_are_those_of_the_last_run() -> None:
    built, inputs = matmul_program(16, 32, 32, cores=2)
    executable = Executable(built)
    for ask in (lambda: executable.cycles, executable.profile):
        with pytest.raises(InputError, match="has not run yet"):
            ask()
    result = executable.run(**inputs)
    assert executable.cycles == result.cycles
    profile = executable.profile()
    (row,) = profile.kernels
    assert (row.launches, row.cycles, row.work.macs) == (
        1,
        result.tasks[0].cycles,
        2 * 16 * 32 * 32,
    )
    assert row.pipes[row.busiest] == max(row.pipes.values()) > 0
    lines = str(profile).splitlines()
    assert lines[0].startswith(f"{result.cycles} cycles, ")
    assert "(invented)" in lines[0]
    assert lines[-1].split()[:3] == ["k", "1", str(row.cycles)]
    assert lines[-1].endswith("/node")


def test_modelled_features_are_named() -> None:
    executable = Executable(replace(add_program(), modelled=("pad_copy",)))
    executable(*add_inputs().values())
    assert "features used that the real chip lacks: pad_copy" in str(executable.profile())


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "add.npu"
    Executable(add_program()).save(path)
    a, b = add_inputs().values()
    np.testing.assert_array_equal(load(path, checks=True)(a, b), a * 3)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ProgramError, match="not a valid program file"):
        load(path)


def test_calls_from_several_threads() -> None:
    built, inputs = matmul_program(16, 32, 32, cores=2)
    executable = Executable(built)
    expected = executable(**inputs)
    same: list[bool] = []

    def call() -> None:
        same.extend(np.array_equal(executable(**inputs), expected) for _ in range(10))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * 40


WITHOUT_COMPILER = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "xdsl" or name.startswith(("npuc.compiler", "npuc.passes")):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
import numpy as np
import npuc

executable = npuc.load(sys.argv[1])
a = np.arange(64, dtype=np.float32)
assert (executable(a, a * 2) == a * 3).all()
print(executable.cycles)
"""


def test_a_saved_program_runs_without_compiler_and_xdsl(tmp_path: Path) -> None:
    path = tmp_path / "add.npu"
    executable = Executable(add_program())
    executable.save(path)
    executable(*add_inputs().values())
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILER, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{executable.cycles}\n"


def test_blas_has_one_thread_only_while_it_is_asked_to() -> None:
    before = blas_threads()
    if before is None:
        pytest.skip("numpy is not linked to OpenBLAS")
    with single_threaded_blas():
        with single_threaded_blas():
            assert blas_threads() == 1
        assert blas_threads() == 1
    assert blas_threads() == before
