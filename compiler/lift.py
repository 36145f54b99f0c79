"""A program as a module at stage `final`: what `emit` makes a program of, found again.

Constants are ranges of the program's file where it has one. Emitting the module gives the same
program, and so the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..backend.container import from_bytes
from ..backend.program import IO, Bytes, Constant, Entry, HostTask, Program
from ..dialects.core.attributes import BlobAttr, element_type, tensor_of
from ..dialects.core.errors import InputError, ProgramError
from ..dialects.core.origins import NAME, NODE
from ..dialects.core.store import MEMORY, Store
from ..dialects.target.attributes import MACHINE, MachineAttr
from ..dialects.tile.host import HostCallOp
from ..dialects.tile.memory import AllocOp, buffer_type
from ..dialects.tile.program import ConstantOp, LaunchOp, ProgramOp, ReturnOp, ViewOp
from ..dialects.tile.types import BufferType
from .emit import ADDRESS, GM_BYTES
from .lift_kernel import lift_kernel
from .pipeline import STAGE_ATTRIBUTE, STAGES

_Locate = Callable[[Constant], tuple[str, str]]


class _Located(NamedTuple):
    """A value of the lifted program and where it lies in GM."""

    address: int
    value: SSAValue


def lift_bytes(data: bytes, store: Store, where: str) -> ModuleOp:
    """The module of a program file that is not on disk: its constants go to `store`."""
    program = from_bytes(data, where=where)
    return lift_program(program, lambda constant: (store.add(constant.data), MEMORY))


def lift_file(path: str | Path, store: Store) -> ModuleOp:
    """The module of a program file, whose constants stay in it.

    `InputError` if it cannot be read, `ProgramError` if it is not a valid program.
    """
    place = Path(path).resolve()
    try:
        empty = place.stat().st_size == 0
        whole: Bytes = np.empty(0, np.uint8) if empty else np.memmap(place, np.uint8, "r")
    except OSError as error:
        raise InputError(
            f"cannot read {path}",
            why=error.strerror or str(error),
            hint="give the path of a file that is there and may be read",
        ) from error
    start = whole.ctypes.data

    def locate(constant: Constant) -> tuple[str, str]:
        # The data of a constant is a view of the bytes that `from_bytes` was given.
        return store.add_range(place, constant.data.ctypes.data - start, constant.data.nbytes)

    return lift_program(from_bytes(whole, where=str(path)), locate)


def lift_program(program: Program, locate: _Locate) -> ModuleOp:
    """The module of a program; `locate` gives digest and uri of the bytes of a constant."""
    if len(program.entries) != 1:
        raise ProgramError(
            "only a program with one entry can be turned into a module",
            why=f"it has {len(program.entries)}",
        )
    entry = program.entries[0]
    arguments = {name: 0 for name in program.kernels}
    for task in entry.tasks:
        if isinstance(task, HostTask):
            continue
        arguments[task.kernel] = max(arguments[task.kernel], len(task.args))
    kernels = [lift_kernel(kernel, arguments[name]) for name, kernel in program.kernels.items()]
    module = ModuleOp([_Lifted(program, entry, locate).op(), *kernels])
    module.attributes[MACHINE] = MachineAttr.of(program.machine)
    module.attributes[STAGE_ATTRIBUTE] = StringAttr(STAGES[-1].name)
    return module


class _Lifted:
    """Builds the `tile.program` of an entry."""

    def __init__(self, program: Program, entry: Entry, locate: _Locate) -> None:
        self._program, self._entry, self._locate = program, entry, locate
        self._block = Block(arg_types=[_type(tensor) for tensor in entry.inputs])
        self._located = [
            _Located(tensor.address, argument)
            for tensor, argument in zip(entry.inputs, self._block.args, strict=True)
        ]

    def op(self) -> ProgramOp:
        """The op with all that is in it."""
        for constant in self._program.constants:
            self._constant(constant)
        for buffer in self._program.buffers:
            alloc = AllocOp(_bytes_type(buffer.nbytes))
            alloc.decide(address=buffer.address)
            alloc.attributes[NAME] = StringAttr(buffer.name)
            self._block.add_op(alloc)
            self._located.append(_Located(buffer.address, alloc.buffer))
        for task in self._entry.tasks:
            if isinstance(task, HostTask):
                self._host_call(task)
                continue
            values = [self._value(address) for address in task.args]
            self._block.add_op(LaunchOp(task.kernel, task.grid, values))
        returned = [self._output(tensor) for tensor in self._entry.outputs]
        self._block.add_op(ReturnOp(returned))
        types = [_type(tensor) for tensor in self._entry.inputs]
        op = ProgramOp(
            self._entry.name,
            FunctionType.from_lists(types, [value.type for value in returned]),
            Region(self._block),
            _names(self._entry.inputs, addresses=True),
            _names(self._entry.outputs, addresses=False),
        )
        op.attributes[GM_BYTES] = IntegerAttr(self._program.gm_bytes, i64)
        return op

    def _constant(self, constant: Constant) -> None:
        digest, uri = self._locate(constant)
        blob = BlobAttr.of(tensor_of("ui8", [constant.data.nbytes]), digest, uri)
        op = ConstantOp(blob, _bytes_type(constant.data.nbytes))
        op.address = IntegerAttr(constant.address, i64)
        op.attributes[NAME] = StringAttr(constant.name)
        self._block.add_op(op)
        self._located.append(_Located(constant.address, op.buffer))

    def _host_call(self, task: HostTask) -> None:
        *sources, target = (self._output(tensor) for tensor in (*task.args, task.result))
        op = HostCallOp(task.function, sources, target)
        if task.node:
            op.attributes[NODE] = StringAttr(task.node)
        self._block.add_op(op)

    def _at(self, address: int) -> list[SSAValue]:
        found = [located.value for located in self._located if located.address == address]
        if not found:
            raise ProgramError(
                f"no buffer of the program starts at byte {address} of GM",
                why="a task or an output begins inside a buffer, which a module cannot say",
            )
        return found

    def _value(self, address: int) -> SSAValue:
        return self._at(address)[0]

    def _output(self, tensor: IO) -> SSAValue:
        """The buffer of an output, seen as the tensor it is."""
        type_ = _type(tensor)
        found = self._at(tensor.address)
        for value in found:
            if value.type == type_:
                return value
        for value in found:
            if buffer_type(value).nbytes == type_.nbytes:
                view = ViewOp(value, type_)
                self._block.add_op(view)
                return view.target
        raise ProgramError(
            f"the output {tensor.name} is not the whole of a buffer",
            why=f"it has {tensor.nbytes} bytes, the buffer {buffer_type(found[0]).nbytes}",
        )


def _type(tensor: IO) -> BufferType:
    return BufferType.of(tensor.shape, element_type(tensor.dtype), "gm")


def _bytes_type(nbytes: int) -> BufferType:
    return BufferType.of([nbytes], element_type("ui8"), "gm")


def _names(tensors: Sequence[IO], *, addresses: bool) -> ArrayAttr[DictionaryAttr] | None:
    """Names of inputs or outputs and, of inputs, their addresses."""
    entries: list[DictionaryAttr] = []
    for tensor in tensors:
        entry: dict[str, Attribute] = {NAME: StringAttr(tensor.name)}
        if addresses:
            entry[ADDRESS] = IntegerAttr(tensor.address, i64)
        entries.append(DictionaryAttr(entry))
    return ArrayAttr(entries) if entries else None
