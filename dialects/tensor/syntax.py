"""Text form that all structured ops share, and that of `tensor.group`.

```
name(%a, %b) maps [map, map] -> map iterators [parallel, reduction] combine add
    pads [[[1, 1], [0, 0]], []] bounds [4, 8] attributes {..} {
^bb0(%x : f32, %y : f32):
  ..
} : (type, type) -> type
```
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

Fields = dict[str, Attribute]
Entry = TypeVar("Entry")


def print_structured(
    op: Operation, maps: ArrayAttr[AffineMapAttr], fields: dict[str, str], printer: Printer
) -> None:
    """Print everything after the name of a structured op; `fields` are keyword and text."""
    printer.print_operands(op.operands)
    printer.print_string(" maps [")
    printer.print_list(maps.data[:-1], printer.print_attribute)
    printer.print_string("] -> ")
    printer.print_attribute(maps.data[-1])
    for keyword, text in fields.items():
        printer.print_string(f" {keyword} {text}")
    _print_attributes(op, printer)
    printer.print_string(" ")
    printer.print_region(op.regions[0])
    printer.print_string(" : ")
    printer.print_function_type(
        [operand.type for operand in op.operands], [result.type for result in op.results]
    )


def parse_structured(
    parser: Parser,
) -> tuple[Sequence[SSAValue], Attribute, Fields, Fields, Region]:
    """Parse what `print_structured` writes: operands, result type, properties, attributes, body."""
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_unresolved_operand
    )
    parser.parse_keyword("maps")
    maps = _parse_list(parser, lambda: _parse_map(parser))
    parser.parse_punctuation("->")
    maps.append(_parse_map(parser))
    parser.parse_keyword("iterators")
    iterators = _parse_list(parser, lambda: StringAttr(parser.parse_identifier()))
    properties: Fields = {
        "indexing_maps": ArrayAttr(maps),
        "iterator_types": ArrayAttr(iterators),
    }
    if parser.parse_optional_keyword("combine"):
        properties["combine"] = StringAttr(parser.parse_identifier())
    if parser.parse_optional_keyword("pads"):
        properties["pads"] = ArrayAttr(_parse_list(parser, lambda: _parse_pads(parser)))
    if parser.parse_optional_keyword("bounds"):
        bounds = _parse_list(parser, parser.parse_integer)
        properties["bounds"] = DenseArrayBase.from_list(i64, bounds)
    attributes = _parse_attributes(parser)
    body = parser.parse_region()
    parser.parse_punctuation(":")
    inputs, result = _parse_types(parser)
    return (
        parser.resolve_operands(operands, inputs, parser.pos),
        result,
        properties,
        attributes,
        body,
    )


def _parse_list(parser: Parser, parse: Callable[[], Entry]) -> list[Entry]:
    return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse)


def _parse_pads(parser: Parser) -> DenseArrayBase[IntegerType]:
    """`[[before, after], ..]` of one input, or `[]`."""
    pairs = _parse_list(parser, lambda: _parse_list(parser, parser.parse_integer))
    if any(len(pair) != 2 for pair in pairs):
        parser.raise_error("expected [before, after] for each axis")
    return DenseArrayBase.from_list(i64, [size for pair in pairs for size in pair])


def _parse_map(parser: Parser) -> AffineMapAttr:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, AffineMapAttr):
        parser.raise_error("expected affine_map<..>")
    return attribute


def _parse_types(parser: Parser) -> tuple[Sequence[Attribute], Attribute]:
    position = parser.pos
    signature = parser.parse_type()
    if not isinstance(signature, FunctionType) or len(signature.outputs) != 1:
        parser.raise_error("expected (input types) -> result type", position)
    return signature.inputs.data, signature.outputs.data[0]


def print_group(
    op: Operation, region: Region, kind: str, stopped: str | None, printer: Printer
) -> None:
    """Print `(%arg = %operand : type, ..) kind "k" stopped "why" {body} -> (types)`."""

    def print_binding(pair: tuple[SSAValue, SSAValue]) -> None:
        argument, operand = pair
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(operand)
        printer.print_string(" : ")
        printer.print_attribute(operand.type)

    with printer.in_parens():
        pairs = list(zip(region.block.args, op.operands, strict=True))
        printer.print_list(pairs, print_binding)
    printer.print_string(" kind ")
    printer.print_string_literal(kind)
    if stopped is not None:
        printer.print_string(" stopped ")
        printer.print_string_literal(stopped)
    _print_attributes(op, printer)
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_list(op.result_types, printer.print_attribute)


def parse_group(
    parser: Parser,
) -> tuple[Sequence[SSAValue], Sequence[Attribute], Fields, Fields, Region]:
    """Parse what `print_group` writes: operands, result types, properties, attributes, body."""

    def parse_binding() -> tuple[Parser.Argument, UnresolvedOperand]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return argument.resolve(parser.parse_type()), operand

    bindings = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_binding)
    arguments = [argument for argument, _ in bindings]
    operands = [parser.resolve_operand(operand, arg.type) for arg, operand in bindings]
    parser.parse_keyword("kind")
    properties: Fields = {"kind": StringAttr(parser.parse_str_literal())}
    if parser.parse_optional_keyword("stopped"):
        properties["stopped"] = StringAttr(parser.parse_str_literal())
    attributes = _parse_attributes(parser)
    body = parser.parse_region(arguments)
    parser.parse_punctuation("->")
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    return operands, types, properties, attributes, body


def _print_attributes(op: Operation, printer: Printer) -> None:
    if op.attributes:
        printer.print_op_attributes(op.attributes, print_keyword=True)


def _parse_attributes(parser: Parser) -> Fields:
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return {} if attributes is None else dict(attributes.data)
