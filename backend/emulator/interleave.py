"""Execution in a random legal order, so that a program that misses an order shows it in its values.

What is legal: the scalar thread of a core issues in program order; each pipe carries out what it
was given, one instruction after the other; `wait_flag` holds its pipe until the flag is set, a
barrier for all pipes holds the thread until they have nothing left (one for a single pipe changes
nothing, as pipes are in order anyway), and signals hold between cores as they do in program order.
Nothing else is ordered, so any thread or pipe of any core that can go on may be next.

How one is chosen: the cores stand in a random order of preference, and on each core its thread and
pipes do.  The first that can go on does one instruction; now and then (see `RESHUFFLE_*`) it then
gets another place in the order.  So one pipe stays far behind or far ahead for a while, which is
what finds a missing flag; choosing evenly every time would hardly ever let one overtake another by
much.  All choices come from one seeded generator: the same seed gives the same order on any host.

Where it is stricter than the machine or the checks:

* An instruction on a pipe that writes a register (the counts that some vector instructions leave)
  holds the thread until it is done, because nothing in a program tells when such a register is
  there.
* The thread is at most `AHEAD` instructions ahead of its pipes.  The queues of machines are
  shorter; a program must not rely on that, as it would not be ordered by anything it says.
* Cores that combine what they store (atomic stores) and do not wait for each other run one after
  the other, because sums of floats depend on their order, which is legal.  Where such cores also
  wait for each other, float sums may differ in their last bits.

Deadlocks are found when nothing can go on.  That is never so because of the order chosen: what can
go on stays able to.  A wait that comes before its set in program order may succeed here, and is
refused when the time of the run is worked out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from ...dialects.core.errors import DeadlockError, FlagError, InputError, NpucError
from ...dialects.npu_isa.instructions.cross_core import CrossSync
from ...dialects.npu_isa.spec import PIPES
from ..program import Kernel
from .checks.deadlock import explain_wait
from .core import CoreState
from .issue import Issued, Kind
from .locate import describe, located
from .meeting import Signals, signal_words
from .thread import Thread, ThreadCode

PROGRAM_ORDER = "program"
RANDOM = "random:"

AHEAD = 1024
"""Instructions that wait in the queues of one core at most."""
RESHUFFLE_PIPE = 1 / 8
RESHUFFLE_CORE = 1 / 64
"""How likely the pipe, or the core, that just did an instruction gets another place."""

_THREAD = "S"
_ALL = "ALL"


def seed_of(schedule: str) -> int | None:
    """The seed in `random:SEED`, None for `program`; InputError for anything else."""
    if schedule == PROGRAM_ORDER:
        return None
    digits = schedule.removeprefix(RANDOM)
    if digits != schedule and digits.isascii() and digits.isdecimal():
        return int(digits)
    raise InputError(
        f"there is no schedule {schedule!r}",
        why="a schedule is `program`, or `random:` and a number, as in random:7",
        hint="leave it out to run in program order",
    )


def run_interleaved(code: ThreadCode, states: Sequence[CoreState], chance: Random) -> None:
    """Run a kernel on cores that have started it, in an order that `chance` decides.

    Raises what an instruction raises, FlagError for a flag set while it is set or left set between
    cores, and DeadlockError, with everything that waits, when nothing can go on.
    """
    shared = Signals()
    cores = [_Core(code, state, shared, chance) for state in states]
    chance.shuffle(cores)
    # Overflow and NaN are values like others on the machine.
    with np.errstate(all="ignore"):
        while cores:
            core = next((core for core in cores if core.advance()), None)
            if core is None:
                raise _deadlock(code.kernel, sorted(cores, key=lambda core: core.number))
            if core.is_through:
                cores.remove(core)
            elif len(cores) > 1 and chance.random() < RESHUFFLE_CORE:
                cores.remove(core)
                cores.insert(chance.randrange(len(cores) + 1), core)
    shared.check_left()


class _Core:
    """One core: its thread, what waits in the queues of its pipes, its flags."""

    def __init__(
        self, code: ThreadCode, state: CoreState, signals: Signals, chance: Random
    ) -> None:
        self.number = state.core_id
        self._kernel, self._machine, self._state = code.kernel, code.code.machine, state
        self._cores, self._signals, self._chance = state.core_count, signals, chance
        self._thread = Thread(code, state)
        self._queues: dict[str, deque[Issued]] = {pipe: deque() for pipe in PIPES}
        """By pipe; that of S holds the instruction at which the thread is."""
        self._waiting = 0
        """Instructions in all queues but that of the thread."""
        self._register: str | None = None
        """The pipe for a register of which the thread waits."""
        self._flags: set[tuple[str, str, int]] = set()
        self._signalled: set[str] = set()
        """Pipes whose first instruction has set its signals and waits for others."""
        self._order = list(PIPES)
        chance.shuffle(self._order)

    @property
    def is_through(self) -> bool:
        """Whether the thread is, and nothing is left in any queue."""
        return self._thread.is_through and not self._waiting and not self._queues[_THREAD]

    def advance(self) -> bool:
        """Do one instruction of the first pipe that can go on, if there is one."""
        for pipe in self._order:
            if self._advance_thread() if pipe == _THREAD else self._advance_pipe(pipe):
                if self._chance.random() < RESHUFFLE_PIPE:
                    self._order.remove(pipe)
                    self._order.insert(self._chance.randrange(len(PIPES)), pipe)
                return True
        return False

    def _advance_thread(self) -> bool:
        if self._queues[_THREAD]:
            return self._advance_pipe(_THREAD)
        if self._register is not None:
            if self._queues[self._register]:
                return False
            self._register = None
        if self._thread.is_through or self._waiting >= AHEAD:
            return False
        issued = self._thread.advance()
        if issued is not None:
            self._queues[issued.pipe].append(issued)
            if issued.pipe != _THREAD:
                self._waiting += 1
                if any(field.kind == "out" for field in issued.spec.fields):
                    self._register = issued.pipe
        return True

    def _advance_pipe(self, pipe: str) -> bool:
        """Do the first instruction in a queue, if there is one and it can be done."""
        queue = self._queues[pipe]
        if not queue:
            return False
        issued = queue[0]
        try:
            done = self._try(pipe, issued)
        except NpucError as error:
            if error.where:
                raise
            raise located(error, self._kernel, issued.word, self.number) from error
        if done is None:
            return False
        if done:
            queue.popleft()
            self._waiting -= pipe != _THREAD
        return True

    def _try(self, pipe: str, issued: Issued) -> bool | None:
        """Carry out an instruction: whether it is done, or None if it cannot go on now."""
        kind = issued.kind
        if kind is Kind.SET:
            self._set(issued)
        elif kind is Kind.WAIT:
            key = _flag(issued)
            if key not in self._flags:
                return None
            self._flags.remove(key)
        elif kind is Kind.CROSS:
            return self._meet(pipe, issued)
        elif kind is Kind.BARRIER:
            if issued.operands.pipe == _ALL and self._waiting:
                return None
        else:
            issued.spec.execute(self._state, issued.operands)
        return True

    def _set(self, issued: Issued) -> None:
        key = _flag(issued)
        if key in self._flags:
            raise FlagError(
                f"{_words(issued)} is set while it is still set",
                why="in this order nothing has waited for it yet",
                hint="order the two with another flag, or use another event id",
            )
        self._flags.add(key)

    def _meet(self, pipe: str, issued: Issued) -> bool | None:
        """Set the signals of an instruction, and later take those that it waits for."""
        spec, o = issued.spec, issued.operands
        assert issubclass(spec, CrossSync)
        if pipe not in self._signalled:
            if spec.drains and self._waiting:
                return None
            self._signals.give(spec, o, self.number, self._cores, self._machine)
            self._signalled.add(pipe)
            return False
        wanted = spec.awaits(o, self.number, self._cores, self._machine)
        if self._signals.missing(wanted):
            return None
        self._signals.take(wanted)
        self._signalled.remove(pipe)
        return True

    def waits(self) -> Iterator[str]:
        """In words, what each pipe that has work waits for."""
        for pipe, queue in self._queues.items():
            if queue:
                yield f"core {self.number}: {pipe} waits in {self._wait(queue[0])}"

    def _wait(self, issued: Issued) -> str:
        spec, o, what = issued.spec, issued.operands, describe(self._kernel, issued.word)
        if issued.kind is Kind.WAIT:
            why = explain_wait(self._kernel, issued.word, o.id)
            return f"{what} for {_words(issued)}: {why}"
        if issubclass(spec, CrossSync):
            wanted = spec.awaits(o, self.number, self._cores, self._machine)
            missing = ", ".join(map(signal_words, self._signals.missing(wanted)))
            if missing:
                return f"{what} for {missing}"
        return f"{what} for the other pipes"


def _flag(issued: Issued) -> tuple[str, str, int]:
    o = issued.operands
    return o.src, o.dst, o.id


def _words(issued: Issued) -> str:
    src, dst, event = _flag(issued)
    return f"flag {event} from {src} to {dst}"


def _deadlock(kernel: Kernel, cores: Sequence[_Core]) -> DeadlockError:
    return DeadlockError(
        f"nothing that is left of kernel {kernel.name} can go on",
        why="; ".join(wait for core in cores for wait in core.waits()),
        hint="have everything that is waited for set first",
    )
