"""Why a model runs as it does: what the compiler decided for each kernel, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ..backend.program import Kernel
from ..backend.runtime.profile import KernelProfile
from ..dialects.core.errors import InputError, InternalError
from ..dialects.core.origins import node_of
from ..dialects.npu_isa.spec import PIPES
from ..dialects.tensor.ops import GroupOp
from ..dialects.tile.memory import AllocOp, buffer_type
from ..dialects.tile.program import KernelOp, LaunchOp
from ..dialects.tile.schedule import ScheduleAttr
from ..dialects.tile.types import round_up
from ..passes.analysis.buffer_plan import ALIGNMENT, allocs_of
from ..passes.tensor_to_tile.convert_tensor_to_tile import SCHEDULE
from .observation import Observation, observe
from .progress import Tell
from .request import Request
from .tables import count_of

_GROUPS, _BUFFERS = "scheduled", "planned"
"""The stages whose modules have the groups with their schedules, and the buffers with addresses."""
_NEAR = 5
"""Names of nodes shown that are like one that is not there."""


class BufferInfo(NamedTuple):
    """A buffer of a kernel: `depth` slots of `nbytes` each, the first at `address` of `space`."""

    space: str
    type: str
    depth: int
    address: int
    nbytes: int
    node: str | None

    @property
    def end(self) -> int:
        """First byte after the last slot."""
        return self.address + self.depth * self.nbytes


@dataclass(frozen=True)
class KernelInfo:
    """What was decided for a kernel, and how it ran.

    `schedule` and `stopped` (why fusion put no more into it) are None for a function of the host
    engine, which has no `buffers` and `instructions` (how often each stands in the code, by pipe).
    """

    profile: KernelProfile
    engine: str
    operators: str
    schedule: ScheduleAttr | None
    stopped: str | None
    buffers: Sequence[BufferInfo]
    instructions: Mapping[str, Mapping[str, int]]

    @property
    def predicted(self) -> int | None:
        """Cycles of a launch that the schedule was chosen for, if it says; launching left out."""
        return None if self.schedule is None else self.schedule.predicted

    @property
    def emulated(self) -> int:
        """Cycles a launch took on average, launching left out."""
        return round(self.profile.running / self.profile.launches)

    @property
    def read(self) -> int:
        """Bytes of all launches read from GM."""
        return sum(n for path, n in self.profile.work.moved.items() if path.startswith("gm_"))

    @property
    def written(self) -> int:
        """Bytes of all launches written to GM."""
        return sum(n for path, n in self.profile.work.moved.items() if path.endswith("_gm"))


@dataclass(frozen=True)
class Explanation:
    """The kernels in the order of their first launch: all, or those that compute `node`."""

    observation: Observation
    node: str | None
    kernels: Sequence[KernelInfo]


def explain(request: Request, node: str | None, tell: Tell) -> Explanation:
    """Compile and run what is asked for, and explain it, or only what computes `node`.

    `InputError` for a node that the model does not have, or as `observe`.
    """
    observation = observe(request, tell, keep=(_GROUPS, _BUFFERS))
    if node is not None:
        _check_node(observation, node)
    kernels = [
        kernel for kernel in _kernels(observation) if node is None or node in kernel.profile.nodes
    ]
    return Explanation(observation, node, kernels)


def _check_node(observation: Observation, node: str) -> None:
    known = observation.lowered.operators
    if node in known:
        return
    near = get_close_matches(node, known, _NEAR, cutoff=0.4)
    raise InputError(
        f"there is no node {node}",
        where=observation.request.model,
        why=f"the model has {count_of(len(known), 'node')}, none with this name",
        hint=f"did you mean {' or '.join(near)}?" if near else "`npuc info` lists them",
    )


def _kernels(observation: Observation) -> list[KernelInfo]:
    snapshots = observation.lowered.snapshots
    stopped = _stopped(snapshots[_GROUPS], snapshots[_BUFFERS])
    made = {op.sym_name.data: op for op in snapshots[_BUFFERS].ops if isinstance(op, KernelOp)}
    profiles = {row.kernel: row for row in observation.profile.kernels}
    found: list[KernelInfo] = []
    for stats in observation.result.kernels:
        name, row = stats.kernel, profiles[stats.kernel]
        op, kernel = made.get(name), observation.program.kernels.get(name)
        found.append(
            KernelInfo(
                profile=row,
                engine=kernel.engine if kernel else "host",
                operators=observation.operators_of(row.nodes),
                schedule=_schedule(op) if op else None,
                stopped=stopped.get(name),
                buffers=[_buffer(alloc) for alloc in allocs_of(op)] if op else [],
                instructions=_instructions(kernel) if kernel else {},
            )
        )
    return found


def _stopped(tensors: ModuleOp, tiles: ModuleOp) -> dict[str, str | None]:
    """Why fusion stopped, by kernel: each group has become one launch, in the same order."""
    groups = [op for op in tensors.walk() if isinstance(op, GroupOp)]
    launches = [op for op in tiles.walk() if isinstance(op, LaunchOp)]
    if len(groups) != len(launches):
        raise InternalError(f"{len(groups)} groups have become {len(launches)} launches")
    return {
        launch.kernel.root_reference.data: group.stopped
        for launch, group in zip(launches, groups, strict=True)
    }


def _schedule(op: KernelOp) -> ScheduleAttr | None:
    schedule = op.attributes.get(SCHEDULE)
    return schedule if isinstance(schedule, ScheduleAttr) else None


def _buffer(alloc: AllocOp) -> BufferInfo:
    type_ = buffer_type(alloc.buffer)
    space = type_.space.data
    layout = "" if type_.layout.data == "nd" else f" {type_.layout.data}"
    return BufferInfo(
        space=space,
        type=f"{type_.dtype}[{','.join(map(str, type_.dims))}]{layout}",
        depth=alloc.slots,
        address=alloc.address.value.data if alloc.address else 0,
        nbytes=round_up(type_.nbytes, ALIGNMENT[space]),
        node=node_of(alloc),
    )


def _instructions(kernel: Kernel) -> dict[str, dict[str, int]]:
    """How often each instruction stands in the code, by pipe; empty pipes left out."""
    counts = {pipe: Counter[str]() for pipe in PIPES}
    for record in kernel.records:
        counts[record.spec.pipe][record.spec.mnemonic] += 1
    return {pipe: dict(sorted(found.items())) for pipe, found in counts.items() if found}
