"""The table of the models: which package carries a model, which of its files, how to run it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...dialects.core.errors import InputError

TABLE = Path(__file__).parent / "models.toml"
RANDOM = "random"
"""What the table says instead of input files: npuc makes the inputs up."""


@dataclass(frozen=True)
class ModelFile:
    """A file of a model: its name in the cache, its path in the wheel, and what it must be."""

    name: str
    path: str
    size: int
    """Bytes."""
    sha256: str
    """64 lower-case hex digits."""


@dataclass(frozen=True)
class Entry:
    """A model of the zoo; `model`, `inputs` and `outputs` are names of `files`.

    Without `inputs` npuc makes them up; without `outputs` the model in f32 is the reference. Else
    each is a TensorProto, in the order of the model's inputs or outputs.
    """

    name: str
    title: str
    package: str
    version: str
    licence: str
    opset: int
    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tolerance: str
    shapes: Mapping[str, tuple[int, ...]]
    """The sizes of inputs that the model leaves open, by input name."""
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def entries() -> tuple[Entry, ...]:
    """The models of the zoo, in the order of the table."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return tuple(_entry(name, **values) for name, values in table.items())


def find(name: str) -> Entry:
    """The model called `name`; `InputError` if there is none."""
    known = {entry.name: entry for entry in entries()}
    if name not in known:
        raise InputError(
            f"the zoo has no model called {name}",
            hint=f"use one of {', '.join(known)}; `npuc zoo list` says what they are",
        )
    return known[name]


def _entry(
    name: str,
    *,
    files: Mapping[str, Mapping[str, Any]],
    inputs: str | list[str],
    outputs: list[str],
    shapes: Mapping[str, list[int]] | None = None,
    **values: Any,
) -> Entry:
    """A model as the table has it; a field that is unknown or missing is a `TypeError`."""
    return Entry(
        name=name,
        inputs=() if inputs == RANDOM else tuple(inputs),
        outputs=tuple(outputs),
        shapes={port: tuple(sizes) for port, sizes in (shapes or {}).items()},
        files=tuple(ModelFile(file, **fields) for file, fields in files.items()),
        **values,
    )
