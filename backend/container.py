"""The `.npu` file: a program as bytes.

All integers are little-endian.  Sections start at multiples of 64 bytes, in the order of the table,
with zeros between them and nothing after the last:

| bytes | what |
|---|---|
| 0..8 | magic `NPUC\\r\\n\\x1a\\n` |
| 8..12 | format version: u16 major, u16 minor |
| 12..16 | u32 number of sections |
| 16..32 | checksum of bytes 0..16 and the section table |
| 32.. | section table, 40 bytes a section: u32 kind, u32 index, u64 offset, u64 bytes, checksum |

Kinds: 1 header (canonical JSON: sorted keys, no spaces, ASCII), 2 code of kernel `index` in the
header's order (32 bytes a word), 3 constants (each at a multiple of 64 bytes within the section).
A checksum is blake2b of 16 bytes.  A program has exactly one encoding: nothing depends on time,
place or order of construction.  A reader refuses a newer major version and ignores header keys it
does not know.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..dialects.core.errors import InputError, ProgramError
from ..dialects.core.files import write_whole
from .encoder import Words, encode
from .header import ALIGNMENT, Layout, read_header, write_header
from .program import Bytes, Constant, Program

MAGIC = b"NPUC\r\n\x1a\n"
MAJOR, MINOR = 1, 0
HEADER, CODE, CONSTANTS = 1, 2, 3
_PREAMBLE = struct.Struct("<8sHHI")
_SECTION = struct.Struct("<IIQQ16s")
_TABLE_START = _PREAMBLE.size + 16
_MAX_SECTIONS = 1 << 16

Chunk: TypeAlias = bytes | memoryview


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    index: int
    offset: int
    nbytes: int
    checksum: bytes

    @property
    def name(self) -> str:
        """What messages call it."""
        named = {HEADER: "header", CODE: f"code of kernel {self.index}", CONSTANTS: "constants"}
        return named.get(self.kind, f"section of kind {self.kind}")


def to_bytes(program: Program) -> bytes:
    """The container of a program with physical registers, as bytes."""
    pieces: list[bytes] = []
    _write(program, lambda chunk: pieces.append(bytes(chunk)))
    return b"".join(pieces)


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """Write the container to `path` whole or not at all: under a temporary name, then renamed.

    Raises InputError when the file cannot be written, ProgramError when the program is not valid.
    """
    write_whole(Path(path), lambda file: _write(program, file.write))


def _write(program: Program, emit: Callable[[Chunk], object]) -> None:
    """Emit the container piece by piece, so that constants are never copied together."""
    program.check_plan()
    kernels = [program.kernels[name] for name in sorted(program.kernels)]
    constants, constant_bytes = _place_constants(program)
    header = write_header(program, Layout(constants, constant_bytes))
    codes = [encode(kernel.records, where=f"kernel {kernel.name}") for kernel in kernels]
    contents: list[tuple[int, int, list[Chunk]]] = [(HEADER, 0, [header])]
    for index, code in enumerate(codes):
        contents.append((CODE, index, [code.astype("<u8").tobytes()]))
    contents.append((CONSTANTS, 0, _padded(_ordered(program))))
    offset = _aligned(_TABLE_START + _SECTION.size * len(contents))
    table: list[bytes] = []
    for kind, index, chunks in contents:
        nbytes = sum(len(chunk) for chunk in chunks)
        table.append(_SECTION.pack(kind, index, offset, nbytes, _checksum(chunks)))
        offset = _aligned(offset + nbytes)
    preamble = _PREAMBLE.pack(MAGIC, MAJOR, MINOR, len(contents))
    written = _Counter(emit)
    for chunk in (preamble, _checksum([preamble, *table]), *table):
        written(chunk)
    for _, _, chunks in contents:
        written(bytes(-written.count % ALIGNMENT))
        for chunk in chunks:
            written(chunk)


class _Counter:
    """Passes chunks on and counts their bytes."""

    def __init__(self, emit: Callable[[Chunk], object]) -> None:
        self.emit = emit
        self.count = 0

    def __call__(self, chunk: Chunk) -> None:
        self.emit(chunk)
        self.count += len(chunk)


def _aligned(offset: int) -> int:
    return offset + -offset % ALIGNMENT


def _checksum(chunks: Iterable[Chunk]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for chunk in chunks:
        digest.update(chunk)
    return digest.digest()


def _ordered(program: Program) -> list[Constant]:
    return sorted(program.constants, key=lambda constant: (constant.address, constant.name))


def _place_constants(program: Program) -> tuple[tuple[tuple[Constant, int], ...], int]:
    """Each constant with its offset in the section, and the section's bytes."""
    placed: list[tuple[Constant, int]] = []
    offset = 0
    for constant in _ordered(program):
        offset = _aligned(offset)
        placed.append((constant, offset))
        offset += constant.data.nbytes
    return tuple(placed), offset


