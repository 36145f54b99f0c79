"""The pass `graph-legalize-dtypes`."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from ...dialects.core.attributes import element_name, tensor_type
from ...dialects.core.dtypes import DEVICE, NAMES
from ...dialects.core.errors import UnsupportedError
from ...dialects.core.locations import where
from ...dialects.core.ops import ConstantOp, WeightOp
from ...dialects.core.origins import origins_of
from ..base import NpucPass

_ADVICE = {
    "f64": "export the model in f32",
    "i64": "cast to i32 in the model where the values fit",
    "bool": "cast to ui8 or i32 in the model",
}


@dataclass(frozen=True)
class GraphLegalizeDtypesPass(NpucPass):
    """Make sure that only element types of the device are left: f32, f16, bf16, i8, ui8, i16, i32.

    Constants of other types that nothing uses, as the shape operands of reshapes, are removed.
    Anything else of another type is refused, all of it at once, by the names of the model.

    Before:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<4x4xf32> {
      %shape = core.constant dense<4> : tensor<2xi64>
      %0 = graph.reshape %x : tensor<2x8xf32> -> tensor<4x4xf32>
      func.return %0 : tensor<4x4xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<2x8xf32>) -> tensor<4x4xf32> {
      %0 = graph.reshape %x : tensor<2x8xf32> -> tensor<4x4xf32>
      func.return %0 : tensor<4x4xf32>
    }
    ```
    Leaves alone: everything of a device type. Assumes: `graph-apply-precision` has run.
    """

    name = "graph-legalize-dtypes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Remove unused constants of other types, then refuse what is left of them."""
        for constant in [*op.walk()]:
            if isinstance(constant, ConstantOp | WeightOp) and constant.result.first_use is None:
                if _dtype(constant.result) in DEVICE:
                    continue
                for origin in origins_of(constant.result):
                    self.lose(origin, "a constant that nothing uses")
                constant.detach()
                constant.erase()
        found = [(value, dtype) for value in _tensors(op) if (dtype := _dtype(value)) not in DEVICE]
        if found:
            lines = [f"{_name(value)} is {dtype}" for value, dtype in found]
            kinds = dict.fromkeys(dtype for _, dtype in found)
            advice = [f"{kind}: {_ADVICE[kind]}" for kind in kinds if kind in _ADVICE]
            raise UnsupportedError(
                f"{len(found)} tensors have an element type that the device does not have",
                where=_where(found[0][0]),
                why="\n    ".join(("", *lines)),
                hint="; ".join(advice) or f"use {', '.join(n for n in NAMES if n in DEVICE)}",
            )


def _tensors(module: ModuleOp) -> Iterator[SSAValue]:
    """All tensor values: arguments of functions and results of ops, in program order."""
    for op in module.walk():
        if isinstance(op, FuncOp):
            yield from (arg for arg in op.body.block.args if isinstance(arg.type, TensorType))
        yield from (result for result in op.results if isinstance(result.type, TensorType))


def _dtype(value: SSAValue) -> str:
    return element_name(tensor_type(value).element_type)


def _name(value: SSAValue) -> str:
    """What the model calls the value, with its node."""
    origins = origins_of(value)
    if origins:
        return f"`{origins[0].tensor.data}` of node `{origins[0].node.data}`"
    return f"%{value.name_hint}" if value.name_hint else "a value without a name"


def _where(value: SSAValue) -> str | None:
    """Where the value is made."""
    owner = value.owner
    return where(owner) if not isinstance(owner, Block) else None
