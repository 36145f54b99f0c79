"""All passes by name, imported when first asked for.

npuc's own passes stand here with the folder they live in; the module is the pass name in snake
case, the class the name in camel case with `Pass`. Other packages add passes by entry points in the
group `npuc.passes`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from xdsl.passes import ModulePass

from ..dialects.core.errors import InputError

PLUGIN_GROUP = "npuc.passes"
"""The entry-point group of passes from other packages: `pass-name = "module:Class"`."""

FOLDERS: dict[str, tuple[str, ...]] = {
    "graph": (
        "graph-canonicalize",
        "graph-fold-batch-norm",
        "graph-assign-layout",
        "graph-apply-precision",
        "graph-legalize-dtypes",
    ),
    "target": ("target-attach-machine",),
    "graph_to_tensor": ("convert-graph-to-tensor",),
    "tensor": ("tensor-canonicalize", "tensor-fuse-groups"),
    "tensor_to_tile": ("tensor-choose-schedule", "convert-tensor-to-tile"),
    "tile": ("tile-assign-depth", "tile-plan-memory", "tile-plan-gm"),
    "tile_to_npu_isa": ("convert-tile-to-npu-isa",),
    "npu_isa": ("npu-isa-canonicalize", "npu-isa-insert-sync", "npu-isa-allocate-registers"),
}
"""The passes of each folder under `passes/`."""


def pass_names() -> tuple[str, ...]:
    """The names of npuc's own passes, in the order they usually run."""
    return tuple(name for names in FOLDERS.values() for name in names)


def class_path(name: str) -> str:
    """Where the pass `name` of npuc is: `folder.module:Class` below `passes`, or KeyError."""
    folder = next((f for f, names in FOLDERS.items() if name in names), None)
    if folder is None:
        raise KeyError(name)
    words = name.split("-")
    return f"{folder}.{'_'.join(words)}:{''.join(map(str.capitalize, words))}Pass"


def load_pass(name: str) -> type[ModulePass]:
    """The class of the pass `name`, npuc's own or a plug-in's; `InputError` if there is none."""
    if name in pass_names():
        module, _, class_name = class_path(name).partition(":")
        return getattr(import_module(f".{module}", __package__), class_name)
    found = list(entry_points(group=PLUGIN_GROUP, name=name))
    if not found:
        known = ", ".join(sorted({*pass_names(), *plugin_names()}))
        raise InputError(f"there is no pass `{name}`", hint=f"use one of {known}")
    if len(found) > 1:
        sources = ", ".join(sorted(entry.value for entry in found))
        raise InputError(
            f"pass `{name}` is defined more than once", why=sources, hint="uninstall all but one"
        )
    return found[0].load()


def plugin_names() -> tuple[str, ...]:
    """The names of passes that other installed packages add."""
    return tuple(sorted({entry.name for entry in entry_points(group=PLUGIN_GROUP)}))


class PassTable(dict[str, Callable[[], type[ModulePass]]]):
    """What xDSL's pipeline parser asks: any name is there, an unknown one raises when loaded."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __missing__(self, name: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name)
