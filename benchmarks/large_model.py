"""Time until a large model with one operator that npuc lacks is refused, or told about.

Makes models of 100 MB of random weights, with few large and with many small matrix products, and a
node in the middle that is not supported. Prints for each command the seconds on the clock and of
the processor until it has answered. Host times are reported, never asserted.

Run: `python benchmarks/large_model.py`
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

TOTAL = 100 << 20
SIDES = (1024, 512, 128)
ROWS = 4
COMMANDS = {"run": [], "compile": ["-o", "/dev/null"], "info": []}


def write_model(path: Path, side: int) -> int:
    """Write a chain of products with square weights of `side`, 100 MB in all; the nodes it has."""
    rng = np.random.default_rng(0)
    count = TOTAL // (4 * side * side)
    nodes, weights, last = [], [], "x"
    for i in range(count):
        weight = rng.standard_normal((side, side), dtype=np.float32)
        weights.append(numpy_helper.from_array(weight, f"weight{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"weight{i}"], [f"product{i}"]))
        nodes.append(helper.make_node("Relu", [f"product{i}"], [f"relu{i}"]))
        last = f"relu{i}"
        if i == count // 2:
            nodes.append(helper.make_node("Acosh", [last], ["acosh"], name="unsupported"))
            last = "acosh"
    shape = [ROWS, side]
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)],
        weights,
    )
    opsets = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return len(nodes)


def answer(command: list[str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor until npuc has named the unsupported node."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "npuc.tools.npuc", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "Acosh" not in done.stdout + done.stderr:
        raise SystemExit(f"npuc {' '.join(command)} did not answer: {done.stderr}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line a model and command."""
    with tempfile.TemporaryDirectory() as folder:
        for side in SIDES:
            path = Path(folder) / f"{side}.onnx"
            nodes = write_model(path, side)
            for command, options in COMMANDS.items():
                seconds, cpu = answer([command, str(path), *options])
                print(f"{nodes:5} nodes  npuc {command:8} {seconds:5.2f} s  {cpu:5.2f} CPU s")
            path.unlink()


if __name__ == "__main__":
    main()
