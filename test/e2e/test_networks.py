"""Small networks in the forms that frameworks export, against onnxruntime, with all checks on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import npuc
from npuc.compiler.driver import compile_model
from npuc.compiler.pipeline import Options
from npuc.dialects.core.tolerance import compare


class Network:
    """Builds an ONNX graph op by op; weights are random and always the same."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def constant(self, *shape: int, mean: float = 0.0, spread: float = 0.1) -> str:
        """A weight of normal numbers."""
        values = (mean + spread * self.random.standard_normal(shape)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node; the name of its output."""
        output = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))
        return output

    def conv(self, x: str, sizes: tuple[int, int, int], stride: int = 1, group: int = 1) -> str:
        """A convolution of (inputs, outputs, kernel) with half the kernel as padding."""
        inputs, outputs, kernel = sizes
        weights = self.constant(outputs, inputs // group, kernel, kernel, spread=0.3)
        pads, strides = [kernel // 2] * 4, [stride] * 2
        return self.op("Conv", x, weights, strides=strides, pads=pads, group=group)

    def norm(self, x: str, channels: int) -> str:
        """A batch norm."""
        scale, variance = (self.constant(channels, mean=1.0) for _ in range(2))
        shift, mean = (self.constant(channels) for _ in range(2))
        return self.op("BatchNormalization", x, scale, shift, mean, variance)

    def save(self, path: Path, output: str, shape: tuple[int, ...], rank: int) -> None:
        """Write the model with input `x` of `shape`."""
        floats = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", floats, shape)],
            [helper.make_tensor_value_info(output, floats, [None] * rank)],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path.write_bytes(model.SerializeToString())


def residual(net: Network) -> str:
    x = net.op("Relu", net.norm(net.conv("x", (3, 16, 7), 2), 16))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = net.op("Relu", net.norm(net.conv(x, (16, 32, 3), 2), 32))
    y = net.norm(net.conv(y, (32, 32, 3)), 32)
    x = net.op("Relu", net.op("Add", y, net.norm(net.conv(x, (16, 32, 1), 2), 32)))
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    return net.op("Gemm", x, net.constant(10, 32), net.constant(10), transB=1)


def inverted_bottleneck(net: Network) -> str:
    x = net.norm(net.conv("x", (3, 16, 3), 2), 16)
    y = net.op("Relu", net.norm(net.conv(x, (16, 64, 1)), 64))
    y = net.op("Relu", net.norm(net.conv(y, (64, 64, 3), group=64), 64))
    x = net.op("Add", x, net.norm(net.conv(y, (64, 16, 1)), 16))
    return net.op("Softmax", net.op("Flatten", net.op("GlobalMaxPool", x)))


def squeeze_excite(net: Network) -> str:
    x = net.op("Relu", net.conv("x", (3, 32, 3)))
    gate = net.op("Relu", net.conv(net.op("GlobalAveragePool", x), (32, 8, 1)))
    return net.op("Mul", x, net.conv(gate, (8, 32, 1)))


def norm_first(net: Network) -> str:
    """A scale and a shift a channel, before anything is laid out for the device."""
    return net.conv(net.op("Relu", net.norm("x", 3)), (3, 8, 3))


def norm_alone(net: Network) -> str:
    return net.norm("x", 3)


NETWORKS = (
    (residual, 2),
    (inverted_bottleneck, 2),
    (squeeze_excite, 4),
    (norm_first, 4),
    (norm_alone, 4),
)
"""Functions that build a network, and how many axes its output has."""


@pytest.mark.parametrize("precision", ["origin", "mixed"])
@pytest.mark.parametrize("target", ["tiny", "ascend310p"])
@pytest.mark.parametrize(("build", "rank"), NETWORKS, ids=[f.__name__ for f, _ in NETWORKS])
def test_a_network(
    build: Callable[[Network], str], rank: int, target: str, precision: str, tmp_path: Path
) -> None:
    path, net, shape = tmp_path / "network.onnx", Network(), (2, 3, 28, 30)
    net.save(path, build(net), shape, rank)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    session: Any = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    program = compile_model(path, Options(target, precision)).program
    comparison = compare(cast(Any, npuc.Executable(program, checks=True)(x)), expected, precision)
    assert comparison.ok, comparison.why
