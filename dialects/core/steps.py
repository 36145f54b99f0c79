"""Pure operations on arrays that weights and origins record instead of performing.

A weight is bytes plus a list of steps (cast, transpose, reshape, slice) performed when it is read;
an origin is a tensor of the model plus the steps that give the value at hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np

from .dtypes import Array, from_numpy, to_numpy
from .errors import InputError
from .kernels.cast import cast

Ints: TypeAlias = tuple[int, ...]
StepArgument: TypeAlias = str | Ints | tuple[Ints, Ints]


class Step(NamedTuple):
    """`cast` (dtype), `transpose` (permutation), `reshape` (shape), `slice` (offsets, sizes)."""

    name: str
    argument: StepArgument


class Typed(NamedTuple):
    """The element type name and shape of an array."""

    dtype: str
    shape: Ints


def _refuse(step: Step, why: str) -> InputError:
    return InputError(f"cannot apply step `{step.name}`", why=why)


def _ints(step: Step) -> Ints:
    if isinstance(step.argument, str) or any(isinstance(x, tuple) for x in step.argument):
        raise _refuse(step, f"its argument must be a list of integers, not {step.argument!r}")
    return step.argument  # pyright: ignore[reportReturnType]


def _bounds(step: Step) -> tuple[Ints, Ints]:
    argument = step.argument
    if len(argument) != 2 or not all(isinstance(x, tuple) for x in argument):
        raise _refuse(step, f"its argument must be offsets and sizes, not {argument!r}")
    return argument  # pyright: ignore[reportReturnType]


def infer_step(source: Typed, step: Step) -> Typed:
    """The element type and shape after `step`; `InputError` if the step does not fit the source."""
    dtype, shape = source
    match step.name:
        case "cast":
            if not isinstance(step.argument, str):
                raise _refuse(step, f"its argument must be an element type, not {step.argument!r}")
            to_numpy(step.argument)
            return Typed(step.argument, shape)
        case "transpose":
            order = _ints(step)
            if sorted(order) != list(range(len(shape))):
                raise _refuse(step, f"{list(order)} does not permute {len(shape)} dimensions")
            return Typed(dtype, tuple(shape[i] for i in order))
        case "reshape":
            target = _ints(step)
            if math.prod(target) != math.prod(shape) or any(n < 0 for n in target):
                raise _refuse(step, f"{list(shape)} has other elements than {list(target)}")
            return Typed(dtype, target)
        case "slice":
            offsets, sizes = _bounds(step)
            if not len(offsets) == len(sizes) == len(shape):
                raise _refuse(step, f"offsets and sizes must have {len(shape)} entries each")
            bounds = zip(offsets, sizes, shape, strict=True)
            if any(o < 0 or n < 0 or o + n > d for o, n, d in bounds):
                raise _refuse(step, f"{list(offsets)} and {list(sizes)} leave {list(shape)}")
            return Typed(dtype, sizes)
        case _:
            raise InputError(
                f"`{step.name}` is not a step", hint="use cast, transpose, reshape or slice"
            )


def infer_steps(source: Typed, steps: Iterable[Step]) -> Typed:
    """The element type and shape after all `steps`, in order."""
    for step in steps:
        source = infer_step(source, step)
    return source


def apply_step(array: Array, name: str, argument: StepArgument) -> Array:
    """Perform one step; the result may share memory. Raises `InputError` as `infer_step`."""
    step = Step(name, argument)
    dtype, shape = infer_step(Typed(from_numpy(array.dtype), array.shape), step)
    match name:
        case "cast":
            return cast(array, dtype)
        case "transpose":
            return np.transpose(array, _ints(step))
        case "reshape":
            return array.reshape(shape)
        case _:
            offsets, sizes = _bounds(step)
            return array[tuple(slice(o, o + n) for o, n in zip(offsets, sizes, strict=True))]


def apply_steps(array: Array, steps: Iterable[Step]) -> Array:
    """Perform `steps` in order."""
    for step in steps:
        array = apply_step(array, step.name, step.argument)
    return array
