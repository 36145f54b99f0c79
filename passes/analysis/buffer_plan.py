"""Where the buffers of a kernel lie on chip: which may share bytes, and which bytes.

A buffer that only the vector pipe touches is dead after the op of its block that uses it last, or
holds its last use, and the next such buffer may take its bytes: one pipe runs in order, so sharing
costs no flag. Every other buffer is live through the whole kernel: slots rotate over all
iterations, and another pipe may still be reading.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects.core.errors import CapacityError
from ...dialects.core.locations import position
from ...dialects.target.machine import Machine
from ...dialects.tile.convolution import Im2colOp, LoadFilterOp
from ...dialects.tile.cube import MmadOp
from ...dialects.tile.memory import AllocOp, CopyOp, FillOp, buffer_type, uses_of
from ...dialects.tile.program import KernelOp
from ...dialects.tile.types import round_up
from ...dialects.tile.vector import VectorOp

ALIGNMENT = {"ub": 32, "l1": 32, "l0a": 512, "l0b": 512, "l0c": 1024}
"""Bytes at which a buffer may start (fractals in L0A and L0B, accumulator fractals in L0C)."""


def pipe_of(op: Operation) -> str | None:
    """The pipe that runs a tile op; None for marks and control."""
    if isinstance(op, CopyOp | LoadFilterOp | Im2colOp):
        return op.pipe
    if isinstance(op, MmadOp):
        return "M"
    return "V" if isinstance(op, VectorOp | FillOp) else None


def pipes_of(alloc: AllocOp) -> set[str]:
    """All pipes that touch a buffer."""
    return {p for user in uses_of(alloc.buffer) if (p := pipe_of(user)) is not None}


@dataclass
class Placement:
    """One buffer with the bytes and the span of program order it needs."""

    alloc: AllocOp
    nbytes: int
    start: int
    end: int
    address: int = 0

    def clashes(self, other: "Placement") -> bool:
        """Whether both are live at some point."""
        return self.start <= other.end and other.start <= self.end


def allocs_of(kernel: KernelOp) -> Iterator[AllocOp]:
    """The buffers of a kernel, in program order."""
    return (op for op in kernel.walk() if isinstance(op, AllocOp))


def plan(kernel: KernelOp) -> list[Placement]:
    """Give every buffer an address in its space by first fit in program order."""
    numbers = _numbers(kernel)
    placed: dict[str, list[Placement]] = {}
    for alloc in allocs_of(kernel):
        type_ = buffer_type(alloc.buffer)
        space = type_.space.data
        item = _lifetime(alloc, numbers)
        item.address = _first_fit(item, placed.setdefault(space, []), ALIGNMENT[space])
        placed[space].append(item)
    return [item for items in placed.values() for item in items]


def peaks(placements: Sequence[Placement]) -> dict[str, int]:
    """Bytes used in each space."""
    used: dict[str, int] = {}
    for item in placements:
        space = buffer_type(item.alloc.buffer).space.data
        used[space] = max(used.get(space, 0), item.address + item.nbytes)
    return used


def check_capacity(kernel: KernelOp, placements: Sequence[Placement], machine: Machine) -> None:
    """CapacityError if a space overflows: which buffers, from which nodes, how many bytes."""
    for space, used in peaks(placements).items():
        room = machine.size(space)
        if used <= room:
            continue
        items = [p for p in placements if buffer_type(p.alloc.buffer).space.data == space]
        items.sort(key=lambda p: -p.nbytes)
        lines = "; ".join(
            f"{buffer_type(p.alloc.buffer)} x {p.alloc.slots} = {p.nbytes} bytes" for p in items[:6]
        )
        raise CapacityError(
            f"kernel @{kernel.sym_name.data} needs {used} bytes of {space}",
            where=_place(kernel),
            why=f"{machine.name} has {room}; the largest buffers are {lines}",
            hint="take smaller tiles in the #tile.schedule of its group",
        )


def _place(kernel: KernelOp) -> str | None:
    """Position and source nodes of a kernel."""
    nodes = ", ".join(f'"{name}"' for name in kernel.node_names)
    parts = (position(kernel.location), f"(nodes {nodes})" if nodes else None)
    return " ".join(filter(None, parts)) or None


def _numbers(kernel: KernelOp) -> dict[Operation, tuple[int, int]]:
    """The numbers in program order of each op and of the last one in it."""
    first = {op: i for i, op in enumerate(kernel.walk())}
    last = dict(first)
    for op in reversed(first):
        parent = op.parent_op()
        if parent is not None and parent in last:
            last[parent] = max(last[parent], last[op])
    return {op: (i, last[op]) for op, i in first.items()}


def _lifetime(alloc: AllocOp, numbers: dict[Operation, tuple[int, int]]) -> Placement:
    type_ = buffer_type(alloc.buffer)
    nbytes = round_up(type_.nbytes, ALIGNMENT[type_.space.data]) * alloc.slots
    block = alloc.parent
    assert block is not None
    if alloc.slots == 1 and pipes_of(alloc) <= {"V"}:
        users = [block.find_ancestor_op_in_block(user) for user in uses_of(alloc.buffer)]
        ends = [numbers[user][1] for user in users if user is not None]
        return Placement(alloc, nbytes, numbers[alloc][0], max(ends, default=numbers[alloc][0]))
    return Placement(alloc, nbytes, 0, len(numbers))


def _first_fit(item: Placement, placed: Sequence[Placement], alignment: int) -> int:
    """The lowest aligned address clear of every placed buffer that is live at the same time."""
    address = 0
    for other in sorted((p for p in placed if p.clashes(item)), key=lambda p: p.address):
        if address + item.nbytes <= other.address:
            break
        address = max(address, round_up(other.address + other.nbytes, alignment))
    return address
