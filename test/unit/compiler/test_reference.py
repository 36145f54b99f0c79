"""The manual in docs/reference is what the specifications and the machines say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from npuc.compiler.reference.features import needs
from npuc.compiler.reference.markdown import WIDTH, fill, prose, summary, table
from npuc.compiler.reference.pages import pages
from npuc.dialects.npu_isa.instructions import MNEMONICS
from npuc.dialects.target.machine import builtin_names, load
from source_tree import ROOT

FOLDER = ROOT / "docs/reference"


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return pages()


@pytest.mark.parametrize("name", ["isa.md", "machines.md"])
def test_the_manual_is_up_to_date(name: str, written: dict[str, str]) -> None:
    stale = (FOLDER / name).read_text(encoding="utf-8") != written[name]
    assert not stale, f"docs/reference/{name} is stale; write it anew with `make docs`"


def test_there_are_no_other_pages(written: dict[str, str]) -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(written)


def test_every_instruction_has_a_section(written: dict[str, str]) -> None:
    _, *pieces = re.split(r"^### `(\w+)`$", written["isa.md"], flags=re.MULTILINE)
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    assert set(sections) == set(MNEMONICS)
    for name, spec in MNEMONICS.items():
        text = sections[name]
        assert f"Opcode `{spec.opcode:#05x}`, pipe {spec.pipe}." in text
        assert fill(f"*Restates* {spec.restates}") in text
        assert all(f"\n| `{field.name}` | " in text for field in spec.fields)
        assert all(f"`{choice}`" in text for field in spec.fields for choice in field.enum or ())
        assert "*Cycles*: " in text
        assert f"[`{name}`](#{name})" in written["isa.md"]


def test_every_value_of_every_machine_is_there(written: dict[str, str]) -> None:
    page = written["machines.md"]
    for name in builtin_names():
        machine = load(name)
        own = page[page.index(f"\n## {name}\n") :]
        for dotted, fact in machine.facts.items():
            section, _, value = dotted.partition(".")
            part = own[own.index(f"\n### {name}: {section}\n") :]
            cells = (f"`{value}`", f"{fact.value:,}", fact.unit, fact.source, fact.confidence)
            assert f"\n| {' | '.join(cells)} |\n" in part
        for feature, entry in machine.features.items():
            assert f"\n| `{feature}` | {entry.state} | {entry.source} |\n" in own


def test_text_has_short_lines(written: dict[str, str]) -> None:
    lines = "".join(written.values()).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_the_command(tmp_path: Path, written: dict[str, str]) -> None:
    command = [sys.executable, "-m", "npuc.compiler.reference", str(tmp_path / "new")]
    subprocess.run(command, check=True, capture_output=True)
    found = {path.name: path.read_text("utf-8") for path in (tmp_path / "new").iterdir()}
    assert found == written


def test_the_features_of_a_load() -> None:
    found = needs(MNEMONICS["load3d_l1_l0a"])
    assert found.always == ("load3d",)
    assert found.chosen["dtype", "bf16"] == ("cube_bf16",)
    assert ("dtype", "f16") not in found.chosen
    assert found.other == ("load3d_c0_stride",)


def test_prose_keeps_code_and_lists() -> None:
    text = """First
    line.

        code   stays

    * one
      item
    * two"""
    assert prose(text) == "First line.\n\n    code   stays\n\n* one item\n* two\n"


def test_no_line_becomes_a_list() -> None:
    words = "x" * (WIDTH - 6) + " gives 0. And more"
    assert fill(words).splitlines() == ["x" * (WIDTH - 6), "gives 0. And more"]


def test_summary_and_table() -> None:
    assert summary("One thing, e.g.\n    this. And another.\n\n    More.") == "One thing, e.g. this"
    assert table(("a", "b"), [("x|y", "z")]) == "| a | b |\n|---|---|\n| x\\|y | z |\n"
