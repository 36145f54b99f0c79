"""Products and the drain of their results."""

from itertools import product

import numpy as np
import pytest

from bare_core import BareCore, execute
from npuc.dialects.core.dtypes import to_numpy
from npuc.dialects.core.kernels.contract import matmul
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.npu_isa.memory import Array
from packed import put_operand, take_result, up

SHAPES = [(16, 16, 16), (32, 64, 48), (5, 33, 7), (1, 16, 64), (17, 8, 20)]


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
    np.testing.assert_array_equal(take_result(core, m, n, np.float32)[:, :n], once)
    assert not take_result(core, m, n, np.float32)[:, n:].any()
    multiply(core, a, b, dtype, 1)
    np.testing.assert_array_equal(take_result(core, m, n, np.float32)[:, :n], once + once)


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
    assert np.isnan(take_result(core, 1, 1, np.float32)[0, 0])


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
