"""Channels last: the passes keep values and names of random networks, and cancel transposes."""

import numpy as np
from hypothesis import given, settings
from xdsl.dialects.builtin import ModuleOp

from image_programs import Sample, classifiers, networks
from npuc.dialects.core.attributes import OriginAttr
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.steps import apply_steps
from npuc.dialects.core.store import Store
from npuc.dialects.core.verify import verify
from npuc.dialects.graph.layout import CHANNELS_LAST, ImageOp
from npuc.dialects.graph.movement import TransposeOp
from npuc.dialects.graph.normalization import BatchNormOp
from npuc.passes.graph.graph_assign_layout import GraphAssignLayoutPass
from npuc.passes.graph.graph_canonicalize import GraphCanonicalizePass
from npuc.passes.graph.graph_fold_batch_norm import GraphFoldBatchNormPass

Names = dict[tuple[str, str], Array]


def observed(
    module: ModuleOp, store: Store, arguments: tuple[Array, ...]
) -> tuple[tuple[Array, ...], list[tuple[OriginAttr, Array]]]:
    """The results, and every value that has an origin."""
    seen: list[tuple[OriginAttr, Array]] = []
    interpreter = Interpreter(
        module, store, observe=lambda origin, array: seen.append((origin, array))
    )
    return interpreter.call("main", *arguments), seen


def converted(sample: Sample) -> dict[tuple[str, str], str]:
    """Take the sample to channels last; the names listed as lost, and why."""
    ctx = make_context(sample.store)
    lost = dict[tuple[str, str], str]()
    passes = (GraphCanonicalizePass(), GraphFoldBatchNormPass(), GraphAssignLayoutPass())
    for one in passes:
        one.apply(ctx, sample.module)
        verify(sample.module)
        lost |= {loss.origin.key: loss.why for loss in one.report.losses}
    return lost


@given(networks())
@settings(max_examples=80, deadline=None)
def test_values_and_names_are_kept(sample: Sample) -> None:
    expected, before = observed(*sample)
    tensors = {origin.key: array for origin, array in before}
    lost = converted(sample)
    got, after = observed(*sample)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)
    for origin, array in after:
        view = apply_steps(tensors[origin.key], origin.view)
        assert view.shape == array.shape
        np.testing.assert_allclose(array, view, rtol=2e-3, atol=2e-3)
    assert {origin.key for origin, _ in after} | set(lost) == set(tensors)
    ops = [*sample.module.walk()]
    assert not any(isinstance(op, BatchNormOp) for op in ops)
    assert all(op.layout == CHANNELS_LAST for op in ops if isinstance(op, ImageOp))


@given(classifiers())
@settings(max_examples=80, deadline=None)
def test_no_transpose_is_left_in_a_classifier(sample: Sample) -> None:
    """Nor is a name lost but those of convolutions that are one with a batch norm."""
    expected, _ = observed(*sample)
    lost = converted(sample)
    got, _ = observed(*sample)
    np.testing.assert_allclose(got[0], expected[0], rtol=2e-3, atol=2e-3)
    assert all("batch norm" in why for why in lost.values())
    assert not any(isinstance(op, TransposeOp) for op in sample.module.walk())
