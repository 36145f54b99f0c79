"""Which orders between pipes a set of flag pairs implies, and the pairs that can go.

A `Sync` is a flag that one pipe sets after a statement and another waits for before a statement of
the same loop body (or of the kernel's): in the same execution of the body (forward), or `distance`
executions later (carried).  A `Requirement` is an order that must hold: everything before a point
of one pipe is done before anything after a point of another starts.

What holds is a shortest-path question, because pipes are in order: from "pipe A at time t", a sync
whose set is at or after t on A leads to "pipe B at the time of its wait", and everything later on
B.  A time is (executions of the body ahead, position in the program), so only the earliest time a
pipe is reached matters.  A requirement holds if its target pipe is reached in time.

Inside a body, syncs of loops nested in it count where the loop surely runs: when it holds the
source or the target of the requirement (then in that very execution), or when its trips are known
not to be 0 (then in its first iteration).  Nothing else is assumed, so what is implied here is
implied in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .affine import Symbol
from .dependences import Dependence, Loop, Statement


@dataclass(eq=False, slots=True)
class Sync:
    """Pipe `source_pipe` sets a flag after `source`; `target_pipe` waits for it before `target`.

    `distance` 0 is forward: set and wait in one execution of the body of `loop`.  Otherwise the
    wait is `distance` executions later, and the flag starts set.  `slots` consecutive event ids
    rotate by `slot` (one id, and no slot, when 1).
    """

    source: Statement
    target: Statement
    source_pipe: str
    target_pipe: str
    loop: Loop | None
    distance: int
    slots: int
    slot: Symbol | None
    set_at: int = field(init=False)
    """Position of the set in program order."""
    wait_at: int = field(init=False)
    """Position of the wait in program order."""

    def __post_init__(self) -> None:
        """Look up the positions once."""
        self.set_at = self.source.end + 1
        self.wait_at = self.target.start - 1

    @property
    def carried(self) -> bool:
        """Whether the flag goes from one execution of the body to a later one."""
        return self.distance > 0

    @property
    def queue(self) -> tuple[str, str]:
        """The two pipes; event ids are counted for each such pair."""
        return (self.source_pipe, self.target_pipe)

    @property
    def span(self) -> tuple[int, int]:
        """From the first to the last position between which an id is in use in one execution of
        the body."""
        if self.carried:
            return (self.wait_at, self.set_at)
        return (self.set_at, self.wait_at)


class Point(NamedTuple):
    """A position of the program as a pipe sees it, and the loop whose body it is in."""

    pipe: str
    position: int
    loop: Loop | None


class Requirement(NamedTuple):
    """What `source` follows is done before what follows `target`, `distance` executions of the body
    of `loop` later."""

    source: Point
    target: Point
    loop: Loop | None
    distance: int


def data_requirements(dependence: Dependence) -> list[Requirement]:
    """The orders that a dependence asks for."""
    first, second = (
        Point(access.pipe, access.statement.start, access.statement.loop)
        for access in (dependence.first, dependence.second)
    )
    found = [Requirement(first, second, dependence.loop, 0)]
    if dependence.distance:
        found.append(Requirement(second, first, dependence.loop, dependence.distance))
    return found


def reuse_requirement(sync: Sync) -> Requirement | None:
    """The order that keeps a flag from being set again before it was waited for: from its wait to
    the next set of the same id."""
    wait = Point(sync.target_pipe, sync.wait_at, sync.loop)
    again = Point(sync.source_pipe, sync.set_at, sync.loop)
    if sync.carried:
        return Requirement(wait, again, sync.loop, 0)
    return Requirement(wait, again, sync.loop, sync.slots) if sync.loop is not None else None


class _Reached(NamedTuple):
    """The earliest time a pipe is reached, and the syncs on the way, last first."""

    execution: int
    position: int
    path: _Step | None


class _Step(NamedTuple):
    sync: Sync
    before: _Step | None


def witness(requirement: Requirement, syncs: Iterable[Sync]) -> list[Sync] | None:
    """Syncs that together imply a requirement, or None if the given ones do not."""
    source, target, loop, distance = requirement
    usable = [s for s in syncs if s.loop is loop or _is_nested_forward(s, loop)]
    reached = {source.pipe: _Reached(0, source.position, None)}
    changed = True
    while changed:
        changed = False
        for sync in usable:
            at = reached.get(sync.source_pipe)
            if at is None:
                continue
            execution = at.execution + (at.position > sync.set_at)
            arrival = (execution + sync.distance, sync.wait_at)
            known = reached.get(sync.target_pipe)
            if (
                arrival[0] <= distance
                and (known is None or arrival < known[:2])
                and (sync.loop is loop or _surely_runs(sync, requirement, execution))
            ):
                reached[sync.target_pipe] = _Reached(*arrival, _Step(sync, at.path))
                changed = True
    end = reached.get(target.pipe)
    if end is None or end[:2] > (distance, target.position):
        return None
    path: list[Sync] = []
    step = end.path
    while step is not None:
        path.append(step.sync)
        step = step.before
    return path


def _is_nested_forward(sync: Sync, loop: Loop | None) -> bool:
    return not sync.carried and sync.loop is not None and sync.loop.is_inside(loop)


def _surely_runs(sync: Sync, requirement: Requirement, execution: int) -> bool:
    """Whether the loop of a nested sync runs in that execution of the requirement's body."""
    assert sync.loop is not None
    source, target = requirement.source.loop, requirement.target.loop
    if execution == 0 and source is not None and source.is_inside(sync.loop):
        return True
    if execution == requirement.distance and target is not None and target.is_inside(sync.loop):
        return True
    around = sync.loop.enclosing
    nested = around[: around.index(requirement.loop)] if requirement.loop else around
    return all(loop.trips is not None and loop.trips > 0 for loop in nested)


