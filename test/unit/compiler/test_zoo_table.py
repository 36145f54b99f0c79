"""The table of the zoo, and where fetched models are."""

import json
import re
import sys
from pathlib import Path, PurePosixPath

import pytest

from commands import output, run
from npuc.compiler.tables import size_of
from npuc.compiler.zoo import cache, table
from npuc.compiler.zoo.table import Entry, entries, find
from npuc.dialects.core.errors import InputError
from zoo_wheels import NAME, fields, make_zoo, set_entry, toy_files, write_table

NAMES = [entry.name for entry in entries()]


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_complete(name: str) -> None:
    entry = find(name)
    names = [file.name for file in entry.files]
    assert {entry.model, *entry.inputs, *entry.outputs} <= set(names)
    assert len(set(names)) == len(names)
    assert all(PurePosixPath(file).name == file for file in names)
    assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) for file in entry.files)
    assert all(file.size > 0 for file in entry.files)
    assert re.fullmatch(r"[a-z0-9_]+", entry.name)
    assert re.fullmatch(r"\d+(\.\d+)*", entry.version)
    texts = (entry.title, entry.licence, entry.tolerance)
    assert all(isinstance(text, str) and text for text in texts)
    assert isinstance(entry.opset, int)


def test_outputs_are_for_inputs_that_are_shipped() -> None:
    assert [entry.name for entry in entries() if entry.outputs and not entry.inputs] == []


def toy_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **changed: object) -> Entry:

    set_entry(tmp_path, monkeypatch, fields(toy_files(), **changed))
    return find(NAME)


def test_an_entry_with_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = toy_entry(tmp_path, monkeypatch)
    assert (entry.inputs, entry.outputs, entry.shapes) == (("x.pb",), ("y.pb",), {"x": (4, 16)})
    assert entry.files[0].path == "toy_models/data/model.onnx"
    assert entry.size == sum(map(len, toy_files().values()))


def test_random_inputs_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert toy_entry(tmp_path, monkeypatch, inputs="random", outputs=[]).inputs == ()


def test_an_unknown_field_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="opsett"):
        toy_entry(tmp_path, monkeypatch, opsett=3)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(InputError, match=f"no model called mnist(.|\n)*use one of {NAMES[0]}"):
        find("mnist")
    for action in ("fetch", "run"):
        outcome = run("npuc", "zoo", action, "mnist")
        assert outcome.code == 1
        assert b"no model called mnist" in outcome.log


def test_the_cache_is_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    assert cache.zoo_folder() == Path("/home/me/.cache/npuc/zoo")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.zoo_folder() == Path("/home/me/Library/Caches/npuc/zoo")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.zoo_folder() == Path("/home/me/Library/Caches/npuc/zoo")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache.zoo_folder() == Path("/var/xdg/npuc/zoo")
    monkeypatch.setenv(cache.VARIABLE, "/var/mine")
    assert cache.zoo_folder() == Path("/var/mine/zoo")
    monkeypatch.setenv(cache.VARIABLE, "mine")
    assert cache.zoo_folder() == tmp_path / "mine/zoo"


def test_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    with pytest.raises(InputError, match="set NPUC_CACHE"):
        cache.zoo_folder()


def test_list_says_what_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo = make_zoo(tmp_path, monkeypatch)
    heading, line = output("npuc", "zoo", "list").decode().splitlines()
    assert heading.split() == ["name", "what", "size", "licence", "opset", "fetched"]
    size = size_of(sum(map(len, zoo.files.values())))
    assert line.split() == [NAME, "a", "product", *size.split(), "Apache-2.0", "17", "no"]
    zoo.folder.mkdir(parents=True)
    for name, data in zoo.files.items():
        (zoo.folder / name).write_bytes(data)
    listed = json.loads(output("npuc", "zoo", "list", "--json"))
    assert listed["cache"] == str(zoo.cache / "zoo")
    assert listed["models"][0]["fetched"] == "yes"
    assert listed["models"][0]["bytes"] == sum(map(len, zoo.files.values()))
    (zoo.folder / "x.pb").write_bytes(b"")
    assert output("npuc", "zoo", "list").decode().split()[-1] == "damaged"


def test_list_has_a_line_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    path = tmp_path / "models.toml"
    files = toy_files()
    write_table(path, {"one": fields(files), "number_two": fields(files, title="x")})
    monkeypatch.setattr(table, "TABLE", path)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    heading, *lines = output("npuc", "zoo", "list").decode().splitlines()
    assert [line.split()[0] for line in lines] == ["one", "number_two"]
    assert {line.index("Apache-2.0") for line in lines} == {heading.index("licence")}
