"""What the operations of the graph dialect share: static tensors in, inferred types out."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import VarConstraint, base
from xdsl.pattern_rewriter import RewritePattern
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import element_name, tensor_type
from ..core.dtypes import HALVES, is_float
from ..core.ops import NpucOp

SAME_TENSOR = VarConstraint("T", base(TensorType))
"""Constraint of operands and results that have one type, which is then printed once."""


class GraphOp(HasCanonicalizationPatternsInterface, NpucOp):
    """An operator of a neural network on tensors of static shape."""

    ELEMENTWISE: ClassVar[bool] = False
    """Whether an element of the result depends on those at its place in the operands and no others.

    The operands broadcast by numpy's rules.
    """

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The rewrites that simplify this op; see `canonicalization.py`."""
        from .canonicalization import PATTERNS

        return PATTERNS.get(cls, ())


class ContractionOp(GraphOp):
    """An operator whose first two operands are multiplied and summed on the cube unit.

    The two factors have one element type. Products are summed in the accumulator type (f32, or f64
    for f64 factors); the result is that, or rounded once to the type of the factors.
    """

    FACTORS: ClassVar[int] = 2
    """How many operands, from the first on, are factors; others are added to the sum."""


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor; `VerifyException` for a dynamic size or another type."""
    shape = tuple(tensor_type(value).get_shape())
    if any(size < 0 for size in shape):
        raise VerifyException(f"expected a static shape, got `{value.type}`")
    return shape


def element(value: SSAValue) -> Attribute:
    """The element type of a tensor."""
    return tensor_type(value).element_type


def dtype(value: SSAValue) -> str:
    """The npuc name of the element type of a tensor."""
    return element_name(element(value))


def same_element(first: SSAValue, second: SSAValue) -> Attribute:
    """The element type two operands share; `VerifyException` if they differ."""
    if element(first) != element(second):
        raise VerifyException(
            f"operands have element types `{element(first)}` and `{element(second)}`; "
            "they must be the same"
        )
    return element(first)


def float_element(value: SSAValue) -> Attribute:
    """The element type of a tensor of floats; `VerifyException` for other types."""
    if not is_float(dtype(value)):
        raise VerifyException(f"expected floating-point elements, got `{value.type}`")
    return element(value)


def accumulator(factor: str) -> str:
    """The element type, by name, in which products of such factors are summed."""
    return "f32" if factor in HALVES else factor


def contraction_element(lhs: SSAValue, rhs: SSAValue, out: SSAValue) -> Attribute:
    """The element type of a contraction's result: what `out` says, if that is allowed."""
    same_element(lhs, rhs)
    float_element(lhs)
    allowed = {dtype(lhs): None, accumulator(dtype(lhs)): None}
    if dtype(out) not in allowed:
        raise VerifyException(
            f"the result has element type {dtype(out)}, but factors of {dtype(lhs)} "
            f"give {' or '.join(allowed)}"
        )
    return element(out)


def broadcast(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The shape two shapes broadcast to, by numpy's rules; `VerifyException` if they do not."""
    rank = max(len(first), len(second))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in (first, second)]
    for a, b in zip(*padded, strict=True):
        if a != b and 1 not in (a, b):
            raise VerifyException(
                f"shapes {list(first)} and {list(second)} do not broadcast: {a} meets {b}"
            )
    return tuple(b if a == 1 else a for a, b in zip(*padded, strict=True))


def shaped(sizes: Sequence[int], element_type: Attribute) -> TensorType[Attribute]:
    """The tensor type of `sizes` and `element_type`."""
    return TensorType(element_type, list(sizes))