class Reduction:
    """Removes syncs that the others imply, one at a time.

    Every requirement keeps a witness: syncs that imply it.  A sync may go if each requirement whose
    witness it is part of has another one, and what a sync itself requires goes with it.
    """

    def __init__(self, syncs: Sequence[Sync], requirements: Iterable[Requirement]) -> None:
        """Start from `syncs`, which must imply all `requirements`, their own included."""
        self.syncs: dict[Sync, None] = dict.fromkeys(syncs)
        self._witnesses: dict[Requirement, list[Sync]] = {}
        self._owned: dict[Sync, Requirement] = {}
        self.unmet: list[Requirement | Sync] = []
        """Requirements, and syncs whose own requirement, the given syncs do not imply."""
        for sync in syncs:
            own = reuse_requirement(sync)
            if own is not None:
                self._owned[sync] = own
        for requirement in dict.fromkeys(requirements):
            self._prove(requirement, requirement)
        for sync, own in self._owned.items():
            if own not in self._witnesses:
                self._prove(own, sync)

    def _prove(self, requirement: Requirement, owner: Requirement | Sync) -> None:
        found = witness(requirement, self.syncs)
        if found is None:
            self.unmet.append(owner)
        else:
            self._witnesses[requirement] = found

    def run(self) -> list[Sync]:
        """Remove what can go: first flags that take more ids, then those that leave more slack
        between their set and their wait."""
        order = sorted(
            self.syncs, key=lambda s: (-s.slots, s.set_at - s.wait_at, s.set_at, s.queue)
        )
        removed = True
        while removed:
            removed = False
            for sync in order:
                removed |= sync in self.syncs and self._try_without(sync)
        return list(self.syncs)

    def _try_without(self, sync: Sync) -> bool:
        rest = [other for other in self.syncs if other is not sync]
        still_owned = {own for owner, own in self._owned.items() if owner is not sync}
        only_own = self._owned.get(sync)
        fresh: dict[Requirement, list[Sync]] = {}
        for requirement, path in self._witnesses.items():
            if sync not in path:
                continue
            if requirement == only_own and requirement not in still_owned:
                continue
            found = witness(requirement, rest)
            if found is None:
                return False
            fresh[requirement] = found
        self._witnesses.update(fresh)
        self._owned.pop(sync, None)
        del self.syncs[sync]
        return True
