"""Attributes every level may carry: origins, steps, weights in the store, and constant data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BytesAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Data, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .dtypes import Array, from_numpy, itemsize, to_numpy
from .errors import InputError
from .steps import Ints, Step, StepArgument, Typed, infer_steps

_ELEMENT_TYPES: dict[str, Attribute] = {
    "f32": Float32Type(),
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f64": Float64Type(),
    "i8": IntegerType(8),
    "ui8": IntegerType(8, Signedness.UNSIGNED),
    "i16": IntegerType(16),
    "i32": IntegerType(32),
    "i64": IntegerType(64),
    "bool": IntegerType(1),
}
_ELEMENT_NAMES = {element: name for name, element in _ELEMENT_TYPES.items()}


def element_type(name: str) -> Attribute:
    """The IR type of the element type `name` (`bool` is `i1`); `InputError` if there is none."""
    to_numpy(name)
    return _ELEMENT_TYPES[name]


def element_name(element: Attribute) -> str:
    """The name of an IR element type (`i1` is `bool`); `InputError` if npuc has no such type."""
    try:
        return _ELEMENT_NAMES[element]
    except KeyError:
        known = ", ".join(_ELEMENT_NAMES.values())
        raise InputError(
            f"`{element}` is not an element type of npuc", hint=f"use one of {known}"
        ) from None


def tensor_of(dtype: str, shape: Iterable[int]) -> TensorType[Attribute]:
    """The tensor type of an element type name and a static shape."""
    return TensorType(element_type(dtype), list(shape))


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a value that must be a tensor; `VerifyException` if it is not."""
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"expected a tensor, got `{value.type}`")
    return cast(TensorType[Attribute], value.type)


def typed(tensor: TensorType[Attribute]) -> Typed:
    """Element type name and shape of a static tensor type."""
    return Typed(element_name(tensor.element_type), tuple(tensor.get_shape()))


@irdl_attr_definition
class StepAttr(Data[Step]):
    """One recorded step: `#core.step<"transpose", [1, 0]>`, `#core.step<"cast", f16>`,
    `#core.step<"reshape", [2, 8]>`, `#core.step<"slice", [[0, 4], [2, 4]]>`.
    """

    name = "core.step"

    @classmethod
    def of(cls, name: str, argument: StepArgument) -> StepAttr:
        """The attribute of the step `name` with `argument`."""
        return cls(Step(name, argument))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Step:
        """Parse `<"name", argument>`."""
        with parser.in_angle_brackets():
            name = parser.parse_str_literal()
            parser.parse_punctuation(",")
            return Step(name, _parse_argument(parser))

    def print_parameter(self, printer: Printer) -> None:
        """Print `<"name", argument>`."""
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data.name)
            argument = self.data.argument
            text = argument if isinstance(argument, str) else _list_text(argument)
            printer.print_string(f", {text}")


def _list_text(entries: Ints | tuple[Ints, Ints]) -> str:
    parts = (_list_text(x) if isinstance(x, tuple) else str(x) for x in entries)
    return f"[{', '.join(parts)}]"


def _parse_argument(parser: AttrParser) -> StepArgument:
    def entry() -> int | Ints:
        nested = parser.parse_optional_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_integer
        )
        return parser.parse_integer() if nested is None else tuple(nested)

    entries = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, entry)
    if entries is None:
        return parser.parse_identifier()
    return cast(StepArgument, tuple(entries))


