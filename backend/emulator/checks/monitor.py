"""All checks of one run, fed with every instruction before it executes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....dialects.core.errors import RaceError, UndefinedReadError
from ....dialects.npu_isa.spec import PIPES
from ...program import Entry, HostTask, Kernel, Program
from ..issue import Issued
from ..locate import describe, located
from .bounds import Bounds
from .order import Order
from .races import LastTouched, missing_order
from .report import CheckReport
from .sharing import Touch, find_conflict
from .undefined import ShadowCore, Undefined


class Toucher(NamedTuple):
    """One side of a race."""

    core: int
    pipe: int
    word: int
    mode: str


class Monitor:
    """Checks the cores of a run one after the other, in program order.

    `races` false leaves out flags and races, for programs that have no flags yet.
    """

    def __init__(self, program: Program, entry: Entry, *, races: bool, report: CheckReport) -> None:
        self.report = report
        self._races = races
        self._bounds = Bounds(program)
        self._shadow = ShadowCore(program.machine, program.gm_bytes)
        for tensor in entry.inputs:
            self._shadow.define(tensor.address, tensor.nbytes)
        for constant in program.constants:
            self._shadow.define(constant.address, constant.data.nbytes)
        self._undefined = Undefined(self._shadow)
        self._order = Order(program.machine, report)
        self._last = LastTouched(program.machine)
        self._touches: list[Touch] = []
        self._words: list[dict[int, int]] = [{} for _ in PIPES]
        self._core = 0

    def start_core(self, kernel: Kernel, core: int) -> None:
        """Core `core` begins `kernel`."""
        self._kernel, self._core = kernel, core
        self._shadow.start()
        self._order.start(kernel)
        for words in self._words:
            words.clear()

    def watch(self, log: list[Issued]) -> Callable[[Issued], None]:
        """What a core calls with each instruction: puts it into `log` and checks it."""

        def issue(issued: Issued) -> None:
            log.append(issued)
            self._issue(issued)

        return issue

    def _issue(self, issued: Issued) -> None:
        """Check one instruction against everything before it."""
        fault = self._bounds.check(issued.effects)
        if fault:
            # Nothing more can be said about bytes that are not there.
            raise located(fault, self._kernel, issued.word, self._core)
        undefined = self._undefined.check(issued)
        if undefined:
            error = located(undefined, self._kernel, issued.word, self._core)
            self.report.add(error, self._kernel.name, issued.word)
        if not self._races:
            return
        pipe = self._order.advance(issued)
        seen = self._order.seen[pipe]
        if not issued.effects:
            return
        self._words[pipe][seen[pipe]] = issued.word
        conflict = self._last.check(issued.effects, pipe, seen)
        if conflict:
            space, address, mode, other, number = conflict
            first = Toucher(self._core, other, self._words[other][number], mode)
            second = Toucher(self._core, pipe, issued.word, self._mode(issued, space, address))
            self._race(space, address, first, second)
        if issued.gm is not None:
            self._touches.append(Touch(issued.gm, self._core, pipe, issued.word, tuple(seen)))

    def finish_core(self) -> None:
        """The core is through."""
        if self._races:
            self._order.finish()

    def finish_task(self) -> None:
        """All cores of the task are through."""
        touches, self._touches = self._touches, []
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
            if not self._shadow.defined(tensor.address, tensor.nbytes):
                error = UndefinedReadError(
                    f"the host function {task.function} reads bytes that were never written",
                    where=task.node,
                    why=f"its argument {tensor.name} is at {tensor.address} in GM",
                    hint="launch the kernel that writes them first",
                )
                self.report.add(error, "host", task.function, tensor.address)
        self._shadow.define(task.result.address, task.result.nbytes)

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
