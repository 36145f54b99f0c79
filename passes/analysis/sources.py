"""Which node of the model an op of a kernel works for, and how that is handed on."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects.core.origins import NODE, move_location


def inherit_source(old: Operation, new: Operation) -> None:
    """Give `new` the location and the source node of `old`."""
    move_location(old, new)
    node = old.attributes.get(NODE)
    if node is not None:
        new.attributes[NODE] = node
