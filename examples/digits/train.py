"""Train the two digit classifiers of the examples and write them as ONNX files.

The data is scikit-learn's `load_digits`: 1,797 grey images of 8 x 8 pixels, scaled here to 0..1.
1,445 images are trained on; 352 are held back and only used to print the accuracy. The files:

| file | input | network |
|---|---|---|
| `digits_mlp.onnx` | `image` [32, 64] f32 | Gemm to 64, Relu, Gemm to 10, Softmax |
| `digits_cnn.onnx` | `image` [32, 1, 8, 8] f32 | Conv, Relu, MaxPool, Conv, Relu, Gemm, Softmax |
| `heldback.npz` | | `image` [32, 64] f32 and `label` [32] i64: the first 32 held-back images |
| `heldback_cnn.npz` | | the same images as the CNN takes them: `image` [32, 1, 8, 8] |

Both outputs are called `probabilities` [32, 10] f32. The MLP is trained by scikit-learn, the CNN by
the numpy code below with Adam. Seeds are fixed and BLAS runs on one thread, so the same machine
writes the same bytes again.

Run: `python examples/digits/train.py [FOLDER]` (needs scikit-learn and onnx; well under a minute).
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

BATCH = 32
HELD_BACK = 352
SEED = 20
CNN_EPOCHS = 25
OPSET = 17
IR_VERSION = 8  # the IR version that opset 17 came with, so that old runtimes load the files


class Digits(NamedTuple):
    """Images [n, 64] f32 in 0..1 and labels [n] i64, for training and held back."""

    train: F32
    train_label: I64
    held_back: F32
    held_back_label: I64


def load() -> Digits:
    """The shuffled data set, cut into the training and the held-back part."""
    data = load_digits()
    images = cast(F32, np.asarray(data["data"], dtype=np.float32) / np.float32(16))
    labels = cast(I64, np.asarray(data["target"], dtype=np.int64))
    order = np.random.default_rng(SEED).permutation(len(images))
    images, labels = images[order], labels[order]
    return Digits(images[HELD_BACK:], labels[HELD_BACK:], images[:HELD_BACK], labels[:HELD_BACK])


# --- the CNN in numpy ---------------------------------------------------------------------------


def patches(image: F32) -> F32:
    """[n, c, h, w] -> [n, h, w, c * 9]: the 3x3 neighbourhood of every pixel, zero padded."""
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = image.shape
    return np.ascontiguousarray(windows.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * 9)


def spread(grad: F32, channels: int) -> F32:
    """The transpose of `patches`: [n, h, w, c * 9] gradients summed back into [n, c, h, w]."""
    n, h, w, _ = grad.shape
    parts = grad.reshape(n, h, w, channels, 3, 3).transpose(0, 3, 4, 5, 1, 2)
    out = np.zeros((n, channels, h + 2, w + 2), np.float32)
    for i in range(3):
        for j in range(3):
            out[:, :, i : i + h, j : j + w] += parts[:, :, i, j]
    return out[:, :, 1:-1, 1:-1]


class Cnn:
    """The convolutional network: weights, the forward pass with its gradients, and Adam.

    `weights` are conv1 [16, 9], bias [16], conv2 [32, 144], bias [32], gemm [512, 10], bias [10],
    all f32; the second axis of a convolution runs over (channel, row, column) as in ONNX.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def he(shape: tuple[int, int], fan_in: int) -> F32:
            return (rng.standard_normal(shape) * np.sqrt(2 / fan_in)).astype(np.float32)

        self.weights: list[F32] = [
            he((16, 9), 9),
            np.zeros(16, np.float32),
            he((32, 144), 144),
            np.zeros(32, np.float32),
            he((512, 10), 512),
            np.zeros(10, np.float32),
        ]
        self.moments = [(np.zeros_like(w), np.zeros_like(w)) for w in self.weights]
        self.step = 0

    def gradients(self, image: F32, label: I64) -> list[F32]:
        """Gradients of the mean cross entropy of a batch [n, 1, 8, 8], one per weight."""
        w1, b1, w2, b2, w3, b3 = self.weights
        n = len(image)
        cols1 = patches(image)
        act1 = np.maximum(cols1 @ w1.T + b1, 0)  # [n, 8, 8, 16]
        blocks = act1.reshape(n, 4, 2, 4, 2, 16).transpose(0, 1, 3, 5, 2, 4).reshape(-1, 4)
        winner = blocks.argmax(axis=1)
        pooled = blocks[np.arange(len(blocks)), winner].reshape(n, 4, 4, 16).transpose(0, 3, 1, 2)
        cols2 = patches(pooled)
        act2 = np.maximum(cols2 @ w2.T + b2, 0)  # [n, 4, 4, 32]
        flat = act2.transpose(0, 3, 1, 2).reshape(n, 512)
        logits = flat @ w3 + b3
        prob = np.exp(logits - logits.max(axis=1, keepdims=True))
        prob /= prob.sum(axis=1, keepdims=True)

        d_logits = prob
        d_logits[np.arange(n), label] -= 1
        d_logits /= n
        d_act2 = (d_logits @ w3.T).reshape(n, 32, 4, 4).transpose(0, 2, 3, 1) * (act2 > 0)
        d_pooled = spread(d_act2 @ w2, 16).transpose(0, 2, 3, 1).reshape(-1)
        d_blocks = np.zeros_like(blocks)
        d_blocks[np.arange(len(blocks)), winner] = d_pooled
        d_act1 = d_blocks.reshape(n, 4, 4, 16, 2, 2).transpose(0, 1, 4, 2, 5, 3)
        d_act1 = d_act1.reshape(n, 8, 8, 16) * (act1 > 0)
        return [
            d_act1.reshape(-1, 16).T @ cols1.reshape(-1, 9),
            d_act1.sum(axis=(0, 1, 2)),
            d_act2.reshape(-1, 32).T @ cols2.reshape(-1, 144),
            d_act2.sum(axis=(0, 1, 2)),
            flat.T @ d_logits,
            d_logits.sum(axis=0),
        ]

    def update(self, gradients: Sequence[F32], rate: float) -> None:
        """One Adam step."""
        self.step += 1
        correction = np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
        for weight, (first, second), grad in zip(
            self.weights, self.moments, gradients, strict=True
        ):
            first += 0.1 * (grad - first)
            second += 0.001 * (grad * grad - second)
            weight -= np.float32(rate * correction) * first / (np.sqrt(second) + 1e-8)


