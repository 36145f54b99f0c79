"""The graph passes keep the meaning of models, their edges and their names, whatever the policy."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.dtypes import DEVICE, Array
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import NpucContext, make_context
from npuc.dialects.core.steps import apply_steps
from npuc.dialects.core.tolerance import compare
from npuc.dialects.core.verify import verify
from npuc.dialects.graph.base import ContractionOp, dtype, static_shape
from npuc.dialects.graph.movement import CastOp, TransposeOp
from npuc.passes.base import NpucPass
from npuc.passes.graph.graph_apply_precision import GraphApplyPrecisionPass, Policy
from npuc.passes.graph.graph_assign_layout import GraphAssignLayoutPass
from npuc.passes.graph.graph_canonicalize import GraphCanonicalizePass
from npuc.passes.graph.graph_fold_batch_norm import GraphFoldBatchNormPass
from npuc.passes.graph.graph_legalize_dtypes import GraphLegalizeDtypesPass
from onnx_models import imported, model, node, random

DIGITS = Path(__file__).parents[3] / "examples/digits"
POLICIES: list[Policy] = ["origin", "mixed", "f16"]


def apply(ctx: NpucContext, module: ModuleOp, *passes: NpucPass) -> None:
    """Run passes, verifying after each."""
    for one in passes:
        one.apply(ctx, module)
        verify(module)


def stage(policy: Policy) -> list[NpucPass]:
    """The passes of the stage `graph`."""
    return [
        GraphCanonicalizePass(),
        GraphFoldBatchNormPass(),
        GraphAssignLayoutPass(),
        GraphApplyPrecisionPass(policy),
        GraphLegalizeDtypesPass(),
        GraphCanonicalizePass(),
    ]


def observed(
    ctx: NpucContext, module: ModuleOp, *arguments: Array
) -> tuple[tuple[Array, ...], list[tuple[OriginAttr, Array]]]:
    """The results, and every value that has an origin."""
    seen: list[tuple[OriginAttr, Array]] = []

    def note(origin: OriginAttr, array: Array) -> None:
        seen.append((origin, array))

    return Interpreter(module, ctx.store, observe=note).call("main", *arguments), seen


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["digits_mlp", "digits_cnn"])
def test_digits_keep_every_tensor(name: str, policy: Policy) -> None:
    """Also a transposed or flattened one, which the steps of its origin make of the model's."""
    ctx = make_context()
    module = imported(DIGITS / f"{name}.onnx", ctx.store).module
    (argument,) = next(op for op in module.walk() if isinstance(op, FuncOp)).body.block.args
    image = np.load(DIGITS / "heldback.npz")["image"].reshape(static_shape(argument))
    expected, before = observed(ctx, module, image)
    tensors = {origin.key: array for origin, array in before}
    signature = next(op for op in module.walk() if isinstance(op, FuncOp)).function_type
    apply(ctx, module, *stage(policy))
    got, after = observed(ctx, module, image)
    assert next(op for op in module.walk() if isinstance(op, FuncOp)).function_type == signature
    assert not any(isinstance(op, TransposeOp) for op in module.walk())
    assert {origin.key for origin, _ in after} == set(tensors)
    for origin, array in after:
        result = compare(array, apply_steps(tensors[origin.key], origin.view), policy)
        assert result.ok, (origin.key, result.why)
    assert compare(got[0], expected[0], policy).ok


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_types_after_the_policy(policy: Policy, kind: str) -> None:
    nodes = [
        node("Gemm", ["x", "w", "b"], ["h"]),
        node("Relu", ["h"], ["r"]),
        node("MatMul", ["r", "r"], ["m"]),
        node("Softmax", ["m"], ["y"]),
    ]
    x, w = random(1, 32, 32, dtype=kind), random(2, 32, 32, dtype=kind)
    constants = {"w": w, "b": random(3, 32, dtype=kind)}
    ctx = make_context()
    module = imported(model(nodes, {"x": x}, ["y"], constants=constants), ctx.store).module
    expected, _ = observed(ctx, module, x)
    apply(ctx, module, *stage(policy))
    factor = "f16" if policy != "origin" or kind == "float16" else "f32"
    contractions = [op for op in module.walk() if isinstance(op, ContractionOp)]
    assert len(contractions) == 2
    for op in contractions:
        assert [dtype(operand) for operand in op.operands[:2]] == [factor] * 2
        assert [dtype(value) for value in (*op.operands[2:], op.results[0])][-1] == "f32"
    got, _ = observed(ctx, module, x)
    assert compare(got[0], expected[0], "f16").ok


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", ["digits_mlp", "digits_cnn"])
def test_a_policy_is_stable(name: str, policy: Policy) -> None:
    ctx = make_context()
    module = imported(DIGITS / f"{name}.onnx", ctx.store).module
    apply(ctx, module, *stage(policy))
    once = str(module)
    apply(ctx, module, *stage(policy))
    assert str(module) == once


