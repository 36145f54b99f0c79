"""One instruction with its operands known: what executes, what the checks and the clock look at."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Literal, NamedTuple, TypeAlias

from ...dialects.core.errors import BoundsError, ExecutionError
from ...dialects.npu_isa.instructions.cross_core import CrossSync
from ...dialects.npu_isa.instructions.sync import Barrier, SetFlag, WaitFlag
from ...dialects.npu_isa.record import Addr, Operand, Reg
from ...dialects.npu_isa.spec import Access, Field, Footprint, Instruction, Operands, Pipe
from ...dialects.target.costs import Cycles
from ...dialects.target.machine import Machine
from ..program import Kernel
from .locate import describe

Values: TypeAlias = Sequence[int]
"""Values of the registers of a record, in the order of `Resolver.registers`."""


class Kind(Enum):
    """What the clock does with an instruction."""

    SCALAR = "scalar"
    WORK = "work"
    TRANSFER = "transfer"
    SET = "set"
    WAIT = "wait"
    BARRIER = "barrier"
    CROSS = "cross"


_KINDS: dict[type[Instruction], Kind] = {
    SetFlag: Kind.SET,
    WaitFlag: Kind.WAIT,
    Barrier: Kind.BARRIER,
}


def kind_of(spec: type[Instruction]) -> Kind:
    """What the clock does with an instruction that is neither scalar work nor a GM transfer."""
    return Kind.CROSS if issubclass(spec, CrossSync) else _KINDS.get(spec, Kind.WORK)


_QUEUES = {Kind.SET: "src", Kind.WAIT: "dst"}
"""The operand that names the pipe in whose queue a flag instruction waits."""
_UNKNOWN = Cycles(0, 0)


class Effect(NamedTuple):
    """Bytes read (`r`) or written (`w`), at absolute addresses of the memory `shape.space`."""

    mode: Literal["r", "w"]
    shape: Footprint


class Issued(NamedTuple):
    """An instruction as it leaves the scalar thread.

    `word` is its index in the kernel and `pipe` the queue it waits in.  `cycles` is left 0 for
    a transfer from or to GM, whose time depends on what L2 holds; `gm` are its ranges there.
    """

    word: int
    kind: Kind
    spec: type[Instruction]
    operands: Operands
    pipe: Pipe
    cycles: Cycles
    effects: tuple[Effect, ...]
    gm: tuple[Effect, ...]


def moved_bytes(issued: Issued) -> list[tuple[str, int]]:
    """The paths between memories (`gm_ub`, ...) an instruction moves bytes on, and how many it
    reads for it; a product moves none."""
    if issued.pipe == "M":
        return []
    targets = {effect.shape.space for effect in issued.effects if effect.mode == "w"}
    return [
        (f"{effect.shape.space}_{target}", effect.shape.bytes)
        for effect in issued.effects
        for target in targets
        if effect.mode == "r" and effect.shape.space != target
    ]


class Transfer(NamedTuple):
    """A GM transfer but for its address: operand values (the address still missing), its effects
    on chip, and what it does in GM relative to the address."""

    values: tuple[int | float | str | None, ...]
    local: tuple[Effect, ...]
    gm: tuple[Access, ...]


class Resolver:
    """Turns one record and the values of its registers into what is issued.

    `registers` are the registers it reads, without the one that holds a GM address, `gm_register`.
    """

    def __init__(self, kernel: Kernel, word: int, machine: Machine) -> None:
        record = kernel.records[word]
        self.word = word
        self.spec = record.spec
        self._kernel = kernel
        self.machine = machine
        self.gm_register: int | None = None
        self._gm_index = self._gm_offset = 0
        self._values: list[int | float | str | None] = []
        self._sources: list[tuple[int, int, int]] = []
        """Index of a field, position of its register in `registers`, offset to add."""
        registers: dict[int, int] = {}
        for index, field in enumerate(self.spec.fields):
            register, value = _split(field, record.operands[index])
            self._values.append(value if register is None else None)
            if register is None:
                continue
            offset = value if isinstance(value, int) else 0
            if field.space == "gm":
                self.gm_register, self._gm_index, self._gm_offset = register, index, offset
            else:
                position = registers.setdefault(register, len(registers))
                self._sources.append((index, position, offset))
        self.registers = tuple(registers)

    @property
    def is_scalar(self) -> bool:
        """Whether the scalar thread does the work itself: nothing is queued, no memory touched."""
        own = self.spec.pipe == "S" and kind_of(self.spec) is Kind.WORK
        return own and not any(field.kind == "addr" for field in self.spec.fields)

    def operands(self, values: Values) -> Operands:
        """Operands of scalar work, which takes whatever its registers hold."""
        filled = list(self._values)
        for index, position, offset in self._sources:
            filled[index] = values[position] + offset
        return self.spec.Operands(*filled)

    def scalar(self) -> Issued:
        """Scalar work as the clock sees it, which does not depend on operands."""
        operands = self.spec.Operands(*self._values)
        cycles = self.spec.cycles(operands, self.machine)
        return Issued(self.word, Kind.SCALAR, self.spec, operands, "S", cycles, (), ())

    def whole(self, values: Values) -> Issued:
        """Anything but scalar work and GM transfers.  Raises BoundsError for a misaligned address
        and ExecutionError for a register value the instruction does not take."""
        operands = self._checked(values)
        kind = kind_of(self.spec)
        queue = _QUEUES.get(kind)
        pipe = self.spec.pipe if queue is None else getattr(operands, queue)
        if issubclass(self.spec, CrossSync):
            pipe = self.spec.queue(operands)
        effects = tuple(
            Effect(access.mode, access.at(getattr(operands, access.field)))
            for access in self.spec.footprints(operands, self.machine)
        )
        cycles = self.spec.cycles(operands, self.machine)
        return Issued(self.word, kind, self.spec, operands, pipe, cycles, effects, ())

    def prepare(self, values: Values) -> Transfer:
        """A GM transfer as far as it does not depend on the address; raises as `whole`."""
        operands = self._checked(values)
        gm_name = self.spec.fields[self._gm_index].name
        accesses = self.spec.footprints(operands, self.machine)
        gm = tuple(access for access in accesses if access.field == gm_name)
        local = tuple(
            Effect(access.mode, access.at(getattr(operands, access.field)))
            for access in accesses
            if access.field != gm_name
        )
        names = (field.name for field in self.spec.fields)
        return Transfer(tuple(getattr(operands, name) for name in names), local, gm)

    def place(self, transfer: Transfer, base: int) -> Issued:
        """The transfer with the value of its GM register."""
        index = self._gm_index
        address = base + self._gm_offset
        values = transfer.values
        operands = self.spec.Operands(*values[:index], address, *values[index + 1 :])
        gm = tuple(Effect(access.mode, access.at(address)) for access in transfer.gm)
        effects = (*transfer.local, *gm)
        kind, pipe = Kind.TRANSFER, self.spec.pipe
        return Issued(self.word, kind, self.spec, operands, pipe, _UNKNOWN, effects, gm)

    def _checked(self, values: Values) -> Operands:
        filled = list(self._values)
        for index, position, offset in self._sources:
            value = filled[index] = values[position] + offset
            self._check_register_value(self.spec.fields[index], value)
        operands = self.spec.Operands(*filled)
        fault = self.spec.constraint(operands)
        if fault:
            what = f"{self.spec.mnemonic} cannot run with these operands"
            raise ExecutionError(what, where=describe(self._kernel, self.word), why=fault)
        return operands

    def _check_register_value(self, field: Field, value: int) -> None:
        if field.kind == "addr":
            if value % field.align:
                raise BoundsError(
                    f"misaligned address of {self.spec.mnemonic}",
                    where=describe(self._kernel, self.word),
                    why=f"{field.name} = {value} is not a multiple of {field.align} bytes",
                )
        elif not field.wide:
            fault = field.check(value)
            if fault:
                what = f"{self.spec.mnemonic} takes no such value"
                raise ExecutionError(what, where=describe(self._kernel, self.word), why=fault)


def _split(field: Field, operand: Operand) -> tuple[int | None, int | float | str]:
    """The register an operand reads, if any, and what is known of its value without it."""
    if isinstance(operand, Addr):
        return None if operand.reg is None else int(operand.reg), operand.offset
    if isinstance(operand, Reg) and field.kind != "out":
        return int(operand), 0
    return None, operand
