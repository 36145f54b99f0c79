"""The constants of a model: initialisers, and what Constant nodes hold."""

from typing import Any, NamedTuple, cast

import numpy as np

from ....dialects.core.dtypes import Array
from ....dialects.core.errors import InputError
from . import messages
from .node import Node
from .reading import Source
from .tensors import Constant, constant


class Constants(NamedTuple):
    """Constants by tensor name, and for those of nodes the name of the node."""

    tensors: dict[str, Constant]
    makers: dict[str, str]


def read_constants(source: Source, opset: int) -> Constants:
    """All constants of the model; raises `InputError` for data that is missing or damaged."""
    graph = source.model.graph
    if graph.sparse_initializer:
        raise InputError(
            f"{source.name} has sparse initialisers", hint="export it with dense weights"
        )
    found = Constants({}, {})
    places = source.ranges.initializers
    for index, tensor in enumerate(graph.initializer):
        place = places[index] if index < len(places) else None
        found.tensors[tensor.name] = constant(tensor, tensor.name, source, place)
    for index, proto in enumerate(graph.node):
        if proto.domain not in ("", "ai.onnx"):
            continue
        node = Node(proto, index, opset, {}, found.tensors, frozenset())
        if proto.op_type == "Constant" and len(proto.output) == 1:
            held = _held(node, source)
            if held is not None:
                found.tensors[held.name] = held
                found.makers[held.name] = node.name
        elif proto.op_type == "Identity" and proto.input and proto.input[0] in found.tensors:
            # So that an operator which needs a constant finds it behind the Identity.
            found.tensors[proto.output[0]] = found.tensors[proto.input[0]]
            found.makers[proto.output[0]] = node.name
    return found


def _held(node: Node, source: Source) -> Constant | None:
    """What a Constant node holds, or None if that is not a tensor of numbers."""
    tensor = node.tensor("value")
    if tensor:
        place = source.ranges.attributes.get((node.index, tensor[0]))
        return constant(tensor[1], node.outputs[0], source, place)
    values = _plain_values(node)
    if values is None:
        return None
    from onnx import numpy_helper

    message = cast(messages.Tensor, numpy_helper.from_array(cast(Any, values)))
    return constant(message, node.outputs[0], source, None)


def _plain_values(node: Node) -> Array | None:
    """The value of the short forms: one or several floats or integers."""
    if node.has("value_float"):
        return np.array(node.real("value_float", 0.0), np.float32)
    if node.has("value_int"):
        return np.array(node.integer("value_int", 0), np.int64)
    if (reals := node.reals("value_floats")) is not None:
        return np.array(reals, np.float32)
    if (integers := node.integers("value_ints")) is not None:
        return np.array(integers, np.int64)
    return None


def unusable_constant(node: Node) -> str | None:
    """Why the value of a Constant node cannot be a tensor here; for the support check."""
    names = ", ".join(node.attributes)
    held = ("value", "value_float", "value_int", "value_floats", "value_ints")
    return None if any(map(node.has, held)) else f"its value ({names}) is not a tensor of numbers"
