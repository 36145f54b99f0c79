"""What it takes to import an operator: when it can be done, and how."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from .builder import GraphBuilder
from .node import Node

Build = Callable[[Node, GraphBuilder], Sequence[SSAValue]]
"""Adds the ops of a node to the graph and returns the values of its outputs."""

Refuse = Callable[[Node], str | None]
"""Why a node cannot be imported, or None. Types may be unknown; the constants are known."""


def accept(node: Node) -> str | None:
    """Refuses nothing."""
    del node


class Rule(NamedTuple):
    """How to import one operator.

    `summary` says in one sentence what of the operator is supported, for the reference page.
    """

    build: Build
    summary: str
    refuse: Refuse = accept


def long_factors(node: Node) -> str | None:
    """Refuses matrix products of integers that are not int32."""
    dtype = node.info(0).dtype
    if dtype in ("f16", "bf16", "f32", "f64", "i32", None):
        return None
    return f"matrix products of {dtype} are not supported, only those of floats and i32"


def normalized(axis: int, rank: int) -> int:
    """An axis counted from 0, of one that may count from the end."""
    return axis + rank if axis < 0 else axis
