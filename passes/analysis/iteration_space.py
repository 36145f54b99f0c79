"""The one iteration space that all structured ops of a group share.

Two ops of a group walk the same dim when a value joins them: the axis of the value is a dim of the
op that makes it and a dim of each op that reads it. `GroupSpace` unifies (op, dim) with
(value, axis) for every use and numbers what comes out, in order of first appearance:

```mlir
%m = tensor.reduce(%x) .. (d0, d1) -> (d0) ..            // dims: 0, 1
%e = tensor.map(%x, %m) .. (d0, d1), (d0) -> (d0, d1) .. // dims: 0, 1
```

is a space of two group dims: 0 is parallel, 1 is a reduction (of the first op).

What an op reads along a window joins no dims: the window's dims are not those of the value's axes.
So a value made in the group cannot be read along one; a value from outside can, also beside plain
reads of it as another operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

from xdsl.ir import SSAValue

from ...dialects.core.errors import PassError
from ...dialects.tensor.ops import GroupOp
from ...dialects.tensor.structured import Axis, StructuredOp, Window, axes_of_map

Kind = Literal["parallel", "reduction"]
_Axes = tuple[int | None, ...]


class GroupSpace:
    """Group dims of a `tensor.group`, and where each op's dims and each value's axes are in them.

    `GroupSpace(group)` reads a group; `GroupSpace.of_ops(ops)` tries ops that are in none yet.
    Raises PassError when the ops do not unify: two dims of one op, or two axes of one value, would
    have to be the same group dim, or a window reads a value that is made in the group.
    """

    ops: tuple[StructuredOp, ...]
    """The structured ops of the group, in order."""
    extents: tuple[int, ...]
    """Size of each group dim."""
    kinds: tuple[Kind, ...]
    """Per group dim: "parallel" if no op reduces it, else "reduction"."""
    outputs: tuple[SSAValue, ...]
    """The values made here that something outside reads, in order."""

    def __init__(self, group: GroupOp):
        self._build([op for op in group.body.ops if isinstance(op, StructuredOp)], split=False)
        self.outputs = group.yielded

    @classmethod
    def of_ops(cls, ops: Sequence[StructuredOp]) -> Self:
        """The space these ops would share in one group, wherever they stand now.

        A value from outside whose uses do not agree on its axes (`x` and its transpose) does not
        stand in the way: a group takes it as two operands, told apart by `axes_of_use`.
        """
        space = cls.__new__(cls)
        space._build(ops, split=True)
        members = set(ops)
        space.outputs = tuple(
            op.output for op in ops if any(use.operation not in members for use in op.output.uses)
        )
        return space

    @property
    def rank(self) -> int:
        """Number of group dims."""
        return len(self.extents)

    def dims_of(self, op: StructuredOp) -> tuple[int, ...]:
        """The group dim of each dim of `op`; KeyError for an op that is not of the group."""
        return self._dims[op]

    def axes_of(self, value: SSAValue) -> tuple[Axis, ...]:
        """The group dim of each axis of a value of the group; None for a broadcast axis (size 1).

        `value` is a used block argument of the group or the result of one of its structured ops;
        KeyError for any other. There are windows among the axes only if the value comes from
        outside and is read along windows alone.
        """
        return self._axes[value]

    def axes_of_use(self, op: StructuredOp, index: int) -> tuple[Axis, ...]:
        """The group dim, or window over group dims, of each axis of input `index` of `op`."""
        return _over(self._dims[op], op.input_axes(index))

    def _build(self, ops: Sequence[StructuredOp], *, split: bool) -> None:
        self.ops = tuple(ops)
        classes = _DimClasses(ops)
        axes = _unify(classes, ops, split=split)
        numbers: dict[int, int] = {}
        extents: list[int] = []
        kinds: list[Kind] = []
        for op in ops:
            for root, extent, kind in zip(
                classes.roots_of(op), op.extents(), op.iterators, strict=True
            ):
                if root not in numbers:
                    numbers[root] = len(extents)
                    extents.append(extent)
                    kinds.append(kind)
                elif kind == "reduction":
                    kinds[numbers[root]] = kind
        self.extents, self.kinds = tuple(extents), tuple(kinds)
        self._dims = {op: tuple(numbers[r] for r in classes.roots_of(op)) for op in ops}
        self._axes: dict[SSAValue, tuple[Axis, ...]] = {
            value: tuple(None if n is None else numbers[classes.root(n)] for n in nodes)
            for value, nodes in axes.items()
        }
        for op, index, value in _reads(ops):
            if _has_window(op, index):
                use = self.axes_of_use(op, index)
                if self._axes.setdefault(value, use) != use and not split:
                    raise _no_common_space(op, index, value, "not as it is read elsewhere")


def _unify(
    classes: _DimClasses, ops: Sequence[StructuredOp], *, split: bool
) -> dict[SSAValue, _Axes]:
    """Join the dims of all plain uses; the nodes of each value that is made here or read plainly.

    Uses of a value from outside may disagree if `split`.
    """
    made: dict[SSAValue, _Axes] = {op.output: classes.nodes_of_result(op) for op in ops}
    axes = dict(made)
    for inside in (True, False):
        for op, index, value in _reads(ops):
            if (value in made) != inside:
                continue
            if _has_window(op, index):
                if inside:
                    raise _no_common_space(op, index, value, "whose windows overlap in it")
                continue
            use = classes.nodes_of_input(op, index)
            known = axes.setdefault(value, use)
            if classes.merge(known, use):
                axes[value] = tuple(k if u is None else u for k, u in zip(known, use, strict=True))
            elif inside or not split:
                why = "which would make two dims of one op the same dim of the group"
                raise _no_common_space(op, index, value, why)
    return axes


class _DimClasses:
    """Union-find over the dims of a list of ops that never joins two dims of the same op."""

    def __init__(self, ops: Sequence[StructuredOp]):
        self._parents: list[int] = []
        self._members: dict[int, frozenset[int]] = {}
        self._first: dict[StructuredOp, int] = {}
        for number, op in enumerate(ops):
            self._first[op] = len(self._parents)
            for _ in op.iterators:
                self._members[len(self._parents)] = frozenset((number,))
                self._parents.append(len(self._parents))

    def root(self, node: int) -> int:
        """The node that stands for the class of `node`."""
        while self._parents[node] != node:
            node = self._parents[node]
        return node

    def roots_of(self, op: StructuredOp) -> Iterator[int]:
        """The class of each dim of `op`."""
        first = self._first[op]
        return (self.root(first + dim) for dim in range(len(op.iterator_types)))

    def nodes_of_input(self, op: StructuredOp, index: int) -> _Axes:
        """The node of each axis of an input that is read plainly, None for constants."""
        return self._nodes(op, axes_of_map(op.input_maps[index]))

    def nodes_of_result(self, op: StructuredOp) -> _Axes:
        """The node of each axis of the result, None for constants."""
        return self._nodes(op, axes_of_map(op.result_map))

    def _nodes(self, op: StructuredOp, axes: _Axes) -> _Axes:
        first = self._first[op]
        return tuple(None if a is None else first + a for a in axes)

    def merge(self, left: _Axes, right: _Axes) -> bool:
        """Join the classes axis by axis; False, and no change, if dims of one op would meet."""
        done: list[tuple[int, frozenset[int], int]] = []
        for a, b in zip(left, right, strict=True):
            if a is None or b is None or (a := self.root(a)) == (b := self.root(b)):
                continue
            if self._members[a] & self._members[b]:
                for kept, before, joined in reversed(done):
                    self._members[kept], self._parents[joined] = before, joined
                return False
            done.append((a, self._members[a], b))
            self._parents[b] = a
            self._members[a] |= self._members[b]
        return True


def _reads(ops: Sequence[StructuredOp]) -> Iterator[tuple[StructuredOp, int, SSAValue]]:
    for op in ops:
        for index, value in enumerate(op.inputs):
            yield op, index, value


def _has_window(op: StructuredOp, index: int) -> bool:
    return any(isinstance(axis, Window) for axis in op.input_axes(index))


def _over(dims: Sequence[int], axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same axes with `dims[d]` for each dim `d`."""
    return tuple(
        axis._replace(point=dims[axis.point], tap=dims[axis.tap])
        if isinstance(axis, Window)
        else None
        if axis is None
        else dims[axis]
        for axis in axes
    )


def _no_common_space(op: StructuredOp, index: int, value: SSAValue, why: str) -> PassError:
    return PassError(
        f"{op.name} does not share an iteration space with its group",
        where=str(op.location),
        why=(
            f"its input {index} of type {value.type} is read through {op.input_maps[index]}, {why}"
        ),
        hint="take the value into the group as two operands, or leave the op out of the group",
    )
