"""Bytes never written: which they are, and where they reach a result.

Every memory has a shadow of equal size that holds 0xFF for an undefined byte and 0 for a defined
one.  Instructions that only move bits are executed on the shadow itself, so that they carry
undefinedness along, and padding they write is defined.  Elementwise work makes a result lane
undefined when a source lane is.  A reduction of lanes that are all undefined is undefined; it is an
error when only some are, as it is for any other use and for a store to GM.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....dialects.core.dtypes import to_numpy
from ....dialects.core.errors import UndefinedReadError
from ....dialects.npu_isa.instructions.lanes import Lanes, read, write
from ....dialects.npu_isa.instructions.lanewise import Lanewise, lanes
from ....dialects.npu_isa.instructions.rows import Reduction, VBrcb
from ....dialects.npu_isa.memory import Memory
from ....dialects.npu_isa.spec import Footprint, Operands
from ....dialects.target.machine import Machine
from ..issue import Effect, Issued

DEFINED, UNDEFINED = 0, 0xFF
_UNSIGNED = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}

Lane = npt.NDArray[np.bool_]
"""bool[repeat, mask] or bool[repeat]: which lanes are undefined."""


class ShadowCore:
    """The shadow of a core and of GM; instructions that move bits execute on it."""

    def __init__(self, machine: Machine, gm_bytes: int) -> None:
        self.gm = Memory("gm", gm_bytes, UNDEFINED)
        self.l1 = Memory("l1", machine.size("l1"), UNDEFINED)
        self.l0a = Memory("l0a", machine.size("l0a"), UNDEFINED)
        self.l0b = Memory("l0b", machine.size("l0b"), UNDEFINED)
        self.l0c = Memory("l0c", machine.size("l0c"), UNDEFINED)
        self.ub = Memory("ub", machine.size("ub"), UNDEFINED)
        self.regs: list[int] = []
        self.core_id = 0
        self.core_count = 1

    def start(self) -> None:
        """A kernel finds nothing defined on chip."""
        for memory in (self.l1, self.l0a, self.l0b, self.l0c, self.ub):
            memory.data.fill(UNDEFINED)

    def define(self, start: int, nbytes: int) -> None:
        """Bytes of GM that are there before the first task, or that the host wrote."""
        self.gm.data[start : start + nbytes] = DEFINED

    def defined(self, start: int, nbytes: int) -> bool:
        """Whether all these bytes of GM are there."""
        return bool((self.gm.data[start : start + nbytes] == DEFINED).all())

    def bytes_of(self, shape: Footprint) -> npt.NDArray[np.uint8]:
        """The shadow bytes of a range, uint8[rows, row_bytes], writable."""
        memory: Memory = getattr(self, shape.space)
        rows = max(shape.rows, 0)
        return memory.view(shape.start, (rows, shape.row_bytes), (shape.stride, 1), _UNSIGNED[1])


class Undefined:
    """Follows undefinedness through the instructions of a run, in program order."""

    def __init__(self, shadow: ShadowCore) -> None:
        self.shadow = shadow

    def check(self, issued: Issued) -> UndefinedReadError | None:
        """Apply one instruction to the shadow; the error it makes, if any."""
        spec, operands = issued.spec, issued.operands
        if issubclass(spec, Lanewise):
            self._lanewise(spec, operands)
            return None
        if issubclass(spec, Reduction):
            return self._reduction(operands)
        if spec is VBrcb or spec.pipe in ("MTE1", "MTE2"):
            spec.execute(self.shadow, operands)
            return None
        return self._use(issued.effects)

    def _lanewise(self, spec: type[Lanewise], o: Operands) -> None:
        if o.repeat <= 0:
            return
        undefined: Lane = np.zeros((o.repeat, o.mask), np.bool_)
        for name in spec.sources:
            undefined |= self._lanes(lanes(o, name, spec.types(o, name)), o.repeat, o.mask)
        target = _plain(lanes(o, "dst", spec.types(o, "dst")))
        write(self.shadow.ub, target, o.repeat, o.mask, _filled(undefined, target))

    def _reduction(self, o: Operands) -> UndefinedReadError | None:
        if o.repeat <= 0:
            return None
        undefined = self._lanes(lanes(o, "src0", o.dtype), o.repeat, o.mask)
        some: Lane = np.logical_or.reduce(undefined, 1)
        partly = some & ~np.logical_and.reduce(undefined, 1)
        target = Lanes(to_numpy(o.dtype), o.dst, 1, 0)
        plain = _plain(target)
        row = self.shadow.ub.flat(o.dst, o.repeat, plain.dtype)
        row[...] = _filled(some, plain)
        if not partly.any():
            return None
        repeat = int(partly.argmax())
        lane = int(undefined[repeat].argmax())
        return _error("ub", f"lane {lane} of repeat {repeat} has no value, others of it have")

    def _lanes(self, operand: Lanes, repeat: int, mask: int) -> Lane:
        return read(self.shadow.ub, _plain(operand), repeat, mask) != DEFINED

    def _use(self, effects: tuple[Effect, ...]) -> UndefinedReadError | None:
        """Anything else: whatever it reads must be defined, whatever it writes is."""
        error: UndefinedReadError | None = None
        for mode, shape in effects:
            if mode == "r":
                read_bytes = self.shadow.bytes_of(shape)
                if read_bytes.any():
                    row, byte = np.argwhere(read_bytes)[0].tolist()
                    address = shape.start + row * shape.stride + byte
                    error = error or _error(shape.space, f"byte {address} of it has no value")
        for mode, shape in effects:
            if mode == "w":
                self.shadow.bytes_of(shape)[...] = DEFINED
        return error


def _plain(operand: Lanes) -> Lanes:
    """The same lanes as unsigned numbers, in which 0 is defined and anything else is not."""
    return operand._replace(dtype=_UNSIGNED[operand.dtype.itemsize])


def _filled(undefined: Lane, target: Lanes) -> npt.NDArray[np.unsignedinteger]:
    """Shadow values for lanes of the type of `target`."""
    full = np.array(-1).astype(target.dtype)
    return np.where(undefined, full, target.dtype.type(0))


def _error(space: str, why: str) -> UndefinedReadError:
    return UndefinedReadError(
        f"bytes of {space} that were never written are used",
        why=why,
        hint="fill the padding of a reduced axis with its neutral element, or load it",
    )
