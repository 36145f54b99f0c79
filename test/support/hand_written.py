"""Small programs written by hand, in assembly text, and what they should compute."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from npuc.backend.assembler import parse
from npuc.backend.program import IO, Entry, Kernel, Program, Task
from npuc.dialects.target import machine as machines
from npuc.dialects.target.machine import Machine

Array = npt.NDArray[Any]


def small_machine(cores: int = 1, **memory: int) -> Machine:
    """The machine for tests with so many cores, and other sizes of memories where given."""
    description: dict[str, Any] = copy.deepcopy(dict(machines.load("tiny").description))
    description["core"]["count"]["value"] = cores
    for space, size in memory.items():
        description["memory"][space]["value"] = size
    return machines.from_description(description, "a test")


def fixpipe_machine(cores: int = 1) -> Machine:
    """The machine for tests, with what `fixpipe_machine.toml` adds."""
    description: dict[str, Any] = copy.deepcopy(dict(small_machine(cores).description))
    text = Path(__file__).with_name("fixpipe_machine.toml").read_text()
    for section, values in tomllib.loads(text).items():
        if isinstance(values, dict):
            description[section] |= values
        else:
            description[section] = values
    return machines.from_description(description, "a test")


def program(
    text: str,
    inputs: dict[str, Array],
    outputs: dict[str, Array],
    *,
    grid: int = 1,
    machine: Machine | None = None,
    physical: bool = True,
) -> Program:
    """One kernel run once, with inputs and outputs like the given arrays one after the other in GM;
    registers 0, 1, ... hold their addresses."""
    tensors: list[IO] = []
    end = 0
    for name, array in (*inputs.items(), *outputs.items()):
        dtype = {"float32": "f32", "float16": "f16"}[str(array.dtype)]
        tensors.append(IO(name, dtype, array.shape, end))
        end += array.nbytes + -array.nbytes % 512
    kernel = Kernel("k", tuple(parse(text, physical=physical)), "vector", ("/node",))
    task = Task("k", grid, tuple(tensor.address for tensor in tensors))
    split = len(inputs)
    entry = Entry("main", tuple(tensors[:split]), tuple(tensors[split:]), (task,))
    return Program(machine or small_machine(grid), (entry,), {"k": kernel}, end)


ADD = """
mov_gm_ub dst = [0], src = [r0], len = 256
mov_gm_ub dst = [256], src = [r1], len = 256
set_flag src = MTE2, dst = V, id = 0
wait_flag src = MTE2, dst = V, id = 0
vadd dst = [512], src0 = [0], src1 = [256], dtype = f32, mask = 64, repeat = 1
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
mov_ub_gm dst = [r2], src = [512], len = 256
end
"""
"""y = a + b of 64 f32."""


def add_inputs() -> dict[str, Array]:
    """Inputs of `ADD`."""
    numbers = np.arange(64, dtype=np.float32)
    return {"a": numbers, "b": numbers * 2}


def add_program(text: str = ADD, **options: Any) -> Program:
    """`ADD`, or a variant of it, as a program."""
    return program(text, add_inputs(), {"y": np.zeros(64, np.float32)}, **options)


def without(text: str, *fragments: str) -> str:
    """A text without the lines that contain one of the fragments."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not any(part in line for part in fragments))


def scale_text(rounds: int) -> str:
    """y = 2 x, `rounds` rows of 64 f32, over two slots of UB with an event id each."""
    return f"""
set_flag src = V, dst = MTE2, id = 0
set_flag src = V, dst = MTE2, id = 1
set_flag src = MTE3, dst = V, id = 0
set_flag src = MTE3, dst = V, id = 1
loop r4 in {rounds} {{
  r5 = s_rem lhs = r4, rhs = 2
  r6 = s_mul lhs = r5, rhs = 256
  r7 = s_mul lhs = r4, rhs = 256
  r8 = s_add lhs = r7, rhs = r0
  r9 = s_add lhs = r7, rhs = r1
  wait_flag src = V, dst = MTE2, id = r5
  mov_gm_ub dst = [r6], src = [r8], len = 256
  set_flag src = MTE2, dst = V, id = r5
  wait_flag src = MTE2, dst = V, id = r5
  wait_flag src = MTE3, dst = V, id = r5
  vmuls dst = [r6 + 512], src0 = [r6], scalar = 2.0, dtype = f32, mask = 64, repeat = 1
  set_flag src = V, dst = MTE2, id = r5
  set_flag src = V, dst = MTE3, id = r5
  wait_flag src = V, dst = MTE3, id = r5
  mov_ub_gm dst = [r9], src = [r6 + 512], len = 256
  set_flag src = MTE3, dst = V, id = r5
}}
wait_flag src = V, dst = MTE2, id = 0
wait_flag src = V, dst = MTE2, id = 1
wait_flag src = MTE3, dst = V, id = 0
wait_flag src = MTE3, dst = V, id = 1
end
"""


