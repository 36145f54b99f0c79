"""What the elementwise vector instructions share: operands, effects, execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.dtypes import itemsize, to_numpy
from ...core.kernels.cast import cast
from ...target import costs
from ...target.costs import BLOCK, RESIDENT, Cycles, Traffic
from ..memory import Array
from ..spec import Access, Field, Instruction, Operands
from .lanes import BLOCKS, REPEAT_BYTES, Lanes, footprints, in_order, read, write

if TYPE_CHECKING:
    from ...target.machine import Machine
    from ..memory import Core

FLOATS = ("f32", "f16")
NUMBERS = (*FLOATS, "i32", "i16")
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
    def constraint(cls, o: Operands) -> str | None:
        """The mask fits the element types."""
        return check_mask(o.mask, *{cls.types(o, name): None for name in ("dst", *cls.sources)})

    @classmethod
    def footprints(cls, o: Operands, machine: Machine) -> tuple[Access, ...]:
        """Active lanes of every operand."""
        del machine
        accesses: list[Access] = []
        for name in (*cls.sources, "dst"):
            shapes = footprints(lanes(o, name, cls.types(o, name)), o.repeat, o.mask)
            accesses += [Access(name, "w" if name == "dst" else "r", shape) for shape in shapes]
        return tuple(accesses)

    @classmethod
    def execute(cls, core: Core, o: Operands) -> None:
        """Compute all repeats at once, or one by one where a repeat may see another's result."""
        repeat, mask = o.repeat, o.mask
        if repeat <= 0:
            return
        target = lanes(o, "dst", cls.types(o, "dst"))
        sources = tuple(lanes(o, name, cls.types(o, name)) for name in cls.sources)
        if in_order(target, sources, repeat, mask):
            for r in range(repeat):
                cls._run(core, o, _at(target, r), tuple(_at(s, r) for s in sources), 1)
        else:
            cls._run(core, o, target, sources, repeat)

    @classmethod
    def _run(
        cls, core: Core, o: Operands, target: Lanes, sources: tuple[Lanes, ...], repeat: int
    ) -> None:
        values = [read(core.ub, source, repeat, o.mask) for source in sources]
        write(core.ub, target, repeat, o.mask, cls.compute(o, *values))

    @classmethod
    def cycles(cls, o: Operands, machine: Machine, traffic: Traffic = RESIDENT) -> Cycles:
        """Slope of the instruction's group for the widest element type."""
        del traffic
        size = max(itemsize(cls.types(o, name)) for name in ("dst", *cls.sources))
        return costs.vector(machine, cls.group, size, o.repeat)


def _at(operand: Lanes, repeat: int) -> Lanes:
    return operand._replace(address=operand.address + repeat * operand.rep_stride * BLOCK)


def scalar_of(o: Operands) -> Array:
    """The f32 immediate as a 0-d array of the instruction's element type."""
    return cast(np.asarray(o.scalar, np.float32), o.dtype)
