"""The parts of ONNX's protobuf messages that the importer reads, as types.

protobuf's generated classes are opaque to type checkers; these protocols say what npuc relies on
and keep `onnx` itself out of the import time of the compiler. Field names are ONNX's.
"""

from collections.abc import Sequence
from typing import Protocol


class Entry(Protocol):
    """A key and a value, as external data is described."""

    key: str
    value: str


class Tensor(Protocol):
    """`TensorProto`: a constant, with its data inline in one of five fields or in another file."""

    name: str
    dims: Sequence[int]
    data_type: int
    data_location: int
    raw_data: bytes
    float_data: Sequence[float]
    int32_data: Sequence[int]
    int64_data: Sequence[int]
    double_data: Sequence[float]
    external_data: Sequence[Entry]


class Dimension(Protocol):
    """`TensorShapeProto.Dimension`: a number, a name, or neither."""

    dim_value: int
    dim_param: str

    def HasField(self, name: str, /) -> bool:  # noqa: N802 (protobuf's name)
        """Whether the field was set."""
        ...


class Shape(Protocol):
    """`TensorShapeProto`."""

    dim: Sequence[Dimension]


class TensorType(Protocol):
    """`TypeProto.Tensor`: element type and, if known, shape."""

    elem_type: int
    shape: Shape

    def HasField(self, name: str, /) -> bool:  # noqa: N802 (protobuf's name)
        """Whether the field was set."""
        ...


class Type(Protocol):
    """`TypeProto`: of a tensor, a sequence, a map, ..."""

    tensor_type: TensorType

    def HasField(self, name: str, /) -> bool:  # noqa: N802 (protobuf's name)
        """Whether the field was set."""
        ...

    def WhichOneof(self, name: str, /) -> str | None:  # noqa: N802 (protobuf's name)
        """Which of the alternatives was set."""
        ...


class ValueInfo(Protocol):
    """`ValueInfoProto`: the name and type of a tensor."""

    name: str
    type: Type


class Attribute(Protocol):
    """`AttributeProto`; `type` says which of the other fields holds the value."""

    name: str
    type: int
    ref_attr_name: str
    f: float
    i: int
    s: bytes
    t: Tensor
    floats: Sequence[float]
    ints: Sequence[int]


class Node(Protocol):
    """`NodeProto`: one operator."""

    name: str
    op_type: str
    domain: str
    input: Sequence[str]
    output: Sequence[str]
    attribute: Sequence[Attribute]


class Graph(Protocol):
    """`GraphProto`."""

    name: str
    node: Sequence[Node]
    initializer: Sequence[Tensor]
    sparse_initializer: Sequence[object]
    input: Sequence[ValueInfo]
    output: Sequence[ValueInfo]
    value_info: Sequence[ValueInfo]


class OperatorSet(Protocol):
    """`OperatorSetIdProto`: which version of a domain's operators the model uses."""

    domain: str
    version: int


class Model(Protocol):
    """`ModelProto`."""

    ir_version: int
    opset_import: Sequence[OperatorSet]
    graph: Graph

    def HasField(self, name: str, /) -> bool:  # noqa: N802 (protobuf's name)
        """Whether the field was set."""
        ...

    def ParseFromString(self, data: bytes, /) -> int:  # noqa: N802 (protobuf's name)
        """Replace the message by the one in `data`."""
        ...
