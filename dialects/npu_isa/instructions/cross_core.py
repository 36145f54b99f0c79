"""Order between the cores of a task: flags that are counters, and meetings through GM.

What is set and what is waited for are signals.  A signal counts up when it is set and down when a
wait takes it; a wait for several takes all of them at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ...core.errors import ExecutionError
from ...target import costs
from ...target.costs import RESIDENT, Cycles, Traffic
from ..spec import PIPES, Field, Instruction, Operands, Pipe, layout

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

ANYONE = -1
"""The target of a signal that whoever waits first takes."""


class Signal(NamedTuple):
    """A counter between two cores: what kind of flag, its id, who sets it and who waits for it."""

    kind: str
    id: int
    source: int
    target: int


Signals = tuple[Signal, ...]


class CrossSync(Instruction):
    """Base of the instructions that order cores; the executor carries them out.

    `drains`: everything issued before, on every pipe, is done first.
    """

    pipe = "S"
    drains: ClassVar[bool] = False

    @classmethod
    def queue(cls, o: Operands) -> Pipe:
        """The pipe that sets the signals or waits for them."""
        del o
        return "S"

    @classmethod
    def signals(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """What core number `core` of `cores` sets."""
        del o, core, cores, machine
        return ()

    @classmethod
    def awaits(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """What it waits for, after setting its own."""
        del o, core, cores, machine
        return ()

    @classmethod
    def most(cls, machine: Machine) -> int:
        """Highest count of a signal."""
        del machine
        return 1

    @classmethod
    def delay(cls, machine: Machine) -> int:
        """Cycles until another core sees a signal."""
        return costs.through_gm(machine)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Nothing to values."""
        del core, o

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Cycles on the pipe, once nothing is waited for."""
        del o, traffic
        return Cycles(machine.sync.wait_flag, 0)


class _Flag(CrossSync):
    """Base of the flags in hardware."""

    feature = "cross_core"
    fields = layout(
        Field("mode", "imm", 2, max=2),
        Field("pipe", "imm", 4, enum=PIPES),
        Field("id", "ri", 4, max=15),
    )

    @classmethod
    def queue(cls, o: Operands) -> Pipe:
        """The pipe named."""
        return o.pipe

    @classmethod
    def most(cls, machine: Machine) -> int:
        """What the counters hold."""
        cross = machine.sync.cross
        return 1 if cross is None else cross.most

    @classmethod
    def delay(cls, machine: Machine) -> int:
        """As the machine says."""
        cross = machine.sync.cross
        return 0 if cross is None else cross.latency


class CrossSet(_Flag):
    """Set flag `id` of other cores once everything issued to `pipe` before has completed.

    Mode 0 is between all cores of the task: a wait goes on when each of them, the waiting one
    too, has set.  Mode 1 is the same between the cores of a group but its first one.  In mode 2 the
    first core of a group sets for each of the others, and each of them for the first, which waits
    for all.
    """

    opcode = 0x023
    mnemonic = "cross_set"
    restates = (
        "CrossCoreSetFlag (FFTS): modes 0 (all cores), 1 (vector cores of a group), 2 (the cube "
        "core of a group and its vector cores); flagId 0..10; a counter goes up to 15."
    )

    @classmethod
    def signals(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """One signal a core it sets for."""
        others = _peers(o.mode, core, cores, machine)
        return tuple(Signal(f"mode {o.mode}", o.id, core, other) for other in others)


class CrossWait(_Flag):
    """Hold `pipe` until flag `id` was set by every core that `mode` has it wait for, and count it
    down; modes as for `cross_set`."""

    opcode = 0x024
    mnemonic = "cross_wait"
    restates = "CrossCoreWaitFlag (FFTS): modes and ids of CrossCoreSetFlag."

    @classmethod
    def awaits(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """One signal a core it waits for."""
        others = _peers(o.mode, core, cores, machine)
        return tuple(Signal(f"mode {o.mode}", o.id, other, core) for other in others)


class SyncAll(CrossSync):
    """Go on when every core of the task has come here and all its work before is done."""

    opcode = 0x025
    mnemonic = "sync_all"
    feature = "sync_gm"
    drains = True
    restates = (
        "SyncAll with gmWorkspace and ubWorkspace: each core stores a count to GM and reads those "
        "of the others.  The workspaces are the run time's own here."
    )
    fields = ()

    @classmethod
    def most(cls, machine: Machine) -> int:
        """A core may come here again before another one has gone on."""
        del machine
        return 2

    @classmethod
    def signals(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """One signal for each other core."""
        del o, machine
        return tuple(Signal("sync_all", 0, core, other) for other in range(cores) if other != core)

    @classmethod
    def awaits(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """One signal from each other core."""
        del o, machine
        return tuple(Signal("sync_all", 0, other, core) for other in range(cores) if other != core)


class IbSet(CrossSync):
    """Set event `event` of this core once all its work before is done; one core may wait for it."""

    opcode = 0x026
    mnemonic = "ib_set"
    feature = "sync_gm"
    drains = True
    restates = (
        "IBSet(gmWorkspace, ubWorkspace, blockIdx, eventID), blockIdx its own number: a word in GM "
        "per core and event.  The workspaces are the run time's own here."
    )
    fields = layout(Field("event", "ri", 8))

    @classmethod
    def signals(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """The event of this core."""
        del cores, machine
        return (Signal("ib", o.event, core, ANYONE),)


class IbWait(CrossSync):
    """Wait until core number `core` has set its event `event`, and clear it."""

    opcode = 0x027
    mnemonic = "ib_wait"
    feature = "sync_gm"
    restates = "IBWait(gmWorkspace, ubWorkspace, blockIdx, eventID): waits for core blockIdx."
    fields = layout(Field("core", "ri", 10), Field("event", "ri", 8))

    @classmethod
    def awaits(cls, o: Operands, core: int, cores: int, machine: Machine) -> Signals:
        """The event of the core named; ExecutionError for itself and for no core of the task."""
        del machine
        if o.core == core or o.core >= cores:
            raise ExecutionError(
                f"{cls.mnemonic} waits for core {o.core}",
                why=f"it runs on core {core} of {cores}",
                hint="wait for another core of the task",
            )
        return (Signal("ib", o.event, o.core, ANYONE),)


def _peers(mode: int, core: int, cores: int, machine: Machine) -> range | tuple[int, ...]:
    """The cores that a flag is set for, or waited for, by one core."""
    if mode == 0:
        return range(cores)
    group = 1 if machine.sync.cross is None else machine.sync.cross.group
    first = core - core % group
    others = range(first + 1, min(first + group, cores))
    if mode == 1:
        if core == first:
            raise ExecutionError(
                "the first core of a group takes part in mode 1",
                why=f"core {core}; the flags of mode 1 are between cores {list(others)}",
                hint="use mode 0 or 2",
            )
        return others
    return others if core == first else (first,)
