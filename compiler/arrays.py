"""Arrays that go into a model and come out: from `.npz` files, or made up from a seed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..dialects.core.dtypes import Array, from_numpy, is_float, to_numpy
from ..dialects.core.errors import InputError
from .frontends.onnx.shapes import Port

SEED = 0
"""Seed of the inputs that nobody gave."""
_INTEGERS = 10
"""Made-up integers are 0 .. 9, so that they are valid as indices of most tables."""


def read_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays of an `.npz` file by name; `InputError` if it is not a whole and plain one."""
    try:
        # numpy leaves a file that it opens itself open when it turns out to be no archive.
        with Path(path).open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise InputError(
                    f"{path} holds one array without a name",
                    hint="save it by `numpy.savez(path, name=array)`, with the tensor's name",
                )
            return {name: loaded[name] for name in loaded.files}
    except OSError as error:
        raise InputError(
            f"cannot read {path}",
            why=error.strerror or str(error),
            hint="give the path of a file that is there and may be read",
        ) from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} is not a readable .npz file",
            why=str(error),
            hint="write it by `numpy.savez`, keyed by tensor name",
        ) from error


def random_arrays(ports: Sequence[Port], seed: int = SEED) -> list[Array]:
    """An array for each port: normal floats, integers 0 .. 9; equal ones for an equal seed."""
    generator = np.random.default_rng(seed)
    arrays: list[Array] = []
    for port in ports:
        dtype = to_numpy(port.dtype)
        if is_float(port.dtype):
            arrays.append(generator.standard_normal(port.shape).astype(dtype))
        else:
            high = 2 if port.dtype == "bool" else _INTEGERS
            arrays.append(generator.integers(0, high, port.shape).astype(dtype))
    return arrays


def match_inputs(ports: Sequence[Port], arrays: Mapping[str, Array], where: str) -> list[Array]:
    """The array of each port, in order; others are ignored. `InputError` for what does not fit.

    `where` says where the arrays come from.
    """
    return [_fitting("input", port, _named("input", port, arrays, where), where) for port in ports]


def match_outputs(
    ports: Sequence[Port], arrays: Mapping[str, Array], where: str
) -> dict[str, Array]:
    """The expected value of each output in `arrays`, at least one and nothing but outputs.

    Shapes must agree; element types need not, as a reference is often more precise.
    """
    known = {port.name: port for port in ports}
    strange = [name for name in arrays if name not in known]
    if strange or not arrays:
        why = f"there is no output {', '.join(strange)}" if strange else "it holds no array"
        raise InputError(
            f"{where} does not hold expected outputs",
            why=why,
            hint=f"the outputs are {_list(ports)}",
        )
    for name, array in arrays.items():
        if array.shape != known[name].shape:
            raise _unfit("output", known[name], array, where)
    return dict(arrays)


def _named(kind: str, port: Port, arrays: Mapping[str, Array], where: str) -> Array:
    if port.name not in arrays:
        raise InputError(
            f"the {kind} {port.name} is missing",
            where=where,
            why=f"there are {', '.join(arrays) or 'no arrays'}",
            hint=f"it must be {port}",
        )
    return arrays[port.name]


def _fitting(kind: str, port: Port, array: Array, where: str) -> Array:
    if array.shape != port.shape or from_numpy(array.dtype) != port.dtype:
        raise _unfit(kind, port, array, where)
    return array


def _unfit(kind: str, port: Port, array: Array, where: str) -> InputError:
    return InputError(
        f"the {kind} {port.name} does not fit",
        where=where,
        why=f"it must be {port}, got {array.dtype}{list(array.shape)}",
        hint="reshape it, or convert it by `.astype`",
    )


def _list(ports: Sequence[Port]) -> str:
    return ", ".join(map(str, ports))
