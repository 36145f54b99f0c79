"""The part of a model that can be imported when the rest cannot: to tell of it, not to run it."""

from collections.abc import Collection
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ....dialects.core.store import Store
from .builder import GraphBuilder
from .importer import Survey, build_node
from .node import Node
from .shapes import Port
from .tensors import ELEMENT_TYPES


class Part(NamedTuple):
    """A module of the nodes that could be built, and the nodes that were left out.

    `left_out` has the unsupported nodes, and those that cannot be built as it is not known what
    type the results of unsupported ones have.
    """

    module: ModuleOp
    left_out: list[Node]


def import_part(found: Survey, unsupported: Collection[Node], store: Store) -> Part:
    """Import all but the `unsupported` nodes.

    Their results become inputs, so far as their static types are known; the module returns what no
    node in it reads. `InputError` if a node cannot take its inputs.
    """
    outside = [_static(name, found) for node in unsupported for name in node.outputs]
    inputs = [*found.inputs, *(port for port in outside if port is not None)]
    graph = GraphBuilder(inputs, found.constants.tensors, found.constants.makers, store)
    left_out: list[Node] = []
    unread: dict[str, None] = {}
    for node in found.nodes:
        if found.is_constant(node):
            continue
        if node in unsupported or not all(graph.knows(name) for name in node.inputs if name):
            left_out.append(node)
            continue
        build_node(node, graph)
        unread.update((name, None) for name in node.outputs if graph.knows(name))
        for name in node.inputs:
            unread.pop(name, None)
    module, _ = graph.finish([*unread])
    return Part(module, left_out)


def _static(name: str, found: Survey) -> Port | None:
    """The tensor as an input, if npuc has its element type and every size of it is known."""
    info = found.types.get(name)
    if info is None or info.shape is None or info.dtype not in ELEMENT_TYPES.values():
        return None
    sizes = tuple(size for size in info.shape if size is not None)
    return Port(name, str(info.dtype), sizes) if len(sizes) == len(info.shape) else None
