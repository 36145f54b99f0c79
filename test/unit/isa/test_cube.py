"""Products and the drain of their results."""

from itertools import product

import numpy as np
import pytest

from bare_core import BareCore, execute
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.kernels.contract import matmul
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array

SHAPES = [(16, 16, 16), (32, 64, 48), (5, 33, 7), (1, 16, 64), (17, 8, 20)]


def up(value: int, step: int) -> int:
    return -(-value // step) * step


def put_operand(core: BareCore, space: str, matrix: Array) -> None:
    """Store rows x k at 0 of L0A or n x k at 0 of L0B as the block loads do."""
    c0 = 32 // matrix.itemsize
    rows, k = up(matrix.shape[0], 16), up(matrix.shape[1], c0)
    padded = np.zeros((rows, k), matrix.dtype)
    padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = padded.reshape(rows // 16, 16, k // c0, c0)
    order = (0, 2, 1, 3) if space == "l0a" else (2, 0, 1, 3)
    core.put(space, 0, blocks.transpose(order))


def multiply(core: BareCore, a: Array, b: Array, dtype: str, accumulate: int) -> None:
    put_operand(core, "l0a", a)
    put_operand(core, "l0b", b.T)
    (m, k), n = a.shape, b.shape[1]
    execute(
        core,
        "mmad",
        dst=1024,
        src0=0,
        src1=0,
        dtype=dtype,
        m=m,
        k=k,
        n=n,
        accumulate=accumulate,
    )


def result(core: BareCore, m: int, n: int) -> Array:
    """The m x n result with the columns of its last block."""
    blocks = core.get("l0c", 1024, (up(n, 16) // 16, up(m, 16), 16), np.float32)
    return blocks.transpose(1, 0, 2).reshape(up(m, 16), up(n, 16))[:m]


@pytest.mark.parametrize(("dtype", "shape"), list(product(("f16", "bf16", "f32"), SHAPES)))
def test_products(dtype: str, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(0)
    a = rng.standard_normal((m, k)).astype(to_numpy(dtype))
    b = rng.standard_normal((k, n)).astype(to_numpy(dtype))
    core = BareCore()
    core.l0c.data[:] = 0xFF
    multiply(core, a, b, dtype, 0)
    once = matmul(a, b)
    np.testing.assert_array_equal(result(core, m, n)[:, :n], once)
    assert not result(core, m, n)[:, n:].any()
    multiply(core, a, b, dtype, 1)
    np.testing.assert_array_equal(result(core, m, n)[:, :n], once + once)


def test_rows_beyond_the_product_keep_their_value() -> None:
    core = BareCore()
    core.put("l0c", 1024, np.full((16, 16), 7, np.float32))
    multiply(core, np.ones((3, 16), np.float16), np.ones((16, 16), np.float16), "f16", 0)
    blocks = core.get("l0c", 1024, (16, 16), np.float32)
    assert (blocks[:3] == 16).all()
    assert (blocks[3:] == 7).all()


def test_infinities_pass_without_a_warning() -> None:
    core = BareCore()
    multiply(core, np.full((1, 1), np.inf, np.float32), np.ones((1, 1), np.float32), "f32", 0)
    multiply(core, np.full((1, 1), -np.inf, np.float32), np.ones((1, 1), np.float32), "f32", 1)
    assert np.isnan(result(core, 1, 1)[0, 0])


@pytest.mark.parametrize(("dtype", "relu"), list(product(("f32", "f16"), (0, 1))))
@pytest.mark.parametrize("shape", [(16, 16), (20, 40), (7, 3)])
def test_drain(dtype: str, relu: int, shape: tuple[int, int]) -> None:
    m, n = shape
    core = BareCore()
    columns = up(n, 16) // 16
    values = np.random.default_rng(1).standard_normal((columns, up(m, 16), 16), np.float32)
    core.put("l0c", 64, values)
    core.ub.data[:] = 0xFF
    execute(
        core,
        "mov_l0c_ub",
        dst=32,
        src=64,
        dtype=dtype,
        m=m,
        n=n,
        dst_stride=m + 1,
        relu=relu,
    )
    found = core.get("ub", 32, (columns, m + 1, 16), to_numpy(dtype))
    want = np.maximum(values, 0) if relu else values
    np.testing.assert_array_equal(found[:, :m], want[:, :m].astype(to_numpy(dtype)))
    assert (found[:, m].view(np.uint8) == 0xFF).all()


def test_drain_of_a_part_takes_the_stride_of_the_whole() -> None:
    core = BareCore()
    values = np.arange(2 * 32 * 16, dtype=np.float32).reshape(2, 32, 16)
    core.put("l0c", 0, values)
    execute(
        core, "mov_l0c_ub", dst=0, src=16 * 64, dtype="f32", m=3, n=32, src_stride=32, dst_stride=3
    )
    np.testing.assert_array_equal(core.get("ub", 0, (2, 3, 16), np.float32), values[:, 16:19])


def test_block_columns_in_ub_do_not_overlap() -> None:
    spec = MNEMONICS["mov_l0c_ub"]
    assert spec.constraint(spec.Operands(0, 0, "f32", 17, 17, 0, 16, 0)) == (
        "dst_stride = 16 rows is less than m = 17"
    )
    assert spec.constraint(spec.Operands(0, 0, "f32", 17, 16, 0, 16, 0)) is None
