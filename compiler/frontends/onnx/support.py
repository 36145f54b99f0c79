"""Which operators can be imported; everything that cannot is reported at once, before building."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from ....dialects.core.errors import InputError, UnsupportedError
from . import contraction, elementwise, movement, normalization, windows
from .constants import unusable_constant
from .node import Node
from .rule import Rule
from .tensors import ELEMENT_TYPES

# Operators whose nearest relative has another name.
_RELATIVES = {
    "LeakyRelu": "Relu",
    "PRelu": "Relu",
    "LogSoftmax": "Softmax",
    "Hardmax": "Softmax",
    "Einsum": "MatMul",
    "ConvTranspose": "Conv",
    "ConvInteger": "Conv",
    "LpPool": "AveragePool",
    "GlobalLpPool": "GlobalAveragePool",
    "InstanceNormalization": "BatchNormalization",
    "LayerNormalization": "BatchNormalization",
    "HardSigmoid": "Clip",
    "HardSwish": "Clip",
    "Mean": "Sum",
    "Neg": "Sub",
    "Reciprocal": "Div",
    "CastLike": "Cast",
}


RULES: dict[str, Rule] = {
    **contraction.RULES,
    **elementwise.RULES,
    **movement.RULES,
    **normalization.RULES,
    **windows.RULES,
}
"""The operators of ONNX's own domain that become graph ops. Constant is read beforehand."""

SUPPORTED = (*sorted((*RULES, "Constant")),)
"""The names of all supported operators."""


def check(name: str, nodes: Sequence[Node], given: Iterable[str]) -> None:
    """Raise unless every node of the model `name` can be imported.

    `given` are the tensors there before the first node. `InputError` lists all nodes that are not
    valid ONNX, `UnsupportedError` all that are but that npuc does not do.
    """
    check_valid(name, nodes, given)
    reasons = unsupported(nodes)
    if reasons:
        raise UnsupportedError(
            f"{len(reasons)} of {len(nodes)} nodes of {name} are not supported",
            why=_listing(f"{_described(node)}: {reason}" for node, reason in reasons),
            hint=f"supported are {', '.join(SUPPORTED)}",
        )


def check_valid(name: str, nodes: Sequence[Node], given: Iterable[str]) -> None:
    """`InputError` listing all nodes that are not valid ONNX; arguments as for `check`."""
    invalid = [*_loose_ends(nodes, set(given))]
    for node in nodes:
        invalid += [f"{node.where}: {problem}" for problem in _schema_problems(node)]
    if invalid:
        raise InputError(
            f"{name} is not a valid ONNX model",
            why=_listing(invalid),
            hint="`onnx.checker.check_model` must accept it",
        )


def unsupported(nodes: Sequence[Node]) -> list[tuple[Node, str]]:
    """The valid nodes that npuc does not do, each with the reason."""
    return [(node, reason) for node in nodes if (reason := _refusal(node))]


def _listing(lines: Iterable[str]) -> str:
    return "\n    ".join(("", *lines))


def _described(node: Node) -> str:
    types = ", ".join(str(info) for info in node.types)
    return f"{node.where} of ({types})"


def _loose_ends(nodes: Sequence[Node], known: set[str]) -> Iterator[str]:
    """Nodes that read what no earlier node makes, or make what is there already."""
    for node in nodes:
        for tensor in node.inputs:
            if tensor and tensor not in known:
                yield f"{node.where}: nothing before it makes its input `{tensor}`"
        for tensor in node.outputs:
            if tensor in known and tensor:
                yield f"{node.where}: its output `{tensor}` is already made before it"
            known.add(tensor)


def _schema_problems(node: Node) -> Iterator[str]:
    """What the definition of a supported operator in ONNX forbids about `node`."""
    from onnx import defs

    if node.domain or node.op not in SUPPORTED or not defs.has(node.op):
        return
    schema = defs.get_schema(node.op, max(node.opset, 1), "")
    if not schema.min_input <= len(node.inputs) <= schema.max_input:
        yield f"it has {len(node.inputs)} inputs"
    if any(not node.has_input(index) for index in range(schema.min_input)):
        yield "an input that is not optional is left out"
    if not schema.min_output <= len(node.outputs) <= schema.max_output:
        yield f"it has {len(node.outputs)} outputs"
    for attribute in node.attributes:
        if attribute not in schema.attributes:
            yield f"it has no attribute `{attribute}` in opset {node.opset}"
    for attribute, definition in schema.attributes.items():
        if definition.required and not node.has(attribute):
            yield f"its attribute `{attribute}` is missing"


def _refusal(node: Node) -> str | None:
    """Why a valid node cannot be imported, with the nearest operator that can; None if it can."""
    if node.domain:
        return f"operators of the domain {node.domain} are not supported"
    if node.op not in SUPPORTED:
        return f"there is no such operator in npuc{_nearest(node.op)}"
    for tensor, info in zip(node.inputs, node.types, strict=True):
        if info.dtype is not None and info.dtype not in ELEMENT_TYPES.values():
            return f"npuc has no element type {info.dtype} (`{tensor}`)"
    return unusable_constant(node) if node.op == "Constant" else RULES[node.op].refuse(node)


def _nearest(op: str) -> str:
    relative = _RELATIVES.get(op) or next(iter(get_close_matches(op, SUPPORTED, 1)), None)
    return f" (nearest: {relative})" if relative else ""
