"""Matrices in L0A, L0B and L0C as the matrix unit packs them."""

from typing import Any

import numpy as np

from bare_core import BareCore
from npuc.dialects.npu_isa.memory import Array


def up(value: int, step: int) -> int:
    """`value` rounded up to a multiple of `step`."""
    return -(-value // step) * step


def put_operand(core: BareCore, space: str, matrix: Array, padding: float = 0) -> None:
    """Store rows x k at 0 of L0A or n x k at 0 of L0B as the block loads do."""
    c0 = 32 // matrix.itemsize
    rows, k = up(matrix.shape[0], 16), up(matrix.shape[1], c0)
    padded = np.full((rows, k), padding, matrix.dtype)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = padded.reshape(rows // 16, 16, k // c0, c0)
    order = (0, 2, 1, 3) if space == "l0a" else (2, 0, 1, 3)
    core.put(space, 0, blocks.transpose(order))


def put_result(core: BareCore, start: int, matrix: Array, padding: float = 0) -> None:
    """Store m x n at `start` of L0C as products do, `padding` in the rows and columns beyond."""
    m, n = up(matrix.shape[0], 16), up(matrix.shape[1], 16)
    padded = np.full((m, n), padding, matrix.dtype)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    core.put("l0c", start, padded.reshape(m, n // 16, 16).transpose(1, 0, 2))


def take_result(core: BareCore, m: int, n: int, dtype: Any, start: int = 1024) -> Array:
    """The m x n result at `start` of L0C with the columns of its last block."""
    blocks = core.get("l0c", start, (up(n, 16) // 16, up(m, 16), 16), dtype)
    return blocks.transpose(1, 0, 2).reshape(up(m, 16), up(n, 16))[:m]
