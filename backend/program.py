"""A compiled program as plain data: what a container holds and the emulator runs.

Addresses are bytes in GM; kernels hold decoded records, so that a program can be run before it has
physical registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..dialects.core.dtypes import NAMES, itemsize
from ..dialects.core.errors import InputError, ProgramError
from ..dialects.core.kernels.host import host_function
from ..dialects.npu_isa.record import Record
from ..dialects.npu_isa.spec import bind
from ..dialects.target.machine import Machine
from .structure import check_records, known_values, word_error

Engine = Literal["cube", "vector"]
"""What a kernel mainly uses; a node of the model may also run on the `host`."""
Bytes: TypeAlias = npt.NDArray[np.uint8]

MAX_RANK = 32
"""Dimensions of an input or output."""
MAX_ARGUMENTS = 64
"""Argument i of a kernel arrives in scalar register i."""


@dataclass(frozen=True, slots=True)
class IO:
    """An input or output of an entry: row-major, `shape` elements of `dtype` at `address` in GM."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    address: int

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor."""
        return math.prod(self.shape) * itemsize(self.dtype)


@dataclass(frozen=True, slots=True)
class Task:
    """One launch: `kernel` on cores 0..grid-1, with GM addresses in registers 0, 1, ..."""

    kernel: str
    grid: int
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostTask:
    """A function of the host engine's table on whole tensors in GM, for `node` of the model."""

    function: str
    args: tuple[IO, ...]
    result: IO
    node: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One way to call the program; its tasks run in order, each after the one before."""

    name: str
    inputs: tuple[IO, ...]
    outputs: tuple[IO, ...]
    tasks: tuple[Task | HostTask, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Code for one core.

    `nodes` are the model's nodes it computes, `source_map` those of single words by index, and
    `engine` the unit that does the work.
    """

    name: str
    records: tuple[Record, ...]
    engine: Engine
    nodes: tuple[str, ...] = ()
    source_map: Mapping[int, str] = field(default_factory=dict[int, str])

    def node_of(self, word: int) -> str | None:
        """The model's node that word `word` computes, as far as it is known."""
        if word in self.source_map:
            return self.source_map[word]
        return self.nodes[0] if len(self.nodes) == 1 else None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Bytes that are in GM before any task runs, and that no task may write: uint8[nbytes]."""

    name: str
    address: int
    data: Bytes

    @classmethod
    def of(cls, name: str, address: int, array: npt.NDArray[Any]) -> Constant:
        """The constant that holds the elements of `array`, row-major and little-endian."""
        flat = np.ascontiguousarray(array).reshape(-1)
        return cls(name, address, flat.view(np.uint8))


@dataclass(frozen=True, slots=True)
class Buffer:
    """A range of GM the compiler gave a name; ranges with disjoint lifetimes may overlap."""

    name: str
    address: int
    nbytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Everything needed to run a model on a machine.

    `gm_bytes` is the GM a run needs, `modelled` names the machine features used that the real chip
    lacks, and `source_engines` says which engine each node of the model runs on.
    """

    machine: Machine
    entries: tuple[Entry, ...]
    kernels: Mapping[str, Kernel]
    gm_bytes: int
    constants: tuple[Constant, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    modelled: tuple[str, ...] = ()
    source_engines: Mapping[str, str] = field(default_factory=dict[str, str])
    compiler: str = ""

    def entry(self, name: str | None = None) -> Entry:
        """The entry called `name`, or the first; ProgramError lists the names there are."""
        for entry in self.entries:
            if name in (None, entry.name):
                return entry
        known = ", ".join(entry.name for entry in self.entries) or "none"
        raise ProgramError(f"the program has no entry {name}", why=f"its entries: {known}")

    def check(self, *, physical: bool = True) -> None:
        """Raise ProgramError for anything that cannot run on the machine, naming what and why.

        `physical` false allows any number of registers, as before they are allocated.
        """
        for kernel in self.kernels.values():
            check_records(kernel.records, where=f"kernel {kernel.name}", physical=physical)
        self.check_plan()

    def check_plan(self) -> None:
        """As `check`, but for the records themselves, which encoder and decoder check."""
        for kernel in self.kernels.values():
            self._check_features(kernel)
        for entry in self.entries:
            self._check_entry(entry)
        self._check_constants()
        for buffer in self.buffers:
            self._check_range(f"buffer {buffer.name}", buffer.address, buffer.nbytes)
        if not 0 <= self.gm_bytes <= self.machine.memory.gm:
            fault = f"{self.gm_bytes} bytes, {self.machine.name} has {self.machine.memory.gm}"
            raise _refused("the GM plan", fault)

    def _check_constants(self) -> None:
        """Constants lie apart from each other and from inputs: they stay from run to run."""
        for constant in self.constants:
            self._check_range(f"constant {constant.name}", constant.address, constant.data.nbytes)
        fixed = [(c.address, c.address + c.data.nbytes, True, c.name) for c in self.constants]
        for inputs in ((), *(entry.inputs for entry in self.entries)):
            own = [(t.address, t.address + t.nbytes, False, t.name) for t in inputs]
            end = constant_end = 0
            for start, stop, is_constant, name in sorted((*fixed, *own)):
                if start < (end if is_constant else constant_end) and start < stop:
                    kind = "constant" if is_constant else "input"
                    raise _refused(
                        f"{kind} {name}", f"a constant and an input or constant share byte {start}"
                    )
                end = max(end, stop)
                constant_end = max(constant_end, stop) if is_constant else constant_end

    def _check_features(self, kernel: Kernel) -> None:
        for index, record in enumerate(kernel.records):
            for feature in record.spec.features(bind(record.spec, known_values(record))):
                if feature not in self.machine.features:
                    fault = f"it needs the feature {feature}, which {self.machine.name} lacks"
                    where = f"kernel {kernel.name}"
                    raise word_error(fault, where, index, record.spec.mnemonic)

    def _check_entry(self, entry: Entry) -> None:
        what = f"entry {entry.name}"
        for group, tensors in (("input", entry.inputs), ("output", entry.outputs)):
            _check_names(f"the {group}s of {what}", [tensor.name for tensor in tensors])
            for tensor in tensors:
                name = f"{group} {tensor.name} of {what}"
                if tensor.dtype not in NAMES or any(extent < 0 for extent in tensor.shape):
                    raise _refused(name, f"{tensor.dtype}{list(tensor.shape)} is no tensor type")
                self._check_range(name, tensor.address, tensor.nbytes)
        for number, task in enumerate(entry.tasks):
            self._check_task(f"task {number} of {what}", task)

    def _check_task(self, what: str, task: Task | HostTask) -> None:
        if isinstance(task, HostTask):
            self._check_host_task(what, task)
            return
        cores = self.machine.core.count
        if task.kernel not in self.kernels:
            raise _refused(what, f"there is no kernel {task.kernel}")
        if not 1 <= task.grid <= cores:
            raise _refused(what, f"its grid is {task.grid}, {self.machine.name} has {cores} cores")
        if len(task.args) > MAX_ARGUMENTS:
            raise _refused(what, f"it has {len(task.args)} arguments, {MAX_ARGUMENTS} is the most")
        for address in task.args:
            self._check_range(f"an argument of {what}", address, 0)

    def _check_host_task(self, what: str, task: HostTask) -> None:
        for tensor in (*task.args, task.result):
            if tensor.dtype not in NAMES or any(extent < 0 for extent in tensor.shape):
                raise _refused(what, f"{tensor.dtype}{list(tensor.shape)} is no tensor type")
            self._check_range(f"a tensor of {what}", tensor.address, tensor.nbytes)
        try:
            arguments = [(tensor.dtype, tensor.shape) for tensor in task.args]
            result = host_function(task.function).infer(arguments)
        except InputError as error:
            raise _refused(what, error.what) from error
        if result != (task.result.dtype, task.result.shape):
            raise _refused(what, f"{task.function} gives {result[0]}{list(result[1])}")

    def _check_range(self, what: str, address: int, nbytes: int) -> None:
        if address < 0 or nbytes < 0 or address + nbytes > self.gm_bytes:
            end = address + nbytes
            fault = f"bytes {address}..{end} are outside the {self.gm_bytes} of the plan"
            raise _refused(what, fault)


def _check_names(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _refused(what, f"the name {name} occurs twice")
        seen.add(name)


def _refused(what: str, why: str) -> ProgramError:
    return ProgramError(f"{what} cannot be used", why=why)
