"""Calls of the host engine at the tensor level."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_of, tensor_type, typed
from ..core.dtypes import Array
from ..core.errors import InputError
from ..core.kernels.host import host_function
from ..core.ops import Cost, NpucOp


@irdl_op_definition
class HostCallOp(NpucOp):
    """A function of the host engine's closed table (`core/kernels/host.py`); never fused.

    ```mlir
    %c = tensor.host_call "matmul"(%a, %b) : tensor<2x3xi32>, tensor<3x4xi32> -> tensor<2x4xi32>
    ```
    """

    name = "tensor.host_call"
    callee = prop_def(StringAttr)
    inputs = var_operand_def(TensorType)
    output = result_def(TensorType)
    assembly_format = "$callee `(` $inputs `)` attr-dict `:` type($inputs) `->` type($output)"

    def __init__(self, callee: str, inputs: Sequence[SSAValue]) -> None:
        arguments = [typed(tensor_type(value)) for value in inputs]
        result = tensor_of(*host_function(callee).infer(arguments))
        super().__init__(
            operands=[inputs], result_types=[result], properties={"callee": StringAttr(callee)}
        )

    def infer(self) -> Sequence[Attribute]:
        """What the table says."""
        arguments = [typed(tensor_type(value)) for value in self.inputs]
        try:
            return [tensor_of(*host_function(self.callee.data).infer(arguments))]
        except InputError as error:
            raise VerifyException(error.what) from error

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """Call the function."""
        return [host_function(self.callee.data).function(*args)]

    def cost(self) -> Cost:
        """Operations by the table, every tensor touched once."""
        arguments = [typed(tensor_type(value)) for value in self.inputs]
        return Cost(host_function(self.callee.data).operations(arguments), *self.traffic())
