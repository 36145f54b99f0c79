"""The closed table of what the host engine (the chip's AI CPU) computes, each with its reason.

Nothing gets here because lowering failed: a converter sends an operator to the host engine by name,
the call stands in the IR, it is costed and reported, and `--strict` refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..dtypes import Array
from ..errors import InputError
from .contract import matmul

Shape = Sequence[int]
Typed = tuple[str, tuple[int, ...]]
"""Element type name and shape of a tensor."""


@dataclass(frozen=True, slots=True)
class HostFunction:
    """One function of the host engine.

    `infer(arguments)` gives element type and shape of the result, or raises `InputError`;
    `operations(arguments)` counts its arithmetic.
    """

    function: Callable[..., Array]
    reason: str
    infer: Callable[[Sequence[Typed]], Typed]
    operations: Callable[[Sequence[Typed]], int]


def _infer_matmul(arguments: Sequence[Typed]) -> Typed:
    if len(arguments) != 2 or any(dtype != "i32" for dtype, _ in arguments):
        raise InputError("the host function matmul takes two i32 tensors")
    (_, a), (_, b) = arguments
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
        raise InputError(f"{list(a)} and {list(b)} are no factors of a product of matrices")
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError as error:
        raise InputError(f"the batches of {list(a)} and {list(b)} do not broadcast") from error
    return "i32", (*batch, a[-2], b[-1])


def _matmul_operations(arguments: Sequence[Typed]) -> int:
    _, shape = _infer_matmul(arguments)
    return 2 * arguments[0][1][-1] * int(np.prod(shape, dtype=np.int64))


HOST_FUNCTIONS: dict[str, HostFunction] = {
    "matmul": HostFunction(
        matmul,
        "the cube multiplies f16, bf16 and f32, and the vector unit has no integer dot product",
        _infer_matmul,
        _matmul_operations,
    ),
}
"""All of it, by name."""


def host_function(name: str) -> HostFunction:
    """The function `name`; `InputError` naming the table if there is none."""
    try:
        return HOST_FUNCTIONS[name]
    except KeyError:
        known = ", ".join(HOST_FUNCTIONS)
        raise InputError(f"the host engine has no function `{name}`; it has {known}") from None


def listing(calls: Iterable[tuple[str, str | None]]) -> str:
    """A line for each call, given as function and node of the model: both, and the reason."""
    lines: list[str] = []
    for name, node in calls:
        place = f"node `{node}`" if node else "an unnamed node"
        lines.append(f"{place}: {name}, as {host_function(name).reason}")
    return "\n    ".join(("", *lines))
