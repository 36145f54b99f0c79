"""Branches of instructions: one of two bodies runs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .instructions.branches import CONDITIONS, Branch
from .structure import YieldOp
from .syntax import parse_optional_register, print_operand
from .types import RegType


@irdl_op_definition
class IfOp(IRDLOperation):
    """Run one of two bodies, by a comparison of two signed numbers; results are what it yields.

    ```mlir
    %size = npu_isa.if lt %i, 7 {
      npu_isa.yield %whole
    } else {
      %rest = npu_isa.s_sub lhs = %n, rhs = %i
      npu_isa.yield %rest
    }
    ```

    The second body may be left out when there are no results.  It becomes a branch, its bodies with
    a jump between them, and moves where a result is not written in place.
    """

    name = "npu_isa.if"
    registers = var_operand_def(RegType)
    """Both numbers, as far as they are registers."""
    condition = prop_def(StringAttr)
    lhs_number = opt_prop_def(IntegerAttr.constr(i64))
    rhs_number = opt_prop_def(IntegerAttr.constr(i64))
    then = region_def("single_block")
    otherwise = region_def("single_block")
    made = var_result_def(RegType)

    def __init__(
        self,
        condition: str,
        lhs: SSAValue | int,
        rhs: SSAValue | int,
        bodies: tuple[Region, Region],
        result_types: Sequence[Attribute] = (),
    ) -> None:
        numbers = [IntegerAttr(v, i64) if isinstance(v, int) else None for v in (lhs, rhs)]
        super().__init__(
            operands=[[v for v in (lhs, rhs) if isinstance(v, SSAValue)]],
            properties={
                "condition": StringAttr(condition),
                "lhs_number": numbers[0],
                "rhs_number": numbers[1],
            },
            regions=list(bodies),
            result_types=[result_types],
        )

    @property
    def lhs(self) -> SSAValue | int:
        """The number on the left."""
        return self.registers[0] if self.lhs_number is None else self.lhs_number.value.data

    @property
    def rhs(self) -> SSAValue | int:
        """The number on the right."""
        return self.registers[-1] if self.rhs_number is None else self.rhs_number.value.data

    @property
    def bodies(self) -> tuple[Block, Block]:
        """What runs if the condition holds, and what otherwise."""
        return self.then.block, self.otherwise.block

    @staticmethod
    def yielded(body: Block) -> tuple[SSAValue, ...]:
        """What the results become in one body."""
        last = body.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("a body of npu_isa.if ends with npu_isa.yield")
        return tuple(last.operands)

    def verify_(self) -> None:
        """The condition is known, numbers are in range, bodies yield what there are results for."""
        for name, value in (("cond", self.condition.data), ("lhs", self.lhs), ("rhs", self.rhs)):
            wrong = None if isinstance(value, SSAValue) else Branch.field(name).check(value)
            if wrong is not None:
                raise VerifyException(wrong)
        used = (self.lhs_number is None) + (self.rhs_number is None)
        if used != len(self.registers):
            raise VerifyException(f"compares {used} registers, not {len(self.registers)}")
        sizes = [len(self.results), *(len(self.yielded(body)) for body in self.bodies)]
        if len(set(sizes)) != 1:
            counts = ", ".join(map(str, sizes))
            raise VerifyException(f"results and what the bodies yield number {counts}")
        if any(body.args for body in self.bodies):
            raise VerifyException("a body takes no arguments")

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        """Parse what `print` writes."""
        condition = parser.parse_identifier(context_msg=" for a condition")
        if condition not in CONDITIONS:
            parser.raise_error(f"expected one of {', '.join(CONDITIONS)}, not {condition}")
        lhs = _parse_number(parser)
        parser.parse_punctuation(",")
        rhs = _parse_number(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        then = _parse_body(parser)
        otherwise = Region(Block([YieldOp(())]))
        if parser.parse_optional_keyword("else"):
            otherwise = _parse_body(parser)
        types: list[Attribute] = [RegType.of()] * len(cls.yielded(then.block))
        if parser.parse_optional_punctuation(":"):
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(condition, lhs, rhs, (then, otherwise), types)
        op.attributes.update(attributes.data if attributes else {})
        return op

    def print(self, printer: Printer) -> None:
        """Print `lt %a, 5 attributes {..} {..} else {..}`, and physical results."""
        printer.print_string(f" {self.condition.data} ")
        print_operand(printer, self.lhs)
        printer.print_string(", ")
        print_operand(printer, self.rhs)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        has_results = bool(self.results)
        printer.print_string(" ")
        printer.print_region(self.then, print_block_terminators=has_results)
        if not is_empty(self.otherwise.block):
            printer.print_string(" else ")
            printer.print_region(self.otherwise, print_block_terminators=has_results)
        if any(result.type != RegType.of() for result in self.results):
            printer.print_string(" : ")
            printer.print_list(self.result_types, printer.print_attribute)


def is_empty(body: Block) -> bool:
    """Whether a body does nothing and yields nothing."""
    first: Operation | None = body.first_op
    return isinstance(first, YieldOp) and not first.operands


def _parse_number(parser: Parser) -> SSAValue | int:
    register = parse_optional_register(parser)
    return parser.parse_integer(allow_boolean=False) if register is None else register


def _parse_body(parser: Parser) -> Region:
    """A body; one that yields nothing needs no yield."""
    region = parser.parse_region()
    if not region.blocks:
        region.add_block(Block())
    if not isinstance(region.block.last_op, YieldOp):
        region.block.add_op(YieldOp(()))
    return region
