"""The context npuc parses and compiles in: which dialects there are, loaded when first used.

A dialect of npuc lives in `dialects/<name>/dialect.py` as the module constant `DIALECT`. Nothing is
registered through xDSL's plug-in point, where our `tensor` would clash with the upstream one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xdsl.context import Context
from xdsl.ir import Dialect

from .store import Store

_NPUC = ("core", "target", "graph", "tensor", "tile", "npu_isa")
_UPSTREAM = {
    "builtin": "Builtin",
    "func": "Func",
    "arith": "Arith",
    "math": "Math",
    "scf": "Scf",
    "affine": "Affine",
    "test": "Test",
}


class NpucContext(Context):
    """An xDSL context that also holds the weights the module at hand refers to."""

    store: Store

    def __init__(self, store: Store | None = None, allow_unregistered: bool = False) -> None:
        super().__init__(allow_unregistered)
        self.store = Store() if store is None else store

    def clone(self) -> NpucContext:
        """A copy with its own registrations and the same store."""
        copy = NpucContext(self.store, self.allow_unregistered)
        copy._loaded_dialects = self._loaded_dialects.copy()
        copy._loaded_ops = self._loaded_ops.copy()
        copy._loaded_attrs = self._loaded_attrs.copy()
        copy._loaded_types = self._loaded_types.copy()
        copy._registered_dialects = self._registered_dialects.copy()
        return copy


def dialect_names() -> tuple[str, ...]:
    """All dialects `make_context` registers."""
    return (*_UPSTREAM, *_NPUC)


def load_dialect(name: str) -> Dialect:
    """Import the dialect `name`, one of `dialect_names()`."""
    if name in _UPSTREAM:
        return getattr(import_module(f"xdsl.dialects.{name}"), _UPSTREAM[name])
    package = (__package__ or "").rpartition(".")[0]
    return import_module(f"{package}.{name}.dialect").DIALECT


def _factory(name: str) -> Callable[[], Dialect]:
    return lambda: load_dialect(name)


def make_context(store: Store | None = None, allow_unregistered: bool = False) -> NpucContext:
    """A fresh context with all dialects registered and none loaded but `builtin`.

    `store` holds the weights (a new one by default); `allow_unregistered` lets ops of unknown
    dialects parse in generic form.
    """
    ctx = NpucContext(store, allow_unregistered)
    for name in dialect_names():
        ctx.register_dialect(name, _factory(name))
    ctx.load_registered_dialect("builtin")
    return ctx