def _padded(constants: Iterable[Constant]) -> list[Chunk]:
    chunks: list[Chunk] = []
    offset = 0
    for constant in constants:
        chunks.append(bytes(-offset % ALIGNMENT))
        chunks.append(constant.data.data)
        offset = _aligned(offset) + constant.data.nbytes
    return chunks


def load(path: str | os.PathLike[str]) -> Program:
    """Read a container; its constants stay mapped from the file until they are used.

    Raises InputError when the file cannot be read, ProgramError when it is not a valid program.
    """
    try:
        data = np.memmap(path, np.uint8, "r") if os.path.getsize(path) else np.empty(0, np.uint8)
    except OSError as error:
        raise InputError(
            f"cannot read {os.fspath(path)}",
            why=error.strerror or str(error),
            hint="give the path of a file that is there and may be read",
        ) from error
    return from_bytes(data, where=os.fspath(path))


def from_bytes(data: bytes | Bytes, *, where: str = "the program") -> Program:
    """Decode a container; ProgramError says at which byte of `where` what is wrong.

    Constants are views of `data`.
    """
    content = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    sections = _read_table(content, where)
    header = [section for section in sections if section.kind == HEADER]
    constants = [section for section in sections if section.kind == CONSTANTS]
    codes = [section for section in sections if section.kind == CODE]
    if len(header) != 1 or len(constants) != 1:
        fault = f"{len(header)} headers and {len(constants)} constant sections, not one of each"
        raise _damaged(where, _TABLE_START, fault)
    if [section.index for section in codes] != list(range(len(codes))):
        raise _damaged(where, _TABLE_START, "the code sections are not numbered 0, 1, ...")
    text = _take(content, header[0]).tobytes()
    words = [_words(content, section, where) for section in codes]
    program = read_header(text, words, _take(content, constants[0]), where=f"{where}, header")
    program.check_plan()
    return program


def _take(content: Bytes, section: _Section) -> Bytes:
    return content[section.offset : section.offset + section.nbytes]


def _words(content: Bytes, section: _Section, where: str) -> Words:
    if section.nbytes % 32:
        fault = f"the {section.name} has {section.nbytes} bytes, not a multiple of 32"
        raise _damaged(where, section.offset, fault)
    return _take(content, section).view("<u8").astype(np.uint64).reshape(-1, 4)


def _read_table(content: Bytes, where: str) -> list[_Section]:
    """The section table, every range and checksum in it verified."""
    size = len(content)
    if size < _TABLE_START:
        raise _damaged(where, size, f"the file ends within its first {_TABLE_START} bytes")
    magic, major, minor, count = _PREAMBLE.unpack(content[: _PREAMBLE.size].tobytes())
    if magic != MAGIC:
        raise _damaged(where, 0, f"it starts with {magic!r}, a program with {MAGIC!r}")
    if major != MAJOR:
        raise ProgramError(
            f"{where} has format version {major}.{minor}",
            where=f"{where}, byte 8",
            why=f"this npuc reads version {MAJOR}.x",
            hint="use a newer npuc" if major > MAJOR else "compile the model again",
        )
    end = _TABLE_START + count * _SECTION.size
    if count > _MAX_SECTIONS or size < end:
        raise _damaged(where, 12, f"a table of {count} sections does not fit {size} bytes")
    table = content[_TABLE_START:end].tobytes()
    checksum = content[_PREAMBLE.size : _TABLE_START].tobytes()
    if _checksum([content[: _PREAMBLE.size].tobytes(), table]) != checksum:
        raise _damaged(where, _PREAMBLE.size, "the checksum of the section table is wrong")
    sections = [_Section(*entry) for entry in _SECTION.iter_unpack(table)]
    _check_sections(content, sections, end, where)
    return sections


def _check_sections(content: Bytes, sections: list[_Section], end: int, where: str) -> None:
    for section in sections:
        start = _aligned(end)
        if section.offset != start:
            fault = f"the {section.name} starts at byte {section.offset}, {start} is right"
            raise _damaged(where, min(section.offset, len(content)), fault)
        if content[end:start].any():
            raise _damaged(where, end, f"the bytes before the {section.name} are not 0")
        end = start + section.nbytes
        if end > len(content):
            fault = f"the {section.name} reaches byte {end}, the file ends at {len(content)}"
            raise _damaged(where, len(content), fault)
        if _checksum([_take(content, section).data]) != section.checksum:
            raise _damaged(where, section.offset, f"the checksum of the {section.name} is wrong")
    if end != len(content):
        raise _damaged(where, end, f"{len(content) - end} bytes follow the last section")


def _damaged(where: str, offset: int, why: str) -> ProgramError:
    return ProgramError(
        f"{where} is not a valid program file",
        where=f"{where}, byte {offset}",
        why=why,
        hint="the file is damaged or not a program; compile the model again",
    )