def train_cnn(digits: Digits) -> list[F32]:
    """The weights of the CNN after `CNN_EPOCHS` epochs with a falling learning rate."""
    cnn = Cnn(SEED)
    images = digits.train.reshape(-1, 1, 8, 8)
    rng = np.random.default_rng(SEED + 1)
    for epoch in range(CNN_EPOCHS):
        rate = 2e-3 * (1 - epoch / CNN_EPOCHS)
        order = rng.permutation(len(images))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            batch = order[start : start + BATCH]
            cnn.update(cnn.gradients(images[batch], digits.train_label[batch]), rate)
    return cnn.weights


def train_mlp(digits: Digits) -> list[F32]:
    """The weights of the MLP: [64, 64], [64], [64, 10], [10]."""
    mlp = MLPClassifier(
        hidden_layer_sizes=(64,), activation="relu", alpha=1e-3, max_iter=400, random_state=SEED
    )
    mlp.fit(digits.train, digits.train_label)
    arrays = [array for pair in zip(mlp.coefs_, mlp.intercepts_, strict=True) for array in pair]
    # The weights of pixels that are dark in all images decay to denormal numbers, which are slow.
    return [np.where(abs(array) < 1e-8, 0, array).astype(np.float32) for array in arrays]


# --- ONNX ---------------------------------------------------------------------------------------


