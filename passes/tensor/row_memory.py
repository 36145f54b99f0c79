"""How much vector memory one row of a would-be group takes: the peak of what is live at once.

A row is one point of the rows times the whole of the reduced dims. Every value an op loads, every
scalar op of a body and every reduction takes a buffer of its own, from when it is first written to
when it is last read; results are stored at the end. The memory planner can only do better.
"""

from collections.abc import Hashable, Sequence
from math import prod

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Attribute, SSAValue

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import itemsize
from ...dialects.tensor.structured import StructuredOp, dims_of_axes
from ..analysis.iteration_space import GroupSpace

SMALLEST = 32
"""Bytes of the smallest buffer in vector memory."""


def peak_row_bytes(space: GroupSpace, reduced: set[int]) -> int:
    """The most bytes live at once while the ops of `space` compute one row over `reduced`."""
    lifetimes = _Lifetimes(space, reduced)
    for op in space.ops:
        lifetimes.run(op)
    for value in space.outputs:
        lifetimes.read(value)
    return lifetimes.peak()


class _Lifetimes:
    """Size, first write and last read of each buffer, in steps of one scalar op on a row."""

    def __init__(self, space: GroupSpace, reduced: set[int]):
        self._space, self._reduced = space, reduced
        self._now = 0
        self._sizes: dict[Hashable, int] = {}
        self._born: dict[Hashable, int] = {}
        self._last: dict[Hashable, int] = {}
        self._spread: dict[Hashable, frozenset[int]] = {}
        self._made: dict[SSAValue, Hashable] = {}

    def run(self, op: StructuredOp) -> None:
        """Compute one structured op."""
        keys: dict[SSAValue, Hashable] = {}
        for index, (value, argument) in enumerate(zip(op.inputs, op.body.args, strict=True)):
            axes = self._space.axes_of_use(op, index)
            key = self._made.get(value, (value, axes))
            if key not in self._sizes:
                self._make(key, tensor_type(value).element_type, frozenset(dims_of_axes(axes)))
            keys[argument] = key
        for scalar in op.body.ops:
            if isinstance(scalar, YieldOp | ConstantOp):
                continue
            sources = [keys[operand] for operand in scalar.operands if operand in keys]
            self._step(sources)
            result = scalar.results[0]
            dims = frozenset[int]().union(*(self._spread[source] for source in sources))
            self._make(result, result.type, dims)
            keys[result] = result
        self._finish(op, keys.get(op.yielded))

    def read(self, value: SSAValue) -> None:
        """Store a value that the ops made."""
        self._step([self._made[value]])

    def peak(self) -> int:
        """The largest sum of sizes at any step."""
        return max(
            sum(n for key, n in self._sizes.items() if self._born[key] <= now <= self._last[key])
            for now in range(self._now + 1)
        )

    def _finish(self, op: StructuredOp, yielded: Hashable | None) -> None:
        """A reduction, or a value repeated along dims it lacks, takes one more buffer."""
        dims = frozenset(dims_of_axes(self._space.axes_of(op.output)))
        if yielded is None or op.combiner is not None or self._spread[yielded] != dims:
            self._step([] if yielded is None else [yielded])
            self._make(op.output, tensor_type(op.output).element_type, dims)
            yielded = op.output
        self._made[op.output] = yielded

    def _step(self, sources: Sequence[Hashable]) -> None:
        self._now += 1
        for source in sources:
            self._last[source] = self._now

    def _make(self, key: Hashable, element: Attribute, dims: frozenset[int]) -> None:
        elements = prod(self._space.extents[d] for d in dims & self._reduced)
        self._sizes[key] = max(SMALLEST, elements * itemsize(element_name(element)))
        self._born[key] = self._last[key] = self._now
        self._spread[key] = dims
