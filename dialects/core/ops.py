"""The two bases of npuc's operations, and the constants every tensor level shares.

`NpucOp` is a pure computation: it says its result types, its value and its work. `EffectOp` has
effects or regions and runs in a frame of the interpreter. Verifier, interpreter, folding, cost
reports and reference pages are derived from these methods; an op without one of them cannot be
instantiated.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from .attributes import BlobAttr, DenseAttr, typed
from .dense_text import parse_dense, print_dense
from .dtypes import Array, itemsize
from .errors import InternalError
from .steps import Step

if TYPE_CHECKING:
    from .interpreter import Frame

INLINE_BYTES = 1024
"""The most bytes of constant data that may stand in the text; more goes to the store."""


class Cost(NamedTuple):
    """The work of one execution, whatever the machine; cycles belong to `target`."""

    flops: int
    """Arithmetic operations, a multiply-add counting two."""
    bytes_read: int
    bytes_written: int


def tensor_bytes(type_: Attribute) -> int:
    """Bytes of a static tensor type; `VerifyException` for another type."""
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a tensor, got `{type_}`")
    dtype, shape = typed(cast(TensorType[Attribute], type_))
    return math.prod(shape) * itemsize(dtype)


class NpucOp(IRDLOperation, ABC):
    """A pure operation: definition, result types, value and cost in one class."""

    traits = traits_def(Pure())

    @abstractmethod
    def infer(self) -> Sequence[Attribute]:
        """The result types that operands and properties imply; the verifier compares.

        Raises `VerifyException` if no result type is right.
        """

    @abstractmethod
    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The results for operand values, one array per result, of exactly the result types.

        Arguments have the shapes and element types of the operands and are not modified.
        """

    @abstractmethod
    def cost(self) -> Cost:
        """Operations and bytes of one execution."""

    def recipe_step(self) -> Step | None:
        """The step this op performs on its only operand, if any; lets it fold into a weight."""
        return None

    def traffic(self) -> tuple[int, int]:
        """Bytes of all tensor operands and of all results: reading and writing each once."""
        read = sum(tensor_bytes(operand.type) for operand in self.operands)
        return read, sum(tensor_bytes(result.type) for result in self.results)

    def verify_(self) -> None:
        """Compare the result types with `infer`; an override calls this too."""
        check_results(self, self.infer())


class EffectOp(IRDLOperation, ABC):
    """An operation with effects or regions: it runs in a frame instead of giving values."""

    @abstractmethod
    def run(self, frame: Frame) -> None:
        """Perform the op: read operands by `frame.get`, write results by `frame.set`.

        Regions run by `frame.run_block`, symbols by `frame.call`; see `interpreter.Frame`.
        """

    def cost(self) -> Cost:
        """Operations and bytes of one execution; `InternalError` for an op that has none."""
        raise InternalError(f"`{self.name}` has no cost of its own")


def check_results(op: IRDLOperation, expected: Sequence[Attribute]) -> None:
    """Raise `VerifyException` naming the first result of `op` of another type than expected."""
    if len(op.results) != len(expected):
        raise VerifyException(f"has {len(op.results)} results, its operands give {len(expected)}")
    for index, (result, type_) in enumerate(zip(op.results, expected, strict=True)):
        if result.type != type_:
            raise VerifyException(
                f"result #{index} is `{result.type}`, but the operands give `{type_}`"
            )


@irdl_op_definition
class WeightOp(EffectOp):
    """A weight in the store, after the steps its blob records.

    ```mlir
    %w = core.weight #core.blob<tensor<64x32xf32>, "9f2c", "file:m#128+8192"> : tensor<64x32xf32>
    ```
    """

    name = "core.weight"

    blob = prop_def(BlobAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "qualified($blob) attr-dict `:` type($result)"

    def __init__(self, blob: BlobAttr) -> None:
        super().__init__(properties={"blob": blob}, result_types=[blob.result()])

    def run(self, frame: Frame) -> None:
        """Read the weight from the store of the frame."""
        frame.set(self.result, frame.store.read(*blob_request(self.blob)))

    def cost(self) -> Cost:
        """Nothing: a weight is in memory before the program starts."""
        return Cost(0, 0, 0)

    def verify_(self) -> None:
        """The result is the blob's tensor after its steps."""
        check_results(self, [self.blob.result()])


def blob_request(blob: BlobAttr) -> tuple[str, str, str, tuple[int, ...], tuple[Step, ...]]:
    """The arguments of `Store.read` for a blob: digest, uri, element type, shape, steps."""
    dtype, shape = typed(blob.stored)
    return blob.digest.data, blob.uri.data, dtype, shape, blob.recipe


@irdl_op_definition
class ConstantOp(NpucOp):
    """A small constant: floats as bytes in hex, integers as lists or one element for all.

    ```mlir
    %a = core.constant dense<"0x0000803F0000C0FF"> : tensor<2xf32>
    %b = core.constant dense<[1, -2]> : tensor<2xi32>
    ```

    Decimal floats and bare hex elements are refused on input, as neither survives every tool.
    """

    name = "core.constant"

    value = prop_def(DenseAttr)
    result = result_def(TensorType)

    traits = traits_def(ConstantLike())

    def __init__(self, value: DenseAttr) -> None:
        super().__init__(properties={"value": value}, result_types=[value.tensor])

    @classmethod
    def of(cls, array: Array) -> ConstantOp:
        """The constant equal to `array`, bit for bit."""
        return cls(DenseAttr.of(array))

    def infer(self) -> Sequence[Attribute]:
        """The type of the data, which must be small enough for the text."""
        if len(self.value.data) > INLINE_BYTES:
            raise VerifyException(
                f"{len(self.value.data)} bytes are too many for the text (at most {INLINE_BYTES}); "
                "use core.weight"
            )
        return [self.value.tensor]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The data, as a read-only array."""
        return [self.value.array()]

    def cost(self) -> Cost:
        """Nothing: a constant is in memory before the program starts."""
        return Cost(0, 0, 0)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        """Parse `dense<...> attr-dict : type`."""
        parser.parse_keyword("dense")
        with parser.in_angle_brackets():
            literal = parse_dense(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        op = cls(literal(parser.parse_type()))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        """Print `dense<...> attr-dict : type`."""
        printer.print_string(" dense<")
        print_dense(printer, self.value)
        printer.print_string(">")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.value.tensor)
