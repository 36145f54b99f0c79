"""Gathers, scatters and compression, element by element in plain Python."""

import random
from typing import Any

import numpy as np
import pytest

from bare_core import BareCore, execute, operands
from npuc.dialects.core.errors import BoundsError
from npuc.dialects.npu_isa.effects import UNDEFINED, Effects
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.target.machine import load
from scalar_values import NUMPY

TYPES = ("f32", "f16", "bf16", "i32", "i16")
DST, SRC, OFFSETS = 0, 8192, 16384
REGION = 1024


def random_core() -> tuple[BareCore, bytearray]:
    """A core with any bytes in UB, and a copy of them."""
    core = BareCore()
    core.ub.data[:] = np.random.default_rng(5).integers(0, 256, core.ub.data.size, np.uint8)
    return core, bytearray(core.ub.data.tobytes())


def put_offsets(core: BareCore, ub: bytearray, start: int, offsets: list[int]) -> None:
    core.put("ub", start, np.array(offsets, np.uint32))
    ub[start : start + 4 * len(offsets)] = np.array(offsets, "<u4").tobytes()


def number(ub: bytearray, start: int) -> int:
    return int.from_bytes(ub[start : start + 4], "little")


def itemsize(dtype: str) -> int:
    return np.dtype(NUMPY[dtype]).itemsize


