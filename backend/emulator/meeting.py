"""Cores that wait for each other: one runs at a time, until it waits or is through.

Which core runs next does not depend on the host: it is the next one in turn that can go on.  A run
is therefore the same every time.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...dialects.core.errors import DeadlockError, FlagError
from ...dialects.npu_isa.instructions.cross_core import ANYONE, CrossSync, Signal
from ...dialects.npu_isa.spec import Operands
from ...dialects.target.machine import Machine
from ..program import Kernel
from .locate import describe


class _AbandonedError(Exception):
    """Ends the thread of a core when another core has failed."""


class Signals:
    """The signals of a task that are set, each with what came along, oldest first."""

    def __init__(self) -> None:
        self._set: dict[Signal, deque[Any]] = defaultdict(deque)

    def post(self, signals: Sequence[Signal], message: object, most: int) -> Signal | None:
        """Set signals; one that was set `most` times already, which is then not set."""
        for signal in signals:
            if len(self._set[signal]) >= most:
                return signal
            self._set[signal].append(message)
        return None

    def missing(self, signals: Sequence[Signal]) -> list[Signal]:
        """Those that are not set."""
        return [signal for signal in signals if not self._set.get(signal)]

    def take(self, signals: Sequence[Signal]) -> list[Any]:
        """Count signals that are set down; what came along with each."""
        return [self._set[signal].popleft() for signal in signals]

    def give(
        self,
        spec: type[CrossSync],
        o: Operands,
        core: int,
        cores: int,
        machine: Machine,
        message: object = None,
    ) -> None:
        """Set what an instruction sets on core `core` of `cores`, each with `message`; FlagError
        for an id that does not exist and for a signal that is set as often as it can be."""
        cross = machine.sync.cross
        if spec.feature == "cross_core" and cross is not None and o.id >= cross.ids:
            raise FlagError(
                f"flag {o.id} between cores does not exist",
                why=f"the machine has the ids 0..{cross.ids - 1}",
            )
        most = spec.most(machine)
        full = self.post(spec.signals(o, core, cores, machine), message, most)
        if full is not None:
            raise FlagError(
                f"{signal_words(full)} is set more than {most} times",
                why="nothing has waited for it",
                hint="wait for it, or use another id",
            )

    def check_left(self) -> None:
        """FlagError for signals that are set at the end of a kernel."""
        left = [signal for signal, messages in self._set.items() if messages]
        if left:
            raise FlagError(
                "flags between cores are left set at the end of the kernel: "
                + "; ".join(map(signal_words, left)),
                why="they would be set when the next kernel starts",
                hint="wait for every flag that is set",
            )


class Meeting:
    """Runs the cores of one task in turns."""

    def __init__(self, kernel: Kernel, machine: Machine, cores: int) -> None:
        self._kernel, self._machine, self._cores = kernel, machine, cores
        self._signals = Signals()
        self._turns = [threading.Semaphore(0) for _ in range(cores)]
        self._back = threading.Semaphore(0)
        self._waiting: dict[int, tuple[int, Sequence[Signal]]] = {}
        """The word at which each core waits, and for what."""
        self._through: set[int] = set()
        self._over = False
        """Whether a core has failed, or the host gives up."""

    def run(self, bodies: Sequence[Callable[[], object]]) -> None:
        """Run one body a core until all are through; raises what the first core that fails does,
        DeadlockError when all that are left wait, and FlagError for signals left set."""
        with ThreadPoolExecutor(self._cores, "npuc-core") as pool:
            futures = [pool.submit(self._body, core, body) for core, body in enumerate(bodies)]
            try:
                self._take_turns()
            finally:
                self._over = True
                for turn in self._turns:
                    turn.release()
        for future in futures:
            error = future.exception()
            if error is not None and not isinstance(error, _AbandonedError):
                raise error
        self._signals.check_left()

    def _take_turns(self) -> None:
        while len(self._through) < self._cores:
            able = [core for core in range(self._cores) if self._is_able(core)]
            if not able:
                raise self._deadlock()
            for core in able:
                self._turns[core].release()
                self._back.acquire()
                if self._over:
                    return

    def _is_able(self, core: int) -> bool:
        _, signals = self._waiting.get(core, (0, ()))
        return core not in self._through and not self._signals.missing(signals)

    def _body(self, core: int, body: Callable[[], object]) -> None:
        fine = False
        try:
            self._wait_for_turn(core)
            body()
            fine = True
        finally:
            self._over |= not fine
            self._through.add(core)
            self._back.release()

    def _wait_for_turn(self, core: int) -> None:
        self._turns[core].acquire()
        if self._over:
            raise _AbandonedError

    def meet(
        self, core: int, word: int, spec: type[CrossSync], o: Operands, message: object
    ) -> list[Any]:
        """Carry out an instruction of one core: set its signals, each with `message`, and wait for
        those it waits for; what came along with them."""
        self._signals.give(spec, o, core, self._cores, self._machine, message)
        wanted = spec.awaits(o, core, self._cores, self._machine)
        while self._signals.missing(wanted):
            self._waiting[core] = word, wanted
            self._back.release()
            self._wait_for_turn(core)
        self._waiting.pop(core, None)
        return self._signals.take(wanted)

    def _deadlock(self) -> DeadlockError:
        waits = [
            f"core {core} waits in {describe(self._kernel, word)} for "
            + ", ".join(map(signal_words, self._signals.missing(wanted)))
            for core, (word, wanted) in sorted(self._waiting.items())
        ]
        through = sorted(self._through)
        if through:
            waits.append(f"cores {', '.join(map(str, through))} are through")
        return DeadlockError(
            f"the cores of kernel {self._kernel.name} wait for each other for ever",
            why="; ".join(waits),
            hint="have every core that is waited for set the flag first",
        )


def signal_words(signal: Signal) -> str:
    """A signal in a message."""
    kind, number, source, target = signal
    if kind == "sync_all":
        return f"core {source} to come to sync_all"
    what = f"event {number}" if kind == "ib" else f"flag {number} ({kind})"
    return f"{what} of core {source}" + ("" if target == ANYONE else f" for core {target}")
