"""Text of one operand: `%r`, `[%r + 64]`, `[64]`, `64`, `1.5` or `f32`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from .spec import Field
from .types import Float, float_text, parse_number

if TYPE_CHECKING:
    from .ops import Value


def parse_register(parser: Parser) -> SSAValue:
    """Parse a use of a register that stands further up, and take its type from there."""
    value = parse_optional_register(parser)
    if value is None:
        parser.raise_error("expected a register")
    return value


def parse_optional_register(parser: Parser) -> SSAValue | None:
    """As `parse_register`, or nothing when no `%` follows."""
    operand = parser.parse_optional_unresolved_operand()
    if operand is None:
        return None
    defined = parser.ssa_values.get(operand.operand_name)
    if defined is None or operand.index >= len(defined):
        parser.raise_error(f"%{operand.operand_name} is not defined here", operand.span)
    return defined[operand.index]


def parse_operand(parser: Parser, field: Field) -> Value:
    """Parse an operand of the kind `field` takes."""
    match field.kind:
        case "addr":
            return _parse_address(parser)
        case "in":
            return parse_register(parser)
        case "f32":
            number = parse_number(parser)
            if isinstance(number, int):
                parser.raise_error(f"{field.name} takes a number with a point, such as {number}.0")
            return number.value
        case _ if field.enum is not None:
            return parser.parse_identifier()
        case _:
            register = parse_optional_register(parser) if field.kind == "ri" else None
            return parser.parse_integer(allow_boolean=False) if register is None else register


def _parse_address(parser: Parser) -> tuple[SSAValue | None, int]:
    parser.parse_punctuation("[")
    base = parse_optional_register(parser)
    offset = 0
    if base is None or parser.parse_optional_punctuation("+"):
        offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
    parser.parse_punctuation("]")
    return base, offset


def print_operand(printer: Printer, value: Value) -> None:
    """Print what `parse_operand` reads."""
    if isinstance(value, SSAValue):
        printer.print_ssa_value(value)
    elif isinstance(value, tuple):
        base, offset = value
        printer.print_string("[")
        if base is not None:
            printer.print_ssa_value(base)
        if base is None or offset:
            printer.print_string(f"{' + ' if base is not None else ''}{offset}")
        printer.print_string("]")
    elif isinstance(value, float):
        printer.print_string(float_text(Float.of(value)))
    else:
        printer.print_string(str(value))


def parse_register_type(parser: Parser, default: Attribute) -> Attribute:
    """Parse `: type` or take `default`."""
    return parser.parse_type() if parser.parse_optional_punctuation(":") else default
