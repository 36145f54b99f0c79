"""What the elementwise vector instructions share: operands, effects, execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.kernels.cast import cast
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..effects import Access, Effects, Mode, UndefinedUse
from ..memory import Array
from ..spec import Field, Instruction, Operands
from .lanes import (
    BLOCKS,
    REPEAT_BYTES,
    UNSIGNED,
    Lanes,
    at_repeat,
    footprints,
    in_order,
    mark,
    read,
    undefined,
    write,
)
from .masks import Part, active, check_masks, counted, has_bits

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

FLOATS = ("f32", "f16")
NUMBERS = (*FLOATS, "i32", "i16")
ANY = (*NUMBERS, "bf16", "i8", "ui8")
MAX_REPEAT = 255
LIMITS = "repeat <= 255, block and repeat strides in 32-byte units."


def address(name: str) -> Field:
    """An operand in UB."""
    return Field(name, "addr", space="ub", align=BLOCK)


def strides(*names: str) -> tuple[Field, ...]:
    """Block strides of the operands, then their repeat strides."""
    blocks = [Field(f"{n}_blk_stride", "imm", 16, unit="32 bytes", default=1) for n in names]
    repeats = [Field(f"{n}_rep_stride", "imm", 16, unit="32 bytes", default=BLOCKS) for n in names]
    return (*blocks, *repeats)


def counts() -> tuple[Field, Field]:
    """Active lanes and repeats."""
    mask = Field("mask", "ri", 9, unit="lanes", min=1, max=REPEAT_BYTES)
    return mask, Field("repeat", "ri", 8, max=MAX_REPEAT)


def dtype_field(names: tuple[str, ...], name: str = "dtype") -> Field:
    """An element type."""
    return Field(name, "imm", 4, enum=names)


def lanes(o: Operands, name: str, dtype: str) -> Lanes:
    """The operand called `name`, of element type `dtype`."""
    return Lanes(
        to_numpy(dtype),
        getattr(o, name),
        getattr(o, f"{name}_blk_stride"),
        getattr(o, f"{name}_rep_stride"),
    )


def check_mask(mask: int | None, *dtypes: str) -> str | None:
    """What is wrong with `mask` for elements of these types, or None."""
    limit = REPEAT_BYTES // max(itemsize(dtype) for dtype in dtypes)
    if mask is None or mask <= limit:
        return None
    return f"mask = {mask} is outside 1..{limit} (lanes of {' and '.join(dtypes)})"


class Lanewise(Instruction):
    """Base: one result lane for each lane of the sources, by `compute`."""

    pipe = "V"
    sources: ClassVar[tuple[str, ...]]
    """Names of the source operands."""
    group: ClassVar[costs.VectorClass]
    kernel: ClassVar[Callable[..., Array]]
    """Result lanes from source lanes, all [repeat, mask]."""
    maskable: ClassVar[bool] = True
    """Whether it has the fields of `mask_fields`."""

    @classmethod
    def types(cls, o: Operands, name: str) -> str:
        """Element type of the operand called `name`."""
        del name
        return o.dtype

    @classmethod
    def compute(cls, o: Operands, *sources: Array) -> Array:
        """Result lanes, which broadcast to [repeat, mask], from source lanes [repeat, mask]."""
        del o
        return cls.kernel(*sources)

    @classmethod
    def lanes_of_repeat(cls, o: Operands) -> int:
        """Lanes of a repeat: as many as fit 8 blocks of the widest element type."""
        return REPEAT_BYTES // cls.widest(o)

    @classmethod
    def widest(cls, o: Operands) -> int:
        """Bytes of the widest element type."""
        return max(itemsize(cls.types(o, name)) for name in ("dst", *cls.sources))

    @classmethod
    def constraint(cls, o: Operands) -> str | None:
        """The masks fit the element types."""
        wrong = check_mask(o.mask, *{cls.types(o, name): None for name in ("dst", *cls.sources)})
        if wrong is None and cls.maskable:
            wrong = check_masks(o, cls.lanes_of_repeat(o))
        return wrong

    @classmethod
    def parts(cls, o: Operands) -> tuple[Part, ...]:
        """The repeats to run, by the lanes that are active in them."""
        if cls.maskable and o.count_mode:
            return counted(o.count, cls.lanes_of_repeat(o))
        return (Part(0, o.repeat, o.mask),) if o.repeat > 0 else ()

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes of every operand.  Where bits say which are active, all that may be; a lane
        of the destination that is not keeps its value, which counts as reading it."""
        del machine
        names: list[tuple[str, Mode]] = [(name, "r") for name in cls.sources]
        if cls.maskable and has_bits(o) and "dst" not in cls.sources:
            names.append(("dst", "r"))
        names.append(("dst", "w"))
        accesses: list[Access] = []
        for name, mode in names:
            operand = lanes(o, name, cls.types(o, name))
            for part in cls.parts(o):
                shapes = footprints(operand, part.repeat, part.mask)
                if part.first:
                    past = part.first * operand.rep_stride * BLOCK
                    shapes = tuple(s._replace(start=s.start + past) for s in shapes)
                accesses += [Access(name, mode, shape) for shape in shapes]
        return tuple(accesses)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Compute all repeats at once, or one by one where a repeat may see another's result."""
        target = lanes(o, "dst", cls.types(o, "dst"))
        sources = tuple(lanes(o, name, cls.types(o, name)) for name in cls.sources)
        for part in cls.parts(o):
            here = at_repeat(target, part.first)
            there = sources
            if part.first:
                there = tuple(at_repeat(source, part.first) for source in sources)
            if not cls.in_order(o, here, there, part):
                cls.run(core, o, here, there, part)
                continue
            for r in range(part.repeat):
                moved = tuple(at_repeat(source, r) for source in there)
                cls.run(core, o, at_repeat(here, r), moved, Part(part.first + r, 1, part.mask))

    @classmethod
    def in_order(cls, o: Operands, target: Lanes, sources: tuple[Lanes, ...], part: Part) -> bool:
        """Whether the repeats of a part must run one by one."""
        del o
        return in_order(target, sources, part.repeat, part.mask)

    @classmethod
    def run(
        cls, core: Core, o: Operands, target: Lanes, sources: tuple[Lanes, ...], part: Part
    ) -> None:
        """Carry out the repeats of `part`, whose operands are given."""
        _, repeat, mask = part
        values = [read(core.ub, source, repeat, mask) for source in sources]
        result = cls.compute(o, *values)
        if cls.maskable and has_bits(o):
            result = np.where(active(o, mask), result, read(core.ub, target, repeat, mask))
        write(core.ub, target, repeat, mask, result)

    @classmethod
    def follow(cls, shadow: Core, core: Core, o: Operands, effects: Effects) -> UndefinedUse | None:
        """A lane of the result lacks a value when a lane it comes from does."""
        del core, effects
        for part in cls.parts(o):
            first, repeat, mask = part
            missing = np.zeros((repeat, mask), np.bool_)
            for name in cls.sources:
                source = at_repeat(lanes(o, name, cls.types(o, name)), first)
                missing |= undefined(shadow.ub, source, repeat, mask)
            target = at_repeat(lanes(o, "dst", cls.types(o, "dst")), first)
            if cls.maskable and has_bits(o):
                kept = undefined(shadow.ub, target, repeat, mask)
                missing = np.where(active(o, mask), missing, kept)
            mark(shadow.ub, target, repeat, mask, missing)
        return None

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Slope of the instruction's group for the widest element type."""
        del traffic
        if cls.maskable and o.count_mode:
            repeat = costs.ceil_div(o.count, cls.lanes_of_repeat(o))
            return costs.vector(machine, cls.group, cls.widest(o), repeat, counted=True)
        return costs.vector(machine, cls.group, cls.widest(o), o.repeat)


def scalar_of(o: Operands) -> Array:
    """The f32 immediate as a 0-d array of the instruction's element type."""
    return cast(np.asarray(o.scalar, np.float32), o.dtype)


def low_bits(value: int, dtype: str) -> Array:
    """The low bits of a register as a 0-d array of an element type."""
    numpy = to_numpy(dtype)
    bits = value & ((1 << 8 * numpy.itemsize) - 1)
    return np.array(bits, UNSIGNED[numpy.itemsize]).view(numpy)
