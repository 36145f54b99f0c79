"""One operator of a model as the import rules see it: names, types, attributes, constant inputs."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ....dialects.core.dtypes import Array
from ....dialects.core.errors import InputError
from . import messages
from .tensors import Constant

# `AttributeProto.AttributeType`
_FLOAT, _INT, _STRING, _TENSOR, _FLOATS, _INTS = 1, 2, 3, 4, 6, 7
_KINDS = {
    _FLOAT: "a float",
    _INT: "an integer",
    _STRING: "a string",
    _TENSOR: "a tensor",
    _FLOATS: "floats",
    _INTS: "integers",
}


class TensorInfo(NamedTuple):
    """What is known about a tensor before anything is built: unknown sizes and ranks are None."""

    dtype: str | None
    shape: tuple[int | None, ...] | None

    def __str__(self) -> str:
        """Like `f32[1,3,?]`."""
        if self.shape is None:
            return f"{self.dtype or '?'}[...]"
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype or '?'}[{sizes}]"


UNKNOWN = TensorInfo(None, None)


class Node:
    """One node of the model's graph.

    `opset` is the version of the node's domain; `inputs` holds "" for an optional one left out;
    `types` has an entry per input (from shape inference; may be unknown); `used` has all tensors
    that a node reads or the graph returns.
    """

    def __init__(
        self,
        proto: messages.Node,
        index: int,
        opset: int,
        types: Mapping[str, TensorInfo],
        constants: Mapping[str, Constant],
        used: AbstractSet[str],
    ) -> None:
        self.proto = proto
        self.index = index
        self.opset = opset
        self.op = proto.op_type
        self.domain = "" if proto.domain == "ai.onnx" else proto.domain
        self.name = proto.name or f"{proto.op_type}_{index}"
        self.inputs = tuple(proto.input)
        self.outputs = tuple(proto.output)
        self.types = tuple(types.get(name, UNKNOWN) for name in self.inputs)
        self._constants = constants
        self._used = used
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    @property
    def where(self) -> str:
        """The node in messages: name, operator, opset."""
        domain = f"{self.domain}." if self.domain else ""
        return f"node `{self.name}` ({domain}{self.op}, opset {self.opset})"

    def has_input(self, index: int) -> bool:
        """Whether the optional input is there."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def uses_output(self, index: int) -> bool:
        """Whether the output is there and anything reads it."""
        return index < len(self.outputs) and self.outputs[index] in self._used

    def info(self, index: int) -> TensorInfo:
        """What is known about an input; UNKNOWN also for one that is left out."""
        return self.types[index] if self.has_input(index) else UNKNOWN

    def constant(self, index: int) -> Array | None:
        """The values of an input that is a constant of the model, else None."""
        if not self.has_input(index):
            return None
        found = self._constants.get(self.inputs[index])
        return found.values() if found else None

    def has(self, name: str) -> bool:
        """Whether the attribute is set."""
        return name in self._attributes

    @property
    def attributes(self) -> Sequence[str]:
        """The names of the attributes that are set."""
        return tuple(self._attributes)

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        found = self._attribute(name, _INT)
        return int(found.i) if found else default

    def real(self, name: str, default: float) -> float:
        """A float attribute (f32)."""
        found = self._attribute(name, _FLOAT)
        return float(found.f) if found else default

    def text(self, name: str, default: str) -> str:
        """A string attribute; `InputError` if it is not UTF-8."""
        found = self._attribute(name, _STRING)
        if found is None:
            return default
        try:
            return bytes(found.s).decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"the attribute `{name}` is no text", where=self.where, why=str(error)
            ) from error

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list of integers, or None if it is not set."""
        found = self._attribute(name, _INTS)
        return tuple(int(i) for i in found.ints) if found else None

    def reals(self, name: str) -> tuple[float, ...] | None:
        """A list of floats, or None if it is not set."""
        found = self._attribute(name, _FLOATS)
        return tuple(found.floats) if found else None

    def tensor(self, name: str) -> tuple[int, messages.Tensor] | None:
        """A tensor attribute with its index among the attributes, or None if it is not set."""
        found = self._attribute(name, _TENSOR)
        return (list(self._attributes).index(name), found.t) if found else None

    def _attribute(self, name: str, kind: int) -> messages.Attribute | None:
        """The attribute, checked to hold what the operator wants."""
        found = self._attributes.get(name)
        if found is None:
            return None
        if found.ref_attr_name or found.type != kind:
            raise InputError(
                f"the attribute `{name}` is not {_KINDS[kind]}",
                where=self.where,
                why=f"it is {_KINDS.get(found.type, f'of kind {found.type}')}",
            )
        return found
