"""Forms of operators that later operator sets dropped, against what replaced them in onnxruntime.

Also operators whose forms changed and that are not windows: Clip, Squeeze, Sum, BatchNormalization.
"""

from typing import Any

import numpy as np
import pytest

from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.tolerance import compare
from onnx_models import check, model, node, random, reference, refused, run

MODERN = 17


def same(
    old: tuple[str, int, dict[str, Any]],
    new: tuple[str, dict[str, Any]],
    *inputs: Array,
    new_inputs: tuple[Array, ...] = (),
    constants: dict[str, Array] | None = None,
) -> None:
    """An old form (operator, opset, attributes) computes what a form of opset 17 does.

    `new_inputs` are inputs of the new form, if others than those of the old one; `constants` are
    its last inputs.
    """
    feeds = {f"x{index}": array for index, array in enumerate(inputs)}
    renewed = {f"x{index}": array for index, array in enumerate(new_inputs or inputs)}
    op, opset, attributes = old
    source = model([node(op, [*feeds], ["y"], **attributes)], feeds, ["y"], opset=opset)
    names = [*renewed, *(constants or {})]
    modern = node(new[0], names, ["y"], **new[1])
    target = model([modern], renewed, ["y"], opset=MODERN, constants=constants)
    (got,), (expected,) = run(source, feeds), reference(target, renewed)
    assert got.dtype == expected.dtype
    result = compare(got, expected, "origin")
    assert result.ok, result.why


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("right", "axis", "becomes"),
    [
        ((2, 3, 4, 5), None, (2, 3, 4, 5)),
        ((4, 5), None, (4, 5)),
        ((3,), 1, (3, 1, 1)),
        ((3, 4), 1, (3, 4, 1)),
        ((2, 3), 0, (2, 3, 1, 1)),
        ((4, 5), -2, (4, 5)),
        ((), None, ()),
        ((1,), 1, (1, 1, 1)),
    ],
    ids=str,
)
def test_broadcast_along_an_axis(
    op: str, opset: int, right: tuple[int, ...], axis: int | None, becomes: tuple[int, ...]
) -> None:
    attributes = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    x, y = random(1, 2, 3, 4, 5), random(2, *right)
    same((op, opset, attributes), (op, {}), x, y, new_inputs=(x, y.reshape(becomes)))


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({}, "shapes [2, 3, 4] and [3] differ, and the attribute `broadcast`"),
        ({"broadcast": 1, "axis": 2}, "shape [3] does not fit [2, 3, 4] at axis 2"),
        ({"broadcast": 1, "axis": 3}, "shape [3] does not fit [2, 3, 4] at axis 3"),
    ],
    ids=str,
)
def test_wrong_broadcast(attributes: dict[str, Any], why: str) -> None:
    feeds = {"x": random(1, 2, 3, 4), "y": random(2, 3)}
    add = node("Add", ["x", "y"], ["z"], **attributes)
    assert why in refused(model([add], feeds, ["z"], opset=6))


@pytest.mark.parametrize("opset", [1, 6])
def test_gemm(opset: int) -> None:
    inputs = random(1, 3, 4), random(2, 4, 5), random(3, 5)
    same(("Gemm", opset, {"broadcast": 1, "beta": 0.5}), ("Gemm", {"beta": 0.5}), *inputs)
    full = (*inputs[:2], random(3, 3, 5))
    same(("Gemm", opset, {}), ("Gemm", {}), *full)
    feeds = dict(zip("abc", inputs, strict=True))
    text = refused(model([node("Gemm", [*"abc"], ["y"])], feeds, ["y"], opset=opset))
    assert "C has shape [5], the product [3, 5]" in text


def test_reshape_to_an_attribute() -> None:
    x, shape = random(1, 2, 3, 4), np.array([0, -1], np.int64)
    attributes = {"shape": [0, -1], "consumed_inputs": [0]}
    same(("Reshape", 1, attributes), ("Reshape", {}), x, constants={"shape": shape})


@pytest.mark.parametrize(("name", "number"), [("FLOAT16", 10), ("INT32", 6), ("DOUBLE", 11)])
def test_cast_to_a_name(name: str, number: int) -> None:
    same(("Cast", 1, {"to": name}), ("Cast", {"to": number}), random(1, 20) * 5)


