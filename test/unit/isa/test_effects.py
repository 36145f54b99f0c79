"""What an instruction says it reads and writes is what it reads and writes."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from bare_core import SIZES, BareCore
from npuc.dialects.npu_isa.instructions import OPCODES
from npuc.dialects.npu_isa.instructions.indirect import Indirect
from npuc.dialects.npu_isa.instructions.sort import VMrgSort4
from npuc.dialects.npu_isa.spec import Field, Footprint, Instruction, Operands
from npuc.dialects.target.machine import Machine, load

WITH_MEMORY = [s for s in OPCODES.values() if any(f.kind == "addr" for f in s.fields)]
CASES = 25
LARGEST = {"rows": 70, "cols": 70, "k": 40, "m": 40, "n": 40, "nburst": 6, "len": 200}
STRIDES = {"src_c0_stride": (80, 90), "dst_c0_stride": (80, 90), "dst_stride": (40, 300)}


def mnemonic_of(spec: type[Instruction]) -> str:
    return spec.mnemonic


def random_value(field: Field, rng: random.Random) -> float | str:
    if field.enum is not None:
        return rng.choice(field.enum)
    if field.kind == "addr":
        assert field.space is not None
        room = SIZES[field.space] // 4 if field.space != "l1" else 4096
        return rng.randrange(0, room, field.align)
    if field.kind == "f32":
        return rng.choice([0.0, rng.uniform(-2, 2)])
    if field.name in STRIDES:
        return rng.randint(*STRIDES[field.name])
    if field.name == "src_stride":
        return rng.choice([0, 48, 300])
    if field.name.endswith("blk_stride"):
        return rng.choice([1, 1, 2]) if field.name.startswith("dst") else rng.choice([0, 1, 1, 3])
    if field.name.endswith("rep_stride"):
        return rng.choice([8, 8, 0, 4, 17])
    return rng.randint(field.low, min(field.high, LARGEST.get(field.name, 9)))


def random_operands(spec: type[Instruction], rng: random.Random, machine: Machine) -> Operands:
    while True:
        found = spec.Operands(*(random_value(field, rng) for field in spec.fields))
        if spec.constraint(found) is not None:
            continue
        touched = (*spec.reads(found, machine), *spec.writes(found, machine))
        if all(f.end <= SIZES[f.space] for f in touched):
            return found


def bytes_of(
    footprints: tuple[Footprint, ...], space: str
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    touched = np.zeros(SIZES[space], np.bool_)
    for footprint in footprints:
        if footprint.space == space:
            for row in range(footprint.rows):
                start = footprint.start + row * footprint.stride
                touched[start : start + footprint.row_bytes] = True
    return touched


def runs(spec: type[Instruction]) -> Iterator[tuple[Operands, Machine, BareCore, random.Random]]:
    rng = random.Random(spec.mnemonic)
    machine = load("tiny")
    for case in range(CASES):
        core = BareCore()
        bits = np.random.default_rng(case)
        for space, size in SIZES.items():
            # Half precision in [1, 2) for every pair of bytes: no infinities, no denormals.
            values = bits.integers(0x3C00, 0x4000, size // 2, np.uint16)
            core.put(space, 0, values)
        found = random_operands(spec, rng, machine)
        make_valid(spec, found, core, rng)
        yield found, machine, core, rng


def make_valid(
    spec: type[Instruction], operands: Operands, core: BareCore, rng: random.Random
) -> None:
    """Keep operands of an indirect instruction apart and its offsets within what they point into;
    let a merge find lists in order."""
    if issubclass(spec, Indirect):
        for part, name in enumerate(("dst", "src", "offsets")):
            setattr(operands, name, part * (SIZES["ub"] // 4))
        setattr(operands, f"{spec.region}_bytes", SIZES["ub"] // 4)
        things = SIZES["ub"] // 4 // spec.size(operands)
        offsets = [rng.randrange(things) * spec.size(operands) for _ in range(SIZES["ub"] // 16)]
        core.put("ub", operands.offsets, np.array(offsets, np.uint32))
    if spec is VMrgSort4:
        core.ub.data[:] = 0


@pytest.mark.filterwarnings("ignore:.*cast:RuntimeWarning")
@pytest.mark.parametrize("spec", WITH_MEMORY, ids=mnemonic_of)
def test_writes_are_within_the_declared(spec: type[Instruction]) -> None:
    for operands, machine, core, _ in runs(spec):
        before = {space: core.memory(space).data.copy() for space in SIZES}
        spec.execute(core, operands)
        writes = spec.writes(operands, machine)
        for space in SIZES:
            changed = core.memory(space).data != before[space]
            assert not (changed & ~bytes_of(writes, space)).any(), (space, operands)


@pytest.mark.parametrize("spec", WITH_MEMORY, ids=mnemonic_of)
def test_what_is_not_declared_read_does_not_matter(spec: type[Instruction]) -> None:
    for operands, machine, core, _ in runs(spec):
        other = BareCore()
        reads, writes = spec.reads(operands, machine), spec.writes(operands, machine)
        for space in SIZES:
            data = core.memory(space).data
            kept = bytes_of(reads, space)
            other.memory(space).data[:] = np.where(kept, data, data ^ 1)
        spec.execute(core, operands)
        spec.execute(other, operands)
        for space in SIZES:
            written = bytes_of(writes, space)
            one, two = core.memory(space).data[written], other.memory(space).data[written]
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("spec", WITH_MEMORY, ids=mnemonic_of)
def test_counts_that_are_bounds_give_spans_that_cover(spec: type[Instruction]) -> None:
    counts = [f.name for f in spec.fields if f.kind == "ri" and f.name != "accumulate"]
    for operands, machine, _, rng in runs(spec):
        bounds = {a.field: a for a in _spans(spec, operands, machine)}
        for name in counts:
            value = getattr(operands, name)
            setattr(operands, name, rng.randint(min(value, spec.field(name).low), value))
        for access in _spans(spec, operands, machine):
            assert bounds[access.field].start <= access.start
            assert bounds[access.field].end >= access.end


class _Span:
    def __init__(self, field: str, start: int, end: int) -> None:
        self.field, self.start, self.end = field, start, end


def _spans(spec: type[Instruction], operands: Operands, machine: Machine) -> list[_Span]:
    spans: dict[str, _Span] = {}
    for access in spec.footprints(operands, machine):
        shape = access.shape
        if shape.start == shape.end:
            continue
        span = spans.setdefault(access.field, _Span(access.field, shape.start, shape.end))
        span.start, span.end = min(span.start, shape.start), max(span.end, shape.end)
    return list(spans.values())


@pytest.mark.parametrize("spec", OPCODES.values(), ids=mnemonic_of)
def test_instructions_without_addresses_touch_no_memory(spec: type[Instruction]) -> None:
    if spec not in WITH_MEMORY:
        values = [0 if f.enum is None else f.enum[0] for f in spec.fields]
        assert spec.footprints(spec.Operands(*values), load("tiny")) == ()
