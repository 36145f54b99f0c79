"""What an instruction is: bit fields, effects, values and cycles, with no IR library behind it.

An instruction is a subclass of `Instruction` that is never instantiated: the class is the
specification.  The encoder, decoder, assembler, emulator, sync insertion and the xDSL ops are all
generated from it, so none of them has code of its own for one instruction.

A word has 256 bits.  Bits 0..9 hold the opcode; the fields follow.  How the bits of one field are
split is `Field.parts`:

| kind | bits, low to high | operand in a record |
|---|---|---|
| `imm` | value; an enum is its index | `int`, or `str` for an enum |
| `ri` | 1 mode bit (1 = register), max(width, 6) of register or value | `Reg` or `int` |
| `addr` on chip | 1 mode bit (1 = register), 6 of register, `width` or 24 of byte offset | `Addr` |
| `addr` in gm | 6 bits of register, 32 of byte offset | `Addr` with a register |
| `in`, `out` | 6 bits of register | `Reg` |
| `f32` | 32 bits, IEEE | `float` |

A value whose `min` is negative is in two's complement.  A value with a `bias` is held less that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from ..core.errors import InternalError
from ..target.costs import RESIDENT, Cycles, Traffic
from .effects import Access, Effects, Footprint, Space, UndefinedUse, use
from .record import Addr, Operand, Reg
from .registry import enter

if TYPE_CHECKING:
    from ..target.machine import Machine
    from .memory import Core

WORD_BITS = 256
OPCODE_BITS = 10
REGISTERS = 64
REGISTER_BITS = 6
CHIP_OFFSET_BITS = 24
GM_OFFSET_BITS = 32

Kind = Literal["imm", "ri", "addr", "in", "out", "f32"]
Pipe = Literal["S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"]
PIPES: tuple[Pipe, ...] = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")


class Part(NamedTuple):
    """A run of bits of a word with one meaning: `mode`, `reg`, `value` or `offset`."""

    name: str
    lo: int
    width: int


@dataclass(frozen=True, slots=True)
class Field:
    """One operand of an instruction and the bits that hold it.

    `lo` is the lowest bit; `width` the bits of the value proper (registers, mode bits and address
    offsets have widths of their own, see `parts`).  `unit` says what one step of the value is.
    `min` and `max` bound an immediate.  `enum` lists the names of an enumerated immediate; new
    names are only appended.  `space` and `align` (bytes) belong to addresses.  `default` is the
    value an assembly text may leave out.  `bias` is the immediate that bits of 0 stand for: a field
    appended to an instruction with a default other than 0 has it, so that older words mean that.
    With `wide` a register may hold any number, whatever the range of the immediate.
    """

    name: str
    kind: Kind
    width: int = 0
    unit: str = "1"
    min: int | None = None
    max: int | None = None
    enum: tuple[str, ...] | None = None
    space: Space | None = None
    align: int = 1
    default: int | float | str | None = None
    bias: int = 0
    wide: bool = False
    lo: int = -1

    @property
    def low(self) -> int:
        """Smallest immediate value."""
        return 0 if self.min is None else self.min

    @property
    def high(self) -> int:
        """Largest immediate value."""
        if self.max is not None:
            return self.max
        return (1 << (self.width - (1 if self.low < 0 else 0))) - 1

    @property
    def default_operand(self) -> Addr | int | float | str | None:
        """The operand a text may leave out, or None: for an address its offset, without a base."""
        if self.kind == "addr" and isinstance(self.default, int):
            return Addr(None, self.default)
        return self.default

    @property
    def takes_register(self) -> bool:
        """Whether the operand may be, or hold, a register."""
        return self.kind in ("ri", "addr", "in", "out")

    @property
    def offset_bits(self) -> int:
        """Bits of the byte offset of an address."""
        return GM_OFFSET_BITS if self.space == "gm" else self.width or CHIP_OFFSET_BITS

    @property
    def parts(self) -> tuple[Part, ...]:
        """The runs of bits of this field, from low to high."""
        if self.kind == "ri":
            return (
                Part("mode", self.lo, 1),
                Part("value", self.lo + 1, max(self.width, REGISTER_BITS)),
            )
        if self.kind == "addr" and self.space == "gm":
            return (
                Part("reg", self.lo, REGISTER_BITS),
                Part("offset", self.lo + REGISTER_BITS, self.offset_bits),
            )
        if self.kind == "addr":
            return (
                Part("mode", self.lo, 1),
                Part("reg", self.lo + 1, REGISTER_BITS),
                Part("offset", self.lo + 1 + REGISTER_BITS, self.offset_bits),
            )
        if self.kind in ("in", "out"):
            return (Part("reg", self.lo, REGISTER_BITS),)
        return (Part("value", self.lo, 32 if self.kind == "f32" else self.width),)

    @property
    def bits(self) -> int:
        """Bits this field takes in the word."""
        return sum(part.width for part in self.parts)

    def check(self, value: Operand, *, physical: bool = True) -> str | None:
        """What is wrong with `value` as this operand, or None.

        With `physical` a register must be one of the 64 of the machine; without, register numbers
        are unbounded.  The message is the same in assembler, verifier, encoder and decoder.
        """
        if not self._is_kind(value):
            return f"{self.name} takes {self._takes()}, not {value!r}"
        if isinstance(value, Reg):
            return self._check_register(value, physical)
        if isinstance(value, Addr):
            return self._check_address(value, physical)
        if self.enum is not None:
            if value in self.enum:
                return None
            return f"{self.name} = {value} is not one of {', '.join(self.enum)}"
        if not isinstance(value, int) or self.low <= value <= self.high:
            return None
        return self._range(self.name, value, self.low, self.high, self.width)

    def _is_kind(self, value: Operand) -> bool:
        """Whether `value` has the type this kind of field holds."""
        match self.kind:
            case "addr":
                return isinstance(value, Addr)
            case "in" | "out":
                return isinstance(value, Reg)
            case "f32":
                return isinstance(value, float)
            case "ri":
                return isinstance(value, int)
            case "imm":
                wanted = int if self.enum is None else str
                return isinstance(value, wanted) and not isinstance(value, Reg)

    def _takes(self) -> str:
        """What the operand may be, in words."""
        if self.kind == "imm":
            return "an integer" if self.enum is None else "one of " + ", ".join(self.enum)
        return {
            "addr": f"an address in {self.space}",
            "ri": "a register or an integer",
            "f32": "a float",
        }.get(self.kind, "a register")

    def _range(self, name: str, value: int, low: int, high: int, width: int) -> str:
        return f"{name} = {value} is outside {low}..{high} ({width} bits, unit {self.unit})"

    def _check_register(self, value: Reg, physical: bool) -> str | None:
        if value < 0 or (physical and value >= REGISTERS):
            return f"{self.name} = r{int(value)} is outside r0..r{REGISTERS - 1}"
        return None

    def _check_address(self, value: Addr, physical: bool) -> str | None:
        if value.reg is not None:
            wrong = self._check_register(value.reg, physical)
            if wrong:
                return wrong
        elif self.space == "gm":
            return f"{self.name} takes an address in gm, which needs a register"
        width = self.offset_bits
        high = (1 << width) - 1
        if not 0 <= value.offset <= high:
            return self._range(f"{self.name} offset", value.offset, 0, high, width)
        if value.reg is None and value.offset % self.align:
            return f"{self.name} = {value.offset} is not a multiple of {self.align} bytes"
        return None


def layout(*fields: Field) -> tuple[Field, ...]:
    """Give each field its bits, one after the other from bit 10.

    Append only: moving a field changes the binary format.
    """
    placed: list[Field] = []
    lo = OPCODE_BITS
    for field in fields:
        placed.append(replace(field, lo=lo))
        lo += placed[-1].bits
    return tuple(placed)


class Operands:
    """Operands of one instruction by field name, ready to execute.

    `imm`, `ri`, `in` and `addr` fields hold an int (an address in bytes), `f32` a float, an enum
    its name, `out` the number of the register to write.  Each instruction has a subclass of its
    own with one slot a field.
    """

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: float | str | None) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)

    def changed(self, **values: float | str | None) -> Self:
        """The same operands but for `values`, by field name."""
        return type(self)(*(values.get(name, getattr(self, name)) for name in self.__slots__))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Instruction:
    """One machine instruction.

    A concrete subclass sets every class variable, and defines `execute` and `cycles`, and
    `footprints` if it touches memory.  Classes without an opcode are shared bases.
    """

    opcode: ClassVar[int]
    mnemonic: ClassVar[str]
    pipe: ClassVar[Pipe]
    fields: ClassVar[tuple[Field, ...]]
    restates: ClassVar[str]
    """The published instruction this one restates, with its limits."""
    feature: ClassVar[str | None] = None
    """Machine feature the instruction always needs; see `features` for those of its operands."""
    moves: ClassVar[bool] = False
    """Whether it only moves bits, and fills what it pads with zeros."""
    Operands: ClassVar[type[Operands]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "opcode" in cls.__dict__:
            names = tuple(field.name for field in cls.fields)
            enter(cls, OPCODE_BITS, WORD_BITS)
            cls.Operands = type(f"{cls.__name__}Operands", (Operands,), {"__slots__": names})

    @classmethod
    def field(cls, name: str) -> Field:
        """The field called `name`; KeyError names the instruction when there is none."""
        for field in cls.fields:
            if field.name == name:
                return field
        raise KeyError(f"{cls.mnemonic} has no field {name}")

    @classmethod
    def features(cls, o: Operands) -> tuple[str, ...]:
        """Machine features these operands need.  A value not known yet is None and counts as the
        one that needs most."""
        del o
        return () if cls.feature is None else (cls.feature,)

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """What is wrong with these operands together, or None.  Unknown values are None."""
        del o
        return None

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Memory effects, each relative to the address its field holds.

        Addresses in `o` are not read.  Counts must be ints.  With upper bounds for counts, the span
        from the lowest to the highest byte of each field covers what smaller counts touch.  A range
        never touched because a count is 0 is left out or empty.
        """
        del o, machine
        return ()

    @classmethod
    def atomic(cls, o: Operands) -> str | None:
        """For a store that combines with what is in GM, in one step: how and in which type.

        Two of the same kind may meet in any order.
        """
        del o
        return None

    @classmethod
    def reads(cls, o: Operands, machine: Machine) -> tuple[Footprint, ...]:
        """Bytes read, at absolute addresses."""
        return cls._touched(o, machine, "r")

    @classmethod
    def writes(cls, o: Operands, machine: Machine) -> tuple[Footprint, ...]:
        """Bytes written, at absolute addresses."""
        return cls._touched(o, machine, "w")

    @classmethod
    def _touched(
        cls, o: Operands, machine: Machine, mode: Literal["r", "w"]
    ) -> tuple[Footprint, ...]:
        accesses = cls.footprints(o, machine)
        return tuple(a.at(getattr(o, a.field)) for a in accesses if a.mode == mode)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Carry out the instruction on a core's memories and registers."""
        raise InternalError("an instruction without execute", why=repr((core, o)))

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """Carry out on `shadow` (see `effects`) what the instruction is about to do on `core`:
        bytes that lack a value give results that lack one, or are an error, which is returned.

        An instruction that moves bits moves those of the shadow.  For any other, what it reads has
        to be defined, unless its class knows better.
        """
        if cls.moves:
            cls.execute(shadow, o)
            return None
        del core
        return use(shadow, effects)

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Cycles on the instruction's pipe.  `traffic` describes the GM side of a move: how many
        cores share the chip's bandwidth and how many bytes miss in L2."""
        raise InternalError("an instruction without cycles", why=repr((o, machine, traffic)))


def bind(spec: type[Instruction], values: Sequence[float | str | None]) -> Operands:
    """Operands of `spec` from values in field order."""
    return spec.Operands(*values)
