"""A zoo of one small model in a wheel that pip finds in a folder: no network, nothing installed."""

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onnx_models
from npuc.compiler.zoo import table

NAME = "toy"
PACKAGE = "toy_models"
BELOW = f"{PACKAGE}/data"


@dataclass
class Zoo:
    """Where the parts are: pip's folder of wheels, the cache, and what the wheel holds."""

    wheels: Path
    cache: Path
    files: Mapping[str, bytes]

    @property
    def folder(self) -> Path:
        """The folder of the model in the cache."""
        return self.cache / "zoo" / NAME

    def left(self) -> list[str]:
        """What there is in the folder of all models."""
        return sorted(path.name for path in (self.cache / "zoo").iterdir())

    def cached(self) -> dict[str, bytes]:
        """The files of the model in the cache."""
        return {path.name: path.read_bytes() for path in self.folder.iterdir()}


def toy_files() -> dict[str, bytes]:
    """A product of an open number of rows with weights, an input for it and the right output."""
    weights, rows = onnx_models.random(0, 16, 8), onnx_models.random(1, 4, 16)
    model = onnx_models.model(
        [onnx_models.node("MatMul", ["x", "w"], ["y"], name="product")],
        {"x": ("rows", 16)},
        ["y"],
        constants={"w": weights},
    )
    return {
        "model.onnx": model.SerializeToString(),
        "x.pb": onnx_models.tensor(rows, "").SerializeToString(),
        "y.pb": onnx_models.tensor(np.matmul(rows, weights), "y").SerializeToString(),
    }


def fields(files: Mapping[str, bytes], **changed: Any) -> dict[str, Any]:
    """The entry of a model in the table, with some fields changed."""
    return {
        "title": "a product",
        "package": PACKAGE,
        "version": "1.0",
        "licence": "Apache-2.0",
        "opset": 17,
        "model": "model.onnx",
        "inputs": ["x.pb"],
        "outputs": ["y.pb"],
        "tolerance": "none worth a word",
        "shapes": {"x": [4, 16]},
        "files": {
            name: {
                "path": f"{BELOW}/{name}",
                "size": len(data),
                "sha256": sha256(data).hexdigest(),
            }
            for name, data in files.items()
        },
        **changed,
    }


def write_table(path: Path, models: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a table of models as TOML; JSON's strings, numbers and lists are TOML's too."""
    path.write_text("".join(_lines([name], values) for name, values in models.items()))


def _lines(keys: list[str], values: Mapping[str, Any]) -> str:
    inner: dict[str, Any] = {key: value for key, value in values.items() if isinstance(value, dict)}
    plain = [f"{k} = {json.dumps(v)}\n" for k, v in values.items() if k not in inner]
    heading = ".".join(json.dumps(key) for key in keys)
    return f"[{heading}]\n" + "".join(plain) + "".join(_lines([*keys, k], inner[k]) for k in inner)


def write_wheel(folder: Path, files: Mapping[str, bytes], version: str = "1.0") -> Path:
    """Write a wheel with data files, such as pip takes."""
    info = f"{PACKAGE}-{version}.dist-info"
    described = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    path = folder / f"{PACKAGE}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{BELOW}/{name}", data)
        for name, text in described.items():
            archive.writestr(name, text)
    return path


def isolate_pip(monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
    """Let pip see these settings and no others."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name.upper()}", value)


def make_zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """A zoo with the model `toy`, nothing fetched yet."""
    zoo = Zoo(tmp_path / "wheels", tmp_path / "cache", toy_files())
    zoo.wheels.mkdir()
    write_wheel(zoo.wheels, zoo.files)
    isolate_pip(monkeypatch, no_index="1", find_links=str(zoo.wheels))
    monkeypatch.setenv("NPUC_CACHE", str(zoo.cache))
    set_entry(tmp_path, monkeypatch, fields(zoo.files))
    return zoo


def set_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: Mapping[str, Any]) -> None:
    """Make a table with this entry alone the table of the zoo."""
    path = tmp_path / "models.toml"
    write_table(path, {NAME: entry})
    monkeypatch.setattr(table, "TABLE", path)
