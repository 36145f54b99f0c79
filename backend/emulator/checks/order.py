"""What is ordered before what on one core, as vector clocks, and whether flags are used rightly.

The scalar thread hands instructions to the pipes in program order, and each pipe runs them in that
order.  Between pipes only flags and barriers order anything.  `seen[p][q]` is how many instructions
of pipe q are known to be complete before the next one of pipe p starts: what p waited for, what the
pipe that set the flag had seen, and what the scalar thread had seen when it issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ....dialects.core.errors import DeadlockError, FlagError
from ....dialects.npu_isa.instructions.cross_core import CrossSync
from ....dialects.npu_isa.spec import PIPES
from ....dialects.target.machine import Machine
from ...program import Kernel
from ..issue import Issued, Kind
from ..locate import describe
from .deadlock import explain_wait
from .report import CheckReport

NUMBER = {pipe: index for index, pipe in enumerate(PIPES)}
"""Pipes by number."""
SCALAR = NUMBER["S"]

VectorClock: TypeAlias = list[int]
Known: TypeAlias = dict[int, tuple[int, ...]]
"""By core, how many instructions of each of its pipes are known to be complete."""
FlagKey: TypeAlias = tuple[int, int, int]
"""Source and destination pipe, event id."""


@dataclass(slots=True)
class _Flag:
    """One flag: the word that set it last, what its source had seen then, of other cores too, and
    the wait that cleared it last, as a number on the destination pipe (0: none in this kernel)."""

    word: int
    clock: tuple[int, ...]
    known: Known
    is_set: bool = True
    cleared: int = 0
    cleared_by: int = 0


class Message(NamedTuple):
    """What comes with a signal between cores: who set it, and what it had seen of itself and of
    other cores."""

    core: int
    clock: tuple[int, ...]
    known: Known


class Order:
    """Vector clocks and flags of one core; follows what is issued in program order.

    A flag set twice, left set or waited for in vain is raised at once: without flags that work
    there is no time to go on with.
    """

    def __init__(self, machine: Machine, report: CheckReport) -> None:
        self._ids = machine.sync.event_ids
        self._report = report
        self.count: VectorClock = [0] * len(PIPES)
        """Instructions given to each pipe.  Numbers go on from kernel to kernel."""
        self.seen: list[VectorClock] = []
        self._known: list[Known] = [{} for _ in PIPES]
        """What each pipe knows of other cores; empty where cores do not wait for each other."""
        self._flags: dict[FlagKey, _Flag] = {}

    def start(self, kernel: Kernel) -> None:
        """A new kernel: everything before it is complete, and no flag is set."""
        self._kernel = kernel
        self._flags = {}
        self._known = [{} for _ in PIPES]
        self._complete()

    def _complete(self) -> None:
        self.seen = [list(self.count) for _ in PIPES]
        for known in self._known:
            _join(self._known[SCALAR], known)
        self._known = [dict(self._known[SCALAR]) for _ in PIPES]

    def known_of(self, pipe: int) -> Known:
        """What a pipe knows of other cores now."""
        return self._known[pipe]

    def message(self, core: int, issued: Issued) -> Message:
        """What a signal tells that the instruction, on core `core`, sets."""
        pipe = NUMBER[issued.pipe]
        return Message(core, tuple(self.seen[pipe]), dict(self._known[pipe]))

    def learn(self, core: int, issued: Issued, messages: Sequence[Message]) -> None:
        """The pipe of an instruction of core `core` has waited for signals with these messages."""
        pipe = NUMBER[issued.pipe]
        known = dict(self._known[pipe])
        for message in messages:
            _join(known, {message.core: message.clock, **message.known})
        _merge(self.seen[pipe], known.pop(core, ()))
        self._known[pipe] = known

    def advance(self, issued: Issued) -> int:
        """Account for one instruction; its pipe's number."""
        pipe = NUMBER[issued.pipe]
        seen = self.seen[pipe]
        if pipe != SCALAR:
            _merge(seen, self.seen[SCALAR])
            seen[SCALAR] = self.count[SCALAR]
            self._inherit(pipe, self._known[SCALAR])
        self.count[pipe] += 1
        seen[pipe] = self.count[pipe]
        kind = issued.kind
        if kind is Kind.SET:
            self._set(issued)
        elif kind is Kind.WAIT:
            self._wait(issued)
        elif _drains(issued):
            self._complete()
        return pipe

    def _inherit(self, pipe: int, known: Known) -> None:
        """A pipe comes after what knew so much of other cores."""
        if known:
            own = dict(self._known[pipe])
            _join(own, known)
            self._known[pipe] = own

    def finish(self) -> None:
        """The kernel is over: no flag may be left set."""
        for key, flag in self._flags.items():
            if flag.is_set:
                raise FlagError(
                    f"{_name(key)} is left set at the end of the kernel",
                    where=describe(self._kernel, flag.word),
                    why="it would be set when the next kernel starts",
                    hint="wait for every flag that is set",
                )

    def _set(self, issued: Issued) -> None:
        key = self._key(issued)
        src, dst, _ = key
        flag = self._flags.get(key)
        clock, known = tuple(self.seen[src]), self._known[src]
        if flag is None:
            self._flags[key] = _Flag(issued.word, clock, known)
            return
        if flag.is_set:
            why = f"{describe(self._kernel, flag.word)} set it, and nothing has waited for it"
            raise self._fault(f"{_name(key)} is set twice", issued, why)
        elif clock[dst] < flag.cleared:
            why = (
                f"{PIPES[src]} does not know that {describe(self._kernel, flag.cleared_by)} has "
                f"cleared it"
            )
            what = f"{_name(key)} may be set while it is still set"
            error = self._fault(what, issued, why)
            self._report.add(error, self._kernel.name, issued.word, flag.cleared_by)
        flag.word, flag.clock, flag.known, flag.is_set = issued.word, clock, known, True

    def _wait(self, issued: Issued) -> None:
        key = self._key(issued)
        _, dst, event = key
        flag = self._flags.get(key)
        if flag is None or not flag.is_set:
            raise DeadlockError(
                f"{_name(key)} is not set when {PIPES[dst]} waits for it",
                where=describe(self._kernel, issued.word),
                why=explain_wait(self._kernel, issued.word, event),
                hint="a set comes before its wait in program order",
            )
        _merge(self.seen[dst], flag.clock)
        self._inherit(dst, flag.known)
        flag.is_set = False
        flag.cleared, flag.cleared_by = self.count[dst], issued.word

    def _key(self, issued: Issued) -> FlagKey:
        o = issued.operands
        key = NUMBER[o.src], NUMBER[o.dst], o.id
        if not 0 <= o.id < self._ids:
            why = f"the machine has the ids 0..{self._ids - 1} for each pair of pipes"
            error = self._fault(f"{_name(key)} does not exist", issued, why)
            self._report.add(error, self._kernel.name, issued.word)
        return key

    def _fault(self, what: str, issued: Issued, why: str) -> FlagError:
        where = describe(self._kernel, issued.word)
        hint = "order the two with another flag, or use another event id"
        return FlagError(what, where=where, why=why, hint=hint)


def _merge(clock: VectorClock, other: tuple[int, ...] | VectorClock) -> None:
    for index, value in enumerate(other):
        if value > clock[index]:
            clock[index] = value


def _drains(issued: Issued) -> bool:
    """Whether everything before an instruction is complete before anything after it starts."""
    if issubclass(issued.spec, CrossSync):
        return issued.spec.drains
    return issued.kind is Kind.BARRIER and issued.operands.pipe == "ALL"


def _join(known: Known, other: Known) -> None:
    """Know what `other` knows as well."""
    for core, clock in other.items():
        own = known.get(core)
        known[core] = clock if own is None else tuple(map(max, own, clock))


def _name(key: FlagKey) -> str:
    src, dst, event = key
    return f"flag {event} from {PIPES[src]} to {PIPES[dst]}"
