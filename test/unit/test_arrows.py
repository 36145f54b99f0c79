"""Which folder may import which: the arrows of the design, as a table.

tools -> compiler -> {passes, backend} -> dialects; in dialects {graph, tensor, tile, npu_isa} ->
target -> core, and the four levels do not see each other. Of the passes only `<a>_to_<b>` sees two
levels. What a saved program needs in order to run imports no xDSL.
"""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from source_tree import ROOT, imports, is_below, module_name, package_files

LEVELS = ("graph", "tensor", "tile", "npu_isa")
BASE = ("dialects.core", "dialects.target")


def pass_folders() -> dict[str, tuple[str, ...]]:
    """What each folder of passes may import; a lowering may use the passes of its two levels."""
    shared = ("passes.base", "passes.canonicalization", "passes.analysis", *BASE)
    rules: dict[str, tuple[str, ...]] = {}
    for level in LEVELS:
        rules[f"passes.{level}"] = (*shared, f"dialects.{level}")
    for a, b in pairwise(LEVELS):
        below = (f"dialects.{a}", f"dialects.{b}", f"passes.{a}", f"passes.{b}")
        rules[f"passes.{a}_to_{b}"] = (*shared, *below)
    rules["passes.target"] = shared
    rules["passes.analysis"] = (*BASE, *(f"dialects.{level}" for level in LEVELS))
    return rules


# Importer (longest match wins) -> what it may import besides itself. All names are below `npuc`.
ARROWS: dict[str, tuple[str, ...]] = {
    "dialects.core": (),
    "dialects.target": ("dialects.core",),
    **{f"dialects.{level}": BASE for level in LEVELS},
    "passes": BASE,
    **pass_folders(),
    "backend": ("dialects.npu_isa", *BASE),
    "compiler": ("dialects", "passes", "backend", "__version__"),
    "tools": ("compiler", "__version__"),
}

XDSL_FREE = (
    "dialects/core/errors.py",
    "dialects/core/store.py",
    "dialects/core/steps.py",
    "dialects/core/dtypes.py",
    "dialects/core/tolerance.py",
    "dialects/core/kernels/*.py",
    "dialects/target/*.py",
    "dialects/npu_isa/spec.py",
    "dialects/npu_isa/record.py",
    "dialects/npu_isa/instructions/**/*.py",
    "backend/**/*.py",
)
NEEDS_XDSL = {Path("dialects/target") / name for name in ("attributes.py", "dialect.py")}

BLOCK_AND_IMPORT = """
import sys
from importlib import import_module

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "xdsl":
            raise ImportError("xDSL is blocked")

sys.meta_path.insert(0, Block())
for name in sys.argv[1:]:
    try:
        import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""


def home(module: str) -> str:
    """The entry of ARROWS that rules a module; `module` and the result lack the leading `npuc.`."""
    return max((name for name in ARROWS if is_below(module, name)), key=len)


def may_import(importer: str, target: str) -> bool:
    """Whether the arrows let one module see the other; both are absolute names."""
    if importer == "npuc" or target.split(".")[0] != "npuc":
        return True
    rule = home(importer.removeprefix("npuc."))
    seen = target.removeprefix("npuc.")
    return any(is_below(seen, allowed) for allowed in (rule, *ARROWS[rule]))


def levels_seen(path: Path) -> list[str]:
    """The levels that a file imports."""
    targets = [found.target for found in imports(path)]
    return [
        level
        for level in LEVELS
        if any(is_below(target, f"npuc.dialects.{level}") for target in targets)
    ]


def xdsl_free_files() -> list[Path]:
    """The files that must not need xDSL; each pattern must name one."""
    files = {path for path in package_files() if path.name == "__init__.py"}
    for pattern in XDSL_FREE:
        matches = {path.relative_to(ROOT) for path in ROOT.glob(pattern)}
        assert matches, f"no file matches {pattern}"
        files |= matches
    return sorted(files - NEEDS_XDSL)


@pytest.mark.parametrize("path", package_files(), ids=str)
def test_imports_follow_the_arrows(path: Path) -> None:
    importer = module_name(path)
    wrong = [
        f"{path}:{found.line}: {importer} must not import {found.target}"
        for found in imports(path)
        if not may_import(importer, found.target)
    ]
    assert wrong == []


def test_an_analysis_sees_at_most_one_level() -> None:
    wrong = {
        str(path): levels
        for path in package_files()
        if path.is_relative_to("passes/analysis") and len(levels := levels_seen(path)) > 1
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("importer", "target", "allowed"),
    [
        ("npuc.dialects.tile.ops", "xdsl.ir", True),
        ("npuc.dialects.tile.ops", "npuc.dialects.core.ops.NpucOp", True),
        ("npuc.dialects.tile.ops", "npuc.dialects.tensor.ops", False),
        ("npuc.dialects.core.ops", "npuc.dialects.target.costs", False),
        ("npuc.passes.graph.fold", "npuc.dialects.graph", True),
        ("npuc.passes.graph.fold", "npuc.dialects.tensor", False),
        ("npuc.passes.graph_to_tensor.lower", "npuc.dialects.tensor", True),
        ("npuc.passes.graph_to_tensor.lower", "npuc.dialects.tile", False),
        ("npuc.passes.graph_to_tensor.lower", "npuc.passes.graph.fold", True),
        ("npuc.passes.graph.fold", "npuc.passes.graph_to_tensor.lower", False),
        ("npuc.passes.base", "npuc.dialects.graph", False),
        ("npuc.backend.encoder", "npuc.dialects.npu_isa.spec", True),
        ("npuc.backend.encoder", "npuc.passes.base", False),
        ("npuc.compiler.driver", "npuc.tools.npu_opt", False),
        ("npuc.tools.npu_opt", "npuc.dialects.core.errors", False),
        ("npuc.tools.npu_opt", "npuc.__version__", True),
        ("npuc.tools.npu_opt", "npuc", False),
    ],
)
def test_the_table_says_what_the_design_says(importer: str, target: str, allowed: bool) -> None:
    assert may_import(importer, target) == allowed


def run_python(code: str, *arguments: str) -> str:
    """What a fresh interpreter prints; it must succeed."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_saved_program_needs_no_xdsl() -> None:
    modules = [module_name(path) for path in xdsl_free_files()]
    assert run_python(BLOCK_AND_IMPORT, *modules) == ""


def test_import_npuc_is_lazy() -> None:
    code = "import sys, npuc; print(*sorted({'numpy', 'xdsl', 'rich'} & sys.modules.keys()))"
    assert run_python(code) == "\n"


def test_the_public_names_load() -> None:
    assert run_python("import npuc; [getattr(npuc, name) for name in npuc.__all__]") == ""