@pytest.mark.parametrize("mask", [128, 64, 7])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("mnemonic", ["vgather", "vscatter"])
def test_elements(mnemonic: str, dtype: str, mask: int) -> None:
    core, ub = random_core()
    size, lanes, repeat, stride = itemsize(dtype), 256 // itemsize(dtype), 4, 9
    mask = min(mask, lanes)
    rng = random.Random(mask)
    put_offsets(core, ub, OFFSETS, [rng.randrange(REGION // size) * size for _ in range(4 * lanes)])
    gathers = mnemonic == "vgather"
    fields: dict[str, Any] = {"dtype": dtype, "mask": mask, "repeat": repeat}
    fields |= {"src_bytes": REGION} if gathers else {"dst_bytes": REGION}
    fields |= {"dst_rep_stride" if gathers else "src_rep_stride": stride}
    execute(core, mnemonic, dst=DST, src=SRC, offsets=OFFSETS, **fields)
    for r in range(repeat):
        for i in range(mask):
            offset = number(ub, OFFSETS + 4 * (r * lanes + i))
            ordered = r * stride * 32 + i * size
            to, of = (DST + ordered, SRC + offset) if gathers else (DST + offset, SRC + ordered)
            ub[to : to + size] = ub[of : of + size]
    assert core.ub.data.tobytes() == bytes(ub)


@pytest.mark.parametrize("strides", [(1, 8), (2, 17)])
def test_blocks(strides: tuple[int, int]) -> None:
    core, ub = random_core()
    rng = random.Random(1)
    put_offsets(core, ub, OFFSETS, [32 * rng.randrange(REGION // 32) for _ in range(8 * 5)])
    execute(
        core, "vgatherb", dst=DST, src=SRC, offsets=OFFSETS, src_bytes=REGION, repeat=5,
        dst_blk_stride=strides[0], dst_rep_stride=strides[1],
    )  # fmt: skip
    for r in range(5):
        for b in range(8):
            of = SRC + number(ub, OFFSETS + 4 * (8 * r + b))
            to = DST + 32 * (r * strides[1] + b * strides[0])
            ub[to : to + 32] = ub[of : of + 32]
    assert core.ub.data.tobytes() == bytes(ub)


def test_a_repeat_gathers_what_an_earlier_one_wrote() -> None:
    core = BareCore()
    core.put("ub", 0, np.arange(192, dtype=np.int32))
    core.put("ub", OFFSETS, np.arange(192, dtype=np.uint32) * 4)
    execute(
        core, "vgather", dst=256, src=0, offsets=OFFSETS, src_bytes=1024, dtype="i32", mask=64,
        repeat=3,
    )  # fmt: skip
    assert core.get("ub", 256, (192,), np.int32).tolist() == [*range(64)] * 3


def test_offsets_that_a_scatter_overwrites() -> None:
    """The first repeat makes the second put all its elements into one place."""
    core = BareCore()
    core.put("ub", OFFSETS, np.arange(128, dtype=np.uint32) * 4 + 256)
    core.put("ub", 0, np.concatenate((np.full(64, 2048), np.arange(64))).astype(np.int32))
    execute(
        core, "vscatter", dst=OFFSETS, src=0, offsets=OFFSETS, dst_bytes=4096, dtype="i32",
        mask=64, repeat=2,
    )  # fmt: skip
    assert core.get("ub", OFFSETS + 2048, (1,), np.int32).tolist() == [63]


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        (6, "offset 6 of lane 3 of repeat 1 is not a multiple of 4 bytes"),
        (REGION, "offset 1024 of lane 3 of repeat 1 is beyond 1024 bytes"),
        (2**32 - 4, "offset 4294967292 of lane 3 of repeat 1 is beyond 1024 bytes"),
    ],
)
@pytest.mark.parametrize("mnemonic", ["vgather", "vscatter"])
def test_offsets_that_point_to_nothing(mnemonic: str, offset: int, why: str) -> None:
    core = BareCore()
    core.put("ub", OFFSETS + 4 * 67, np.array([offset], np.uint32))
    region = {"src_bytes" if mnemonic == "vgather" else "dst_bytes": REGION}
    with pytest.raises(BoundsError, match=f"an offset of {mnemonic} points to nothing") as caught:
        execute(
            core, mnemonic, dst=DST, src=SRC, offsets=OFFSETS, dtype="f32", mask=64, repeat=2,
            **region,
        )  # fmt: skip
    assert caught.value.why == why


def test_gathered_bytes_take_their_shadow_along() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[SRC + 8 : SRC + 12] = UNDEFINED
    core.put("ub", OFFSETS, np.array([8, 0, 12, 8], np.uint32))
    spec = MNEMONICS["vgather"]
    bound = operands(
        spec, dst=DST, src=SRC, offsets=OFFSETS, src_bytes=64, dtype="i32", mask=4, repeat=1
    )
    assert spec.follow(shadow, core, bound, ()) is None
    missing = shadow.get("ub", DST, (4,), np.uint32) != 0
    assert missing.tolist() == [True, False, False, True]
    shadow.ub.data[OFFSETS + 5] = UNDEFINED
    effects: Effects = [("w", access) for access in spec.writes(bound, load("tiny"))]
    fault = spec.follow(shadow, core, bound, effects)
    assert fault is not None
    assert fault.why == "the offset of lane 1 of repeat 0 has no value"
    assert not shadow.get("ub", DST, (4,), np.uint32).any()


def test_scattered_bytes_take_their_shadow_along() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[DST : DST + 16] = UNDEFINED
    shadow.ub.data[SRC] = UNDEFINED
    core.put("ub", OFFSETS, np.array([6, 2], np.uint32))
    spec = MNEMONICS["vscatter"]
    bound = operands(
        spec, dst=DST, src=SRC, offsets=OFFSETS, dst_bytes=64, dtype="i16", mask=2, repeat=1
    )
    assert spec.follow(shadow, core, bound, ()) is None
    missing = shadow.get("ub", DST, (8,), np.uint16) != 0
    assert missing.tolist() == [True, False, True, True, True, True, True, True]


PATTERNS = {
    "even": [0, 2], "odd": [1, 3], "first": [0], "second": [1], "third": [2], "fourth": [3],
    "all": [0, 1, 2, 3],
}  # fmt: skip
"""Which of every four lanes a pattern picks."""


@pytest.mark.parametrize("mask", [128, 50, 1])
@pytest.mark.parametrize("pattern", ["bits", *PATTERNS])
@pytest.mark.parametrize("dtype", TYPES)
def test_compression(dtype: str, pattern: str, mask: int) -> None:
    core, ub = random_core()
    size, repeat = itemsize(dtype), 4
    mask = min(mask, 256 // size)
    fields: dict[str, Any] = {"dtype": dtype, "mask": mask, "repeat": repeat, "pattern": pattern}
    execute(
        core, "vreducev2", count=9, dst=DST, src0=SRC, src1=OFFSETS, src0_blk_stride=2,
        src0_rep_stride=17, src1_rep_stride=3, **fields,
    )  # fmt: skip
    kept = bytearray()
    for r in range(repeat):
        for i in range(mask):
            at = SRC + 32 * (17 * r + 2 * (i * size // 32)) + i * size % 32
            bit = ub[OFFSETS + 96 * r + i // 8] >> i % 8 & 1
            if bit if pattern == "bits" else i % 4 in PATTERNS[pattern]:
                kept += ub[at : at + size]
    ub[DST : DST + len(kept)] = kept
    assert core.ub.data.tobytes() == bytes(ub)
    assert core.regs[9] == len(kept) // size


def test_compression_in_place() -> None:
    core = BareCore()
    core.put("ub", 0, np.arange(256, dtype=np.int32))
    fields: dict[str, Any] = {"dtype": "i32", "mask": 64, "repeat": 4, "pattern": "odd"}
    execute(core, "vreducev2", count=0, dst=0, src0=0, src1=0, **fields)
    assert core.get("ub", 0, (128,), np.int32).tolist() == [*range(1, 256, 2)]
    assert core.regs[0] == 128


def test_what_is_kept_takes_its_shadow_along() -> None:
    shadow, core = BareCore(), BareCore()
    shadow.ub.data[SRC + 4 : SRC + 12] = UNDEFINED
    core.put("ub", OFFSETS, np.array([0b10110], np.uint8))
    spec = MNEMONICS["vreducev2"]
    fields: dict[str, Any] = {"dtype": "i32", "mask": 5, "repeat": 1, "pattern": "bits"}
    bound = operands(spec, count=0, dst=DST, src0=SRC, src1=OFFSETS, **fields)
    assert spec.follow(shadow, core, bound, ()) is None
    missing = shadow.get("ub", DST, (3,), np.uint32) != 0
    assert missing.tolist() == [True, True, False]
    shadow.ub.data[OFFSETS] = 1 << 3
    fault = spec.follow(shadow, core, bound, ())
    assert fault is not None
    assert fault.why == "the bit of lane 3 of repeat 0 has no value"


def test_nothing_repeated_is_nothing_done() -> None:
    core = BareCore()
    core.regs[3] = 7
    far: dict[str, Any] = {"dst": 1 << 20, "repeat": 0}
    fields: dict[str, Any] = {"dtype": "f32", "mask": 1}
    execute(core, "vreducev2", count=3, src0=1 << 20, src1=1 << 20, pattern="bits", **far, **fields)
    assert core.regs[3] == 0
    execute(core, "vgather", src=1 << 20, offsets=1 << 20, src_bytes=4, **far, **fields)
    execute(core, "vscatter", src=1 << 20, offsets=1 << 20, dst_bytes=4, **far, **fields)
    execute(core, "vgatherb", src=1 << 20, offsets=1 << 20, src_bytes=32, **far)
    assert not core.ub.data.any()
