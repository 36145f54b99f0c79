"""The register type, and the attribute that holds what an instruction carries besides registers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from math import inf, isinf, isnan, nan
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .spec import REGISTERS

VIRTUAL = -1


@irdl_attr_definition
class RegType(ParametrizedAttribute, TypeAttribute):
    """A 64-bit scalar register: `!npu_isa.reg` before allocation, `!npu_isa.reg<5>` after."""

    name = "npu_isa.reg"
    number: IntAttr = param_def()

    @staticmethod
    @lru_cache
    def of(number: int | None = None) -> RegType:
        """The virtual register type, or that of physical register `number`."""
        return RegType(IntAttr(VIRTUAL if number is None else number))

    @property
    def physical(self) -> int | None:
        """Number of the physical register; None for a virtual one."""
        return None if self.number.data == VIRTUAL else self.number.data

    def verify(self) -> None:
        """Refuse numbers the machine does not have."""
        if not VIRTUAL <= self.number.data < REGISTERS:
            raise VerifyException(f"r{self.number.data} is outside r0..r{REGISTERS - 1}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<5>` or nothing."""
        if parser.parse_optional_punctuation("<") is None:
            return (IntAttr(VIRTUAL),)
        number = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation(">")
        return (IntAttr(number),)

    def print_parameters(self, printer: Printer) -> None:
        """Print `<5>` or nothing."""
        if self.physical is not None:
            printer.print_string(f"<{self.physical}>")


class Float(NamedTuple):
    """An f32 by its bits, so that equality tells -0.0 from 0.0 and NaN equals itself."""

    bits: int

    @staticmethod
    def of(value: float) -> Float:
        """`value` rounded to f32; every NaN becomes the same one.  Too large becomes infinite."""
        if isnan(value):
            return Float(0x7FC00000)
        try:
            return Float(int.from_bytes(struct.pack("<f", value), "little"))
        except OverflowError:
            return Float.of(inf if value > 0 else -inf)

    @property
    def value(self) -> float:
        """The number."""
        return float(struct.unpack("<f", self.bits.to_bytes(4, "little"))[0])


class Offset(NamedTuple):
    """An address: whether a register operand is its base, and the byte offset."""

    based: bool
    bytes: int


Payload: TypeAlias = Offset | Float | int | str | None
"""What a field holds; None stands for a register operand."""


@irdl_attr_definition
class FieldsAttr(Data[tuple[Payload, ...]]):
    """The fields of an instruction in the order of its specification, without register operands.

    `#npu_isa.fields<[reg + 64], [128], "f32", 64, reg>`: `reg` stands where the next operand of the
    op is the register.  Only the generic form shows it.
    """

    name = "npu_isa.fields"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Payload, ...]:
        """Parse what `print_parameter` writes."""
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.ANGLE, lambda: _parse_payload(parser)
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        """Print every field."""
        with printer.in_angle_brackets():
            printer.print_string(", ".join(_payload_text(p) for p in self.data))


def _payload_text(payload: Payload) -> str:
    match payload:
        case None:
            return "reg"
        case Offset(based, offset):
            return f"[reg + {offset}]" if based else f"[{offset}]"
        case Float():
            return float_text(payload)
        case str():
            return f'"{payload}"'
        case int():
            return str(payload)


def _parse_payload(parser: AttrParser) -> Payload:
    if parser.parse_optional_keyword("reg"):
        return None
    if parser.parse_optional_punctuation("["):
        based = parser.parse_optional_keyword("reg") is not None
        if based:
            parser.parse_punctuation("+")
        offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parser.parse_punctuation("]")
        return Offset(based, offset)
    text = parser.parse_optional_str_literal()
    if text is not None:
        return text
    return parse_number(parser)


_WORDS = {"inf": inf, "neg_inf": -inf, "nan": nan}


def float_text(number: Float) -> str:
    """Shortest text that reads back as the same f32."""
    value = number.value
    if isnan(value):
        return "nan"
    if isinf(value):
        return "inf" if value > 0 else "neg_inf"
    text = next(t for p in range(1, 10) if Float.of(float(t := f"{value:.{p}g}")) == number)
    if "." in text:
        return text
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa}.0{exponent}{power}"


def parse_number(parser: AttrParser) -> Float | int:
    """Parse an integer, or what `float_text` writes."""
    word = parser.parse_optional_keyword_in(tuple(_WORDS))
    if word is not None:
        return Float.of(_WORDS[word])
    number = parser.parse_number(allow_boolean=False)
    return Float.of(number) if isinstance(number, float) else number
