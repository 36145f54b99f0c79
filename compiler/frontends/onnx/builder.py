"""Building `func.func @main` of graph ops while the nodes of a model are read in order."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects.core.attributes import (
    BlobAttr,
    OriginAttr,
    tensor_of,
    tensor_type,
    typed,
)
from ....dialects.core.constants import is_plain
from ....dialects.core.dtypes import Array
from ....dialects.core.ops import INLINE_BYTES, ConstantOp, WeightOp
from ....dialects.core.origins import NAME, add_origins
from ....dialects.core.store import MEMORY, Store
from ....dialects.graph.base import GraphOp
from .shapes import Port
from .tensors import Constant

INPUT, INITIALIZER = "input", "initializer"
"""What stands for the node in the origin of tensors that no node of the model produces."""


class GraphBuilder:
    """The function under construction: values by tensor name, constants made when first used.

    `constants` has the initialisers and the outputs of Constant nodes, `makers` the node that makes
    a constant where there is one.
    """

    def __init__(
        self,
        inputs: Sequence[Port],
        constants: Mapping[str, Constant],
        makers: Mapping[str, str],
        store: Store,
    ) -> None:
        self._store = store
        self._constants = constants
        self._makers = makers
        types = [tensor_of(port.dtype, port.shape) for port in inputs]
        self._block = Block(arg_types=types)
        self._function = FuncOp(
            "main",
            FunctionType.from_lists(types, []),
            Region(self._block),
            arg_attrs=_named(port.name for port in inputs),
        )
        self._values: dict[str, SSAValue] = {}
        for port, argument in zip(inputs, self._block.args, strict=True):
            self.name(argument, INPUT, port.name)

    def add(self, op: GraphOp) -> SSAValue:
        """Append an op with one result; `VerifyException` if its operands do not fit it."""
        op.verify_()
        self._block.add_op(op)
        return op.results[0]

    def constant(self, array: Array) -> SSAValue:
        """Append a constant that is not in the model as such; at most `INLINE_BYTES`."""
        op = ConstantOp.of(array)
        self._block.add_op(op)
        return op.result

    def value(self, tensor: str) -> SSAValue:
        """The value of a tensor of the model that an earlier node or nobody produces."""
        if tensor not in self._values:
            op = self._constant_op(self._constants[tensor])
            self._block.add_op(op)
            self.name(op.results[0], self._makers.get(tensor, INITIALIZER), tensor)
        return self._values[tensor]

    def knows(self, tensor: str) -> bool:
        """Whether `value` has a value for the tensor."""
        return tensor in self._values or tensor in self._constants

    def name(self, value: SSAValue, node: str, tensor: str) -> None:
        """Let `value` be the tensor of the model called `tensor`, produced by `node`."""
        self._values[tensor] = value
        add_origins(value, [OriginAttr.of(node, tensor)])

    def finish(self, outputs: Sequence[str]) -> tuple[ModuleOp, list[Port]]:
        """The module, whose function returns the tensors called `outputs`, and their types."""
        results = [self.value(tensor) for tensor in outputs]
        self._block.add_op(ReturnOp(*results))
        types = [tensor_type(result) for result in results]
        self._function.function_type = FunctionType.from_lists(
            [argument.type for argument in self._block.args], types
        )
        self._function.res_attrs = _named(outputs)
        ports = [_port(name, value) for name, value in zip(outputs, results, strict=True)]
        return ModuleOp([self._function]), ports

    def _constant_op(self, constant: Constant) -> Operation:
        """A constant in the text if it is small and plain, else a weight in the store."""
        if constant.nbytes <= INLINE_BYTES:
            array = constant.values()
            if is_plain(array):
                return ConstantOp.of(array)
        stored = tensor_of(constant.dtype, constant.shape)
        if constant.range:
            digest, uri = self._store.add_range(*constant.range)
        else:
            digest, uri = self._store.add(constant.values()), MEMORY
        return WeightOp(BlobAttr.of(stored, digest, uri))


def _named(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    """The attributes of arguments or results with the framework's names."""
    return ArrayAttr([DictionaryAttr({NAME: StringAttr(name)}) for name in names])


def _port(name: str, value: SSAValue) -> Port:
    return Port(name, *typed(tensor_type(value)))
