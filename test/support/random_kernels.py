"""Random kernels of instructions, as text, to try the ordering of pipes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple


class Buffer(NamedTuple):
    """A buffer in UB, or a chain of fractals through L1, L0A, L0B and L0C."""

    address: str
    size: int


@dataclass
class RandomKernel:
    """Writes one kernel: loops up to three deep over buffers that rotate, and may overlap.

    Each body makes buffers of its own, with 1 to 3 slots, and works on those of all bodies around
    it by loads, vector work, stores and matrix products.
    """

    rng: Random
    lines: list[str] = field(default_factory=list[str])
    counter: int = 0
    budget: int = 14
    """Instructions that may still be written."""
    least_trips: int = 1
    """Iterations that every loop has at least."""

    def text(self) -> str:
        """The kernel."""
        self.lines = ["npu_isa.kernel @k(%x, %y) {", "%id = npu_isa.s_core_id"]
        self.body([], [], [])
        return "\n".join([*self.lines, "npu_isa.end", "}"])

    def name(self, prefix: str) -> str:
        """A fresh name."""
        self.counter += 1
        return f"%{prefix}{self.counter}"

    def scalar(self, mnemonic: str, lhs: object, rhs: object) -> str:
        """Emit scalar work; its register."""
        result = self.name("s")
        self.lines.append(f"{result} = npu_isa.{mnemonic} lhs = {lhs}, rhs = {rhs}")
        return result

    def slot(self, nest: list[tuple[str, int]], size: int, base: int) -> str:
        """Address text of a buffer of 1 to 3 slots of `size` bytes in the loops `nest`."""
        depth = self.rng.randint(1, 3)
        if depth == 1 or not nest:
            return str(base)
        count = nest[0][0]
        for iteration, trips in nest[1:]:
            count = self.scalar("s_add", self.scalar("s_mul", count, trips), iteration)
        slot = self.scalar("s_rem", count, depth)
        return f"{self.scalar('s_mul', slot, size)} + {base}"

    def place(self, unit: int, room: int) -> int:
        """A random multiple of `unit` below `room`."""
        return self.rng.randrange(0, room, unit)

    def body(
        self, nest: list[tuple[str, int]], vectors: list[Buffer], chains: list[list[str]]
    ) -> None:
        """Emit a body; `vectors` and `chains` are the buffers made so far."""
        vectors, chains = list(vectors), list(chains)
        for _ in range(self.rng.randint(0 if vectors else 1, 2)):
            size = self.rng.choice((256, 512))
            vectors.append(Buffer(self.slot(nest, size, self.place(256, 2048)), size))
        if self.rng.random() < 0.4:
            spaces = ((2048, 4096), (512, 2048), (512, 2048), (1024, 4096))
            chains.append([self.slot(nest, unit, self.place(unit, room)) for unit, room in spaces])
        for _ in range(self.rng.randint(2, 5)):
            if self.budget > 0:
                self.budget -= 1
                self.statement(nest, vectors, chains)

    def statement(
        self, nest: list[tuple[str, int]], vectors: list[Buffer], chains: list[list[str]]
    ) -> None:
        """Emit an instruction or a loop."""
        kind = self.rng.random()
        if kind < 0.25 and len(nest) < 3:
            self.loop(nest, vectors, chains)
        elif kind < 0.5 and chains:
            self.product(self.rng.choice(chains), self.rng.choice(vectors))
        elif kind < 0.65:
            self.move("mov_gm_ub", "x" if self.rng.random() < 0.9 else "y", vectors)
        elif kind < 0.8:
            self.move("mov_ub_gm", "y", vectors)
        else:
            target, source = self.rng.choice(vectors), self.rng.choice(vectors)
            repeat = min(target.size, source.size) // 256
            self.lines.append(
                f"npu_isa.vcopy dst = [{target.address}], src0 = [{source.address}], dtype = f32, "
                f"mask = 64, repeat = {repeat}"
            )

    def loop(
        self, nest: list[tuple[str, int]], vectors: list[Buffer], chains: list[list[str]]
    ) -> None:
        """Emit a loop; the outermost may have a count that is not constant."""
        trips, iteration = self.rng.randint(self.least_trips, 5), self.name("i")
        count: object = trips
        if not nest and self.rng.random() < 0.3:
            count = self.scalar("s_sub", trips, "%id")
        self.lines.append(f"npu_isa.loop {iteration} in {count} {{")
        self.body([*nest, (iteration, trips)], vectors, chains)
        self.lines.append("}")

    def move(self, mnemonic: str, argument: str, vectors: list[Buffer]) -> None:
        """Emit a move between GM and UB."""
        buffer = self.rng.choice(vectors)
        gm = f"%{argument} + {self.place(256, 1024)}"
        into = mnemonic == "mov_gm_ub"
        dst, src = (buffer.address, gm) if into else (gm, buffer.address)
        self.lines.append(f"npu_isa.{mnemonic} dst = [{dst}], src = [{src}], len = {buffer.size}")

    def product(self, chain: list[str], vector: Buffer) -> None:
        """Emit one step of a product, or all of them."""
        l1, l0a, l0b, l0c = chain
        steps = [
            f"npu_isa.nd2nz_gm_l1 dst = [{l1}], src = [%x], dtype = f16, rows = 16, cols = 64, "
            "src_stride = 128, dst_c0_stride = 16",
            f"npu_isa.load2d_l1_l0a dst = [{l0a}], src = [{l1}], dtype = f16, rows = 16, k = 16, "
            "src_c0_stride = 16",
            f"npu_isa.load2d_l1_l0b dst = [{l0b}], src = [{l1}], dtype = f16, rows = 16, k = 16, "
            "src_c0_stride = 16",
            f"npu_isa.mmad dst = [{l0c}], src0 = [{l0a}], src1 = [{l0b}], dtype = f16, m = 16, "
            "k = 16, n = 16, accumulate = 0",
            f"npu_isa.mov_l0c_ub dst = [{vector.address}], src = [{l0c}], dtype = f16, m = "
            f"{vector.size // 32}, n = 16, dst_stride = 16",
        ]
        chosen = steps if self.rng.random() < 0.6 else [self.rng.choice(steps)]
        self.lines += chosen
