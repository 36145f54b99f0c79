"""npuc: compile neural networks for Ascend-like neural processors and run them on an emulator.

Public API: `compile` makes an `Executable` from a model, `load` reads a saved one. The names load
on first use, so that `import npuc` costs next to nothing and a saved program runs without xDSL.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npuc.backend.runtime.executable import Executable, load
    from npuc.compiler.api import compile

__version__ = "0.1.0"
__all__ = ["Executable", "__version__", "compile", "load"]

_HOME = {
    "Executable": "npuc.backend.runtime.executable",
    "compile": "npuc.compiler.api",
    "load": "npuc.backend.runtime.executable",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'npuc' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
