"""All checks of one run, fed with every instruction before it executes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ....dialects.core.errors import RaceError, UndefinedReadError
from ....dialects.npu_isa.effects import DEFINED, UNDEFINED
from ....dialects.npu_isa.memory import Memory
from ....dialects.npu_isa.spec import PIPES
from ....dialects.target.machine import Machine
from ...program import Entry, HostTask, Kernel, Program
from ..core import CoreState
from ..issue import Issued
from ..locate import describe, located
from .bounds import Bounds
from .order import Message, Order
from .races import LastTouched, missing_order
from .report import CheckReport
from .sharing import Touch, find_conflict
from .undefined import ShadowCore, undefined_use


class Toucher(NamedTuple):
    """One side of a race."""

    core: int
    pipe: int
    word: int
    mode: str


class _Watched:
    """What is known of one core: the shadow of its memories, its order, who touched what last."""

    def __init__(self, machine: Machine, gm: Memory, report: CheckReport) -> None:
        self.shadow = ShadowCore(machine, gm)
        self.order = Order(machine, report)
        self.last = LastTouched(machine)
        self.words: list[dict[int, int]] = [{} for _ in PIPES]
        self.core = 0

    def start(self, kernel: Kernel, core: int) -> None:
        """It begins a kernel as core `core`."""
        self.core = core
        self.shadow.start()
        self.order.start(kernel)
        for words in self.words:
            words.clear()


class Monitor:
    """Checks the cores of a run, each in program order: one after the other, or, where they wait
    for each other, in the turns they take.

    `races` false leaves out flags and races, for programs that have no flags yet.
    """

    def __init__(self, program: Program, entry: Entry, *, races: bool, report: CheckReport) -> None:
        self.report = report
        self._races = races
        self._bounds = Bounds(program)
        self._machine = program.machine
        self._gm = Memory("gm", program.gm_bytes, UNDEFINED)
        for tensor in entry.inputs:
            self._define(tensor.address, tensor.nbytes)
        for constant in program.constants:
            self._define(constant.address, constant.data.nbytes)
        self._watched: list[_Watched] = []
        """What each core is watched with: all by the first one unless they run jointly."""
        self._joint = False
        self._touches: list[Touch] = []

    def _define(self, start: int, nbytes: int) -> None:
        """Bytes of GM that are there before the first task, or that the host wrote."""
        self._gm.data[start : start + nbytes] = DEFINED

    def _of(self, core: int) -> _Watched:
        place = core if self._joint else 0
        while len(self._watched) <= place:
            self._watched.append(_Watched(self._machine, self._gm, self.report))
        return self._watched[place]

    def start_core(self, kernel: Kernel, core: int, *, joint: bool = False) -> None:
        """Core `core` begins `kernel`; `joint` says that others run at the same time."""
        self._kernel, self._joint = kernel, joint
        self._of(core).start(kernel, core)

    def watch(self, core: CoreState) -> Callable[[Issued], None]:
        """What `core` calls with each instruction: logs it and checks it."""
        log, watched = core.issued, self._of(core.core_id)

        def issue(issued: Issued) -> None:
            log.append(issued)
            self._issue(issued, core, watched)

        return issue

    def _issue(self, issued: Issued, core: CoreState, watched: _Watched) -> None:
        """Check one instruction against everything before it."""
        number = watched.core
        fault = self._bounds.check(issued.effects)
        if fault:
            # Nothing more can be said about bytes that are not there.
            raise located(fault, self._kernel, issued.word, number)
        undefined = undefined_use(watched.shadow, core, issued)
        if undefined:
            error = located(undefined, self._kernel, issued.word, number)
            self.report.add(error, self._kernel.name, issued.word)
        if not self._races:
            return
        pipe = watched.order.advance(issued)
        seen = watched.order.seen[pipe]
        if not issued.effects:
            return
        watched.words[pipe][seen[pipe]] = issued.word
        conflict = watched.last.check(issued.effects, pipe, seen)
        if conflict:
            space, address, mode, other, last = conflict
            first = Toucher(number, other, watched.words[other][last], mode)
            second = Toucher(number, pipe, issued.word, self._mode(issued, space, address))
            self._race(space, address, first, second)
        kind = issued.spec.atomic(issued.operands) if issued.gm else None
        known = watched.order.known_of(pipe)
        for effect in issued.gm:
            touch = Touch(effect, number, pipe, issued.word, tuple(seen), known, kind)
            self._touches.append(touch)

    def message(self, core: int, issued: Issued) -> Message:
        """What a signal that `core` sets tells the cores that wait for it."""
        return self._of(core).order.message(core, issued)

    def learn(self, core: int, issued: Issued, messages: Sequence[Message]) -> None:
        """A core has waited for signals that came with these messages."""
        if self._races:
            self._of(core).order.learn(core, issued, messages)

    def finish_core(self, core: int) -> None:
        """The core is through."""
        if self._races:
            self._of(core).order.finish()

    def finish_task(self) -> None:
        """All cores of the task are through."""
        touches, self._touches = self._touches, []
        if self._joint:
            touches.sort(key=lambda touch: touch.core)
        conflict = find_conflict(touches)
        if conflict:
            first, second = (
                Toucher(touch.core, touch.pipe, touch.word, touch.effect.mode)
                for touch in (conflict.earlier, conflict.later)
            )
            self._race("gm", conflict.address, first, second)

    def host_task(self, task: HostTask) -> None:
        """The host engine runs between tasks: it must not read what nobody wrote."""
        for tensor in task.args:
            if self._gm.data[tensor.address : tensor.address + tensor.nbytes].any():
                error = UndefinedReadError(
                    f"the host function {task.function} reads bytes that were never written",
                    where=task.node,
                    why=f"its argument {tensor.name} is at {tensor.address} in GM",
                    hint="launch the kernel that writes them first",
                )
                self.report.add(error, "host", task.function, tensor.address)
        self._define(task.result.address, task.result.nbytes)

    @staticmethod
    def _mode(issued: Issued, space: str, address: int) -> str:
        """Whether the instruction writes this byte or only reads it."""
        return (
            "w"
            if any(
                mode == "w" and shape.space == space and shape.start <= address < shape.end
                for mode, shape in issued.effects
            )
            else "r"
        )

    def _race(self, space: str, address: int, first: Toucher, second: Toucher) -> None:
        if first.core == second.core:
            between = f"{PIPES[first.pipe]} and {PIPES[second.pipe]}"
            missing = missing_order(first.pipe, second.pipe)
            hint = f"set a flag from {PIPES[first.pipe]} to {PIPES[second.pipe]} and wait for it"
        else:
            between = f"cores {first.core} and {second.core}"
            missing = "the cores of a task have no order among each other"
            if self._joint:
                missing += " but what they wait for"
            hint = "give each core bytes of its own, or split the work into two tasks"
        error = RaceError(
            f"{between} race for byte {address} of {space}",
            where=describe(self._kernel, second.word),
            why=f"{self._say(first)}; {self._say(second)}; {missing}",
            hint=hint,
        )
        self.report.add(error, self._kernel.name, first.word, second.word)

    def _say(self, toucher: Toucher) -> str:
        verb = "writes" if toucher.mode == "w" else "reads"
        what = describe(self._kernel, toucher.word)
        return f"{what}, on pipe {PIPES[toucher.pipe]} of core {toucher.core}, {verb} it"
