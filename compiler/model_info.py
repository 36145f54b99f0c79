"""What there is to know about an ONNX model without compiling it to the end."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ModuleOp

from ..dialects.core.errors import NpucError, PassError, UnsupportedError
from ..dialects.core.origins import node_of
from ..dialects.core.registry import make_context
from ..dialects.core.store import Store
from ..dialects.graph.base import ContractionOp, GraphOp, static_shape
from ..dialects.tensor.host import HostCallOp
from ..dialects.tensor.ops import GroupOp
from ..passes.tensor_to_tile.kernel import nodes_of
from .frontends.onnx.importer import Survey, build_module, survey
from .frontends.onnx.node import Node, TensorInfo
from .frontends.onnx.partial import import_part
from .frontends.onnx.shapes import declared_type
from .frontends.onnx.support import check_valid, unsupported
from .frontends.onnx.tensors import ELEMENT_TYPES, Constant
from .pipeline import Options, run_stages
from .progress import Tell, say_nothing

ENGINES = ("cube", "vector", "host", "none")
"""What computes a node; `none` for one that costs nothing: folded away, a view, a constant."""
_GROUPED = "fused"
"""The first stage at which it is known what runs where."""
_MANY = 500
"""The most nodes of a model that cannot be compiled for which engines are looked for, so that what
is missing is told within seconds."""
_NO_PARAMETERS = ("i64", "bool")
"""Constants of these types are shapes, axes and indices."""


class NodeInfo(NamedTuple):
    """A node of the model.

    `engine` is one of `ENGINES`: the unit of the kernel that computes it. It is None if `problem`
    says why npuc does not support the node, and where it was not found out: after a node that is
    not supported, and in a large model that cannot be compiled.
    """

    name: str
    op: str
    types: Sequence[TensorInfo]
    engine: str | None
    multiply_adds: int
    problem: str | None


@dataclass(frozen=True)
class ModelInfo:
    """What `npuc info` tells about a model."""

    path: str
    nbytes: int
    producer: str
    ir_version: int
    opsets: Mapping[str, int]
    inputs: Mapping[str, TensorInfo]
    outputs: Mapping[str, TensorInfo]
    nodes: Sequence[NodeInfo]
    parameters: int
    """Elements of all constants but those of integers that hold shapes, axes and indices."""
    parameter_bytes: int
    flops: int
    """Arithmetic operations of all nodes that could be read."""
    refusal: NpucError | None
    """What lowering says against the model, beyond nodes that are not supported."""
    warnings: Sequence[str]

    @property
    def supported(self) -> bool:
        """Whether nothing is known that keeps npuc from compiling it."""
        return self.refusal is None and not self.problems

    @property
    def problems(self) -> list[NodeInfo]:
        """The nodes that are not supported."""
        return [node for node in self.nodes if node.problem is not None]

    @property
    def multiply_adds(self) -> int:
        """Those of matrix products and convolutions, in the nodes that could be read."""
        return sum(node.multiply_adds for node in self.nodes)


class _Work(NamedTuple):
    """What the graph of a model computes, by node."""

    multiply_adds: Mapping[str, int]
    flops: int


def model_info(
    path: str, shapes: Mapping[str, Sequence[int]] | None = None, tell: Tell = say_nothing
) -> ModelInfo:
    """Read a model and take it as far as it takes to know the engine of each node.

    `InputError` for what is no valid model; what is not supported is told, not raised.
    """
    tell("reading the model")
    found = survey(path, shapes)
    check_valid(found.name, found.nodes, found.given)
    problems = dict(unsupported(found.nodes))
    store = Store()
    tell("building the graph")
    module, unknown = _build(found, problems.keys(), store)
    work = _work(module)
    engines: dict[str, str] | None = None
    refusal: NpucError | None = None
    if not problems or len(found.nodes) <= _MANY:
        tell("finding the engine of each node")
        engines, refusal = _engines(module, store)
    nodes = [
        NodeInfo(
            name=node.name,
            op=f"{node.domain}.{node.op}" if node.domain else node.op,
            types=node.types,
            engine=None if node in unknown or engines is None else engines.get(node.name, "none"),
            multiply_adds=work.multiply_adds.get(node.name, 0),
            problem=problems.get(node),
        )
        for node in found.nodes
    ]
    parameters = _parameters(found)
    return ModelInfo(
        path=path,
        nbytes=os.stat(path).st_size,
        producer=_producer(found),
        ir_version=found.source.model.ir_version,
        opsets={domain or "ai.onnx": version for domain, version in found.versions.items()},
        inputs={port.name: TensorInfo(port.dtype, port.shape) for port in found.inputs},
        outputs=_outputs(found),
        nodes=nodes,
        parameters=sum(math.prod(constant.shape) for constant in parameters),
        parameter_bytes=sum(map(_nbytes, parameters)),
        flops=work.flops,
        refusal=refusal,
        warnings=found.warnings,
    )


def _build(found: Survey, problems: Collection[Node], store: Store) -> tuple[ModuleOp, set[Node]]:
    """The graph, as far as it can be built, and the nodes that are not in it."""
    if not problems:
        return build_module(found, store).module, set()
    part = import_part(found, problems, store)
    return part.module, set(part.left_out)


def _producer(found: Survey) -> str:
    """Who wrote the model, as far as it says."""
    model = cast(Any, found.source.model)
    return " ".join(filter(None, (model.producer_name, model.producer_version)))


def _outputs(found: Survey) -> dict[str, TensorInfo]:
    """The outputs by name, with what inference knows about them, or else the model says."""
    outputs = found.source.model.graph.output
    return {value.name: found.types.get(value.name) or declared_type(value) for value in outputs}


def _parameters(found: Survey) -> list[Constant]:
    """The constants of the model that are parameters, each once."""
    constants = {constant.name: constant for constant in found.constants.tensors.values()}
    return [c for c in constants.values() if c.dtype not in _NO_PARAMETERS]


def _nbytes(constant: Constant) -> int:
    """Bytes of the values; of a type that npuc does not have, those in the model itself."""
    if constant.dtype in ELEMENT_TYPES.values():
        return constant.nbytes
    return len(constant.tensor.raw_data)


def _work(module: ModuleOp) -> _Work:
    """Costs of the graph's operators; one without a name is work for the next that has one.

    The products of a contraction are counted, not what it adds to their sums.
    """
    multiply_adds: Counter[str] = Counter()
    flops = 0
    node = ""
    for op in reversed([op for op in module.walk() if isinstance(op, GraphOp)]):
        node = node_of(op) or node
        cost = op.cost()
        flops += cost.flops
        if isinstance(op, ContractionOp):
            size = math.prod(static_shape(op.results[0]))
            multiply_adds[node] += cost.flops // (2 * size) * size if size else 0
    return _Work(multiply_adds, flops)


def _engines(module: ModuleOp, store: Store) -> tuple[dict[str, str] | None, NpucError | None]:
    """The engine of each node that has one, as the program will say; or why there is none."""
    try:
        run_stages(module, make_context(store), _GROUPED, options=Options(), verify_each=False)
    except (UnsupportedError, PassError) as error:
        return None, error
    engines: dict[str, str] = {}
    for op in module.walk():
        if isinstance(op, HostCallOp) and (node := node_of(op)) is not None:
            engines.setdefault(node, "host")
        elif isinstance(op, GroupOp):
            engine = "cube" if op.kind == "cube" else "vector"
            for node in nodes_of(op):
                if engines.get(node) != "cube":
                    engines[node] = engine
    return engines, None
