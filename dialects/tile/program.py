"""Whole programs and their kernels: `tile.program` launches `tile.kernel`s on buffers in GM.

Between launches only GM persists. A kernel is isolated: it sees its GM buffers and the number of
the core that runs it, and nothing else; it is compiled, hashed and cached alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import BlobAttr, DenseAttr
from ..core.ops import EffectOp, blob_request
from .memory import buffer_type
from .types import BufferType

if TYPE_CHECKING:
    from ..core.interpreter import Frame


def _parse_callable(
    parser: Parser,
) -> tuple[StringAttr, list[Attribute], Region, DictionaryAttr | None, list[Attribute]]:
    """Parse `@name(%a: type, ..) -> (types) attributes {..} { .. }`."""
    name = parser.parse_symbol_name()
    arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_argument)
    results: list[Attribute] = []
    if parser.parse_optional_punctuation("->"):
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    attributes = parser.parse_optional_attr_dict_with_keyword()
    body = parser.parse_region(arguments)
    return name, [a.type for a in arguments], body, attributes, results


def _print_callable(
    printer: Printer, name: StringAttr, body: Region, results: Sequence[Attribute]
) -> None:
    printer.print_string(" ")
    printer.print_symbol_name(name.data)
    with printer.in_parens():
        printer.print_list(body.block.args, printer.print_block_argument)
    if results:
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(results, printer.print_attribute)


@irdl_op_definition
class ProgramOp(EffectOp):
    """The host's part: which kernels run, in which order, on which buffers in GM.

    ```mlir
    tile.program @main(%x: !tile.buffer<32x64xf32, gm>) -> (!tile.buffer<32x10xf32, gm>)
        attributes {arg_attrs = [{core.name = "x"}], res_attrs = [{core.name = "y"}]} {
      ...
      tile.return %y : !tile.buffer<32x10xf32, gm>
    }
    ```

    `arg_attrs` and `res_attrs` carry the framework's names and, once planned, `address` (bytes).
    """

    name = "tile.program"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        function_type: FunctionType,
        body: Region,
        arg_attrs: ArrayAttr[DictionaryAttr] | None = None,
        res_attrs: ArrayAttr[DictionaryAttr] | None = None,
    ) -> None:
        super().__init__(
            regions=[body],
            properties={
                "sym_name": StringAttr(name),
                "function_type": function_type,
                "arg_attrs": arg_attrs,
                "res_attrs": res_attrs,
            },
        )

    @property
    def returned(self) -> tuple[SSAValue, ...]:
        """The buffers that hold the results."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return tuple(last.buffers)

    def verify_(self) -> None:
        """The types of arguments and results are those of the body."""
        inputs = [a.type for a in self.body.block.args]
        if list(self.function_type.inputs) != inputs:
            raise VerifyException("argument types differ from the function type")
        outputs = [v.type for v in self.returned]
        if list(self.function_type.outputs) != outputs:
            raise VerifyException("the types of returned buffers differ from the function type")

    def run(self, frame: Frame) -> None:
        """A definition: it runs when it is called."""

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        """Parse what `print` writes."""
        name, inputs, body, attributes, results = _parse_callable(parser)
        named = dict(attributes.data) if attributes else {}
        arg_attrs, res_attrs = named.pop("arg_attrs", None), named.pop("res_attrs", None)
        op = cls(
            name.data,
            FunctionType.from_lists(inputs, results),
            body,
            cast(ArrayAttr[DictionaryAttr] | None, arg_attrs),
            cast(ArrayAttr[DictionaryAttr] | None, res_attrs),
        )
        op.attributes.update(named)
        return op

    def print(self, printer: Printer) -> None:
        """Print `@name(args) -> (results) attributes {..} {..}`."""
        _print_callable(printer, self.sym_name, self.body, self.function_type.outputs.data)
        extra = dict(self.attributes)
        for key in ("arg_attrs", "res_attrs"):
            if key in self.properties:
                extra[key] = self.properties[key]
        printer.print_op_attributes(extra, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class ReturnOp(EffectOp):
    """Ends a program: the buffers that hold its results."""

    name = "tile.return"
    buffers = var_operand_def(BufferType)
    traits = traits_def(IsTerminator(), HasParent(ProgramOp))
    assembly_format = "($buffers^ `:` type($buffers))? attr-dict"

    def __init__(self, buffers: Sequence[SSAValue]) -> None:
        super().__init__(operands=[buffers])

    def run(self, frame: Frame) -> None:
        """A terminator: the frame hands its operands on."""


@irdl_op_definition
class ConstantOp(EffectOp):
    """A buffer in GM that holds a weight or a small constant before the program starts.

    ```mlir
    %w = tile.constant #core.blob<..> {address = 0 : i64} : !tile.buffer<64x64xf16, gm>
    ```
    """

    name = "tile.constant"
    value = prop_def(BlobAttr | DenseAttr)
    address = opt_prop_def(IntegerAttr)
    buffer = result_def(BufferType)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$value attr-dict `:` type($buffer)"

    def __init__(self, value: BlobAttr | DenseAttr, type_: BufferType) -> None:
        super().__init__(properties={"value": value}, result_types=[type_])

    def run(self, frame: Frame) -> None:
        """Read the weight from the store, or take the constant."""
        value = self.value
        array = (
            frame.store.read(*blob_request(value)) if isinstance(value, BlobAttr) else value.array()
        )
        frame.set(self.buffer, array.reshape(buffer_type(self.buffer).dims))


@irdl_op_definition
class ViewOp(EffectOp):
    """The same bytes of GM under another shape (both row-major, as many elements)."""

    name = "tile.view"
    source = operand_def(BufferType)
    target = result_def(BufferType)
    traits = traits_def(Pure())
    assembly_format = "$source attr-dict `:` type($source) `to` type($target)"

    def __init__(self, source: SSAValue, type_: BufferType) -> None:
        super().__init__(operands=[source], result_types=[type_])

    def verify_(self) -> None:
        """Both are plain GM buffers of as many bytes."""
        source, target = buffer_type(self.source), buffer_type(self.target)
        if source.nbytes != target.nbytes or source.strides.data or target.strides.data:
            raise VerifyException(f"{source} cannot be seen as {target}")

    def run(self, frame: Frame) -> None:
        """Reshape without a copy."""
        frame.set(self.target, frame.get(self.source).reshape(buffer_type(self.target).dims))


@irdl_op_definition
class KernelOp(EffectOp):
    """One kernel: runs on every core of a launch, told apart by `tile.core_id`.

    ```mlir
    tile.kernel @k0(%x: !tile.buffer<32x64xf32, gm>, %y: !tile.buffer<32x64xf32, gm>)
        attributes {engine = "vector", nodes = ["relu"]} {
      ...
      tile.end
    }
    ```
    """

    name = "tile.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, body: Region) -> None:
        super().__init__(regions=[body], properties={"sym_name": StringAttr(name)})

    @classmethod
    def empty(cls, name: str, types: Sequence[Attribute]) -> KernelOp:
        """A kernel without ops, over GM buffers of these types."""
        return cls(name, Region(Block(arg_types=types)))

    @property
    def node_names(self) -> tuple[str, ...]:
        """The source nodes the kernel works for."""
        nodes = self.attributes.get("nodes")
        if not isinstance(nodes, ArrayAttr):
            return ()
        return tuple(n.data for n in cast(ArrayAttr[StringAttr], nodes))

    def run(self, frame: Frame) -> None:
        """A definition: it runs when it is launched."""

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        """Parse what `print` writes."""
        name, _, body, attributes, _ = _parse_callable(parser)
        op = cls(name.data, body)
        op.attributes.update(attributes.data if attributes else {})
        return op

    def print(self, printer: Printer) -> None:
        """Print `@name(args) attributes {..} {..}`."""
        _print_callable(printer, self.sym_name, self.body, ())
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class EndOp(EffectOp):
    """Ends a kernel."""

    name = "tile.end"
    traits = traits_def(IsTerminator(), HasParent(KernelOp))
    assembly_format = "attr-dict"

    def run(self, frame: Frame) -> None:
        """A terminator without operands."""


@irdl_op_definition
class LaunchOp(EffectOp):
    """Run a kernel on cores `0 .. grid - 1`, with buffers of GM as arguments.

    ```mlir
    tile.launch @k0 grid 8 (%x, %y) : !tile.buffer<32x64xf32, gm>, !tile.buffer<32x64xf32, gm>
    ```
    """

    name = "tile.launch"
    kernel = prop_def(FlatSymbolRefAttr)
    grid = prop_def(IntegerAttr.constr(i64))
    arguments = var_operand_def(BufferType)
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$kernel `grid` $grid `(` $arguments `)` attr-dict `:` type($arguments)"

    def __init__(self, kernel: str, grid: int, arguments: Sequence[SSAValue]) -> None:
        super().__init__(
            operands=[arguments],
            properties={"kernel": SymbolRefAttr(kernel), "grid": IntegerAttr(grid, i64)},
        )

    def run(self, frame: Frame) -> None:
        """Run the kernel for each core in turn."""
        buffers = [frame.get(a) for a in self.arguments]
        for core in range(self.grid.value.data):
            frame.call(self.kernel.root_reference.data, buffers, {CORE: core})


CORE = "core"
"""Name under which the interpreter holds the number of the running core."""


@irdl_op_definition
class CoreIdOp(EffectOp):
    """The number of the core that runs the kernel, from 0."""

    name = "tile.core_id"
    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])

    def run(self, frame: Frame) -> None:
        """Read it from the environment of the launch."""
        frame.set(self.result, frame.env[CORE])
