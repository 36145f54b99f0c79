"""The text inside `dense<...>` of `core.constant`: hex bytes for floats, lists for integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import DenseAttr, element_name, parse_hex, typed
from .dtypes import is_float, to_numpy
from .errors import InputError

Nested: TypeAlias = "int | bool | list[Nested]"
Resolve: TypeAlias = Callable[[Attribute], DenseAttr]


def print_dense(printer: Printer, value: DenseAttr) -> None:
    """Print `"0x..."` for floats and empty tensors, else one element for all or nested lists."""
    if is_float(element_name(value.tensor.element_type)) or not value.data:
        printer.print_string(f'"0x{value.data.hex().upper()}"')
        return
    array = value.array()
    printer.print_string(_list_text((array.flat[0] if value.is_splat() else array).tolist()))


def _list_text(element: Any) -> str:
    if isinstance(element, list):
        return f"[{', '.join(map(_list_text, cast(list[Any], element)))}]"
    return str(element).lower()


def parse_dense(parser: Parser) -> Resolve:
    """Parse the data; the returned function makes the attribute once the type is known.

    The type follows the data in the text. What does not fit it is a parse error that points at the
    data.
    """
    start = parser.pos
    text = parser.parse_optional_str_literal()
    data = None if text is None else parse_hex(parser, text, start)
    nested = _parse_nested(parser) if data is None else []
    end = parser.pos

    def resolve(type_: Attribute) -> DenseAttr:
        if not isinstance(type_, TensorType):
            parser.raise_error(f"`{type_}` is not a tensor type", start, end)
        tensor = cast(TensorType[Attribute], type_)
        try:
            return _from_nested(nested, tensor) if data is None else DenseAttr(data, tensor)
        except (InputError, VerifyException) as error:
            parser.raise_error(str(error), start, end)

    return resolve


def _parse_nested(parser: Parser) -> Nested:
    entries = parser.parse_optional_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: _parse_nested(parser)
    )
    if entries is not None:
        return entries
    truth = parser.parse_optional_boolean()
    return parser.parse_integer() if truth is None else truth


def _from_nested(nested: Nested, tensor: TensorType[Attribute]) -> DenseAttr:
    dtype, shape = typed(tensor)
    if is_float(dtype):
        raise VerifyException(
            f'floats are written as bytes in hex: dense<"0x..."> : {tensor}; decimal and bare hex '
            "elements do not survive every tool"
        )
    try:
        array = np.array(nested, dtype=to_numpy(dtype))
    except (OverflowError, ValueError) as error:
        raise VerifyException(f"the elements do not fit `{tensor}`: {error}") from error
    if array.ndim and array.shape != shape:
        raise VerifyException(f"the list has shape {list(array.shape)}, the type {list(shape)}")
    return DenseAttr.of(np.broadcast_to(array, shape))
