"""Event ids for flag pairs, when every two pipes have only a few.

Each (source pipe, target pipe) has its own ids.  A pair needs as many consecutive ones as it has
slots.  Ids are given out in program order, all different; where that does not do, in this order:

1. *Share.*  Two pairs may use the same id if every set follows the last wait for that id:

   * two carried pairs whose spans in program order are apart.  The id starts set; each pair waits
     for it at the start of its span and sets it at the end, so that it is set whenever control is
     outside the spans, and what one pair set is what the next one waits for;
   * two forward pairs whose spans are apart, where the wait of each is known to come before the set
     of the other (`orderings.witness`);
   * two forward pairs that both come with a carried pair back between the same statements (a ring:
     wait back, set, wait, set back), whose rings are apart and use equally placed ids on the way
     back: the pipes then take turns slot by slot whichever ring is active.

2. *Merge* two pairs of one body with the same slot: set after the later source, wait before the
   earlier target (forward pairs only if that still is a set before a wait).
3. *Give depth back*: a pair of several slots becomes one of a single slot and distance 1.  What the
   pipes overlapped through the other slots is lost, so this is remarked.
4. *Barrier*: a barrier of all pipes before the target of a pair does all it did, and lets the
   pairs after it share the ids of those before.

Every step keeps the invariant that makes the result sound: what a pair ordered stays ordered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from .dependences import STEP, Loop, common_loop
from .flag_pairs import guard
from .orderings import Point, Requirement, Sync, witness

Queue = tuple[str, str]


@dataclass(slots=True)
class Flags:
    """The outcome: `bases` gives each pair its first event id; `barriers` are the pairs that a
    barrier of all pipes before their target stands for; `concessions` say what was given up."""

    bases: dict[Sync, int]
    barriers: list[Sync] = field(default_factory=list[Sync])
    concessions: list[tuple[Sync, str]] = field(default_factory=list[tuple[Sync, str]])


def assign_event_ids(pairs: Sequence[Sync], ids: int) -> Flags:
    """Give each pair its event ids out of `ids` for every two pipes."""
    syncs = list(pairs)
    flags = Flags({})
    while True:
        bases, failing = _Attempt(syncs, flags.barriers, ids).run()
        if failing is None:
            flags.bases = bases
            return flags
        _give_way(syncs, failing, flags)


def _give_way(syncs: list[Sync], failing: Sync, flags: Flags) -> None:
    """Change the pairs of one queue so that they need fewer ids: the first change that exists."""
    members = [sync for sync in syncs if sync.queue == failing.queue]
    merged = min(_merges(members), key=lambda m: m[0], default=None)
    if merged is not None:
        _, left, right, both = merged
        syncs[:] = [both if s is left else s for s in syncs if s is not right]
        return
    deep = [sync for sync in members if sync.slots > 1]
    if deep:
        sync = max(deep, key=lambda s: s.slots)
        flags.concessions.append((sync, f"{sync.slots} slots take turns through one event id"))
        _give_depth_back(syncs, sync)
        return
    flags.concessions.append((failing, "a barrier of all pipes takes the place of a flag"))
    flags.barriers.append(failing)
    syncs.remove(failing)


def _merges(members: Sequence[Sync]) -> Iterator[tuple[int, Sync, Sync, Sync]]:
    """Pairs that can be one, with the program distance that is lost and what they become."""
    for left, right in combinations(members, 2):
        key = (left.loop, left.distance, left.slots, left.slot)
        if key != (right.loop, right.distance, right.slots, right.slot):
            continue
        source = max(left.source, right.source, key=lambda s: s.end)
        target = min(left.target, right.target, key=lambda s: s.start)
        if not left.carried and source.end >= target.start:
            continue
        lost = abs(left.set_at - right.set_at) + abs(left.wait_at - right.wait_at)
        yield (
            lost,
            left,
            right,
            Sync(source, target, *left.queue, left.loop, left.distance, left.slots, left.slot),
        )


def _give_depth_back(syncs: list[Sync], sync: Sync) -> None:
    """Replace a pair of several slots, and its pair back, by pairs of one slot."""
    back = _twin(sync, syncs)
    single = Sync(
        sync.source,
        sync.target,
        *sync.queue,
        sync.loop,
        1 if sync.carried else 0,
        1,
        None,
    )
    replaced = [single if s is sync else s for s in syncs if s is not back]
    if not sync.carried:
        replaced.append(guard(single))
    elif back is not None:
        replaced.append(Sync(back.source, back.target, *back.queue, back.loop, 0, 1, None))
    syncs[:] = sorted(replaced, key=lambda s: (s.set_at, s.wait_at, s.queue))


def _twin(sync: Sync, syncs: Sequence[Sync]) -> Sync | None:
    """The pair back between the same two statements with the same slots."""
    for other in syncs:
        if (
            other.source is sync.target
            and other.target is sync.source
            and other.queue == sync.queue[::-1]
            and other.loop is sync.loop
            and other.carried != sync.carried
            and (other.slots, other.slot) == (sync.slots, sync.slot)
        ):
            return other
    return None


class _Attempt:
    """One try at giving every pair its ids, sharing only in queues that need it."""

    def __init__(self, syncs: Sequence[Sync], barriers: Sequence[Sync], ids: int) -> None:
        self.syncs = list(syncs)
        self.barriers = barriers
        self.ids = ids
        self.bases: dict[Sync, int] = {}
        self.tight: set[Queue] = set()
        for queue in {sync.queue for sync in syncs}:
            if sum(s.slots for s in syncs if s.queue == queue) > ids:
                # A ring shares on its way back too.
                self.tight |= {queue, (queue[1], queue[0])}
        self.twins = {sync: _twin(sync, self.syncs) for sync in syncs}
        self._turns: dict[frozenset[Sync], bool] = {}

    def run(self) -> tuple[dict[Sync, int], Sync | None]:
        """The first id of each pair, or the first pair that there is none left for."""
        # Carried pairs first: a ring places its forward ids to match.
        for sync in sorted(self.syncs, key=lambda s: not s.carried):
            base = next((b for b in range(self.ids - sync.slots + 1) if self._fits(sync, b)), None)
            if base is None:
                return {}, sync
            self.bases[sync] = base
        return self.bases, None

    def _fits(self, sync: Sync, base: int) -> bool:
        taken = range(base, base + sync.slots)
        for other, start in self.bases.items():
            if other.queue != sync.queue:
                continue
            overlap = start < taken.stop and start + other.slots > taken.start
            if overlap and not self._may_share(sync, base, other):
                return False
        return True

    def _may_share(self, sync: Sync, base: int, other: Sync) -> bool:
        if sync.queue not in self.tight or sync.carried != other.carried:
            return False
        if not _apart(sync.span, other.span):
            return False
        return sync.carried or self._take_turns(sync, other) or self._are_rings(sync, base, other)

    def _take_turns(self, left: Sync, right: Sync) -> bool:
        """Whether each of two forward pairs is waited for before the other one is set."""
        key = frozenset((left, right))
        if key not in self._turns:
            first, second = sorted((left, right), key=lambda s: s.set_at)
            loop = common_loop(first.source, second.source)
            self._turns[key] = self._follows(first, second, loop, 0) and (
                loop is None or self._follows(second, first, loop, 1)
            )
        return self._turns[key]

    def _follows(self, before: Sync, after: Sync, loop: Loop | None, distance: int) -> bool:
        """Whether the wait of one pair comes before the set of another, `distance` executions of
        the body of `loop` later."""
        wait = Point(before.target_pipe, before.wait_at, before.loop)
        again = Point(after.source_pipe, after.set_at, after.loop)
        # A barrier orders what the pair it stands for did, and the two pipes at hand.
        known = [*self.syncs, *self.barriers]
        known += [_barrier_as_pair(b, wait.pipe, again.pipe) for b in self.barriers]
        return witness(Requirement(wait, again, loop, distance), known) is not None

    def _are_rings(self, sync: Sync, base: int, other: Sync) -> bool:
        """Whether two forward pairs belong to rings that are apart, with ids placed alike."""
        back, other_back = self.twins[sync], self.twins[other]
        if back is None or other_back is None or not _apart(back.span, other_back.span):
            return False
        return self.bases[back] - base == self.bases[other_back] - self.bases[other]


def _barrier_as_pair(pair: Sync, source_pipe: str, target_pipe: str) -> Sync:
    """What a barrier before the target of `pair` does for two pipes.

    It stands after what is set and before what is waited for in the same gap.
    """
    order = Sync(pair.target, pair.target, source_pipe, target_pipe, pair.loop, 0, 1, None)
    order.set_at = order.wait_at = pair.target.start - STEP // 2
    return order


def _apart(left: tuple[int, int], right: tuple[int, int]) -> bool:
    """Whether one span ends before the other begins."""
    return left[1] < right[0] or right[1] < left[0]