def test_cast_to_an_unknown_name() -> None:
    feeds = {"x": random(1, 4)}
    for name, why in (("STRING", "no element type string"), ("WORD", "no element type undefined")):
        cast = node("Cast", ["x"], ["y"], to=name)
        assert why in refused(model([cast], feeds, ["y"], opset=1))


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("op", ["Relu", "Identity", "Transpose", "Flatten", "Softmax"])
def test_unchanged(op: str, opset: int) -> None:
    """Only bookkeeping attributes went; Softmax flattened to a matrix until opset 13."""
    x = random(1, 2, 3)
    consumed = {"consumed_inputs": [0]} if op == "Relu" and opset == 1 else {}
    same((op, opset, consumed), (op, {}), x)


@pytest.mark.parametrize(
    ("opset", "attributes"), [(1, {"is_test": 1, "consumed_inputs": [0]}), (6, {"is_test": 1})]
)
def test_dropout(opset: int, attributes: dict[str, Any]) -> None:
    same(("Dropout", opset, attributes), ("Identity", {}), random(1, 2, 3))


def test_dropout_in_training() -> None:
    feeds = {"x": random(1, 4)}
    text = refused(model([node("Dropout", ["x"], ["y"])], feeds, ["y"], opset=6))
    assert "its attribute is_test is 0, which means training before opset 7" in text


@pytest.mark.parametrize("opset", [1, 6])
def test_average_pool(opset: int) -> None:
    """Padding never counted before opset 7."""
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    x = random(1, 2, 3, 6, 6)
    same(("AveragePool", opset, attributes), ("AveragePool", attributes), x)
    same(("MaxPool", opset, attributes), ("MaxPool", attributes), x)


class TestClip:
    @pytest.mark.parametrize("opset", [1, 6])
    @pytest.mark.parametrize("bounds", [{"min": -0.5, "max": 0.5}, {"min": 0.0}, {"max": 6.0}, {}])
    def test_bounds_as_attributes(self, opset: int, bounds: dict[str, float]) -> None:
        x = random(1, 4, 5) * 8
        given = [*bounds.values()] and (bounds.get("min", -np.inf), bounds.get("max", np.inf))
        low, high = given or (-np.inf, np.inf)
        constants = {"low": np.array(low, np.float32), "high": np.array(high, np.float32)}
        same(("Clip", opset, bounds), ("Clip", {}), x, constants=constants)

    @pytest.mark.parametrize(
        ("opset", "dtype"), [(11, "float32"), (13, "float32"), (13, "float16"), (13, "float64")]
    )
    def test_bounds_as_inputs(self, opset: int, dtype: str) -> None:
        constants = {"low": np.array(-0.5, dtype), "high": np.array(0.5, dtype)}
        x = random(1, 4, 5, dtype=dtype)
        check("Clip", opset, x, constants=constants)
        check("Clip", opset, x, np.array(-0.25, dtype))

    def test_left_out_bound_and_what_is_not_a_number(self) -> None:
        x = np.array([-np.inf, np.nan, 0.0, 9.0], np.float32)
        feeds, six = {"x": x}, {"six": np.array(6, np.float32)}
        source = model([node("Clip", ["x", "", "six"], ["y"])], feeds, ["y"], constants=six)
        (got,) = run(source, feeds)
        np.testing.assert_array_equal(got, [-np.inf, np.nan, 0, 6])


class TestAxes:
    @pytest.mark.parametrize("opset", [1, 11])
    def test_attribute(self, opset: int) -> None:
        squeezed = {"axes": np.array([0, 2], np.int64)}
        same(
            ("Squeeze", opset, {"axes": [0, 2]}),
            ("Squeeze", {}),
            random(1, 1, 3, 1, 4),
            constants=squeezed,
        )
        same(
            ("Unsqueeze", opset, {"axes": [0, 2]}),
            ("Unsqueeze", {}),
            random(1, 3, 4),
            constants=squeezed,
        )

    @pytest.mark.parametrize("axes", [[0], [-1, 0], [2, -4]], ids=str)
    def test_input(self, axes: list[int]) -> None:
        constants = {"axes": np.array(axes, np.int64)}
        check("Unsqueeze", 13, random(1, 3, 4), constants=constants)
        check("Squeeze", 13, random(1, 1, 3, 1, 1), constants={"axes": np.array([0, -1], np.int64)})

    @pytest.mark.parametrize("opset", [7, 11, 13])
    def test_all_axes_of_size_one(self, opset: int) -> None:
        check("Squeeze", opset, random(1, 1, 3, 1, 4))

    @pytest.mark.parametrize(
        ("op", "axes", "why"),
        [
            ("Squeeze", [1], "axes [1] of [1, 3] do not all have size 1"),
            ("Squeeze", [2], "its axes [2] do not name different ones of 2"),
            ("Unsqueeze", [0, 0], "its axes [0, 0] do not name different ones of 4"),
        ],
    )
    def test_wrong(self, op: str, axes: list[int], why: str) -> None:
        feeds = {"x": random(1, 1, 3)}
        constants = {"axes": np.array(axes, np.int64)}
        source = model([node(op, ["x", "axes"], ["y"])], feeds, ["y"], constants=constants)
        assert why in refused(source)

    @pytest.mark.parametrize("op", ["Squeeze", "Unsqueeze"])
    def test_computed(self, op: str) -> None:
        feeds = {"x": random(1, 1, 3), "axes": np.array([0], np.int64)}
        text = refused(model([node(op, ["x", "axes"], ["y"])], feeds, ["y"]))
        assert "its axes `axes` are computed by the model, only constants are supported" in text