def model(
    name: str, shape: Sequence[int], nodes: Sequence[onnx.NodeProto], weights: dict[str, F32]
) -> onnx.ModelProto:
    """A checked model with the input `image` of `shape` and the output `probabilities`."""
    graph = helper.make_graph(
        list(nodes),
        name,
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [BATCH, 10])],
        [numpy_helper.from_array(np.ascontiguousarray(w), key) for key, w in weights.items()],
    )
    result = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="npuc examples",
    )
    onnx.checker.check_model(result, full_check=True)
    return result


def mlp_model(weights: Sequence[F32]) -> onnx.ModelProto:
    """The MLP as ONNX."""
    node = helper.make_node
    nodes = [
        node("Gemm", ["image", "fc1.weight", "fc1.bias"], ["hidden"], name="fc1"),
        node("Relu", ["hidden"], ["hidden_relu"], name="relu"),
        node("Gemm", ["hidden_relu", "fc2.weight", "fc2.bias"], ["logits"], name="fc2"),
        node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=1),
    ]
    names = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")
    return model("digits_mlp", [BATCH, 64], nodes, dict(zip(names, weights, strict=True)))


def cnn_model(weights: Sequence[F32]) -> onnx.ModelProto:
    """The CNN as ONNX."""
    node = helper.make_node
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["map1"], name="conv1", **conv),
        node("Relu", ["map1"], ["map1_relu"], name="relu1"),
        node(
            "MaxPool", ["map1_relu"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]
        ),
        node("Conv", ["pooled", "conv2.weight", "conv2.bias"], ["map2"], name="conv2", **conv),
        node("Relu", ["map2"], ["map2_relu"], name="relu2"),
        node("Flatten", ["map2_relu"], ["features"], name="flatten", axis=1),
        node("Gemm", ["features", "fc.weight", "fc.bias"], ["logits"], name="fc"),
        node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=1),
    ]
    w1, b1, w2, b2, w3, b3 = weights
    named = {
        "conv1.weight": w1.reshape(16, 1, 3, 3),
        "conv1.bias": b1,
        "conv2.weight": w2.reshape(32, 16, 3, 3),
        "conv2.bias": b2,
        "fc.weight": w3,
        "fc.bias": b3,
    }
    return model("digits_cnn", [BATCH, 1, 8, 8], nodes, named)


def accuracy(trained: onnx.ModelProto, images: F32, labels: I64) -> float:
    """Share of `images`, taken in batches of 32, that the ONNX model classifies as labelled."""
    evaluator = ReferenceEvaluator(trained)
    right = 0
    for start in range(0, len(images), BATCH):
        outputs = evaluator.run(None, {"image": images[start : start + BATCH]})
        guess = cast(F32, cast(list[object], outputs)[0]).argmax(axis=1)
        right += int((guess == labels[start : start + BATCH]).sum())
    return right / len(images)


def main(folder: Path) -> None:
    """Train both networks, write the four files into `folder` and print the accuracies."""
    digits = load()
    held_back, labels = digits.held_back, digits.held_back_label
    for name, trained, shape in (
        ("digits_mlp", mlp_model(train_mlp(digits)), (-1, 64)),
        ("digits_cnn", cnn_model(train_cnn(digits)), (-1, 1, 8, 8)),
    ):
        path = folder / f"{name}.onnx"
        path.write_bytes(trained.SerializeToString(deterministic=True))
        share = accuracy(trained, held_back.reshape(shape), labels)
        size = path.stat().st_size
        print(f"{path}: {size} bytes, {share:.2%} of {len(labels)} held-back images are right")
    images = held_back[:BATCH]
    np.savez_compressed(folder / "heldback.npz", image=images, label=labels[:BATCH])
    np.savez_compressed(folder / "heldback_cnn.npz", image=images.reshape(-1, 1, 8, 8))


if __name__ == "__main__":
    with threadpool_limits(limits=1):
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
