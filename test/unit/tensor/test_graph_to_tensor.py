"""Random graphs compute the same after conversion, canonicalisation and fusion."""

from collections.abc import Sequence

import numpy as np
from hypothesis import HealthCheck, given, settings
from xdsl.dialects.builtin import ModuleOp

from graph_programs import Sample, programs
from npuc.dialects.core.dtypes import Array
from npuc.dialects.core.interpreter import Interpreter
from npuc.dialects.core.parser import NpucParser
from npuc.dialects.core.registry import make_context
from npuc.dialects.core.tolerance import compare
from npuc.dialects.core.verify import verify
from npuc.dialects.tensor.structured import StructuredOp
from npuc.passes.base import NpucPass
from npuc.passes.graph_to_tensor.convert_graph_to_tensor import ConvertGraphToTensorPass
from npuc.passes.tensor.tensor_canonicalize import TensorCanonicalizePass
from npuc.passes.tensor.tensor_fuse_groups import TensorFuseGroupsPass

MANY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def run(module: ModuleOp, arguments: Sequence[Array]) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        return Interpreter(module).call("main", *arguments)


def apply(module: ModuleOp, *passes: NpucPass) -> None:
    for pass_ in passes:
        pass_.apply(make_context(), module)
        verify(module)


def assert_close(got: Sequence[Array], reference: Sequence[Array]) -> None:
    for a, b in zip(got, reference, strict=True):
        result = compare(a, b, "mixed" if b.dtype == np.float16 else "origin")
        assert result.ok, result.why


@MANY
@given(programs())
def test_conversion_keeps_values(sample: Sample) -> None:
    reference = run(sample.module, sample.arguments)
    apply(sample.module, ConvertGraphToTensorPass())
    assert not [op for op in sample.module.walk() if op.name.startswith("graph.")]
    assert_close(run(sample.module, sample.arguments), reference)


@MANY
@given(programs())
def test_canonicalisation_keeps_values(sample: Sample) -> None:
    apply(sample.module, ConvertGraphToTensorPass())
    reference = run(sample.module, sample.arguments)
    apply(sample.module, TensorCanonicalizePass())
    assert_close(run(sample.module, sample.arguments), reference)


@MANY
@given(programs())
def test_fusion_keeps_every_bit_and_leaves_no_loose_op(sample: Sample) -> None:
    apply(sample.module, ConvertGraphToTensorPass(), TensorCanonicalizePass())
    reference = run(sample.module, sample.arguments)
    apply(sample.module, TensorFuseGroupsPass())
    for got, expected in zip(run(sample.module, sample.arguments), reference, strict=True):
        np.testing.assert_array_equal(got, expected)
    for op in sample.module.walk():
        if isinstance(op, StructuredOp):
            parent = op.parent_op()
            assert parent is not None
            assert parent.name == "tensor.group"


@MANY
@given(programs())
def test_text_parses_back(sample: Sample) -> None:
    for pass_ in (ConvertGraphToTensorPass(), TensorCanonicalizePass(), TensorFuseGroupsPass()):
        apply(sample.module, pass_)
        text = str(sample.module)
        parsed = NpucParser(make_context(), text).parse_module()
        assert str(parsed) == text
        assert parsed.is_structurally_equivalent(sample.module)
