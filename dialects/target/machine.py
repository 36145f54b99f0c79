"""A machine: sizes, rates and latencies, each with unit, source and confidence.

A machine is a TOML file.  Every field is a table `{ value, unit, source, confidence }`; the
sections are those of `units` and `features`.  Reading refuses unknown, missing and nonsensical
fields.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from ..core.errors import InputError
from .units import (
    L2,
    NESTED,
    SECTIONS,
    CoreUnit,
    CubeUnit,
    Dma,
    Dram,
    Launch,
    MemorySizes,
    Paths,
    ScalarUnit,
    Sync,
    VectorUnit,
)

CONFIDENCES = {
    "H": "official file or measured table",
    "M": "official prose, or derived from it",
    "L": "secondary source, scaled from another part, or a guess",
}

FEATURES = {
    "nd2nz": "loads from GM to L1 that turn rows into fractals",
    "pad_copy": "copies between GM and UB of any number of bytes",
    "load2d_block": "loads from L1 to L0 of several rows of fractals at once",
    "load3d": "loads from L1 to L0A of the windows of a convolution (im2col)",
    "load3d_c0_stride": "im2col loads of channel blocks any distance apart",
    "brcb": "filling one block with each element of a vector",
    "cube_bf16": "bf16 operands of the matrix unit",
    "cube_f32": "f32 operands of the matrix unit",
    "cube_i8": "8-bit integer operands of the matrix unit",
    "bias_table": "products that start from a row of biases",
    "fixpipe": "a drain of results from L0C to GM and L1 with a pipe of its own",
    "fixpipe_ub": "the same drain to UB",
    "l0c_ub_deq": "scaling integer results on the way from L0C to UB",
    "nz2nd": "stores from UB to GM that turn fractals into rows",
    "ub_l1": "moves from UB to L1",
    "l1_ub": "moves from L1 to UB",
    "l1_gm": "moves from L1 to GM",
    "fill_l1": "filling L1 with a value",
    "fill_l0": "filling L0A and L0B with a value",
    "atomic_f32": "atomic stores of f32",
    "atomic_f16": "atomic stores of f16",
    "atomic_bf16": "atomic stores of bf16",
    "atomic_i32": "atomic stores of i32",
    "atomic_i16": "atomic stores of i16",
    "atomic_i8": "atomic stores of i8",
    "atomic_minmax": "atomic stores of the larger or smaller value",
    "cross_core": "flags between cores",
    "sync_gm": "synchronisation of cores through GM",
    "convert_910b": "conversions of bf16 and i16 on the vector unit",
    "convert_any": "conversions between any two element types in one step",
    "convert_saturation": "choosing what saturates in a conversion",
    "round_f32": "rounding f32 to integers that stay f32",
    "compare_scalar": "comparing a vector with a scalar",
    "select_ub": "selecting by bits that lie in UB",
    "vector_gather": "gathering elements of UB by their offsets",
    "vector_gather_block": "gathering blocks of UB by their offsets",
    "vector_scatter": "scattering elements over UB by their offsets",
    "vector_compress": "keeping the elements of a vector that a mask picks",
    "vector_sort": "sorting and merging records of 8 bytes",
    "vector_prelu": "a slope for each element of a leaky relu",
    "compare_integers": "comparing vectors of integers",
}
"""Every feature an instruction may need, in words."""

_NEEDED_PATHS = {
    "bias_table": ("l1_bt",),
    "fixpipe": ("l0c_gm", "l0c_l1", "l1_fb"),
    "fixpipe_ub": ("l0c_ub", "l1_fb"),
    "ub_l1": ("ub_l1",),
    "l1_ub": ("l1_ub",),
    "l1_gm": ("l1_gm",),
}
"""Paths that have to be described for a feature."""
_NEEDED_MEMORIES = {"bias_table": "bt", "fixpipe": "fb", "fixpipe_ub": "fb"}
"""Memories that must not be empty for a feature."""

BUILTIN_FOLDER = Path(__file__).parent / "machines"


class Fact(NamedTuple):
    """One value of a machine and where it comes from."""

    value: int
    unit: str
    source: str
    confidence: str


class Feature(NamedTuple):
    """One feature: `real` on the part described, or `modelled`: granted by this description."""

    state: Literal["real", "modelled"]
    source: str


@dataclass(frozen=True, slots=True)
class Machine:
    """A whole machine.  Two machines are equal when their descriptions are."""

    name: str
    digest: str
    validation: str = field(compare=False)
    """How far its cycles can be trusted, in words."""
    core: CoreUnit = field(compare=False)
    memory: MemorySizes = field(compare=False)
    cube: CubeUnit = field(compare=False)
    vector: VectorUnit = field(compare=False)
    paths: Paths = field(compare=False)
    dma: Dma = field(compare=False)
    l2: L2 = field(compare=False)
    dram: Dram = field(compare=False)
    sync: Sync = field(compare=False)
    scalar: ScalarUnit = field(compare=False)
    launch: Launch = field(compare=False)
    features: Mapping[str, Feature] = field(compare=False)
    facts: Mapping[str, Fact] = field(compare=False)
    """Every value by dotted name, with unit, source and confidence."""
    description: Mapping[str, Any] = field(compare=False, repr=False)
    """What the machine was built from; `from_description` of it gives an equal machine."""

    def size(self, space: str) -> int:
        """Bytes of the memory called `space`."""
        return cast(int, getattr(self.memory, space))

    @property
    def peak_flops(self) -> int:
        """f16 operations (two a multiply-add) a second of all cores."""
        return 2 * 16 * 16 * self.cube.depth_b16 * self.core.clock * 1_000_000 * self.core.count


@lru_cache
def builtin_names() -> tuple[str, ...]:
    """Names of the machines that come with npuc, sorted."""
    return tuple(sorted(path.stem for path in BUILTIN_FOLDER.glob("*.toml")))


def is_builtin(machine: Machine) -> bool:
    """Whether `machine` equals the built-in machine of its name."""
    return machine.name in builtin_names() and load(machine.name).digest == machine.digest


def load(name_or_path: str | Path) -> Machine:
    """A built-in machine by name, or one described by a TOML file.

    Raises InputError for an unknown name, an unreadable file or a bad description.
    """
    text = str(name_or_path)
    if text in builtin_names():
        return _builtin(text)
    path = Path(name_or_path)
    if path.suffix != ".toml":
        raise InputError(
            f"no machine is called {text}",
            hint=f"use one of {', '.join(builtin_names())}, or the path of a .toml file",
        )
    return _read(path)


@lru_cache
def _builtin(name: str) -> Machine:
    return _read(BUILTIN_FOLDER / f"{name}.toml")


def _read(path: Path) -> Machine:
    try:
        description = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            "cannot read a machine description",
            where=str(path),
            why=str(error),
            hint="write TOML as in the machines that come with npuc, dialects/target/machines",
        ) from error
    return from_description(description, str(path))


def digest_of(description: Mapping[str, Any]) -> str:
    """blake2b-128 of the description, independent of order and comments."""
    text = json.dumps(description, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def from_description(description: Mapping[str, Any], where: str) -> Machine:
    """The machine a description (a TOML document as dicts) describes.

    `where` names its origin in errors.  Raises InputError naming the field that is wrong.
    """
    reader = _Reader(where)
    head = reader.head(description)
    facts: dict[str, Fact] = {}
    sections = {
        name: reader.section(section, description[name], name, facts)
        for name, section in SECTIONS.items()
    }
    machine = Machine(
        name=head["name"],
        validation=head["validation"],
        digest=digest_of(description),
        features=reader.features(description["features"]),
        facts=facts,
        description=description,
        **sections,
    )
    reader.check(machine)
    return machine


class _Reader:
    """Turns dicts into sections and refuses what is wrong."""

    def __init__(self, where: str) -> None:
        self._where = where

    def fail(self, what: str, why: str | None = None, hint: str | None = None) -> InputError:
        """An error about this description."""
        return InputError(what, where=self._where, why=why, hint=hint)

    def keys(self, table: object, expected: set[str], name: str) -> Mapping[str, Any]:
        """`table` if it is a table with exactly the expected keys."""
        if not isinstance(table, Mapping):
            raise self.fail(f"{name} is not a table", why=f"it is {table!r}")
        table = cast(Mapping[str, Any], table)
        missing = sorted(expected - set(table))
        unknown = sorted(set(table) - expected)
        if missing or unknown:
            wrong = [*(f"{k} is missing" for k in missing), *(f"{k} is unknown" for k in unknown)]
            raise self.fail(f"{name} has the wrong fields", why="; ".join(wrong))
        return table

    def head(self, description: Mapping[str, Any]) -> dict[str, str]:
        """Name and validation."""
        table = self.keys(
            description, {"name", "validation", "features", *SECTIONS}, "the description"
        )
        for key in ("name", "validation"):
            if not isinstance(table[key], str) or not table[key]:
                raise self.fail(f"{key} is not a text", why=f"it is {table[key]!r}")
        return {"name": table["name"], "validation": table["validation"]}

    def section(self, section: type, table: object, name: str, facts: dict[str, Fact]) -> Any:
        """An instance of `section` from `table`; adds every value to `facts`."""
        fields = dataclasses.fields(section)
        given = set(cast(Mapping[str, Any], table)) if isinstance(table, Mapping) else set[str]()
        # What has a default may be left out: not every machine has it.
        fields = [f for f in fields if f.name in given or f.default is dataclasses.MISSING]
        table = self.keys(cast(object, table), {f.name for f in fields}, name)
        values: dict[str, Any] = {}
        for f in fields:
            dotted = f"{name}.{f.name}"
            if f.metadata:
                facts[dotted] = self.fact(table[f.name], dotted, f.metadata)
                values[f.name] = facts[dotted].value
            else:
                inner = NESTED[str(f.type).removesuffix(" | None")]
                values[f.name] = self.section(inner, table[f.name], dotted, facts)
        return section(**values)

    def fact(self, table: object, name: str, expected: Mapping[str, Any]) -> Fact:
        """One value with its unit, source and confidence."""
        table = self.keys(table, set(Fact._fields), name)
        value = table["value"]
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.fail(f"{name} is not an integer", why=f"it is {value!r}")
        if table["unit"] != expected["unit"]:
            raise self.fail(
                f"{name} has the unit {table['unit']!r}",
                why=f"it is counted in {expected['unit']!r}",
            )
        if not expected["low"] <= value <= expected["high"]:
            raise self.fail(
                f"{name} = {value} {expected['unit']} makes no sense",
                why=f"it lies outside {expected['low']}..{expected['high']}",
            )
        if table["confidence"] not in tuple(CONFIDENCES):
            raise self.fail(
                f"{name} has the confidence {table['confidence']!r}",
                hint=f"use one of {', '.join(CONFIDENCES)}",
            )
        return Fact(
            value, expected["unit"], self.source(table["source"], name), table["confidence"]
        )

    def source(self, source: object, name: str) -> str:
        """A source that says something."""
        if not isinstance(source, str) or not source.strip():
            raise self.fail(f"{name} has no source", hint="say where the value comes from")
        return source

    def features(self, table: object) -> dict[str, Feature]:
        """Known features in a known state; a feature left out is absent."""
        if not isinstance(table, Mapping):
            raise self.fail("features is not a table", why=f"it is {table!r}")
        result: dict[str, Feature] = {}
        for name, entry in cast(Mapping[str, Any], table).items():
            if name not in FEATURES:
                raise self.fail(
                    f"no feature is called {name}", hint=f"use one of {', '.join(FEATURES)}"
                )
            entry = self.keys(entry, set(Feature._fields), f"features.{name}")
            if entry["state"] not in ("real", "modelled"):
                raise self.fail(
                    f"features.{name} is {entry['state']!r}", hint="use 'real' or 'modelled'"
                )
            result[name] = Feature(entry["state"], self.source(entry["source"], name))
        return result

    def check(self, machine: Machine) -> None:
        """What no field shows alone."""
        for space in ("l1", "l0a", "l0b", "l0c", "ub"):
            size = machine.size(space)
            if size % 32:
                raise self.fail(f"memory.{space} = {size} bytes is not a multiple of 32")
            if size > machine.memory.gm:
                raise self.fail(
                    f"memory.{space} is larger than gm", why=f"{size} > {machine.memory.gm} bytes"
                )
        if machine.dma.burst % machine.dma.request:
            raise self.fail(
                "dma.burst is not a multiple of dma.request",
                why=f"{machine.dma.burst} and {machine.dma.request} bytes",
            )
        if machine.l2.size % machine.l2.page:
            raise self.fail("l2.size is not a multiple of l2.page")
        if machine.cube.depth_f32 > machine.cube.depth_b16:
            raise self.fail("cube.depth_f32 is larger than cube.depth_b16")
        self.check_features(machine)

    def check_features(self, machine: Machine) -> None:
        """A feature comes with what its instructions cost and the memory they need."""
        for feature in machine.features:
            for path in _NEEDED_PATHS.get(feature, ()):
                if getattr(machine.paths, path) is None:
                    raise self.fail(f"features.{feature} needs paths.{path}")
            space = _NEEDED_MEMORIES.get(feature)
            if space is not None and not machine.size(space):
                raise self.fail(f"features.{feature} needs memory.{space}")
        if "cross_core" in machine.features and machine.sync.cross is None:
            raise self.fail("features.cross_core needs sync.cross")
