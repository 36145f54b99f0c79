"""What is known about an ONNX model, as a report for people and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from .frontends.onnx.node import TensorInfo
from .model_info import ENGINES, ModelInfo, NodeInfo
from .tables import align, count_of, size_of

_UNKNOWN = "unknown: not supported, or not found out because something is not supported"


def model_as_json(info: ModelInfo) -> str:
    """One object in one line; docs/commands.md says what the keys mean."""
    document: dict[str, Any] = {
        "kind": "model",
        "model": info.path,
        "bytes": info.nbytes,
        "producer": info.producer,
        "ir_version": info.ir_version,
        "opsets": dict(info.opsets),
        "inputs": _ports(info.inputs),
        "outputs": _ports(info.outputs),
        "nodes": len(info.nodes),
        "operators": {
            op: {
                "count": len(nodes),
                "engines": {engine: _count(nodes, engine) for engine in ENGINES},
                "unsupported": sum(node.problem is not None for node in nodes),
                "multiply_adds": sum(node.multiply_adds for node in nodes),
            }
            for op, nodes in _by_operator(info).items()
        },
        "engine_nodes": {
            engine: [node.name for node in info.nodes if node.engine == engine]
            for engine in ENGINES
        },
        "parameters": info.parameters,
        "parameter_bytes": info.parameter_bytes,
        "multiply_adds": info.multiply_adds,
        "flops": info.flops,
        "supported": info.supported,
        "unsupported": [
            {
                "node": node.name,
                "operator": node.op,
                "inputs": [str(type_) for type_ in node.types],
                "why": node.problem,
            }
            for node in info.problems
        ],
        "refusal": None if info.refusal is None else str(info.refusal),
        "warnings": list(info.warnings),
    }
    return json.dumps(document, allow_nan=False)


def _ports(tensors: Mapping[str, TensorInfo]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": info.dtype,
            "shape": None if info.shape is None else list(info.shape),
        }
        for name, info in tensors.items()
    ]


def _by_operator(info: ModelInfo) -> dict[str, list[NodeInfo]]:
    """The nodes of each operator, the most frequent first."""
    counts = Counter(node.op for node in info.nodes)
    return {op: [n for n in info.nodes if n.op == op] for op, _ in counts.most_common()}


def _count(nodes: list[NodeInfo], engine: str | None) -> int:
    return sum(node.engine == engine for node in nodes)


def model_as_text(info: ModelInfo) -> Text:
    """The report for a person: aligned columns, and everything that is not supported."""
    blocks = [align(_head(info)), align(_tensors(info)), _operators(info), align(_figures(info))]
    text = Text("\n\n".join("\n".join(lines) for lines in blocks if lines))
    if not info.supported:
        text.append("\n\nnot supported", style="bold red")
        text.append(f": npuc cannot compile this model\n{_refused(info)}")
    return text


def _head(info: ModelInfo) -> list[tuple[str, str]]:
    opsets = ", ".join(
        f"{version}" if domain == "ai.onnx" else f"{domain} {version}"
        for domain, version in info.opsets.items()
    )
    return [
        ("model", f"{info.path}, {size_of(info.nbytes)}"),
        ("made by", info.producer or "it does not say"),
        ("opset", f"{opsets} (IR version {info.ir_version})"),
    ]


def _tensors(info: ModelInfo) -> list[tuple[str, str, str]]:
    groups = (("input", info.inputs), ("output", info.outputs))
    return [(kind, name, str(type_)) for kind, group in groups for name, type_ in group.items()]


def _operators(info: ModelInfo) -> list[str]:
    """A line an operator: how many nodes, on which engine, and the products they compute."""
    every = list(info.nodes)
    unknown = ("unknown",) if any(node.engine is None for node in every) else ()
    rows: list[tuple[str, ...]] = [("operator", "nodes", *ENGINES, *unknown, "multiply-adds")]
    for op, nodes in (*_by_operator(info).items(), ("all", every)):
        engines = [_count(nodes, engine) for engine in (*ENGINES, None)]
        counts = [len(nodes), *engines[: len(ENGINES) + len(unknown)]]
        products = sum(node.multiply_adds for node in nodes)
        rows.append((op, *(f"{n:,}" if n else "-" for n in (*counts, products))))
    lines = align(rows, right=range(1, len(rows[0])))
    return [*lines, _UNKNOWN] if unknown else lines


def _figures(info: ModelInfo) -> list[tuple[str, str]]:
    at_least = "" if all(node.engine for node in info.nodes) or info.refusal else "at least "
    return [
        ("parameters", f"{info.parameters:,} ({size_of(info.parameter_bytes)})"),
        ("multiply-adds", f"{at_least}{info.multiply_adds:,}"),
        ("all arithmetic", f"{at_least}{info.flops:,} operations"),
    ]


def _refused(info: ModelInfo) -> str:
    """Every node that is not supported, with the reason, and what lowering says."""
    rows = [
        (f"  {node.name}", node.op, f"({', '.join(map(str, node.types))})", str(node.problem))
        for node in info.problems
    ]
    lines = [f"  {count_of(len(rows), 'node')} of {len(info.nodes):,}:"] if rows else []
    lines += align(rows)
    if info.refusal is not None:
        lines += [f"  {line}" for line in str(info.refusal).splitlines()]
    return "\n".join(lines)
