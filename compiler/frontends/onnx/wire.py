"""Where the raw bytes of a model's constants are in its file.

protobuf hands out copies of the bytes and does not say where they came from. This walks the wire
format (https://protobuf.dev/programming-guides/encoding) just deep enough to know, skipping
everything else by its length, so that weights can stay in the file.
"""

from collections.abc import Iterator
from typing import NamedTuple

# field numbers of onnx.proto
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_INITIALIZER = 1, 5
_NODE_ATTRIBUTE = 5
_ATTRIBUTE_TENSOR = 5
_TENSOR_FLOAT_DATA, _TENSOR_RAW_DATA, _TENSOR_DOUBLE_DATA = 4, 9, 10
# A packed list of fixed-size numbers is their little-endian bytes, just like raw data.
_LITTLE_ENDIAN_DATA = (_TENSOR_FLOAT_DATA, _TENSOR_RAW_DATA, _TENSOR_DOUBLE_DATA)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message: its number and the bytes of its value."""

    number: int
    wire: int
    start: int
    end: int


class WireError(ValueError):
    """The bytes are not protobuf, or end in the middle of a field."""


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number encoded at `at`, and where the next byte is."""
    value = shift = 0
    while at < end and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError(f"no number at byte {at}")


def _fields(data: bytes, start: int, end: int) -> Iterator[Field]:
    """The fields of the message `data[start:end]`, in order; `WireError` if it is cut off."""
    at = start
    while at < end:
        key, at = _varint(data, at, end)
        wire = key & 7
        if wire == _BYTES:
            length, at = _varint(data, at, end)
            stop = at + length
        elif wire == _VARINT:
            _, stop = _varint(data, at, end)
        elif wire in (_FIXED64, _FIXED32):
            stop = at + (8 if wire == _FIXED64 else 4)
        else:
            raise WireError(f"wire type {wire} at byte {at}")
        if stop > end:
            raise WireError(f"a field runs to byte {stop} of {end}")
        yield Field(key >> 3, wire, at, stop)
        at = stop


def _messages(data: bytes, within: Field, number: int) -> list[Field]:
    """The sub-messages with field number `number` of the message `within`."""
    fields = _fields(data, within.start, within.end)
    return [field for field in fields if field.number == number and field.wire == _BYTES]


def _tensor_data(data: bytes, tensor: Field) -> tuple[int, int] | None:
    """Offset and length of the little-endian data of a `TensorProto`, if in one piece."""
    pieces = [
        field
        for field in _fields(data, tensor.start, tensor.end)
        if field.number in _LITTLE_ENDIAN_DATA
    ]
    if len(pieces) != 1 or pieces[0].wire != _BYTES:
        return None  # no data, or old unpacked numbers with a key before each
    return pieces[0].start, pieces[0].end - pieces[0].start


class Ranges(NamedTuple):
    """Offset and length in the file of the data of initialisers and of nodes' tensor attributes.

    `initializers[i]` belongs to `graph.initializer[i]`, `attributes[n, a]` to attribute `a` of
    node `n`.
    """

    initializers: list[tuple[int, int] | None]
    attributes: dict[tuple[int, int], tuple[int, int]]


def data_ranges(data: bytes) -> Ranges:
    """The ranges of all constants of the `ModelProto` in `data`, which protobuf could read.

    None of a message with parts that only protobuf itself understands.
    """
    try:
        return _graph_ranges(data)
    except WireError:
        return Ranges([], {})


def _graph_ranges(data: bytes) -> Ranges:
    graphs = _messages(data, Field(0, _BYTES, 0, len(data)), _MODEL_GRAPH)
    if len(graphs) != 1:
        return Ranges([], {})  # protobuf merges several; they would have to be counted together
    initializers: list[tuple[int, int] | None] = []
    attributes: dict[tuple[int, int], tuple[int, int]] = {}
    nodes = 0
    for field in _fields(data, graphs[0].start, graphs[0].end):
        if field.number == _GRAPH_INITIALIZER:
            initializers.append(_tensor_data(data, field))
        elif field.number == _GRAPH_NODE:
            for index, attribute in enumerate(_messages(data, field, _NODE_ATTRIBUTE)):
                for tensor in _messages(data, attribute, _ATTRIBUTE_TENSOR):
                    found = _tensor_data(data, tensor)
                    if found:
                        attributes[nodes, index] = found
            nodes += 1
    return Ranges(initializers, attributes)


def ends_early(data: bytes) -> bool:
    """Whether `data` begins like an ONNX model (its IR version first) but has no end."""
    if not data.startswith(b"\x08"):
        return False
    try:
        for _ in _fields(data, 0, len(data)):
            pass
    except WireError:
        return True
    return False
