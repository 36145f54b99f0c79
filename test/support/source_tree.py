"""The source files of npuc and what they import, read from the text without running it."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("npuc", "compiler", "dialects", "passes", "backend", "tools")


class Import(NamedTuple):
    """One import: the absolute name of a module, or of a name in a module, and its line."""

    target: str
    line: int


def package_files() -> list[Path]:
    """Every .py file that is installed, relative to the root of the repository."""
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found)


def module_name(path: Path) -> str:
    """The import name of a file of `package_files`: `passes/base.py` is `npuc.passes.base`."""
    parts = list(path.with_suffix("").parts)
    if parts[0] != "npuc":
        parts.insert(0, "npuc")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    """The syntax tree of a file given relative to the root."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[Import]:
    """Every import anywhere in a file of `package_files`, relative ones made absolute.

    `from a import b` gives `a.b`: b may be a module, and a prefix test holds either way.
    """
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            stem = [*base, *([node.module] if node.module else [])]
            for alias in node.names:
                yield Import(".".join([*stem, alias.name]), node.lineno)


def is_below(name: str, prefix: str) -> bool:
    """Whether the dotted `name` is `prefix` or lies in it."""
    return name == prefix or name.startswith(f"{prefix}.")
