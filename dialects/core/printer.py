"""Writing IR text: xDSL's printer, with float constants in the form that reads back exactly."""

from __future__ import annotations

from io import StringIO
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer


class NpucPrinter(Printer):
    """Prints the floats of a builtin `dense` attribute as bytes in hex, never as decimals."""

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute or type."""
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            super().print_attribute(attribute)
            return
        dense = cast(DenseIntOrFPElementsAttr[Any], attribute)
        if not isinstance(dense.get_element_type(), AnyFloat):
            super().print_attribute(dense)
            return
        data, count = dense.data.data, len(dense)
        one = data[: len(data) // max(count, 1)]
        text = (one if data == one * count else data).hex().upper()
        self.print_string(f'dense<"0x{text}"> : ')
        super().print_attribute(dense.type)


def print_ir(op: Operation, *, generic: bool = False, locations: bool = False) -> str:
    """The text of an op, ending in a newline; parsing and printing it again gives the same text.

    `generic` prints every op in MLIR's generic form, `locations` adds `loc(...)` to every op.
    """
    stream = StringIO()
    printer = NpucPrinter(stream, print_generic_format=generic, print_debuginfo=locations)
    printer.print_op(op)
    return stream.getvalue() + "\n"
