"""Say in the IR which machine a module is compiled for."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...dialects.core.errors import PassError
from ...dialects.target.attributes import MACHINE, MachineAttr, attribute_of
from ...dialects.target.machine import load
from ...dialects.target.machines import DEFAULT
from ..base import NpucPass


@dataclass(frozen=True)
class TargetAttachMachinePass(NpucPass):
    """Attach a machine to the module.

    Before:
    ```mlir
    "test.op"() : () -> ()
    ```
    After:
    ```mlir
    builtin.module attributes {
      target.machine = #target.machine<"ascend310p">
    } {
      "test.op"() : () -> ()
    }
    ```
    `target` is the name of a built-in machine or the path of a .toml file.  Without it, a module
    that has a machine keeps it, and one that has none gets the default.  A machine other than the
    one already there is an error, since the IR may depend on it.
    """

    name = "target-attach-machine"
    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Attach, or compare."""
        present = attribute_of(op)
        if self.target is None and present is not None:
            return
        wanted = MachineAttr.of(load(DEFAULT if self.target is None else self.target))
        if present is not None and present != wanted:
            raise PassError(
                f"the module is already for the machine {present.machine_name.data}",
                why=f"it has digest {present.digest.data}, {wanted.machine_name.data} has "
                f"{wanted.digest.data}",
                hint=f"remove the {MACHINE} attribute if nothing depends on it yet",
            )
        op.attributes[MACHINE] = wanted
