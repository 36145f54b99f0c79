"""A compiled model that is called like a function.

Nothing here needs the compiler or the IR library: a saved program runs without them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dialects.core.errors import InputError
from .. import container
from ..emulator.emulator import Emulator
from ..emulator.image import check_inputs, input_faults
from ..emulator.result import Result
from ..program import IO, Entry, Program
from .profile import Profile

Array = npt.NDArray[Any]


class Executable:
    """A program on an emulated machine.

    Call it with arrays of exactly its inputs' shapes and dtypes, in order or by name.  A program
    with several entries runs the first that the arrays fit.  `checks` and `trace` are those of
    `Emulator`.  Calls from several threads do not disturb each other; `cycles` and `profile` are
    about the run that ended last.
    """

    def __init__(self, program: Program, *, checks: bool = False, trace: bool = False) -> None:
        self.program = program
        self._emulator = Emulator(program, checks=checks, trace=trace)
        self._last: Result | None = None

    @property
    def inputs(self) -> tuple[IO, ...]:
        """Inputs of the first entry: name, dtype and shape."""
        return self.program.entry().inputs

    @property
    def outputs(self) -> tuple[IO, ...]:
        """Outputs of the first entry: name, dtype and shape."""
        return self.program.entry().outputs

    def __call__(self, /, *arrays: Array, **named: Array) -> Array | tuple[Array, ...]:
        """The output, or a tuple of the outputs in order when there is not exactly one.

        Raises InputError when the arrays do not fit.
        """
        outputs = tuple(self.run(*arrays, **named).outputs.values())
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, /, *arrays: Array, **named: Array) -> Result:
        """As a call, with cycles and everything else the emulator tells."""
        entry, inputs = self._bind(arrays, named)
        result = self._emulator.run(inputs, entry.name)
        self._last = result
        return result

    @property
    def cycles(self) -> int:
        """Cycles of the last run; InputError when there was none."""
        return self._last_result().cycles

    def profile(self) -> Profile:
        """Where the cycles of the last run went, by kernel; InputError when there was none."""
        return Profile.of(self.program, self._last_result())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the program to a file for `load`; whole or not at all."""
        container.save(self.program, path)

    def _last_result(self) -> Result:
        if self._last is None:
            raise InputError("the program has not run yet", hint="call it with its inputs first")
        return self._last

    def _bind(
        self, arrays: tuple[object, ...], named: dict[str, Array]
    ) -> tuple[Entry, dict[str, Array]]:
        """The entry that takes these arrays, and the arrays by name."""
        candidates = [(entry, _by_name(entry, arrays, named)) for entry in self.program.entries]
        for entry, inputs in candidates:
            if not input_faults(entry, inputs):
                return entry, inputs
        entry, inputs = candidates[0]
        check_inputs(entry, inputs)
        return entry, inputs


def _by_name(
    entry: Entry, arrays: tuple[object, ...], named: Mapping[str, object]
) -> dict[str, Array]:
    """Arrays by name; those in order take the names of the inputs in order."""
    names = [tensor.name for tensor in entry.inputs]
    if len(arrays) > len(names):
        takes = ", ".join(names) or "none"
        raise InputError(
            f"{len(arrays)} arrays for {len(names)} inputs", hint=f"the inputs are {takes}"
        )
    inputs: dict[str, Array] = {}
    for name, array in (*zip(names, arrays, strict=False), *named.items()):
        if name in inputs:
            raise InputError(f"{name} is given in order and by name")
        if not isinstance(array, np.ndarray):
            raise InputError(
                f"input {name} is no numpy array", why=f"it is a {type(array).__name__}"
            )
        inputs[name] = array
    return inputs


def load(path: str | os.PathLike[str], *, checks: bool = False, trace: bool = False) -> Executable:
    """The executable of a saved program.

    Raises InputError when the file cannot be read, and ProgramError when it is damaged, of a newer
    format, or for a machine that lacks what it needs.
    """
    return Executable(container.load(path), checks=checks, trace=trace)
