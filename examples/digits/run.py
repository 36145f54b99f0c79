"""Recognise 32 handwritten digits on an emulated NPU.

Compiles `digits_mlp.onnx` (a network of two layers, trained by `train.py`), runs it on the images
of `heldback.npz`, which it has not seen in training, and says what that cost.

Run: `python examples/digits/run.py [MACHINE]`
"""

import sys
from pathlib import Path

import numpy as np

import npuc
from npuc.compiler.report import bound, launch_share, pipe_busy
from npuc.compiler.run_onnx import evaluate_graph
from npuc.compiler.tables import bar

FOLDER = Path(__file__).parent
MODEL = FOLDER / "digits_mlp.onnx"
SHADES = np.array(list(" .:-=+*#%@"))
SHOWN = 6


def draw(images: np.ndarray) -> str:
    """A few images of 8 x 8 pixels side by side, as text."""
    pixels = images.reshape(-1, 8, 8) / max(images.max(), 1e-6) * (len(SHADES) - 1)
    rows = SHADES[pixels.round().astype(int)]
    return "\n".join("   ".join("".join(row) for row in line) for line in rows.swapaxes(0, 1))


def main() -> int:
    """Compile, run, compare and report; 0 if emulator and model agree."""
    heldback = np.load(FOLDER / "heldback.npz")
    images, truth = heldback["image"], heldback["label"]

    executable = npuc.compile(MODEL, *sys.argv[1:2])
    result = executable.run(image=images)
    probabilities = result.outputs["probabilities"]
    predicted = probabilities.argmax(axis=1)

    expected = evaluate_graph(MODEL, {"image": images})["probabilities"]
    error = float(np.abs(probabilities - expected).max() / np.abs(expected).max())

    machine = result.machine
    print(f"digits_mlp.onnx on {machine.name}, {len(images)} images\n")
    print(draw(images[:SHOWN]), "\n")
    print("predicted ", *predicted)
    print("true      ", *truth)
    right = int((predicted == truth).sum())
    print(
        f"\n{right} of {len(truth)} are right; largest error against the model in f32 {error:.1e}"
    )
    print(f"{result.cycles:,} cycles, {result.time_us:.2f} us ({machine.validation})")
    print(f"limited by {bound(result)}; launching takes {launch_share(result):.0%} of the time")
    print("\nbusy share of each pipe")
    for pipe, share in pipe_busy(result).items():
        print(f"  {pipe:<5}{share:7.1%}  {bar(share)}")
    return 0 if error <= 2e-2 and (predicted == expected.argmax(axis=1)).all() else 1


if __name__ == "__main__":
    sys.exit(main())
