"""Orders of axes, and what of them survives a reshape."""

from collections.abc import Sequence
from typing import NamedTuple

Order = tuple[int, ...]


def inverse(order: Sequence[int]) -> Order:
    """The permutation that undoes `order`."""
    return tuple(order.index(axis) for axis in range(len(order)))


def permuted(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a tensor of `shape` after a transpose."""
    return tuple(shape[axis] for axis in order)


def moves_nothing(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether a transpose leaves the elements of a tensor of `shape` where they are in memory."""
    wide = [axis for axis in order if shape[axis] != 1]
    return wide == sorted(wide)


class Group(NamedTuple):
    """Axes before a reshape that hold the same elements as axes after it; both are runs."""

    before: Order
    after: Order


def reshape_groups(before: Sequence[int], after: Sequence[int]) -> list[Group] | None:
    """The smallest groups of a reshape, in order; together they are all axes.

    Axes of size 1 belong to the group of the axis before them, or to the first. None for a tensor
    without elements, of which nothing can be said.
    """
    if 0 in before:
        return None
    left = [axis for axis, size in enumerate(before) if size != 1]
    right = [axis for axis, size in enumerate(after) if size != 1]
    starts = [(0, 0)]
    i = j = 0
    while i < len(left):
        starts.append((left[i], right[j]))
        held, wanted = before[left[i]], after[right[j]]
        while held != wanted:
            if held < wanted:
                i += 1
                held *= before[left[i]]
            else:
                j += 1
                wanted *= after[right[j]]
        i, j = i + 1, j + 1
    starts[1:2] = []  # the first group begins with the first axis, whatever its size
    ends = [*starts[1:], (len(before), len(after))]
    return [
        Group(tuple(range(a, c)), tuple(range(b, d)))
        for (a, b), (c, d) in zip(starts, ends, strict=True)
    ]
