"""Random well-formed instructions and kernels, as hypothesis strategies."""

import numpy as np
from hypothesis import strategies as st

from npuc.backend.structure import record_fault
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.instructions.branches import Redirection
from npuc.dialects.npu_isa.instructions.scalar import End, Loop, SMov
from npuc.dialects.npu_isa.record import Addr, Operand, Record, Reg
from npuc.dialects.npu_isa.spec import (
    GM_OFFSET_BITS,
    REGISTERS,
    Field,
    Instruction,
)

REGISTER = st.integers(0, REGISTERS - 1).map(Reg)
FLOAT = st.floats(width=32, allow_nan=False)


def addresses(field: Field) -> st.SearchStrategy[Operand]:
    """Any address the field takes."""
    if field.space == "gm":
        return st.builds(Addr, REGISTER, st.integers(0, (1 << GM_OFFSET_BITS) - 1))
    last = (1 << field.offset_bits) - 1
    absolute = st.integers(0, last // field.align).map(lambda n: Addr(None, n * field.align))
    return absolute | st.builds(Addr, REGISTER, st.integers(0, last))


def operands(field: Field) -> st.SearchStrategy[Operand]:
    """Any operand the field takes; often its default, or at the ends of its range."""
    default = field.default_operand
    return anything(field) if default is None else st.just(default) | anything(field)


def anything(field: Field) -> st.SearchStrategy[Operand]:
    """Any operand the field takes; often at the ends of its range."""
    if field.kind == "addr":
        return addresses(field)
    if field.kind in ("in", "out"):
        return REGISTER
    if field.kind == "f32":
        return FLOAT
    if field.enum is not None:
        return st.sampled_from(field.enum)
    values = st.sampled_from((field.low, field.high)) | st.integers(field.low, field.high)
    return values | REGISTER if field.kind == "ri" else values


def records(spec: type[Instruction]) -> st.SearchStrategy[Record]:
    """Any well-formed record of an instruction; a loop has a body of at most three words, a branch
    goes to itself or to the next word."""
    drawn = [operands(field) for field in spec.fields]
    if spec is Loop or issubclass(spec, Redirection):
        drawn[-1] = st.integers(0, 3 if spec is Loop else 1)
    made = st.tuples(*drawn).map(lambda values: Record(spec, values))
    return made.filter(lambda record: record_fault(record) is None)


def closed(record: Record) -> list[Record]:
    """A kernel with this record first: the words its body needs, and an `end`."""
    if record.spec is End:
        return [record]
    filler = Record(SMov, (Reg(1), int(np.int8(-7))))
    body = record.operand("body") if record.spec is Loop else 0
    assert isinstance(body, int)
    return [record, *[filler] * body, Record(End, ())]


SIMPLE = [spec for spec in MNEMONICS.values() if spec not in (Loop, End)]


@st.composite
def kernels(draw: st.DrawFn, depth: int = 3) -> list[Record]:
    """A kernel of a few random records with nested loops."""
    return [*draw(_blocks(depth)), Record(End, ())]


@st.composite
def _blocks(draw: st.DrawFn, depth: int) -> list[Record]:
    block: list[Record] = []
    for _ in range(draw(st.integers(0, 4))):
        if depth and draw(st.booleans()):
            body = draw(_blocks(depth - 1))
            count = draw(st.integers(0, 9) | REGISTER)
            block += [Record(Loop, (draw(REGISTER), count, len(body))), *body]
        else:
            block.append(draw(st.sampled_from(SIMPLE).flatmap(records)))
    return block
