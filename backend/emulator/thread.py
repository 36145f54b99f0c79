"""The scalar thread of a core, a word at a time, for executors that let pipes run between words.

It issues what `Code` issues, in the same order, and does the scalar work itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.core.errors import NpucError
from ...dialects.npu_isa.instructions.branches import Redirection
from ...dialects.npu_isa.instructions.scalar import Loop
from ...dialects.npu_isa.record import Reg
from ..structure import body_words, branch_target
from .code import Code, branch_step, lookup_of, scalar_step
from .core import CoreState
from .issue import Issued, Resolver
from .locate import located


@dataclass(slots=True)
class _Turns:
    """A loop that runs: its test as it is issued, the register that counts, how many iterations
    there are, the first word after the body, and the iteration it is in."""

    test: Issued
    register: int
    trips: int
    stop: int
    iteration: int = -1


class ThreadCode:
    """The words of a kernel as steps of a thread; cores share them."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.kernel, self._machine = code.kernel, code.machine
        self.words = [self._word(word) for word in range(len(code.kernel.records))]

    def _word(self, word: int) -> Callable[[Thread], Issued | None]:
        """What the thread does at a word; what it issues, unless it did all there is to do."""
        resolver = Resolver(self.kernel, word, self._machine)
        spec = resolver.spec
        if spec is Loop:
            return self._loop(resolver)
        if issubclass(spec, Redirection):
            return self._branch(resolver, spec)
        if resolver.is_scalar:
            run = scalar_step(resolver)

            def scalar(thread: Thread) -> None:
                run(thread.core)
                thread.word += 1

            return scalar
        lookup = lookup_of(resolver)

        def issue(thread: Thread) -> Issued:
            issued = lookup(thread.core.regs)
            thread.core.log(issued)
            thread.word += 1
            return issued

        return issue

    def _branch(
        self, resolver: Resolver, spec: type[Redirection]
    ) -> Callable[[Thread], Issued | None]:
        word = resolver.word
        taken, target = branch_step(resolver, spec), branch_target(self.kernel.records, word)

        def branch(thread: Thread) -> None:
            if not taken(thread.core):
                thread.word += 1
                return
            if target <= word:
                thread.core.spend(word + 1 - target)
            thread.word = target

        return branch

    def _loop(self, resolver: Resolver) -> Callable[[Thread], Issued | None]:
        word, test = resolver.word, resolver.scalar()
        record = self.kernel.records[word]
        iv, count, _ = record.operands
        assert isinstance(iv, Reg)
        assert isinstance(count, int)
        stop, work = word + 1 + body_words(record), self.code.certain[word]

        def loop(thread: Thread) -> None:
            core = thread.core
            trips = core.regs[count] if isinstance(count, Reg) else count
            core.log(test)
            core.check_budget(trips, work)
            thread.loops.append(_Turns(test, int(iv), trips, stop))
            thread.turn()

        return loop


class Thread:
    """The scalar thread of `core`, at a word of its kernel."""

    def __init__(self, code: ThreadCode, core: CoreState) -> None:
        self.core = core
        self.word = 0
        self.loops: list[_Turns] = []
        self._kernel, self._words = code.kernel, code.words

    @property
    def is_through(self) -> bool:
        """Whether the kernel has no further word."""
        return self.word == len(self._words)

    def advance(self) -> Issued | None:
        """Do one word, or turn to the next iteration of a loop; what that issues, if anything."""
        word = self.word
        try:
            if self.loops and word == self.loops[-1].stop:
                word = self.loops[-1].test.word
                self.core.log(self.loops[-1].test)
                self.turn()
                return None
            return self._words[word](self)
        except NpucError as error:
            if error.where:
                raise
            raise located(error, self._kernel, word, self.core.core_id) from error

    def turn(self) -> None:
        """Begin the next iteration of the innermost loop, or go on after the last."""
        turns = self.loops[-1]
        turns.iteration += 1
        if turns.iteration >= turns.trips:
            self.loops.pop()
            self.word = turns.stop
            return
        self.core.spend(turns.stop - turns.test.word)
        self.core.regs[turns.register] = turns.iteration
        self.word = turns.test.word + 1
