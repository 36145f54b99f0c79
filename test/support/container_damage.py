"""Containers taken apart and put together again with right checksums, to damage what is inside."""

import hashlib
import json
import random
import struct
from typing import Any, cast

PREAMBLE = struct.Struct("<8sHHI")
SECTION = struct.Struct("<IIQQ16s")
HEADER, CODE, CONSTANTS = 1, 2, 3

Sections = dict[tuple[int, int], bytes]


def checksum(data: bytes) -> bytes:
    """The checksum of the format."""
    return hashlib.blake2b(data, digest_size=16).digest()


def sections(data: bytes) -> Sections:
    """The bytes of each section by kind and index."""
    _, _, _, count = PREAMBLE.unpack_from(data)
    found: Sections = {}
    for number in range(count):
        at = PREAMBLE.size + 16 + number * SECTION.size
        kind, index, offset, nbytes, _ = SECTION.unpack_from(data, at)
        found[kind, index] = data[offset : offset + nbytes]
    return found


def assemble(parts: Sections, *, major: int = 1, minor: int = 0) -> bytes:
    """A container of these sections, all checksums right."""
    preamble = PREAMBLE.pack(b"NPUC\r\n\x1a\n", major, minor, len(parts))
    offset = PREAMBLE.size + 16 + SECTION.size * len(parts)
    table, body = b"", b""
    for (kind, index), content in parts.items():
        gap = -offset % 64
        body += bytes(gap) + content
        table += SECTION.pack(kind, index, offset + gap, len(content), checksum(content))
        offset += gap + len(content)
    return preamble + checksum(preamble + table) + table + body


def header(data: bytes) -> dict[str, Any]:
    """The header of a container."""
    return json.loads(sections(data)[HEADER, 0])


def with_header(data: bytes, changed: object) -> bytes:
    """The container with another header."""
    text = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
    return assemble(sections(data) | {(HEADER, 0): text})


ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 63, 64, 1 << 40, (1 << 63) - 1, 1 << 64, 0.5, "", "x", "f16", "main",
    [], {}, [1, 2], [[0, 1]], [[]], {"name": "x"}, [-1], ["x"], [[1 << 62] * 31],
)  # fmt: skip
"""Values to put where they may not belong."""


def mutate(value: object, chance: random.Random) -> Any:
    """A copy of a JSON value with one place in it changed, removed or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        copy = dict(cast(dict[str, Any], value))
        key = chance.choice(sorted(copy))
        if chance.random() < 0.1:
            del copy[key]
        else:
            copy[key] = mutate(copy[key], chance)
        return copy
    if isinstance(value, list) and value and chance.random() < 0.9:
        items = list(cast(list[Any], value))
        place = chance.randrange(len(items))
        choice = chance.random()
        if choice < 0.1:
            del items[place]
        elif choice < 0.2:
            items.insert(place, items[place])
        else:
            items[place] = mutate(items[place], chance)
        return items
    if isinstance(value, int) and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 7, 64, -64, 512))
    return chance.choice(ODD)
