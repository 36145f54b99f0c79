"""Random small programs of graph ops, as a hypothesis strategy, and inputs for them."""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region, SSAValue

from npuc.dialects.core.attributes import OriginAttr, element_name, tensor_of, tensor_type
from npuc.dialects.core.dtypes import Array, to_numpy
from npuc.dialects.core.ops import INLINE_BYTES, ConstantOp, NpucOp, tensor_bytes
from npuc.dialects.core.origins import set_origins
from npuc.dialects.graph.contraction import GemmOp, MatMulOp
from npuc.dialects.graph.elementwise import AddOp, DivOp, MaximumOp, MinimumOp, MulOp, ReluOp, SubOp
from npuc.dialects.graph.movement import CastOp, ReshapeOp, TransposeOp
from npuc.dialects.graph.normalization import SoftmaxOp

SIZES = st.integers(1, 5)
FLOATS = ("f32", "f16")
BINARY = (AddOp, SubOp, MulOp, DivOp, MaximumOp, MinimumOp)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a tensor value."""
    return tuple(tensor_type(value).get_shape())


def dtype_of(value: SSAValue) -> str:
    """The name of the element type of a tensor value."""
    return element_name(tensor_type(value).element_type)


class Program:
    """A function under construction: arguments and constants are made when an op needs them."""

    def __init__(self, draw: st.DrawFn):
        self.draw, self.block = draw, Block()
        self.values: list[SSAValue] = []

    def add(self, op: NpucOp) -> None:
        """Append an op; its result has an origin and may be used by later ops."""
        self.block.add_op(op)
        result = op.results[0]
        set_origins(result, [OriginAttr.of(f"node{len(self.values)}", f"t{len(self.values)}")])
        self.values.append(result)

    def operand(self, shape: tuple[int, ...], dtype: str) -> SSAValue:
        """A value of this type: an earlier one, a constant, or a new argument."""
        type_ = tensor_of(dtype, shape)
        fitting = [value for value in self.values if value.type == type_]
        if fitting and self.draw(st.booleans()):
            return self.draw(st.sampled_from(fitting))
        if tensor_bytes(type_) <= INLINE_BYTES and self.draw(st.integers(0, 3)) == 0:
            return self.constant(shape, dtype)
        return self.block.insert_arg(type_, len(self.block.args))

    def constant(self, shape: tuple[int, ...], dtype: str) -> SSAValue:
        """A constant, one value for all elements or different ones."""
        number = self.draw(st.sampled_from([0.0, 1.0, -2.0, 0.5]))
        array = np.full(shape, number, to_numpy(dtype))
        if self.draw(st.booleans()):
            array = (array + np.arange(array.size).reshape(shape) / 8).astype(to_numpy(dtype))
        op = ConstantOp.of(array)
        self.block.add_op(op)
        return op.result


def _binary(program: Program, x: SSAValue) -> NpucOp:
    shape = shape_of(x)
    kept = program.draw(st.integers(0, len(shape)))
    other = tuple(size if program.draw(st.booleans()) else 1 for size in shape[len(shape) - kept :])
    kind = program.draw(st.sampled_from(BINARY))
    y = program.operand(other, dtype_of(x))
    return kind(x, y) if program.draw(st.booleans()) else kind(y, x)


def _matmul(program: Program, x: SSAValue) -> NpucOp:
    shape = shape_of(x)
    if len(shape) < 2:
        return ReluOp(x)
    batch = program.draw(st.sampled_from([(), shape[:-2], tuple(1 for _ in shape[:-2])]))
    w = program.operand((*batch, shape[-1], program.draw(SIZES)), dtype_of(x))
    return MatMulOp(x, w, "f32" if program.draw(st.booleans()) else None)


def _gemm(program: Program, x: SSAValue) -> NpucOp:
    shape = shape_of(x)
    if len(shape) != 2:
        return ReluOp(x)
    trans_a, trans_b = program.draw(st.booleans()), program.draw(st.booleans())
    depth, rows = shape if trans_a else shape[::-1]
    cols = program.draw(SIZES)
    w = program.operand((cols, depth) if trans_b else (depth, cols), dtype_of(x))
    out = "f32" if program.draw(st.booleans()) else dtype_of(x)
    added = program.draw(st.sampled_from([None, (cols,), (1, cols), (rows, 1), ()]))
    factors = st.sampled_from([1.0, 0.5, -2.0])
    return GemmOp(
        x,
        w,
        None if added is None else program.operand(added, out),
        alpha=program.draw(factors),
        beta=program.draw(factors),
        trans_a=trans_a,
        trans_b=trans_b,
        out=out,
    )


def _transpose(program: Program, x: SSAValue) -> NpucOp:
    return TransposeOp(x, program.draw(st.permutations(range(len(shape_of(x))))))


def _reshape(program: Program, x: SSAValue) -> NpucOp:
    shape = shape_of(x)
    cut = program.draw(st.integers(0, len(shape)))
    sizes = [int(np.prod(shape[:cut])), int(np.prod(shape[cut:]))]
    return ReshapeOp(x, program.draw(st.sampled_from([sizes, sizes[::-1], [*shape, 1]])))


def _softmax(program: Program, x: SSAValue) -> NpucOp:
    rank = len(shape_of(x))
    return SoftmaxOp(x, program.draw(st.integers(0, rank - 1))) if rank else ReluOp(x)


MAKERS: tuple[Callable[[Program, SSAValue], NpucOp], ...] = (
    _binary,
    _binary,
    _matmul,
    _gemm,
    _transpose,
    _reshape,
    _softmax,
    lambda program, x: ReluOp(x),
    lambda program, x: CastOp(x, program.draw(st.sampled_from(FLOATS))),
)


class Sample(NamedTuple):
    """A module with `@main`, and arguments for it."""

    module: ModuleOp
    arguments: tuple[Array, ...]


@st.composite
def programs(draw: st.DrawFn) -> Sample:
    """A program of up to eight ops that returns one to three of its values."""
    program = Program(draw)
    shape = tuple(draw(st.lists(SIZES, min_size=1, max_size=3)))
    program.values.append(program.operand(shape, draw(st.sampled_from(FLOATS))))
    for _ in range(draw(st.integers(1, 8))):
        program.add(draw(st.sampled_from(MAKERS))(program, draw(st.sampled_from(program.values))))
    made = program.values[1:]
    kept = draw(st.lists(st.sampled_from(made), max_size=2, unique=True))
    outputs = list(dict.fromkeys([*kept, made[-1]]))
    block = program.block
    block.add_op(func.ReturnOp(*outputs))
    types = FunctionType.from_lists([a.type for a in block.args], [v.type for v in outputs])
    module = ModuleOp([func.FuncOp("main", types, Region(block))])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arguments = tuple(_random(rng, argument) for argument in block.args)
    return Sample(module, arguments)


def _random(rng: np.random.Generator, value: SSAValue) -> Array:
    # Away from zero, so that quotients stay tame.
    magnitude = rng.uniform(0.25, 2.0, shape_of(value))
    sign = rng.choice([-1.0, 1.0], shape_of(value))
    return cast(Any, magnitude * sign).astype(to_numpy(dtype_of(value)))