@irdl_attr_definition
class OriginAttr(ParametrizedAttribute):
    """A tensor of the model that a value is, or is a view of.

    `#core.origin<"node", "tensor">`, or `#core.origin<"node", "tensor", [steps]>` when the value is
    the model's tensor after those steps.
    """

    name = "core.origin"

    node: StringAttr
    tensor: StringAttr
    steps: ArrayAttr[StepAttr]

    @classmethod
    def of(cls, node: str, tensor: str, steps: Iterable[Step] = ()) -> OriginAttr:
        """The origin `tensor`, produced by `node`, seen through `steps`."""
        return cls(StringAttr(node), StringAttr(tensor), ArrayAttr(map(StepAttr, steps)))

    @property
    def key(self) -> tuple[str, str]:
        """Node and tensor, which identify what is observed however it is viewed."""
        return self.node.data, self.tensor.data

    @property
    def view(self) -> tuple[Step, ...]:
        """The steps from the model's tensor to the value."""
        return tuple(step.data for step in self.steps)

    def after(self, step: Step) -> OriginAttr:
        """The origin of the value that `step` makes of this one."""
        return OriginAttr(self.node, self.tensor, ArrayAttr([*self.steps, StepAttr(step)]))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"node", "tensor"[, [steps]]>`."""
        with parser.in_angle_brackets():
            node = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            tensor = StringAttr(parser.parse_str_literal())
            steps = _parse_optional_steps(parser)
        return node, tensor, steps

    def print_parameters(self, printer: Printer) -> None:
        """Print `<"node", "tensor"[, [steps]]>`."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.node)
            printer.print_string(", ")
            printer.print_attribute(self.tensor)
            if len(self.steps):
                printer.print_string(", ")
                printer.print_attribute(self.steps)


def _parse_optional_steps(parser: AttrParser) -> ArrayAttr[StepAttr]:
    if parser.parse_optional_punctuation(",") is None:
        return ArrayAttr(())

    def entry() -> StepAttr:
        attribute = parser.parse_attribute()
        if not isinstance(attribute, StepAttr):
            parser.raise_error("expected a #core.step")
        return attribute

    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, entry))


@irdl_attr_definition
class BlobAttr(ParametrizedAttribute):
    """Weight data outside the text: `#core.blob<tensor<64x32xf32>, "digest", "uri", [steps]>`.

    `stored` is the type of the bytes at `uri` (see `store.py`), `digest` their content hash;
    `steps` are performed on reading.
    """

    name = "core.blob"

    stored: TensorType[Attribute]
    digest: StringAttr
    uri: StringAttr
    steps: ArrayAttr[StepAttr]

    @classmethod
    def of(
        cls, stored: TensorType[Attribute], digest: str, uri: str, steps: Iterable[Step] = ()
    ) -> BlobAttr:
        """The blob of the bytes with `digest` at `uri`, holding the tensor type `stored`."""
        return cls(stored, StringAttr(digest), StringAttr(uri), ArrayAttr(map(StepAttr, steps)))

    @property
    def recipe(self) -> tuple[Step, ...]:
        """The steps performed on reading."""
        return tuple(step.data for step in self.steps)

    def result(self) -> TensorType[Attribute]:
        """The tensor type after the steps; `InputError` if they do not fit."""
        return tensor_of(*infer_steps(typed(self.stored), self.recipe))

    def after(self, step: Step) -> BlobAttr:
        """The blob with one more step."""
        return BlobAttr.of(self.stored, self.digest.data, self.uri.data, (*self.recipe, step))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<type, "digest", "uri", [steps]>`; the list may be left out."""
        with parser.in_angle_brackets():
            stored = parser.parse_type()
            parser.parse_punctuation(",")
            digest = StringAttr(parser.parse_str_literal())
            parser.parse_punctuation(",")
            uri = StringAttr(parser.parse_str_literal())
            steps = _parse_optional_steps(parser)
        return stored, digest, uri, steps

    def print_parameters(self, printer: Printer) -> None:
        """Print `<type, "digest", "uri"[, [steps]]>`."""
        with printer.in_angle_brackets():
            printer.print_list((self.stored, self.digest, self.uri), printer.print_attribute)
            if len(self.steps):
                printer.print_string(", ")
                printer.print_attribute(self.steps)

    def verify(self) -> None:
        """The stored type is static and the steps fit it."""
        try:
            self.result()
        except InputError as error:
            raise VerifyException(str(error)) from error


@irdl_attr_definition
class DenseAttr(ParametrizedAttribute):
    """Constant data of a static tensor, held as little-endian bytes.

    Prints `#core.dense<"0x...", tensor<4xf32>>` (bytes in hex); a single element's bytes stand for
    a tensor filled with it. Unlike the builtin `dense<[...]>`, no float ever passes through decimal
    text.
    """

    name = "core.dense"

    bytes_: BytesAttr
    tensor: TensorType[Attribute]

    @classmethod
    def of(cls, array: Array) -> DenseAttr:
        """The constant equal to `array` bit for bit; one element is kept if all are the same."""
        raw = np.ascontiguousarray(array).tobytes()
        one = array.dtype.itemsize
        if raw and raw == raw[:one] * array.size:
            raw = raw[:one]
        return cls(BytesAttr(raw), tensor_of(from_numpy(array.dtype), array.shape))

    @property
    def data(self) -> bytes:
        """The bytes, of one element for a splat."""
        return self.bytes_.data

    def is_splat(self) -> bool:
        """Whether one element stands for all."""
        return len(self.data) == itemsize(element_name(self.tensor.element_type))

    def array(self) -> Array:
        """The data as a read-only array of the tensor's shape and type."""
        dtype, shape = typed(self.tensor)
        flat = np.frombuffer(self.data, to_numpy(dtype))
        return np.broadcast_to(flat[0], shape) if self.is_splat() else flat.reshape(shape)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"0x...", type>`."""
        with parser.in_angle_brackets():
            data = parse_hex(parser, parser.parse_str_literal())
            parser.parse_punctuation(",")
            return data, parser.parse_type()

    def print_parameters(self, printer: Printer) -> None:
        """Print `<"0x...", type>`."""
        with printer.in_angle_brackets():
            printer.print_string(f'"0x{self.data.hex().upper()}", ')
            printer.print_attribute(self.tensor)

    def verify(self) -> None:
        """The shape is static and there are bytes for all elements, or for one."""
        try:
            dtype, shape = typed(self.tensor)
        except InputError as error:
            raise VerifyException(error.what) from error
        need = math.prod(shape) * itemsize(dtype)
        if any(n < 0 for n in shape):
            raise VerifyException(f"`{self.tensor}` is not static")
        if len(self.data) not in (need, itemsize(dtype)):
            raise VerifyException(f"`{self.tensor}` takes {need} bytes, got {len(self.data)}")


def parse_hex(parser: AttrParser, text: str, start: int | None = None) -> BytesAttr:
    """The bytes of a string literal `text` of the form `0x...`; else a parse error at `start`."""
    try:
        return BytesAttr(bytes.fromhex(text.removeprefix("0x")))
    except ValueError:
        parser.raise_error('expected bytes in hex, as in "0x0000803F"', start)
