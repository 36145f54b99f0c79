"""House rules that no linter knows: sizes, names, misspelt checks, what the wheel holds."""

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from filecheck.options import parse_argv_options

import npuc
from npuc.passes.table import class_path, pass_names
from run_lines import parse_pipeline, read_run_lines
from source_tree import PACKAGES, ROOT, module_name, package_files, parse

FOLDERS = (*PACKAGES, "test", "examples", "benchmarks", "docs", ".ci")
MAX_FILE = 400
MAX_FUNCTION = 50
VAGUE_NAMES = {"utils", "util", "misc", "common", "helper", "helpers"}

DIRECTIVE = r"(-(DAG|COUNT-\d+|NOT|EMPTY|NEXT|SAME|LABEL))?(\{LITERAL\})?:"
SHOUTED = re.compile(r"\s*//\s*([A-Z][A-Z0-9_]*(?:-[A-Z0-9_]+)*)(?:\{LITERAL\})?\s*(:)?")

SUBSTITUTIONS = {"%s": "/case.mlir", "%S": "/", "%t": "/tmp/t", "%%": "%"}

python_files = sorted(
    path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
)
lit_files = sorted(path.relative_to(ROOT) for path in (ROOT / "test/filecheck").rglob("*.mlir"))


@pytest.mark.parametrize("path", python_files, ids=str)
def test_files_are_short(path: Path) -> None:
    lines = len((ROOT / path).read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_FILE, f"{path} has {lines} lines"


@pytest.mark.parametrize("path", python_files, ids=str)
def test_functions_are_short(path: Path) -> None:
    lengths = {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: n for name, n in lengths.items() if n > MAX_FUNCTION} == {}


def test_names_say_what_is_inside() -> None:
    assert [path for path in python_files if VAGUE_NAMES & set(path.with_suffix("").parts)] == []


def test_every_package_folder_has_an_init() -> None:
    folders = {path.parent for path in package_files()}
    assert [f for f in sorted(folders) if not (ROOT / f / "__init__.py").exists()] == []


def passes_in_files() -> set[str]:
    """Every class called `...Pass` with a `name`, as `folder.module:Class name`."""
    found: set[str] = set()
    for path in package_files():
        if not path.is_relative_to("passes"):
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Pass"):
                names = [value for s in node.body if (value := assigned(s, "name"))]
                module = module_name(path).removeprefix("npuc.passes.")
                found |= {f"{module}:{node.name} {ast.literal_eval(name)}" for name in names}
    return found


def assigned(statement: ast.stmt, name: str) -> str | None:
    """The text of the value if a statement is `name = value` or `name: type = value`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
            return ast.unparse(value)
        case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
            return ast.unparse(value)
        case _:
            return None


def test_the_pass_table_lists_the_passes() -> None:
    assert passes_in_files() == {f"{class_path(name)} {name}" for name in pass_names()}


def misspelt_checks(text: str) -> list[str]:
    """The comment lines that look like a filecheck directive and are none.

    A comment that starts with a capitalised word and a colon must be RUN, COM or a directive of a
    prefix in use; one that starts with a prefix must have the colon.
    """
    prefixes = check_prefixes(text)
    known = re.compile(rf"\s*//\s*(?:(?:{'|'.join(prefixes)}){DIRECTIVE}|RUN:|COM:)")
    return [
        line
        for line in text.splitlines()
        if (match := SHOUTED.match(line))
        and not known.match(line)
        and (match[2] or match[1].split("-")[0] in prefixes)
    ]


def check_prefixes(text: str) -> set[str]:
    """The prefixes that the filecheck commands of a file look for."""
    prefixes: set[str] = set()
    for line in read_run_lines(text):
        for command in parse_pipeline(line.text, SUBSTITUTIONS):
            if "filecheck" in command.words:
                arguments = command.words[command.words.index("filecheck") :]
                prefixes |= set(parse_argv_options(list(arguments)).check_prefixes)
    return prefixes or {"CHECK"}


@pytest.mark.parametrize("path", lit_files, ids=str)
def test_checks_are_spelt_right(path: Path) -> None:
    if "Inputs" not in path.parts:
        assert misspelt_checks((ROOT / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("// CHECK: x", False),
        ("// CHECK-NEXT: x", False),
        ("// CHECK-COUNT-3{LITERAL}: x", False),
        ("// COM: x", False),
        ("// A sentence, and then CHECK: text", False),
        ("// UP-SAME: x", False),
        ("// CHECK-NXT: x", True),
        ("// CHECK_NEXT: x", True),
        ("// CHEKC: x", True),
        ("// CHECK-NEXT x", True),
        ("// DOWN: x", True),
    ],
)
def test_the_spelling_check(line: str, wrong: bool) -> None:
    run = "// RUN: npu-opt %s | filecheck %s --check-prefixes=CHECK,UP\n"
    assert misspelt_checks(run + line) == ([line] if wrong else [])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel; built from a copy, so that no `build/` is left or used."""
    source, output = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "test"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    build = f"-m pip wheel --no-deps --no-build-isolation --no-index -w {output} {source}"
    subprocess.run([sys.executable, *build.split()], check=True, capture_output=True)
    (built,) = output.glob("*.whl")
    return zipfile.ZipFile(built).namelist()


def test_the_wheel_installs_only_npuc(wheel: list[str]) -> None:
    top = {name.split("/")[0] for name in wheel}
    assert top == {"npuc", f"npuc-{npuc.__version__}.dist-info"}


def test_the_wheel_holds_every_file(wheel: list[str]) -> None:
    tables = [*(ROOT / "dialects").rglob("*.toml"), *(ROOT / "compiler").rglob("*.toml")]
    data = {f"npuc/{path.relative_to(ROOT)}" for path in tables} | {"npuc/py.typed"}
    modules = {f"npuc/{path}".replace("npuc/npuc/", "npuc/") for path in map(str, package_files())}
    installed = {name for name in wheel if name.startswith("npuc/")}
    assert installed == data | modules
