"""`import_onnx`: a model becomes a module of the graph dialect."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ....dialects.core.errors import InputError
from ....dialects.core.store import Store
from .builder import GraphBuilder
from .constants import Constants, read_constants
from .node import Node, TensorInfo
from .reading import Source, read_model
from .shapes import Port, declared_type, fix_inputs, infer_types
from .support import RULES, check
from .tensors import Constant


class Imported(NamedTuple):
    """A model as a module with `func.func @main`, and what to know about it.

    `warnings` are sentences about what was assumed; `inputs` and `outputs` are in the order of the
    model; `operators` has the operator of each node by the node's name.
    """

    module: ModuleOp
    warnings: list[str]
    inputs: list[Port]
    outputs: list[Port]
    operators: dict[str, str]


class Survey(NamedTuple):
    """A model as read: what is known of its tensors and nodes before anything is built.

    `versions` has the operator set of each domain, `types` every tensor of which something is
    known, `warnings` sentences about what was assumed.
    """

    source: Source
    versions: dict[str, int]
    inputs: list[Port]
    constants: Constants
    types: dict[str, TensorInfo]
    nodes: list[Node]
    warnings: list[str]

    @property
    def name(self) -> str:
        """What to call the model in messages."""
        return self.source.name

    @property
    def given(self) -> list[str]:
        """The tensors that are there before the first node."""
        stored = (tensor.name for tensor in self.source.model.graph.initializer)
        return [*(port.name for port in self.inputs), *stored]

    def is_constant(self, node: Node) -> bool:
        """Whether all that a node makes is known already, so that it is not built."""
        return all(output in self.constants.tensors for output in node.outputs)


def import_onnx(
    source: object, store: Store, shapes: Mapping[str, Sequence[int]] | None = None
) -> Imported:
    """Import an ONNX model: a path, the bytes of a file, or an `onnx.ModelProto`.

    Weights go to `store`; those of a file stay in it. `shapes` gives inputs with open sizes their
    shape by name. Node and tensor names become `core.origins`, names of inputs and outputs
    `core.name`.

    `InputError` for what is not a model or not valid, `UnsupportedError` listing every node that
    cannot be imported.
    """
    found = survey(source, shapes)
    check(found.name, found.nodes, found.given)
    return build_module(found, store)


def build_module(found: Survey, store: Store) -> Imported:
    """The module of a model whose nodes are all supported; `InputError` as for `import_onnx`."""
    graph = GraphBuilder(found.inputs, found.constants.tensors, found.constants.makers, store)
    for node in found.nodes:
        if not found.is_constant(node):
            build_node(node, graph)
    module, outputs = graph.finish(_output_names(found.source, graph))
    _compare(found.source, outputs, found.warnings)
    operators = {node.name: node.op for node in found.nodes}
    return Imported(module, found.warnings, found.inputs, outputs, operators)


def survey(source: object, shapes: Mapping[str, Sequence[int]] | None = None) -> Survey:
    """Read a model as `import_onnx` does, without checking or building any node."""
    read = read_model(source)
    warnings: list[str] = []
    versions = _versions(read, warnings)
    inputs = fix_inputs(read, shapes or {}, warnings)
    constants = read_constants(read, versions[""])
    types = infer_types(read, inputs, warnings)
    nodes = _nodes(read, versions, types, constants.tensors)
    return Survey(read, versions, inputs, constants, types, nodes, warnings)


def _versions(source: Source, warnings: list[str]) -> dict[str, int]:
    """The operator set version of each domain; "" is ONNX's own."""
    from onnx import defs

    versions = {
        "" if entry.domain == "ai.onnx" else entry.domain: entry.version
        for entry in source.model.opset_import
    }
    own = versions.setdefault("", 1)
    if own > defs.onnx_opset_version():
        warnings.append(
            f"opset {own} is newer than the installed onnx knows ({defs.onnx_opset_version()}); "
            "operators are read as of that"
        )
    return versions


def _nodes(
    source: Source,
    versions: Mapping[str, int],
    types: Mapping[str, TensorInfo],
    constants: Mapping[str, Constant],
) -> list[Node]:
    """The nodes of the graph, with what is known about them."""
    graph = source.model.graph
    used = {tensor for proto in graph.node for tensor in proto.input}
    used |= {value.name for value in graph.output}
    nodes: list[Node] = []
    for index, proto in enumerate(graph.node):
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        version = versions.get(domain, 0)
        nodes.append(Node(proto, index, version, types, constants, used))
    return nodes


def build_node(node: Node, graph: GraphBuilder) -> None:
    """Add a node's ops; `InputError` if the types of its inputs are not right for it."""
    try:
        values = RULES[node.op].build(node, graph)
    except VerifyException as error:
        types = ", ".join(str(graph.value(name).type) for name in node.inputs if name)
        raise InputError(
            f"the operator {node.op} cannot take these inputs: {types}",
            where=node.where,
            why=str(error),
            hint="`onnx.checker.check_model(model, full_check=True)` may say more",
        ) from error
    for value, tensor in zip(values, node.outputs, strict=False):  # unused optional outputs
        graph.name(value, node.name, tensor)


def _output_names(source: Source, graph: GraphBuilder) -> list[str]:
    """The names of the graph's outputs; `InputError` if one is never made."""
    names = [value.name for value in source.model.graph.output]
    missing = [name for name in names if not graph.knows(name)]
    if missing:
        raise InputError(
            f"{source.name} is not a valid ONNX model",
            why=f"no node makes its output {', '.join(missing)}",
        )
    return names


def _compare(source: Source, outputs: Sequence[Port], warnings: list[str]) -> None:
    """Warn where the model says something else about an output than its nodes do."""
    for value, port in zip(source.model.graph.output, outputs, strict=True):
        said = declared_type(value)
        sizes = said.shape if said.shape is not None else port.shape
        agree = len(sizes) == len(port.shape) and all(
            a in (None, b) for a, b in zip(sizes, port.shape, strict=True)
        )
        if not agree or said.dtype not in (None, port.dtype):
            warnings.append(f"output `{port.name}` is said to be {said}, but its nodes give {port}")