def test_a_factor_used_twice_is_cast_once() -> None:
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("MatMul", ["r", "x"], ["a"]),
        node("MatMul", ["r", "a"], ["b"]),
        node("MatMul", ["r", "b"], ["y"]),
    ]
    ctx = make_context()
    module = imported(model(nodes, {"x": random(1, 8, 8)}, ["y"]), ctx.store).module
    apply(ctx, module, *stage("mixed"))
    assert sum(isinstance(op, CastOp) for op in module.walk()) == 4  # x, r, a, b


def test_text_between_the_passes_changes_nothing() -> None:
    ctx = make_context()
    module = imported(DIGITS / "digits_mlp.onnx", ctx.store).module
    other = parse_module(ctx, str(module))
    for one in stage("mixed"):
        apply(ctx, module, one)
        apply(ctx, other, one)
        other = parse_module(ctx, str(other))
    assert str(other) == str(module)


def test_only_device_types_are_left() -> None:
    ctx = make_context()
    module = imported(DIGITS / "digits_mlp.onnx", ctx.store).module
    apply(ctx, module, *stage("mixed"))
    kinds = {dtype(value) for op in module.walk() for value in op.results}
    assert kinds == {"f16", "f32"}
    assert kinds <= DEVICE


SHAPES = [(12,), (3, 4), (2, 6), (2, 1, 6), (2, 2, 3)]
ZEROS = {"f32": "0x00000000", "f16": "0x0000", "bf16": "0x0000"}


def text_of(shape: Sequence[int], kind: str) -> str:
    """The tensor type as text."""
    return f"tensor<{'x'.join((*map(str, shape), kind))}>"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Chains of ops that canonicalisation likes, on 12 elements, every tensor with a name."""
    shape, kind, lines = (3, 4), "f32", list[str]()
    count = draw(st.integers(1, 10))
    for index in range(count):
        old, x = text_of(shape, kind), f"%{index}"
        names = f'{{core.origins = [[#core.origin<"n{index}", "t{index}">]]}}'
        match draw(st.sampled_from(["reshape", "transpose", "cast", "relu", "add"])):
            case "reshape":
                shape = draw(st.sampled_from(SHAPES))
                body = f"graph.reshape {x} {names} : {old} -> {text_of(shape, kind)}"
            case "transpose":
                perm = draw(st.permutations(range(len(shape))))
                shape = tuple(shape[axis] for axis in perm)
                body = f"graph.transpose {x} perm {perm} {names} : {old} -> {text_of(shape, kind)}"
            case "cast":
                kind = draw(st.sampled_from(["f32", "f16", "bf16"]))
                body = f"graph.cast {x} {names} : {old} -> {text_of(shape, kind)}"
            case "relu":
                body = f"graph.relu {x} {names} : {old}"
            case _:
                one = text_of((1,), kind)
                lines.append(f'%c{index} = core.constant dense<"{ZEROS[kind]}"> : {one}')
                body = f"graph.add {x}, %c{index} {names} : {old}, {one} -> {old}"
        lines.append(f"%{index + 1} = {body}")
    result = text_of(shape, kind)
    head = f"func.func @main(%0: tensor<3x4xf32>) -> {result} {{"
    return "\n".join((head, *lines, f"func.return %{count} : {result}", "}"))


@given(programs())
@settings(max_examples=60, deadline=None)
def test_canonicalisation_keeps_values_and_names(text: str) -> None:
    """Names survive, as what the steps of their view make of the tensor, or are listed as lost."""
    ctx = make_context()
    module = parse_module(ctx, text)
    x = random(5, 3, 4)
    expected, before = observed(ctx, module, x)
    canonicalize = GraphCanonicalizePass()
    apply(ctx, module, canonicalize)
    got, after = observed(ctx, module, x)
    np.testing.assert_array_equal(got[0], expected[0])
    tensors = {origin.key: array for origin, array in before}
    for origin, array in after:
        np.testing.assert_array_equal(apply_steps(tensors[origin.key], origin.view), array)
    kept = {origin.key for origin, _ in after}
    lost = {loss.origin.key for loss in canonicalize.report.losses}
    assert kept | lost == set(tensors)
    assert before[-1][0].key in kept
