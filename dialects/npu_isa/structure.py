"""Kernels and loops of instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, SymbolNameConstraint, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .instructions.scalar import End, Loop
from .ops import OPS
from .syntax import parse_optional_register, parse_register, parse_register_type, print_operand
from .types import RegType


@irdl_op_definition
class KernelOp(IRDLOperation):
    """One kernel: the instructions every core of a launch runs.

    ```mlir
    npu_isa.kernel @k0(%x, %y) {
      npu_isa.mov_gm_ub dst = [0], src = [%x], len = 256
      npu_isa.mov_ub_gm dst = [%y], src = [0], len = 256
      npu_isa.end
    }
    ```

    Argument i, the address of a buffer in GM, arrives in register i.
    """

    name = "npu_isa.kernel"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, body: Region) -> None:
        super().__init__(regions=[body], properties={"sym_name": StringAttr(name)})

    @classmethod
    def empty(cls, name: str, arguments: int) -> KernelOp:
        """A kernel without instructions, of so many arguments in virtual registers."""
        return cls(name, Region(Block(arg_types=[RegType.of()] * arguments)))

    def verify_(self) -> None:
        """Arguments are registers, each in its place, and the last instruction is the end."""
        for argument in self.body.block.args:
            if not isinstance(argument.type, RegType):
                raise VerifyException(f"argument {argument.index} is {argument.type}")
            if argument.type.physical not in (None, argument.index):
                raise VerifyException(
                    f"argument {argument.index} arrives in r{argument.index}, "
                    f"not r{argument.type.physical}"
                )
        if not isinstance(self.body.block.last_op, OPS[End]):
            raise VerifyException("a kernel ends with npu_isa.end")

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        """Parse what `print` writes."""
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: _parse_argument(parser)
        )
        attributes = parser.parse_optional_attr_dict_with_keyword()
        op = cls(name.data, parser.parse_region(arguments))
        op.attributes.update(attributes.data if attributes else {})
        return op

    def print(self, printer: Printer) -> None:
        """Print `@name(args) attributes {..} {..}`."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(self.body.block.args, lambda a: _print_argument(printer, a))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


