"""Finding the data of constants in the bytes of a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.frontends.onnx.movement import resolved
from npuc.compiler.frontends.onnx.wire import Ranges, data_ranges, ends_early
from onnx_models import model, node, random, tensor


def example() -> tuple[bytes, list[bytes], bytes]:
    """A model's bytes, the data of its initialisers, and that of its Constant node."""
    held = random(3, 40)
    weights = {"a": random(1, 3, 5), "empty": random(2, 0), "b": random(2, 300)}
    nodes = [
        node("Add", ["x", "a"], ["y"]),
        node("Constant", [], ["c"], doc="text", value=tensor(held, "c")),
    ]
    source = model(nodes, {"x": (3, 5)}, ["y"], constants=weights)
    data = [array.tobytes() for array in weights.values()]
    return source.SerializeToString(), data, held.tobytes()


def test_ranges_hold_the_data() -> None:
    data, initializers, held = example()
    ranges = data_ranges(data)
    found = [data[place[0] : sum(place)] if place else b"" for place in ranges.initializers]
    assert found == initializers
    names = {key: data[start : start + size] for key, (start, size) in ranges.attributes.items()}
    assert list(names) == [(1, 1)]  # the second attribute of the second node
    assert names[1, 1] == held


def test_unpacked_floats_have_no_range() -> None:
    source = model([], {"x": (1,)}, ["w"], constants={"w": random(1, 1)})
    source.graph.initializer[0].ClearField("raw_data")
    unpacked = b"\x25" + np.float32(1.5).tobytes()  # field 4, one 32-bit number
    mark = source.SerializeToString()
    at = mark.index(b"\x42\x01w")  # the name of the initialiser
    grown = mark[:at] + unpacked + mark[at:]
    assert data_ranges(_relengthened(grown, at, len(unpacked))).initializers == [None]


def _relengthened(data: bytes, inside: int, added: int) -> bytes:
    """Add to the length bytes of the graph and of the initialiser that begins before `inside`."""
    changed = bytearray(data)
    graph = data.index(b"\x3a", 2)  # field 7 of the model
    initializer = data.rindex(b"\x2a", 0, inside)  # field 5 of the graph
    for length in (graph + 1, initializer + 1):
        changed[length] += added
    return bytes(changed)


def test_what_only_protobuf_understands_has_no_ranges() -> None:
    data, _, _ = example()
    group = b"\xa3\x06\xa4\x06"  # an unknown group, which protobuf skips
    assert data_ranges(group + data) == Ranges([], {})


@pytest.mark.parametrize("length", [1, 10, 200, -1])
def test_a_cut_model_ends_early(length: int) -> None:
    data, _, _ = example()
    assert not ends_early(data)
    assert ends_early(data[:length])


def test_other_bytes_do_not_end_early() -> None:
    assert not ends_early(b"PK\x03\x04")


@given(st.lists(st.integers(1, 6), max_size=4), st.data())
def test_reshape_sizes_are_numpys(source: list[int], data: st.DataObject) -> None:
    total = int(np.prod(source, dtype=np.int64))
    divisors = [n for n in range(1, total + 1) if total % n == 0]
    first = data.draw(st.sampled_from(divisors))
    wanted = data.draw(st.permutations([first, total // first]))
    hole = data.draw(st.sampled_from([None, 0, 1]))
    asked = [-1 if axis == hole else size for axis, size in enumerate(wanted)]
    assert resolved(source, asked, keep_zero=False) == list(wanted)
    assert resolved(source, [0] * len(source), keep_zero=False) == source
