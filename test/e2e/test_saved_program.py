"""A saved program needs nothing of the compiler: it runs where that cannot be imported."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import npuc
from source_tree import ROOT

DIGITS = ROOT / "examples/digits/digits_mlp.onnx"

RUN_WITHOUT_COMPILER = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("xdsl", "onnx") or name in ("npuc.compiler", "npuc.passes"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Block())
import numpy as np
import npuc

program, images, outputs = sys.argv[1:]
executable = npuc.load(program)
np.save(outputs, executable(image=np.load(images)))
print(executable.cycles)
"""


def test_a_saved_program_runs_without_the_compiler(tmp_path: Path) -> None:
    with np.load(ROOT / "examples/digits/heldback.npz") as arrays:
        images = arrays["image"]
    executable = npuc.compile(DIGITS, machine="tiny")
    expected = executable(images)
    program, inputs, outputs = (tmp_path / name for name in ("m.npu", "in.npy", "out.npy"))
    executable.save(program)
    np.save(inputs, images)
    command = [sys.executable, "-c", RUN_WITHOUT_COMPILER, program, inputs, outputs]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == executable.cycles
    assert np.array_equal(np.load(outputs), expected)
