"""Small ONNX models for tests, and what npuc and onnxruntime compute for them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from npuc.compiler.frontends.onnx.importer import Imported, import_onnx
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.errors import InputError
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.store import Store
from npuc.dialects.core.tolerance import compare
from npuc.dialects.core.verify import verify

_helper = cast(Any, helper)
_numpy_helper = cast(Any, numpy_helper)

IR_VERSION = 8
"""Old enough for every runtime, new enough for every opset used here."""


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> NodeProto:
    """One node; without `name` it has none."""
    return _helper.make_node(op, list(inputs), list(outputs), **attributes)


def model(
    nodes: Sequence[NodeProto],
    feeds: Mapping[str, Array | tuple[str | int, ...]],
    outputs: Sequence[str],
    *,
    opset: int = 17,
    constants: Mapping[str, Array] | None = None,
) -> ModelProto:
    """A model; an input is like an array, or f32 of a shape whose names are open sizes."""
    inputs = [_input(name, like) for name, like in feeds.items()]
    graph = _helper.make_graph(
        list(nodes),
        "test",
        inputs,
        [_helper.make_empty_tensor_value_info(name) for name in outputs],
        [tensor(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [_helper.make_opsetid("", opset)]
    return _helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def tensor(array: Array, name: str) -> TensorProto:
    """The array as an initialiser, its data as raw bytes."""
    return _numpy_helper.from_array(array, name)


def _input(name: str, like: Array | tuple[str | int, ...]) -> Any:
    if isinstance(like, tuple):
        return _helper.make_tensor_value_info(name, TensorProto.FLOAT, like)
    kind = _helper.np_dtype_to_tensor_dtype(like.dtype)
    return _helper.make_tensor_value_info(name, kind, like.shape)


def imported(source: object, store: Store | None = None, **options: Any) -> Imported:
    """The imported model, verified."""
    result = import_onnx(source, Store() if store is None else store, **options)
    verify(result.module)
    return result


def run(source: object, feeds: Mapping[str, Array]) -> list[Array]:
    """What npuc's graph level computes for a model."""
    store = Store()
    module = imported(source, store).module
    return list(Interpreter(module, store).call("main", *feeds.values()))


def reference(source: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What onnxruntime computes for it, without its optimisations."""
    options = cast(Any, onnxruntime).SessionOptions()
    options.graph_optimization_level = cast(Any, onnxruntime).GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = cast(Any, onnxruntime).InferenceSession(
        source.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, dict(feeds))


def random(seed: int, *shape: int, dtype: str = "float32") -> Array:
    """Values around zero; integers from -9 to 9."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-9 if np.dtype(dtype).kind == "i" else 0, 10, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def check(
    op: str,
    opset: int,
    *inputs: Array,
    constants: dict[str, Array] | None = None,
    precision: str = "origin",
    **attributes: Any,
) -> None:
    """Compare npuc and onnxruntime on a model of one node; constants are its last inputs.

    An attribute that is None is left out.
    """
    feeds = {f"x{index}": array for index, array in enumerate(inputs)}
    names = [*feeds, *(constants or {})]
    given = {name: value for name, value in attributes.items() if value is not None}
    made = node(op, names, ["y"], **given)
    source = model([made], feeds, ["y"], opset=opset, constants=constants)
    (got,), (expected,) = run(source, feeds), reference(source, feeds)
    assert got.dtype == expected.dtype
    result = compare(got, expected, precision)
    assert result.ok, result.why


def refused(source: object, **options: Any) -> str:
    """The paragraph of the `InputError` that importing raises."""
    with pytest.raises(InputError) as caught:
        import_onnx(source, Store(), **options)
    return str(caught.value)
