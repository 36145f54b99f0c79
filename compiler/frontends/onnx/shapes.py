"""Static shapes: those of the inputs, given or assumed, and what they imply for other tensors."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from ....dialects.core.errors import InputError
from . import messages
from .node import UNKNOWN, TensorInfo
from .reading import Source
from .tensors import ELEMENT_TYPES, EXTERNAL, type_name

_SMALL = 1024
"""Bytes up to which a constant is shown to shape inference; shapes and axes are far below."""


class Port(NamedTuple):
    """An input or output of the model: its name there, element type and static shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        """Like `image f32[32,64]`."""
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


def declared_type(value: messages.ValueInfo) -> TensorInfo:
    """The type a `ValueInfoProto` states; sizes that are names are None."""
    if value.type.WhichOneof("value") != "tensor_type":
        return UNKNOWN
    tensor = value.type.tensor_type
    dtype = type_name(tensor.elem_type) if tensor.elem_type else None
    if not tensor.HasField("shape"):
        return TensorInfo(dtype, None)
    sizes = (d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
    return TensorInfo(dtype, tuple(sizes))


def fix_inputs(
    source: Source, shapes: Mapping[str, Sequence[int]], warnings: list[str]
) -> list[Port]:
    """The inputs of the model with static shapes.

    A size that the model leaves open comes from `shapes` (input name to sizes), or from another
    input of `shapes` in which it has the same name; else it is 1, with a line in `warnings`.
    `InputError` if `shapes` contradicts the model or itself, or an input is no tensor.
    """
    graph = source.model.graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    unknown = [name for name in shapes if name not in {value.name for value in inputs}]
    if unknown:
        raise InputError(
            f"shapes are given for inputs that {source.name} does not have: {', '.join(unknown)}",
            hint=f"its inputs are {', '.join(value.name for value in inputs) or 'none'}",
        )
    symbols: dict[str, int] = {}
    for value in inputs:
        if value.name in shapes:
            _bind(value, shapes[value.name], symbols)
    return [_port(value, shapes.get(value.name), symbols, warnings) for value in inputs]


def _bind(value: messages.ValueInfo, sizes: Sequence[int], symbols: dict[str, int]) -> None:
    """Note what the named sizes of `value` are if its shape is `sizes`; checks that it can be."""
    shape = declared_type(value).shape
    what = f"the input `{value.name}` cannot have the shape {list(sizes)}"
    if any(size < 1 for size in sizes):
        raise InputError(what, why="every size must be at least 1")
    if shape is None:
        return
    if len(shape) != len(sizes):
        raise InputError(what, why=f"the model says it has {len(shape)} dimensions")
    for dimension, size in zip(value.type.tensor_type.shape.dim, sizes, strict=True):
        if dimension.HasField("dim_value"):
            if dimension.dim_value != size:
                raise InputError(what, why=f"the model says {declared_type(value)}")
        elif dimension.dim_param and symbols.setdefault(dimension.dim_param, size) != size:
            other = symbols[dimension.dim_param]
            raise InputError(what, why=f"its size `{dimension.dim_param}` is {other} elsewhere")


def _port(
    value: messages.ValueInfo,
    sizes: Sequence[int] | None,
    symbols: Mapping[str, int],
    warnings: list[str],
) -> Port:
    """The input with every size known."""
    info = declared_type(value)
    if info.dtype not in ELEMENT_TYPES.values():
        kind = value.type.WhichOneof("value") or "value without a type"
        raise InputError(
            f"the input `{value.name}` is not a tensor npuc can take",
            why=f"it is a {kind.replace('_type', '')} of {info.dtype or 'unknown element type'}",
            hint=f"tensors of {', '.join(ELEMENT_TYPES.values())} are supported",
        )
    if sizes is not None:
        return Port(value.name, cast(str, info.dtype), tuple(sizes))
    if info.shape is None:
        raise InputError(
            f"the model does not say how many dimensions the input `{value.name}` has",
            hint=f"give its shape, for example {value.name}=1x3x224x224",
        )
    fixed: list[int] = []
    for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
        if dimension.HasField("dim_value"):
            fixed.append(dimension.dim_value)
        elif dimension.dim_param in symbols:
            fixed.append(symbols[dimension.dim_param])
        else:
            name = f" (`{dimension.dim_param}`)" if dimension.dim_param else ""
            warnings.append(f"input `{value.name}`: size {axis}{name} is open, 1 is assumed")
            fixed.append(1)
    return Port(value.name, cast(str, info.dtype), tuple(fixed))


def infer_types(
    source: Source, inputs: Sequence[Port], warnings: list[str]
) -> dict[str, TensorInfo]:
    """What ONNX's own shape inference knows about every tensor, given static inputs.

    Only used to describe nodes before anything is built, so gaps are allowed. Large constants are
    left out of what inference is given.
    """
    from onnx import shape_inference

    skeleton = _skeleton(source.model, inputs)
    try:
        skeleton = shape_inference.infer_shapes(skeleton, data_prop=True)
    except shape_inference.InferenceError as error:
        # What is wrong is found, with better words, when the node is built.
        warnings.append(f"ONNX's shape inference failed: {str(error).splitlines()[0]}")
    inferred = cast(messages.Model, skeleton)
    types = {tensor.name: _constant_type(tensor) for tensor in source.model.graph.initializer}
    for value in (*inferred.graph.value_info, *inferred.graph.output):
        types[value.name] = declared_type(value)
    return types | {port.name: TensorInfo(port.dtype, port.shape) for port in inputs}


def _constant_type(tensor: messages.Tensor) -> TensorInfo:
    return TensorInfo(type_name(tensor.data_type), tuple(tensor.dims))


def _skeleton(model: messages.Model, inputs: Sequence[Port]) -> Any:
    """The model with the shapes of `inputs` and without the data of large constants."""
    from onnx import ModelProto, helper

    full = cast(Any, model)
    bare = ModelProto(ir_version=full.ir_version)
    bare.opset_import.extend(full.opset_import)
    bare.functions.extend(full.functions)
    graph = cast(Any, bare.graph)
    graph.name = "skeleton"
    graph.node.extend(full.graph.node)
    graph.output.extend(full.graph.output)
    graph.value_info.extend(full.graph.value_info)
    numbers = {name: number for number, name in ELEMENT_TYPES.items()}
    for name, dtype, shape in inputs:
        graph.input.append(helper.make_tensor_value_info(name, numbers[dtype], shape))
    for tensor in full.graph.initializer:
        if tensor.ByteSize() <= _SMALL and tensor.data_location != EXTERNAL:
            graph.initializer.append(tensor)
        else:
            graph.initializer.add(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
    return bare
