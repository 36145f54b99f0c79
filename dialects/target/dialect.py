"""The `target` dialect: the machine as an attribute."""

from __future__ import annotations

from xdsl.ir import Dialect

from .attributes import MachineAttr

DIALECT = Dialect("target", [], [MachineAttr])