def scale_program(rounds: int, text: str | None = None) -> tuple[Program, dict[str, Array]]:
    """The program of `scale_text`, or of a variant, and inputs for it."""
    x = np.random.default_rng(rounds).standard_normal((rounds, 64)).astype(np.float32)
    return program(text or scale_text(rounds), {"x": x}, {"y": x}), {"x": x}


def matmul_text(m: int, k: int, n: int) -> str:
    """c = a b for f16 a of m x k, b of k x n, with f32 c: one product of tiles over all of k, the
    rows of a shared out over the cores in blocks of `m`."""
    row_blocks = -(-n // 16)
    padded = -(-m // 16) * 16
    return f"""
r3 = s_core_id
r4 = s_mul lhs = r3, rhs = {m * k * 2}
r4 = s_add lhs = r4, rhs = r0
r5 = s_mul lhs = r3, rhs = {m * n * 4}
r5 = s_add lhs = r5, rhs = r2
nd2nz_gm_l1 dst = [0], src = [r4], dtype = f16, rows = {m}, cols = {k}, src_stride = {k * 2}, dst_c0_stride = {padded}
nd2nz_gm_l1 dst = [32768], src = [r1], dtype = f16, rows = {k}, cols = {n}, src_stride = {n * 2}, dst_c0_stride = {-(-k // 16) * 16}
set_flag src = MTE2, dst = MTE1, id = 0
wait_flag src = MTE2, dst = MTE1, id = 0
load2d_l1_l0a dst = [0], src = [0], dtype = f16, rows = {m}, k = {k}, src_c0_stride = {padded}
load2d_l1_l0b dst = [0], src = [32768], dtype = f16, rows = {n}, k = {k}, src_c0_stride = {-(-k // 16) * 16}, transpose = 1
set_flag src = MTE1, dst = M, id = 0
wait_flag src = MTE1, dst = M, id = 0
mmad dst = [0], src0 = [0], src1 = [0], dtype = f16, m = {m}, k = {k}, n = {n}, accumulate = 0
set_flag src = M, dst = V, id = 0
wait_flag src = M, dst = V, id = 0
mov_l0c_ub dst = [0], src = [0], dtype = f32, m = {m}, n = {n}, dst_stride = {m}
set_flag src = V, dst = MTE3, id = 0
wait_flag src = V, dst = MTE3, id = 0
loop r6 in {row_blocks} {{
  r7 = s_mul lhs = r6, rhs = 64
  r7 = s_add lhs = r7, rhs = r5
  r8 = s_mul lhs = r6, rhs = {m * 64}
  mov_ub_gm dst = [r7], src = [r8], nburst = {m}, len = 64, dst_stride = {n * 4}, src_stride = 2
}}
end
"""  # noqa: E501 - one instruction a line


def matmul_program(m: int, k: int, n: int, cores: int = 1) -> tuple[Program, dict[str, Array]]:
    """The program of `matmul_text` on `cores` blocks of rows, and inputs for it; n in 16s."""
    random = np.random.default_rng(m * k * n)
    a = random.standard_normal((m * cores, k)).astype(np.float16)
    b = random.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m * cores, n), np.float32)
    built = program(matmul_text(m, k, n), {"a": a, "b": b}, {"c": c}, grid=cores)
    return built, {"a": a, "b": b}
