"""What can be asked of a run of a model or a program, and what it gives; needs no xDSL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..backend.emulator.result import Result
from ..backend.program import Program
from ..dialects.core.dtypes import Array
from ..dialects.core.errors import InputError
from ..dialects.core.tolerance import Comparison, compare
from .arrays import match_inputs, match_outputs, random_arrays, read_arrays
from .frontends.onnx.shapes import Port

LEVELS = {"graph": "graph", "tensor": "scheduled", "tile": "planned", "npu_isa": "final"}
"""The stage at which each level is run: the last one of the level."""
DEFAULT_PRECISION = "mixed"


@dataclass(frozen=True)
class Request:
    """What to run: an `.onnx` or `.npu` file, its inputs and the expected outputs.

    Arrays are those of an `.npz` file by name, or given in the order of the model's inputs or
    outputs. `target` and `precision` None mean the default, or what a program was compiled for.
    """

    model: str
    inputs: str | Sequence[Array] | None = None
    expect: str | Sequence[Array] | None = None
    target: str | None = None
    precision: str | None = None
    level: str = "npu_isa"
    strict: bool = False
    """Refuse what would run on the host engine."""
    shapes: Mapping[str, Sequence[int]] | None = None
    """Sizes of the inputs of an `.onnx` file that it leaves open, by input name."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave. `comparisons` is empty where there was nothing to compare with.

    `program` and `result` are None at levels above `npu_isa`, which take no time to speak of.
    """

    request: Request
    precision: str | None
    """Whose limit the comparisons had; None for a program of which nothing was expected."""
    outputs: Mapping[str, Array]
    comparisons: Mapping[str, Comparison]
    warnings: Sequence[str]
    program: Program | None
    result: Result | None
    compile_cpu_s: float
    emulate_cpu_s: float

    @property
    def ok(self) -> bool:
        """Whether every comparison is within its limit."""
        return all(comparison.ok for comparison in self.comparisons.values())


class Given:
    """The arrays of a request, read at once so that a bad file is found before anything is done."""

    def __init__(self, request: Request) -> None:
        self._inputs = _Arrays.read("input", request.inputs)
        self._expect = _Arrays.read("output", request.expect)

    def inputs(self, ports: Sequence[Port]) -> list[Array]:
        """The given inputs in the order of `ports`, or made-up ones."""
        if self._inputs is None:
            return random_arrays(ports)
        return match_inputs(ports, self._inputs.by_name(ports), self._inputs.where)

    def expected(self, ports: Sequence[Port]) -> Mapping[str, Array]:
        """The expected outputs, as far as they are given."""
        if self._expect is None:
            return {}
        return match_outputs(ports, self._expect.by_name(ports), self._expect.where)


class _Arrays(NamedTuple):
    """Arrays by name, or in the order of the ports, with what to call them in messages."""

    kind: str
    where: str
    arrays: Mapping[str, Array] | Sequence[Array]

    @staticmethod
    def read(kind: str, given: str | Sequence[Array] | None) -> _Arrays | None:
        if given is None:
            return None
        if isinstance(given, str):
            return _Arrays(kind, given, read_arrays(given))
        return _Arrays(kind, f"the given {kind}s", given)

    def by_name(self, ports: Sequence[Port]) -> Mapping[str, Array]:
        if isinstance(self.arrays, Mapping):
            return self.arrays
        if len(self.arrays) != len(ports):
            raise InputError(
                f"the number of {self.kind}s does not fit",
                why=f"the model has {len(ports)}, given are {len(self.arrays)}",
                hint=f"the {self.kind}s are {', '.join(map(str, ports))}",
            )
        return by_name(ports, self.arrays)


def by_name(ports: Sequence[Port], arrays: Sequence[Array]) -> dict[str, Array]:
    """The arrays, one for each port, under the names of the ports."""
    return {port.name: array for port, array in zip(ports, arrays, strict=True)}


def compare_all(
    outputs: Mapping[str, Array], expected: Mapping[str, Array], precision: str
) -> dict[str, Comparison]:
    """What is expected with what came out, by the limit of `precision`."""
    return {name: compare(outputs[name], array, precision) for name, array in expected.items()}