@pytest.mark.parametrize("opset", [8, 13])
@pytest.mark.parametrize("op", ["Sum", "Max", "Min"])
def test_any_number_of_operands(op: str, opset: int) -> None:
    for count in (1, 2, 4):
        shapes = [(2, 3), (3,), (2, 1), (1,)][:count]
        check(op, opset, *(random(index, *shape) for index, shape in enumerate(shapes)))


@pytest.mark.parametrize("op", ["Sum", "Max", "Min"])
def test_any_number_of_equal_operands(op: str) -> None:
    same((op, 6, {}), (op, {}), random(1, 2, 3), random(2, 2, 3), random(3, 2, 3))


def statistics(channels: int) -> dict[str, Array]:
    """Parameters of a batch norm."""
    names = ("scale", "bias", "mean", "variance")
    found = {name: random(index, channels) for index, name in enumerate(names)}
    return found | {"variance": np.abs(found["variance"]) + np.float32(0.1)}


class TestBatchNormalization:
    @pytest.mark.parametrize("opset", [7, 9, 14, 15])
    @pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 2, 2, 2)], ids=str)
    def test_inference(self, opset: int, shape: tuple[int, ...]) -> None:
        x = random(5, *shape)
        check("BatchNormalization", opset, x, constants=statistics(3), epsilon=1e-3)

    @pytest.mark.parametrize("opset", [1, 6])
    def test_old_attributes(self, opset: int) -> None:
        attributes: dict[str, Any] = {"is_test": 1, "spatial": 1, "epsilon": 0.01}
        if opset == 1:
            attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
        self._same(opset, attributes, ["y"])
        self._same(opset, attributes, ["y", "mean1", "variance1"])

    @staticmethod
    def _same(opset: int, attributes: dict[str, Any], outputs: list[str]) -> None:
        feeds, constants = {"x": random(5, 2, 3, 4)}, statistics(3)
        names = ["x", *constants]
        old = node("BatchNormalization", names, outputs, **attributes)
        new = node("BatchNormalization", names, ["y"], epsilon=0.01)
        source = model([old], feeds, ["y"], opset=opset, constants=constants)
        (got,) = run(source, feeds)
        (expected,) = reference(model([new], feeds, ["y"], constants=constants), feeds)
        assert compare(got, expected, "origin").ok

    @pytest.mark.parametrize("opset", [6, 9, 14])
    def test_training(self, opset: int) -> None:
        constants, feeds = statistics(3), {"x": random(5, 2, 3, 4)}
        attributes = {"training_mode": 1} if opset == 14 else {}
        outputs = ["y", "mean1", "variance1"]
        bn = node("BatchNormalization", ["x", *constants], outputs, **attributes)
        text = refused(model([bn], feeds, ["y"], opset=opset, constants=constants))
        assert "it computes statistics, as in training; only inference is supported" in text

    def test_parameters_by_position(self) -> None:
        constants = {name: random(1, 3, 4) for name in ("scale", "bias", "mean", "variance")}
        bn = node("BatchNormalization", ["x", *constants], ["y"], spatial=0)
        text = refused(model([bn], {"x": random(5, 2, 3, 4)}, ["y"], opset=7, constants=constants))
        assert "its parameters differ by position (spatial is 0)" in text

    def test_computed_parameters(self) -> None:
        feeds = {"x": random(5, 2, 3, 4), "scale": random(1, 3)}
        constants = {name: random(1, 3) for name in ("bias", "mean", "variance")}
        bn = node("BatchNormalization", ["x", "scale", *constants], ["y"])
        text = refused(model([bn], feeds, ["y"], constants=constants))
        assert "its scale `scale` is computed by the model, not a constant" in text

    def test_wider_parameters(self) -> None:
        x = random(5, 2, 3, 4, dtype="float16")
        constants = statistics(3)
        bn = node("BatchNormalization", ["x", *constants], ["y"])
        (got,) = run(model([bn], {"x": x}, ["y"], constants=constants), {"x": x})
        assert got.dtype == np.float16
