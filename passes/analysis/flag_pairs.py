"""From dependences to the smallest set of flag pairs that keeps them.

1. A dependence of two accesses asks for a forward pair between the statements that hold them in
   their common body, and, when it is carried, for a pair back at its distance.
2. Of two pairs between the same pipes in the same body, one that is set later and waited for
   earlier makes the other useless: keep the tighter.
3. A forward pair in a loop needs something that keeps the source pipe from running a whole round
   ahead and setting its flag twice.  Where no dependence does that, add a pair back, distance 1.
4. Remove what the rest implies (`orderings.Reduction`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...dialects.core.errors import InternalError
from .dependences import Dependence
from .orderings import Reduction, Requirement, Sync, data_requirements


def flag_pairs(dependences: Sequence[Dependence]) -> list[Sync]:
    """Pairs that imply every dependence, none of them implied by the others, in program order."""
    requirements = [r for dependence in dependences for r in data_requirements(dependence)]
    syncs = tightest(sync for dependence in dependences for sync in pairs_of(dependence))
    kept = _guarded(syncs, requirements).run()
    return sorted(kept, key=lambda sync: (sync.set_at, sync.wait_at, sync.queue))


def pairs_of(dependence: Dependence) -> list[Sync]:
    """The forward and the carried pair that a dependence asks for by itself."""
    first, second, loop, distance, slot = dependence
    source, target = first.statement.within(loop), second.statement.within(loop)
    slots = max(distance, 1)
    found = [Sync(source, target, first.pipe, second.pipe, loop, 0, slots, slot)]
    if distance:
        found.append(Sync(target, source, second.pipe, first.pipe, loop, distance, slots, slot))
    return found


def tightest(syncs: Iterable[Sync]) -> list[Sync]:
    """The syncs without those that another one of the same pipes and body covers."""
    groups: dict[object, list[Sync]] = {}
    for sync in syncs:
        groups.setdefault((sync.queue, sync.loop, sync.carried), []).append(sync)
    kept: list[Sync] = []
    for group in groups.values():
        best: list[Sync] = []
        for sync in sorted(group, key=lambda s: (s.slots, s.wait_at - s.set_at)):
            if not any(_covers(other, sync) for other in best):
                best = [other for other in best if not _covers(sync, other)] + [sync]
        kept += best
    return kept


def _covers(tight: Sync, loose: Sync) -> bool:
    return (
        tight.set_at >= loose.set_at
        and tight.wait_at <= loose.wait_at
        and tight.distance <= loose.distance
    )


def guard(sync: Sync) -> Sync:
    """The pair back that lets the source pipe go on only when the target pipe has caught up."""
    return Sync(sync.target, sync.source, sync.target_pipe, sync.source_pipe, sync.loop, 1, 1, None)


def _guarded(syncs: list[Sync], requirements: list[Requirement]) -> Reduction:
    reduction = Reduction(syncs, requirements)
    guards = [guard(unmet) for unmet in reduction.unmet if isinstance(unmet, Sync)]
    if guards:
        reduction = Reduction([*syncs, *tightest(guards)], requirements)
    if reduction.unmet:
        raise InternalError(
            "flag pairs do not imply the dependences they were made from",
            why=f"{len(reduction.unmet)} orders do not hold",
        )
    return reduction
