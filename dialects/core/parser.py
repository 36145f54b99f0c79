"""Reading IR text: xDSL's parser with source locations, and no float that changes on the way in."""

from __future__ import annotations

import re
from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyDenseElement,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    RankedStructure,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Operation
from xdsl.parser import Parser, ParserState
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind, StringLiteral

from .errors import InputError
from .locations import where


class _Lexer(MLIRLexer):
    """xDSL's lexer, without the pattern that needs exponential time for a missing quote."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


class NpucParser(Parser):
    """Gives every op without a `loc(...)` the place where its text starts.

    Reads back strings that are not ASCII, which xDSL prints as escapes and would read as bytes.
    Refuses bare hex among the float elements of a builtin `dense<...>`, which xDSL would read as
    integers (`0xFF800000` as 4286578688.0); the string form `dense<"0x...">` is read bit for bit.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<text>") -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))
        self._text = text
        self._file = StringAttr(name)
        self._operation_start = 0
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def place(self) -> tuple[int, int]:
        """One-based line and column of the next token."""
        line = bisect_right(self._lines, self.pos)
        return line, self.pos - self._lines[line - 1] + 1

    def place_of_undefined(self) -> tuple[int, int] | None:
        """Where a value is used that the whole text does not define; None before its end."""
        if self.pos < len(self._text.rstrip()):
            return None
        values = (v for by_index in self.forward_ssa_references.values() for v in by_index.values())
        places = (use.operation.location for value in values for use in value.uses)
        found = (x for x in places if isinstance(x, FileLineColLoc))
        return next(((x.line.data, x.column.data) for x in found), None)

    def parse_operation(self) -> Operation:
        """Parse an op and set its location unless the text gives one."""
        self._operation_start = self.pos
        line, column = self.place()
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        found = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if found is None:
            self.raise_error(f"operation `{name}` is not registered", self._operation_start)
        return found

    def parse_optional_str_literal(self) -> str | None:
        """Parse a string, also one whose escapes are UTF-8."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        try:
            text = StringLiteral.from_span(token.span).bytes_contents.decode()
        except UnicodeDecodeError:
            return None
        self._consume_token()
        return text

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[AnyDenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        """Parse what follows `dense`, refusing bare hex elements of floats."""
        start = self.pos
        attribute = super().parse_dense_int_or_fp_elements_attr(type)
        if isinstance(attribute.get_element_type(), AnyFloat):
            literal = self._text[start : self._text.find(">", start)].lower()
            if "0x" in literal and '"' not in literal:
                self.raise_error(
                    'bare hex is read as an integer here; write floats as dense<"0x...">', start
                )
        return attribute


def parse_module(ctx: Context, text: str, name: str = "<text>", first_line: int = 1) -> ModuleOp:
    """The module in `text`, whose first line is line `first_line` of the file `name`.

    `InputError` with `file:line:col` for text that does not parse; nothing is verified.
    """
    parser: NpucParser | None = None
    place: tuple[int, int] | None = None
    try:
        # Blank lines in front give parser and messages the right line numbers.
        parser = NpucParser(ctx, "\n" * (first_line - 1) + text, name)
        module = parser.parse_module()
        _check_defined(module)
        return module
    except InputError:
        raise
    except ParseError as error:
        what = error.msg
        _, line, column = error.span.get_location()
        place = line, column
        if parser is not None:
            place = parser.place_of_undefined() or place
    except (VerifyException, ValueError) as error:
        what = str(error)
    except RecursionError:
        what = "regions are nested too deeply to be parsed"
    if place is None:
        place = (first_line, 1) if parser is None else parser.place()
    raise InputError(what, where=f"{name}:{place[0]}:{place[1]}")


def _check_defined(module: ModuleOp) -> None:
    """`InputError` for a value that only another region defines, which xDSL leaves open."""
    for op in module.walk():
        for operand in op.operands:
            if isinstance(operand, ForwardDeclaredValue):
                name = "" if operand.name_hint is None else f" %{operand.name_hint}"
                raise InputError(f"value{name} is used and not defined here", where=where(op))
