"""Steps on arrays, and weights found by digest and uri."""

from pathlib import Path

import numpy as np
import pytest

from npuc.dialects.core.dtypes import NAMES, to_numpy
from npuc.dialects.core.errors import InputError
from npuc.dialects.core.steps import Step, Typed, apply_steps, infer_steps
from npuc.dialects.core.store import MEMORY, Store, digest_of, file_uri

CHAIN = (
    Step("transpose", (1, 0)),
    Step("reshape", (2, 6)),
    Step("slice", ((0, 1), (2, 3))),
    Step("cast", "f16"),
)


def test_steps_are_performed_in_order() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    got = apply_steps(x, CHAIN)
    assert np.array_equal(got, x.T.reshape(2, 6)[0:2, 1:4].astype(np.float16))
    assert infer_steps(Typed("f32", (3, 4)), CHAIN) == Typed("f16", (2, 3))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Step("transpose", (0, 0)), "does not permute 2 dimensions"),
        (Step("reshape", (5,)), "has other elements"),
        (Step("slice", ((0, 3), (1, 2))), "leave"),
        (Step("slice", ((0,), (1,))), "must have 2 entries"),
        (Step("cast", "f8"), "`f8` is not an element type"),
        (Step("cast", (1, 2)), "must be an element type"),
        (Step("reshape", "f16"), "must be a list of integers"),
        (Step("slice", (1, 2)), "must be offsets and sizes"),
        (Step("flip", (1,)), "`flip` is not a step"),
    ],
)
def test_steps_that_do_not_fit_are_refused(step: Step, message: str) -> None:
    with pytest.raises(InputError) as refused:
        apply_steps(np.zeros((3, 4), np.float32), [step])
    assert message in str(refused.value)


def test_an_array_is_held_by_content() -> None:
    store = Store()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    digest = store.add(x)
    assert digest == digest_of(x.tobytes())
    assert store.add(x.copy()) == digest
    x[0, 0] = 7
    got = store.read(digest, MEMORY, "f32", (2, 3))
    assert got[0, 0] == 0
    assert not got.flags.writeable
    assert store.read(digest, MEMORY, "f32", (3, 2), [Step("transpose", (1, 0))]).shape == (2, 3)


@pytest.mark.parametrize("name", NAMES)
def test_any_element_type_is_held(name: str) -> None:
    store = Store()
    x = np.array([[1, 0], [1, 1]]).astype(to_numpy(name))
    assert np.array_equal(store.read(store.add(x), MEMORY, name, (2, 2)), x)


def test_other_byte_orders_are_held_in_ours() -> None:
    store = Store()
    x = np.array([1.5, 2.5], ">f4")
    assert store.read(store.add(x), MEMORY, "f32", (2,)).tolist() == [1.5, 2.5]


def test_empty_and_scalar_arrays(tmp_path: Path) -> None:
    store = Store()
    empty, scalar = np.zeros((0, 3), np.float32), np.array(2.5, np.float32)
    uris = {store.add(empty): (0, 3), store.add(scalar): ()}
    spilled = store.spill(tmp_path)
    for digest, shape in uris.items():
        assert store.read(digest, MEMORY, "f32", shape).shape == shape
        assert Store().read(digest, spilled[digest], "f32", shape).shape == shape


def test_a_range_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model #1.bin"
    x = np.arange(10, dtype=np.float32)
    path.write_bytes(b"head" + x.tobytes())
    digest, uri = Store().add_range(path, 4 + 8, 16)
    assert uri == file_uri(path, 12, 16)
    assert digest == digest_of(x[2:6].tobytes())
    assert Store().read(digest, uri, "f32", (4,)).tolist() == [2, 3, 4, 5]


def test_reading_again_gives_the_same_array(tmp_path: Path) -> None:
    store = Store()
    (tmp_path / "w").write_bytes(bytes(16))
    digest, uri = store.add_range(tmp_path / "w", 0, 16)
    arrays = [store.read(digest, uri, "f32", (4,), [Step("cast", "f16")]) for _ in range(2)]
    assert arrays[0] is arrays[1]


def test_spilled_weights_are_found_by_another_store(tmp_path: Path) -> None:
    store = Store()
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    digest = store.add(x)
    uris = store.spill(tmp_path / "weights")
    assert np.array_equal(Store().read(digest, uris[digest], "f32", (5, 7)), x)
    assert store.spill(tmp_path / "weights") == uris


def test_what_is_wrong_with_a_weight_is_said(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(bytes(16))
    digest, uri = Store().add_range(path, 0, 16)
    with pytest.raises(InputError, match="not in memory"):
        Store().read(digest, MEMORY, "f32", (4,))
    with pytest.raises(InputError, match="does not have the shape"):
        Store().read(digest, uri, "f32", (5,))
    with pytest.raises(InputError, match="too short"):
        Store().read(digest, file_uri(path, 8, 16), "f32", (4,))
    with pytest.raises(InputError, match="does not say where"):
        Store().read(digest, "http://weights", "f32", (4,))
    with pytest.raises(InputError, match="cannot read"):
        Store().read(digest, file_uri(tmp_path / "none", 0, 16), "f32", (4,))
    path.write_bytes(bytes(15) + b"\1")
    with pytest.raises(InputError, match="not those the module was made with"):
        Store().read(digest, uri, "f32", (4,))
