"""The last module as a program: what `tile.program` says about GM and launches, and the kernels.

Everything comes from the module and the store: addresses from `tile-plan-gm`, names from
`core.name` and `core.origins`, nodes of instructions from `core.node`, the rest from the
instructions themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from npuc import __version__

from ..backend.program import IO, Buffer, Constant, Entry, HostTask, Kernel, Program, Task
from ..backend.structure import known_values
from ..dialects.core.attributes import BlobAttr
from ..dialects.core.dtypes import Array
from ..dialects.core.errors import PassError
from ..dialects.core.locations import where
from ..dialects.core.ops import blob_request
from ..dialects.core.origins import NAME, NODE, origins_of
from ..dialects.core.store import Store
from ..dialects.npu_isa.flatten import flatten
from ..dialects.npu_isa.spec import bind
from ..dialects.npu_isa.structure import KernelOp
from ..dialects.target.attributes import machine_of
from ..dialects.target.machine import Machine
from ..dialects.tile.host import HostCallOp
from ..dialects.tile.memory import AllocOp, buffer_type
from ..dialects.tile.program import ConstantOp, LaunchOp, ProgramOp, ViewOp

ADDRESS = "address"
"""Where the byte address of an argument stands in `arg_attrs`."""
ENGINE, NODES = "engine", "nodes"
"""Attributes of a kernel: the unit that does its work, and the nodes of the model it computes."""
GM_BYTES = "gm_bytes"
"""Attribute of a program that needs more GM than its buffers take."""


def emit_program(module: ModuleOp, store: Store) -> Program:
    """The program of a module at stage `final`, its constants read from `store`.

    An earlier stage will do from `npu_isa` on, as the emulator runs virtual registers too. Raises
    `PassError` for what the stages before should have decided.
    """
    machine = machine_of(module)
    entries = [op for op in module.ops if isinstance(op, ProgramOp)]
    if len(entries) != 1:
        raise PassError(
            "a program has exactly one tile.program",
            why=f"the module has {len(entries)}",
            hint="lower the model to stage `npu_isa` first" if not entries else None,
        )
    kernels = {
        kernel.name: kernel
        for kernel in (emit_kernel(op) for op in module.ops if isinstance(op, KernelOp))
    }
    plan = _Plan(entries[0], store)
    return Program(
        machine=machine,
        entries=(plan.entry,),
        kernels=kernels,
        gm_bytes=plan.gm_bytes(),
        constants=tuple(plan.constants),
        buffers=tuple(plan.buffers),
        modelled=modelled_features(machine, kernels.values()),
        source_engines=source_engines(kernels.values(), plan.entry.tasks),
        compiler=f"npuc {__version__}",
    )


class _Plan:
    """Walks the ops of one program in order."""

    def __init__(self, program: ProgramOp, store: Store) -> None:
        self._program = program
        self._store = store
        self._addresses: dict[SSAValue, int] = {}
        self.constants: list[Constant] = []
        self.buffers: list[Buffer] = []
        inputs = [self._input(argument) for argument in program.body.block.args]
        tasks = [task for op in program.body.block.ops for task in self._visit(op)]
        outputs = [self._output(i, value) for i, value in enumerate(program.returned)]
        self.entry = Entry(program.sym_name.data, tuple(inputs), tuple(outputs), tuple(tasks))

    def gm_bytes(self) -> int:
        """Bytes of GM up to the end of the last buffer, or as many as the program asks for."""
        asked = self._program.attributes.get(GM_BYTES)
        ends = [io.address + io.nbytes for io in (*self.entry.inputs, *self.entry.outputs)]
        ends += [constant.address + constant.data.nbytes for constant in self.constants]
        ends += [buffer.address + buffer.nbytes for buffer in self.buffers]
        return max((*ends, _integer(asked) or 0), default=0)

    def _visit(self, op: Operation) -> Iterable[Task | HostTask]:
        match op:
            case ConstantOp():
                self._constant(op)
            case AllocOp():
                self._buffer(op)
            case ViewOp():
                self._addresses[op.target] = self._addresses[op.source]
            case LaunchOp():
                args = tuple(self._addresses[argument] for argument in op.arguments)
                yield Task(op.kernel.root_reference.data, op.grid.value.data, args)
            case HostCallOp():
                yield self._host_task(op)
            case _:
                pass

    def _host_task(self, op: HostCallOp) -> HostTask:
        tensors = [
            _io({}, f"#{i}", value, self._addresses[value])
            for i, value in enumerate((*op.sources, op.target))
        ]
        node = op.attributes.get(NODE)
        name = node.data if isinstance(node, StringAttr) else None
        return HostTask(op.callee.data, tuple(tensors[:-1]), tensors[-1], name)

    def _input(self, argument: BlockArgument) -> IO:
        given = _entries(self._program.arg_attrs, argument.index)
        address = self._addresses[argument] = _address(given.get(ADDRESS), self._program)
        return _io(given, f"input{argument.index}", argument, address)

    def _output(self, index: int, value: SSAValue) -> IO:
        given = _entries(self._program.res_attrs, index)
        return _io(given, f"output{index}", value, self._addresses[value])

    def _constant(self, op: ConstantOp) -> None:
        address = self._addresses[op.buffer] = _address(op.address, op)
        name = _name(op, op.buffer, f"constant{len(self.constants)}")
        self.constants.append(Constant.of(name, address, _content(op, self._store)))

    def _buffer(self, op: AllocOp) -> None:
        address = self._addresses[op.buffer] = _address(op.address, op)
        name = _name(op, op.buffer, f"buffer{len(self.buffers)}")
        self.buffers.append(Buffer(name, address, buffer_type(op.buffer).nbytes))


def _content(op: ConstantOp, store: Store) -> Array:
    """The bytes of a constant, its recipe carried out."""
    if isinstance(op.value, BlobAttr):
        return store.read(*blob_request(op.value))
    return op.value.array()


def _entries(listed: ArrayAttr[DictionaryAttr] | None, index: int) -> Mapping[str, Attribute]:
    return listed.data[index].data if listed is not None and index < len(listed) else {}


def _io(given: Mapping[str, Attribute], default: str, value: SSAValue, address: int) -> IO:
    name, type_ = given.get(NAME), buffer_type(value)
    shown = name.data if isinstance(name, StringAttr) else default
    return IO(shown, type_.dtype, type_.dims, address)


def _name(op: Operation, value: SSAValue, default: str) -> str:
    """What to call a buffer: its own name, the tensor of the model it holds, or `default`."""
    name = op.attributes.get(NAME)
    if isinstance(name, StringAttr):
        return name.data
    return next((origin.tensor.data for origin in origins_of(value)), default)


def _integer(attribute: Attribute | None) -> int | None:
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def _address(attribute: Attribute | None, op: Operation) -> int:
    address = _integer(attribute)
    if address is None:
        raise PassError("a buffer in GM has no address", where=where(op), hint="run tile-plan-gm")
    return address


def emit_kernel(op: KernelOp) -> Kernel:
    """The records of a kernel with what its attributes say; `PassError` without an engine."""
    flat = flatten(op)
    marks = ((word, source.attributes.get(NODE)) for word, source in enumerate(flat.ops))
    nodes = {word: mark.data for word, mark in marks if isinstance(mark, StringAttr)}
    engine = op.attributes.get(ENGINE)
    if not isinstance(engine, StringAttr) or engine.data not in ("cube", "vector"):
        raise PassError(
            f"kernel {op.sym_name.data} does not say which engine it runs on",
            where=where(op),
            why=f"its attribute `{ENGINE}` is {engine}",
            hint='it must be "cube" or "vector"',
        )
    listed = cast(Sequence[StringAttr], op.attributes.get(NODES, ArrayAttr(())))
    return Kernel(
        name=op.sym_name.data,
        records=tuple(flat.records),
        engine=engine.data,
        nodes=tuple(node.data for node in listed),
        source_map=nodes,
    )


def modelled_features(machine: Machine, kernels: Iterable[Kernel]) -> tuple[str, ...]:
    """The features the kernels use and only the machine's description grants, sorted."""
    used = {
        feature
        for kernel in kernels
        for record in kernel.records
        for feature in record.spec.features(bind(record.spec, known_values(record)))
    }
    known = machine.features
    return tuple(sorted(f for f in used if f in known and known[f].state == "modelled"))


def source_engines(
    kernels: Iterable[Kernel], tasks: Iterable[Task | HostTask]
) -> dict[str, str]:
    """The engine of each node of the model; the cube for one that takes kernels of both."""
    engines = {task.node: "host" for task in tasks if isinstance(task, HostTask) and task.node}
    for kernel in kernels:
        for node in kernel.nodes:
            if engines.get(node) != "cube":
                engines[node] = kernel.engine
    return engines
