"""The machine in the IR."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr

from npuc.dialects.core.errors import InputError, PassError
from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.printer import print_ir
from npuc.dialects.core.registry import make_context
from npuc.dialects.target.attributes import MACHINE, MachineAttr, attribute_of, machine_of
from npuc.dialects.target.machine import BUILTIN_FOLDER, load
from npuc.passes.target.target_attach_machine import TargetAttachMachinePass


def attach(module: ModuleOp, target: str | None) -> None:
    TargetAttachMachinePass(target=target).apply(make_context(), module)


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    text = (BUILTIN_FOLDER / "tiny.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('name = "tiny"', 'name = "mine"'), encoding="utf-8")
    return path


def test_a_builtin_travels_by_name() -> None:
    module = ModuleOp([])
    attach(module, "tiny")
    text = print_ir(module)
    assert f'#target.machine<"tiny", "{load("tiny").digest}">' in text
    read = parse_module(make_context(), text)
    assert print_ir(read) == text
    assert machine_of(read) == load("tiny")


def test_a_machine_of_ones_own_travels_whole(own_file: Path) -> None:
    module = ModuleOp([])
    attach(module, str(own_file))
    text = print_ir(module)
    machine = load(own_file)
    own_file.unlink()
    read = parse_module(make_context(), text)
    assert print_ir(read) == text
    assert machine_of(read) == machine
    assert machine_of(read).core == machine.core
    assert machine_of(read).facts == machine.facts


def test_a_machine_that_is_there_stays() -> None:
    module = ModuleOp([])
    attach(module, "tiny")
    attach(module, None)
    attach(module, "tiny")
    assert machine_of(module).name == "tiny"


def test_another_machine_is_a_conflict(own_file: Path) -> None:
    module = ModuleOp([])
    attach(module, "tiny")
    with pytest.raises(PassError, match="already for the machine tiny"):
        attach(module, str(own_file))


def test_a_module_without_a_machine() -> None:
    with pytest.raises(InputError, match="does not say which machine"):
        machine_of(ModuleOp([]))
    assert attribute_of(ModuleOp([])) is None


def test_a_builtin_that_has_changed_since() -> None:
    module = ModuleOp([])
    short = MachineAttr.of(load("tiny"))
    old = MachineAttr(short.machine_name, StringAttr("0" * 32), short.description)
    module.attributes[MACHINE] = old
    with pytest.raises(InputError, match="the machine tiny is not the one this IR was made for"):
        machine_of(module)


def test_something_else_under_the_name() -> None:
    module = ModuleOp([])
    module.attributes[MACHINE] = StringAttr("tiny")
    with pytest.raises(InputError, match=f"{MACHINE} is"):
        machine_of(module)
