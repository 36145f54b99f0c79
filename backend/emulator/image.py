"""GM as a run sees it, and the arrays that go in and come out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dialects.core.dtypes import to_numpy
from ...dialects.core.errors import ExecutionError, InputError
from ...dialects.npu_isa.memory import Memory
from ..program import IO, Entry, Program

Array = npt.NDArray[Any]


class GmImage:
    """GM of one run: constants in place, zeros elsewhere.  Re-used, so that constants are copied
    once and not in every run.

    `written` lists the ranges, as start and end, that hold something else than at first.
    """

    def __init__(self, program: Program) -> None:
        """Raises ExecutionError when the host has not the memory."""
        try:
            self.memory = Memory("gm", program.gm_bytes)
        except MemoryError as error:
            raise ExecutionError(
                f"GM of {program.gm_bytes} bytes does not fit the memory of the host",
                why=str(error),
            ) from error
        self.written: list[tuple[int, int]] = []
        for constant in program.constants:
            stop = constant.address + constant.data.nbytes
            self.memory.data[constant.address : stop] = constant.data

    def clear(self) -> None:
        """Make GM what it was at first."""
        end = 0
        for start, stop in sorted(self.written):
            self.memory.data[max(start, end) : stop] = 0
            end = max(end, stop)
        self.written.clear()

    def store(self, tensor: IO, array: Array) -> None:
        """Put an input of exactly the tensor's shape and dtype in its place."""
        self._view(tensor)[...] = array
        self.written.append((tensor.address, tensor.address + tensor.nbytes))

    def fetch(self, tensor: IO) -> Array:
        """A copy of an output."""
        return self._view(tensor).copy()

    def _view(self, tensor: IO) -> Array:
        dtype = to_numpy(tensor.dtype)
        return np.ndarray(tensor.shape, dtype, self.memory.data.data, tensor.address)


def check_inputs(entry: Entry, inputs: Mapping[str, Array]) -> None:
    """Raise InputError, listing everything that is wrong, unless `inputs` are those of `entry`."""
    faults = input_faults(entry, inputs)
    if faults:
        takes = ", ".join(_type_of(tensor) for tensor in entry.inputs) or "nothing"
        raise InputError(
            f"the inputs do not fit entry {entry.name}",
            why="; ".join(faults),
            hint=f"pass numpy arrays {takes}",
        )


def input_faults(entry: Entry, inputs: Mapping[str, Array]) -> list[str]:
    """Everything that keeps `inputs` from being those of `entry`."""
    expected = {tensor.name: tensor for tensor in entry.inputs}
    faults = [f"{name} is missing" for name in expected if name not in inputs]
    faults += [f"there is no input {name}" for name in inputs if name not in expected]
    for name, tensor in expected.items():
        array = inputs.get(name)
        if array is None:
            continue
        if array.dtype != to_numpy(tensor.dtype) or array.shape != tensor.shape:
            faults.append(f"{name} is {array.dtype}{list(array.shape)}")
    return faults


def _type_of(tensor: IO) -> str:
    return f"{tensor.name}: {to_numpy(tensor.dtype)}{list(tensor.shape)}"