@irdl_op_definition
class LoopOp(IRDLOperation):
    """Run the body `count` times; registers may be carried from one iteration to the next.

    ```mlir
    %last = npu_isa.loop %i in %n iter (%x = %init) {
      %next = npu_isa.s_add lhs = %x, rhs = %i
      npu_isa.yield %next
    }
    ```

    `%i` counts from 0.  A carried register starts as its initial value, becomes what `yield` gives
    after each iteration, and is the result at the end.  It is one machine word and its body, with
    moves where a carried register is not written in place.
    """

    name = "npu_isa.loop"
    arguments = var_operand_def(RegType)
    """The count, unless it is immediate, and the initial values."""
    immediate = opt_prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")
    carried = var_result_def(RegType)

    def __init__(
        self,
        count: SSAValue | int,
        inits: Sequence[SSAValue],
        body: Region,
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        immediate = IntegerAttr(count, i64) if isinstance(count, int) else None
        counts = [count] if isinstance(count, SSAValue) else []
        super().__init__(
            operands=[[*counts, *inits]],
            properties={"immediate": immediate},
            regions=[body],
            result_types=[result_types or [RegType.of()] * len(inits)],
        )

    @classmethod
    def empty(cls, count: SSAValue | int, inits: Sequence[SSAValue] = ()) -> LoopOp:
        """A loop without instructions, in virtual registers; its body still needs its yield."""
        return cls(count, inits, Region(Block(arg_types=[RegType.of()] * (1 + len(inits)))))

    @property
    def spec(self) -> type[Loop]:
        """The specification of the loop's own word."""
        return Loop

    @property
    def count(self) -> SSAValue | int:
        """How often the body runs."""
        return self.arguments[0] if self.immediate is None else self.immediate.value.data

    @property
    def inits(self) -> tuple[SSAValue, ...]:
        """Initial values of the carried registers."""
        return tuple(self.arguments[1:] if self.immediate is None else self.arguments)

    @property
    def iteration(self) -> BlockArgument:
        """The register that counts iterations."""
        return self.body.block.args[0]

    @property
    def iter_args(self) -> tuple[BlockArgument, ...]:
        """The carried registers in the body."""
        return tuple(self.body.block.args[1:])

    @property
    def yielded(self) -> tuple[SSAValue, ...]:
        """What the carried registers become after an iteration."""
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("the body of a loop ends with npu_isa.yield")
        return tuple(last.operands)

    def verify_(self) -> None:
        """The count is in range; initial, carried, yielded and resulting registers agree."""
        if isinstance(self.count, int):
            wrong = Loop.field("count").check(self.count)
            if wrong is not None:
                raise VerifyException(wrong)
        if self.immediate is None and not self.arguments:
            raise VerifyException("a loop needs a count")
        block, inits = self.body.block, self.inits
        sizes = (len(inits), len(block.args) - 1, len(self.yielded), len(self.carried))
        if len(set(sizes)) != 1:
            raise VerifyException(
                "initial values, carried registers, yielded values and results number "
                + ", ".join(map(str, sizes))
            )
        for argument in block.args:
            if not isinstance(argument.type, RegType):
                raise VerifyException(f"argument {argument.index} is {argument.type}")
        for argument, result in zip(self.iter_args, self.carried, strict=True):
            if argument.type != result.type:
                raise VerifyException(f"{argument.type} is carried but the result is {result.type}")

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        """Parse what `print` writes."""
        arguments = [_parse_argument(parser)]
        parser.parse_keyword("in")
        register = parse_optional_register(parser)
        count = parser.parse_integer(allow_boolean=False) if register is None else register
        inits: list[SSAValue] = []

        def one() -> None:
            arguments.append(_parse_argument(parser))
            parser.parse_punctuation("=")
            inits.append(parse_register(parser))

        if parser.parse_optional_keyword("iter"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region(arguments)
        if not inits and not isinstance(body.block.last_op, YieldOp):
            body.block.add_op(YieldOp(()))
        op = cls(count, inits, body, [argument.type for argument in arguments[1:]])
        op.attributes.update(attributes.data if attributes else {})
        return op

    def print(self, printer: Printer) -> None:
        """Print `%i in count iter (%x = %init) attributes {..} {..}`."""
        printer.print_string(" ")
        _print_argument(printer, self.iteration)
        printer.print_string(" in ")
        print_operand(printer, self.count)
        if self.inits:
            printer.print_string(" iter ")
            with printer.in_parens():
                pairs = zip(self.iter_args, self.inits, strict=True)
                printer.print_list(pairs, lambda pair: _print_carried(printer, *pair))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(
            self.body,
            print_entry_block_args=False,
            print_block_terminators=bool(self.inits),
        )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends the body of a loop, or a branch: what the carried registers, or the results, become."""

    name = "npu_isa.yield"
    carried = var_operand_def(RegType)
    traits = traits_def(IsTerminator())

    def __init__(self, carried: Sequence[SSAValue]) -> None:
        super().__init__(operands=[carried])

    def verify_(self) -> None:
        """It stands in a loop or a branch."""
        parent = self.parent_op()
        if parent is None or parent.name not in ("npu_isa.loop", "npu_isa.if"):
            raise VerifyException("npu_isa.yield ends the body of npu_isa.loop or npu_isa.if")

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        """Parse registers and attributes."""
        carried: list[SSAValue] = []
        first = parse_optional_register(parser)
        while first is not None:
            carried.append(first)
            more = parser.parse_optional_punctuation(",")
            first = parse_register(parser) if more else None
        op = cls(carried)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        """Print the registers."""
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)


def _parse_argument(parser: Parser) -> Parser.Argument:
    """Parse `%x` or, in a physical register, `%x : !npu_isa.reg<1>`."""
    name = parser.parse_argument(expect_type=False)
    return name.resolve(parse_register_type(parser, RegType.of()))


def _print_argument(printer: Printer, argument: BlockArgument) -> None:
    printer.print_ssa_value(argument)
    if argument.type != RegType.of():
        printer.print_string(" : ")
        printer.print_attribute(argument.type)


def _print_carried(printer: Printer, argument: BlockArgument, init: SSAValue) -> None:
    _print_argument(printer, argument)
    printer.print_string(" = ")
    printer.print_ssa_value(init)


def instructions_of(block: Block) -> Iterator[Operation]:
    """Every instruction, loop and branch of `block` and of those in it, in program order."""
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from instructions_of(region.block)
