"""Where an op came from, as text for messages: source position, then the node of the model."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation

from .origins import node_of


def position(location: Attribute) -> str | None:
    """`file:line:col` of a location, the innermost if it is nested; None if unknown."""
    match location:
        case FileLineColLoc():
            name = location.filename.data
            return f"{name}:{location.line.data}:{location.column.data}"
        case NameLoc():
            return position(location.location)
        case CallSiteLoc():
            return position(location.callee)
        case FusedLoc():
            inner = cast(ArrayAttr[Attribute], location.locations)
            return next(filter(None, map(position, inner)), None)
        case _:
            return None


def _node_inside(op: Operation) -> str | None:
    """The node of the last op in `op` that has one; None for functions and modules."""
    parent = op.parent_op()
    if parent is None or parent.parent_op() is None:
        return None
    nodes = [node for inner in op.walk() if (node := node_of(inner)) is not None]
    return nodes[-1] if nodes else None


def where(op: Operation) -> str | None:
    """`file:line:col (node "/conv1")` of `op`, or what is known, looking at enclosing ops too.

    An op of a function that only holds others has the node of the last of them. None if neither a
    position nor a node is known.
    """
    found: str | None = None
    node = node_of(op) or _node_inside(op)
    current: Operation | None = op
    while current is not None and (found is None or node is None):
        found = found or position(current.location)
        node = node or node_of(current)
        current = current.parent_op()
    parts = (found, f'(node "{node}")' if node is not None else None)
    return " ".join(filter(None, parts)) or None
