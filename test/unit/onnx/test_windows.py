"""Convolution and pooling in all their forms against onnxruntime."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_models import check, model, node, random, reference, refused, run

PADDINGS = ("given", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


class Case:
    """Sizes and attributes of windows over one or two axes, drawn so that one window fits."""

    def __init__(self, data: st.DataObject, *, small_pads: bool = True) -> None:
        self.draw = draw = data.draw
        self.rank = draw(st.integers(1, 2))
        self.window = [draw(st.integers(1, 4)) for _ in range(self.rank)]
        self.padding = draw(st.sampled_from(PADDINGS))
        # onnxruntime refuses dilations under automatic padding.
        most = 1 if self.padding.startswith("SAME") else 2
        self.dilations = [draw(st.integers(1, most)) for _ in range(self.rank)]
        # Nor can its pools leave out elements between windows there.
        longest = self.window if self.padding.startswith("SAME") and small_pads else [3, 3]
        self.strides = [draw(st.integers(1, longest[axis])) for axis in range(self.rank)]
        reaches = [(k - 1) * d + 1 for k, d in zip(self.window, self.dilations, strict=True)]
        self.sizes = [reach + draw(st.integers(0, 7)) for reach in reaches]
        # A pool's padding is smaller than its window.
        limits = [k - 1 if small_pads else 5 for k in self.window] * 2
        self.pads = [draw(st.integers(0, limit)) for limit in limits]
        self.images = draw(st.integers(1, 3))

    def attributes(self) -> dict[str, Any]:
        """The attributes; one that has its default may be left out."""
        chosen: dict[str, Any] = {"kernel_shape": self.window}
        if self.padding == "given":
            chosen["pads"] = self.pads
        else:
            chosen["auto_pad"] = self.padding
        for name, values in (("strides", self.strides), ("dilations", self.dilations)):
            if max(values) > 1 or self.draw(st.booleans()):
                chosen[name] = values
        return chosen


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_conv(data: st.DataObject) -> None:
    draw = data.draw
    case = Case(data, small_pads=False)
    kind = draw(st.sampled_from(["one group", "groups", "depthwise", "multiplier"]))
    groups = 1 if kind == "one group" else draw(st.integers(2, 4))
    depth = draw(st.integers(1, 3)) if kind in ("one group", "groups") else 1
    filters = groups * (1 if kind == "depthwise" else draw(st.integers(1, 3)))
    attributes: dict[str, Any] = case.attributes() | {"group": groups}
    if draw(st.booleans()):
        del attributes["kernel_shape"]
    x = random(1, case.images, groups * depth, *case.sizes)
    w = random(2, filters, depth, *case.window)
    bias = [random(3, filters)] if draw(st.booleans()) else []
    check("Conv", draw(st.sampled_from([1, 11, 22])), x, w, *bias, **attributes)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_max_pool(data: st.DataObject) -> None:
    case = Case(data)
    attributes: dict[str, Any] = case.attributes() | {"ceil_mode": data.draw(st.integers(0, 1))}
    x = random(1, case.images, data.draw(st.integers(1, 3)), *case.sizes)
    check("MaxPool", data.draw(st.sampled_from([10, 12, 22])), x, **attributes)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_average_pool(data: st.DataObject) -> None:
    case = Case(data)
    attributes = case.attributes()
    attributes["ceil_mode"] = data.draw(st.integers(0, 1))
    attributes["count_include_pad"] = data.draw(st.integers(0, 1))
    x = random(1, case.images, data.draw(st.integers(1, 3)), *case.sizes)
    check("AveragePool", data.draw(st.sampled_from([19, 22])), x, **attributes)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_dilated_under_automatic_padding(data: st.DataObject) -> None:
    """onnxruntime refuses these; explicit padding worked out here by the definition must agree."""
    draw = data.draw
    size, taps, dilation = (
        draw(st.integers(5, 12)),
        draw(st.integers(1, 3)),
        draw(st.integers(2, 3)),
    )
    stride, mode = draw(st.integers(1, 2)), draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER"]))
    outputs = math.ceil(size / stride)
    total = max(0, (outputs - 1) * stride + (taps - 1) * dilation + 1 - size)
    small, large = total // 2, total - total // 2
    pads = [small, large] if mode == "SAME_UPPER" else [large, small]
    common = {"strides": [stride], "dilations": [dilation]}
    feeds = {"x": random(1, 2, 3, size), "w": random(2, 4, 3, taps)}
    explicit, automatic = (
        model([node("Conv", ["x", "w"], ["y"], **common, **chosen)], feeds, ["y"])
        for chosen in ({"pads": pads}, {"auto_pad": mode})
    )
    (got,), (expected,) = run(automatic, feeds), reference(explicit, feeds)
    assert got.shape == (2, 4, outputs)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_conv_element_types(dtype: str) -> None:
    x, w = random(1, 2, 3, 5, dtype=dtype), random(2, 4, 3, 3, dtype=dtype)
    source = model(
        [node("Conv", ["x", "w", "b"], ["y"])], {"x": x}, ["y"], constants={"w": w, "b": w[:, 0, 0]}
    )
    (got,) = run(source, {"x": x})
    expected = np.lib.stride_tricks.sliding_window_view(x, 3, 2).astype(np.float64)
    expected = np.einsum("nctk,ock->not", expected, w.astype(np.float64))
    expected = expected + w[:, 0, 0].astype(np.float64)[:, None]
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint8"])
def test_max_pool_element_types(dtype: str) -> None:
    x = random(1, 2, 3, 6, 6, dtype=dtype)
    check("MaxPool", 12, x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def test_max_pool_of_special_values() -> None:
    """Padding is below the lowest number; what is not a number stays."""
    x = np.array([[[-np.inf, -np.inf, 3, np.nan, 5]]], np.float32)
    pool = node("MaxPool", ["x"], ["y"], kernel_shape=[2], pads=[1, 0])
    (got,) = run(model([pool], {"x": x}, ["y"]), {"x": x})
    np.testing.assert_array_equal(got, [[[-np.inf, -np.inf, 3, np.nan, np.nan]]])


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 4, 5, 7), (2, 1, 1, 1)], ids=str)
def test_global_pools(op: str, shape: tuple[int, ...]) -> None:
    check(op, 17, random(1, *shape))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pool_element_types(op: str, dtype: str) -> None:
    x = random(1, 2, 3, 5, 5, dtype=dtype)
    (got,) = run(model([node(op, ["x"], ["y"])], {"x": x}, ["y"]), {"x": x})
    wide = x.astype(np.float64)
    expected = (wide.mean if op == "GlobalAveragePool" else wide.max)(axis=(2, 3), keepdims=True)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


class TestRefusals:
    def test_three_spatial_axes(self) -> None:
        feeds = {"x": random(1, 1, 2, 4, 4, 4)}
        constants = {"w": random(2, 3, 2, 3, 3, 3)}
        source = model([node("Conv", ["x", "w"], ["y"])], feeds, ["y"], constants=constants)
        assert "its input has 3 spatial axes, only one or two are supported" in refused(source)
        pool = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2, 2])
        assert "its input has 3 spatial axes" in refused(model([pool], feeds, ["y"]))

    def test_indices(self) -> None:
        pool = node("MaxPool", ["x"], ["y", "where"], kernel_shape=[2], storage_order=1)
        feeds = {"x": random(1, 1, 2, 4)}
        assert "its output `where` (where the maxima are)" in refused(
            model([pool], feeds, ["y", "where"])
        )
        run(model([pool], feeds, ["y"]), feeds)  # nobody asks for the indices

    @pytest.mark.parametrize(
        ("attributes", "why"),
        [
            ({"kernel_shape": [2, 2]}, "its kernel_shape is [2, 2], its filters say [3, 3]"),
            ({"pads": [1, 1]}, "its pads [1, 1] should be 4 integers"),
            ({"auto_pad": "SAME"}, "its auto_pad is `SAME`, not NOTSET, VALID,"),
            ({"group": 2}, "3 channels and 4 filters cannot be split into 2 groups"),
            ({"strides": [0, 1]}, "does not fit the sizes"),
            ({"dilations": [9, 1]}, "reaches over 19 elements of spatial axis 0, which has 6"),
        ],
        ids=str,
    )
    def test_wrong_attributes(self, attributes: dict[str, Any], why: str) -> None:
        feeds = {"x": random(1, 1, 3, 6, 6), "w": random(2, 4, 3, 3, 3)}
        source = model([node("Conv", ["x", "w"], ["y"], **attributes)], feeds, ["y"])
        assert why in refused(source)

    def test_integers(self) -> None:
        feeds = {"x": random(1, 1, 3, 6, dtype="int32"), "w": random(2, 4, 3, 3, dtype="int32")}
        source = model([node("Conv", ["x", "w"], ["y"])], feeds, ["y"])
        assert "convolutions of i32 are not supported, only those of floats" in refused(source)
