"""Weights by content: bytes that modules name by digest and uri instead of holding them.

A blob is found by its digest (blake2b, 128 bits, hex, of the little-endian bytes). Its uri says
where the bytes are: `file:PATH#OFFSET+LENGTH` is a range of a file, mapped when first read; `mem:`
is an array this store was given. `spill` writes the latter to files, so that another process can
read them.
"""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np

from .dtypes import Array, to_numpy
from .errors import InputError
from .steps import Ints, Step, apply_steps

MEMORY = "mem:"
"""The uri of a blob that this store holds in memory."""

_FILE = "file:"
_DIGEST_BYTES = 16


def digest_of(data: bytes | memoryview) -> str:
    """The digest of bytes: 32 hex digits."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def file_uri(path: str | Path, offset: int, length: int) -> str:
    """The uri of `length` bytes at `offset` of a file; the path is kept as given."""
    return f"{_FILE}{path}#{offset}+{length}"


class Store:
    """Weight bytes by digest, with the arrays made from them. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held: dict[str, Array] = {}
        self._files: dict[str, memoryview] = {}
        self._checked: set[tuple[str, str]] = set()
        self._arrays: dict[tuple[str, str, Ints, tuple[Step, ...]], Array] = {}

    def add(self, array: Array) -> str:
        """Hold an array (copied if it is writeable) and return its digest; its uri is `mem:`."""
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        flat = plain.reshape(-1).view(np.uint8)
        digest = digest_of(flat.data)
        with self._lock:
            if digest not in self._held:
                self._held[digest] = flat.copy() if array.flags.writeable else flat
        return digest

    def add_range(self, path: str | Path, offset: int, length: int) -> tuple[str, str]:
        """Digest and uri of a range of a file, which stays there; `InputError` if unreadable."""
        uri = file_uri(path, offset, length)
        digest = digest_of(self._file_bytes(uri))
        with self._lock:
            self._checked.add((digest, uri))
        return digest, uri

    def read(
        self, digest: str, uri: str, dtype: str, shape: Ints, steps: Iterable[Step] = ()
    ) -> Array:
        """The blob as a read-only array of `dtype` and `shape` after `steps`.

        Reading the same blob and steps again gives the same array. Raises `InputError` if the bytes
        are missing, changed since the uri was written, or do not make up the shape.
        """
        key = (digest, dtype, shape, tuple(steps))
        with self._lock:
            if key not in self._arrays:
                data = self._bytes(digest, uri)
                array = apply_steps(_shaped(data, dtype, shape, uri), key[3])
                array.flags.writeable = False
                self._arrays[key] = array
            return self._arrays[key]

    def spill(self, directory: str | Path) -> dict[str, str]:
        """Write every blob held in memory to `directory/<digest>.bin`; file uris by digest.

        The directory is made if need be; a file that is there already is kept, as its name is its
        content.
        """
        folder = Path(directory)
        uris: dict[str, str] = {}
        with self._lock:
            for digest, flat in self._held.items():
                path = folder / f"{digest}.bin"
                if not path.exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    partial = path.with_suffix(".tmp")
                    partial.write_bytes(flat.data)
                    partial.replace(path)
                uris[digest] = file_uri(path, 0, flat.nbytes)
        return uris

    def _bytes(self, digest: str, uri: str) -> memoryview:
        if uri == MEMORY:
            if digest not in self._held:
                raise InputError(
                    f"weight {digest} is not in memory",
                    why="its uri is `mem:`, so only the process that made it has its bytes",
                    hint="write it to a file by npu-translate before passing the text on",
                )
            return self._held[digest].data
        data = self._file_bytes(uri)
        if (digest, uri) not in self._checked:
            actual = digest_of(data)
            if actual != digest:
                raise InputError(
                    f"the weights at {uri} are not those the module was made with",
                    why=f"their digest is {actual}, the module says {digest}",
                    hint="import the model again",
                )
            self._checked.add((digest, uri))
        return data

    def _file_bytes(self, uri: str) -> memoryview:
        path, offset, length = _parse_file_uri(uri)
        with self._lock:
            if path not in self._files:
                self._files[path] = _map(path)
            whole = self._files[path]
        if offset + length > len(whole):
            raise InputError(
                f"{path} is too short for a weight",
                why=f"the range {offset}+{length} ends after its {len(whole)} bytes",
            )
        return whole[offset : offset + length]


def _shaped(data: memoryview, dtype: str, shape: Ints, uri: str) -> Array:
    kind = to_numpy(dtype).newbyteorder("<")
    need = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if need != len(data):
        raise InputError(
            f"the weight at {uri} does not have the shape {list(shape)} of {dtype}",
            why=f"that takes {need} bytes, there are {len(data)}",
        )
    return np.frombuffer(data, kind).astype(to_numpy(dtype), copy=False).reshape(shape)


def _parse_file_uri(uri: str) -> tuple[str, int, int]:
    path, _, span = uri.removeprefix(_FILE).rpartition("#")
    offset, _, length = span.partition("+")
    if not uri.startswith(_FILE) or not path or not (offset.isdecimal() and length.isdecimal()):
        raise InputError(
            f"`{uri}` does not say where a weight is",
            hint="write `file:PATH#OFFSET+LENGTH` or `mem:`",
        )
    return path, int(offset), int(length)


def _map(path: str) -> memoryview:
    try:
        with Path(path).open("rb") as file:
            if not file.seek(0, 2):
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise InputError(f"cannot read the weights in {path}", why=str(error)) from error
