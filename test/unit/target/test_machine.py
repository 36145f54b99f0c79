"""Machine descriptions: what comes with npuc, and what is refused."""

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hand_written import fixpipe_machine
from npuc.dialects.core.errors import InputError, InternalError
from npuc.dialects.target.machine import (
    BUILTIN_FOLDER,
    CONFIDENCES,
    FEATURES,
    builtin_names,
    digest_of,
    from_description,
    is_builtin,
    load,
)
from npuc.dialects.target.machines import DEFAULT
from npuc.dialects.target.timeline import PIPES, pipes_of

NAMES = builtin_names()
Description = dict[str, Any]


@pytest.fixture
def tiny() -> Description:
    return tomllib.loads((BUILTIN_FOLDER / "tiny.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_says_where_its_numbers_come_from(name: str) -> None:
    machine = load(name)
    assert machine.name == name
    assert machine.validation
    assert len(machine.facts) > 60
    for fact in machine.facts.values():
        assert fact.source
        assert fact.unit
        assert fact.confidence in CONFIDENCES
    assert set(machine.features) <= set(FEATURES)
    assert is_builtin(machine)


def test_the_default_machine() -> None:
    machine = load(DEFAULT)
    assert machine.validation == "scaled, not validated"
    assert (machine.core.count, machine.core.clock) == (8, 1060)
    assert machine.size("l1") == 1 << 20
    assert machine.facts["core.clock"] == (1060, "MHz", "INI", "H")
    assert machine.features["nd2nz"].state == "modelled"
    assert machine.features["brcb"].state == "real"
    assert machine.features["load3d"].state == "real"
    assert machine.features["load3d_c0_stride"].state == "modelled"
    assert machine.peak_flops == pytest.approx(69.5e12, rel=1e-3)


def test_a_machine_of_ones_own(tmp_path: Path, tiny: Description) -> None:
    text = (BUILTIN_FOLDER / "tiny.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('name = "tiny"', 'name = "mine"'), encoding="utf-8")
    machine = load(path)
    assert machine.name == "mine"
    assert not is_builtin(machine)
    assert machine == from_description(machine.description, "here")
    assert machine != load("tiny")
    assert load("tiny") == from_description(tiny, "here")


def test_the_digest_ignores_order_and_comments(tmp_path: Path, tiny: Description) -> None:
    reordered = dict(reversed(tiny.items()))
    assert digest_of(reordered) == load("tiny").digest
    text = (BUILTIN_FOLDER / "tiny.toml").read_text(encoding="utf-8")
    path = tmp_path / "tiny.toml"
    path.write_text("# more\n" + text, encoding="utf-8")
    assert load(path) == load("tiny")


def test_what_is_not_there() -> None:
    with pytest.raises(InputError, match="no machine is called nothing"):
        load("nothing")
    with pytest.raises(InputError, match="cannot read a machine description"):
        load("/does/not/exist.toml")


def test_what_is_not_toml(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("name = ", encoding="utf-8")
    with pytest.raises(InputError, match="cannot read a machine description"):
        load(path)


def changed(description: Description, dotted: str, value: object) -> Description:
    """A copy with one value exchanged; None removes it."""
    result = copy.deepcopy(description)
    *path, last = dotted.split(".")
    table = result
    for key in path:
        table = table[key]
    if value is None:
        del table[last]
    else:
        table[last] = value
    return result


MODELLED = {"state": "modelled", "source": "x"}


@pytest.mark.parametrize(
    ("dotted", "value", "message"),
    [
        ("core.clock.value", 0, "core.clock = 0 MHz makes no sense"),
        ("core.clock.value", 1.5, "core.clock is not an integer"),
        ("core.clock.value", True, "core.clock is not an integer"),
        ("core.clock.unit", "GHz", "core.clock has the unit 'GHz'"),
        ("core.clock.source", " ", "core.clock has no source"),
        ("core.clock.source", None, "core.clock has the wrong fields"),
        ("core.clock.confidence", "sure", "core.clock has the confidence 'sure'"),
        ("core.clock", 1000, "core.clock is not a table"),
        ("core.clock", None, "clock is missing"),
        ("core.colour", 1, "colour is unknown"),
        ("vector.pair.slope_b32", None, "vector.pair has the wrong fields"),
        ("core", None, "core is missing"),
        ("name", "", "name is not a text"),
        ("validation", 3, "validation is not a text"),
        ("memory.ub.value", 1000, "memory.ub = 1000 bytes is not a multiple of 32"),
        ("memory.gm.value", 65536, "memory.l1 is larger than gm|is not"),
        ("dma.burst.value", 200, "dma.burst is not a multiple of dma.request"),
        ("l2.size.value", 1000, "l2.size is not a multiple of l2.page"),
        ("cube.depth_f32.value", 32, "cube.depth_f32 is larger than cube.depth_b16"),
        ("features.flying", {"state": "real", "source": "x"}, "no feature is called flying"),
        ("features.nd2nz.state", "maybe", "features.nd2nz is 'maybe'"),
        ("features.nd2nz.source", "", "nd2nz has no source"),
        ("features", 1, "features is not a table"),
        ("features.bias_table", MODELLED, "features.bias_table needs paths.l1_bt"),
        ("paths.ub_l1", None, "features.ub_l1 needs paths.ub_l1"),
        ("paths.ub_l1.rate", None, "paths.ub_l1 has the wrong fields"),
        ("features.cross_core", MODELLED, "features.cross_core needs sync.cross"),
    ],
)
def test_nonsense_is_refused(tiny: Description, dotted: str, value: object, message: str) -> None:
    bad = changed(tiny, dotted, value)
    if dotted == "memory.gm.value":
        bad = changed(bad, "memory.l1.value", 1 << 20)
    with pytest.raises(InputError, match=message) as raised:
        from_description(bad, "mine.toml")
    assert raised.value.where == "mine.toml"


def test_a_path_may_be_absent() -> None:
    machine = load("tiny")
    assert machine.paths.l0c_gm is None
    assert "paths.l0c_gm.rate" not in machine.facts
    with pytest.raises(InternalError, match="the path l0c_gm, which the machine lacks"):
        machine.paths.gm("l0c_gm")
    assert pipes_of(machine) == PIPES[:-1]
    other = fixpipe_machine()
    assert other.paths.gm("l0c_gm").rate == 128
    assert other.sync.cross is not None
    assert other.facts["sync.cross.ids"].value == other.sync.cross.ids == 11
    assert pipes_of(other) == PIPES


def test_memory_for_a_feature(tiny: Description) -> None:
    bad = changed(tiny, "features.fixpipe_ub", MODELLED)
    bad = changed(bad, "paths.l1_fb", bad["paths"]["ub_l1"])
    with pytest.raises(InputError, match=r"features.fixpipe_ub needs memory.fb"):
        from_description(bad, "mine.toml")


def test_a_feature_left_out_is_absent(tiny: Description) -> None:
    machine = from_description(changed(tiny, "features.nd2nz", None), "mine.toml")
    assert "nd2nz" not in machine.features
