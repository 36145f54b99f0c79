"""Machine instructions as operations, one class generated from each specification.

An instruction's register operands are SSA operands in field order, the register it writes is its
result, and everything else is one attribute, `fields`.  All printing, parsing and verification
stands in `InstrOp`:

```mlir
%n = npu_isa.s_min lhs = %left, rhs = 128
npu_isa.vadd dst = [%slot + 64], src0 = [128], src1 = [%slot], dtype = f32, mask = 64, repeat = %n
```

Fields that hold their default are not printed.  A result in a physical register says so at the end:
`%n = npu_isa.s_mov src = 5 : !npu_isa.reg<3>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, OpTrait, Pure
from xdsl.utils.exceptions import VerifyException

from ..core.errors import InternalError
from . import instructions
from .instructions.branches import Redirection
from .instructions.scalar import End, Loop, Scalar
from .record import Addr, Operand, Reg
from .spec import Field, Instruction, Operands
from .syntax import parse_operand, print_operand
from .types import FieldsAttr, Float, Offset, Payload, RegType


class Address(NamedTuple):
    """An address operand: a base register or None, and a byte offset."""

    base: SSAValue | None
    offset: int


Value: TypeAlias = SSAValue | Address | tuple[SSAValue | None, int] | float | str
"""An operand as `build` takes and `InstrOp.values` gives it (always `Address`, never a tuple)."""


class InstrOp(IRDLOperation):
    """Base of every instruction: registers in use as operands, the rest in `fields`."""

    SPEC: ClassVar[type[Instruction]]
    INPUTS: ClassVar[tuple[Field, ...]]
    """Fields of the specification but the register it writes."""
    WRITES_REGISTER: ClassVar[bool]

    registers = var_operand_def(RegType)
    written = var_result_def(RegType)
    fields = prop_def(FieldsAttr)

    @property
    def spec(self) -> type[Instruction]:
        """The specification."""
        return self.SPEC

    @property
    def result(self) -> OpResult[Attribute]:
        """The register written; InternalError for an instruction that writes none."""
        if not self.WRITES_REGISTER:
            raise InternalError(f"{self.name} writes no register")
        return self.results[0]

    @property
    def values(self) -> tuple[Value, ...]:
        """The operands by field, without the register written."""
        return tuple(value for _, value in self.items())

    def items(self) -> Iterator[tuple[Field, Value]]:
        """Fields and their operands, without the register written."""
        registers = iter(self._operands)
        payloads = cast(FieldsAttr, self.properties["fields"]).data
        for field, payload in zip(self.INPUTS, payloads, strict=True):
            if payload is None:
                yield field, next(registers)
            elif isinstance(payload, Offset):
                yield field, Address(next(registers) if payload.based else None, payload.bytes)
            else:
                yield field, payload.value if isinstance(payload, Float) else payload

    def field(self, name: str) -> Value:
        """The operand of the field called `name`; KeyError when there is none."""
        for field, value in self.items():
            if field.name == name:
                return value
        raise KeyError(f"{self.name} has no field {name}")

    def set_field(self, name: str, value: Value) -> None:
        """Replace the operand of the field called `name`, in place."""
        values = {field.name: old for field, old in self.items()}
        if name not in values:
            raise KeyError(f"{self.name} has no field {name}")
        values[name] = value
        registers, fields = _pack(self.SPEC, self.INPUTS, values)
        self.operands = registers
        self.properties["fields"] = fields

    def bind(self, known: Callable[[SSAValue], int | None]) -> Operands:
        """The operands for `features`, `constraint`, `footprints` and `cycles`.

        `known` gives the value of a register, or a bound for it, or None.  An address whose base it
        does not know is None, and so is the register written.
        """
        values: list[float | str | None] = [None] if self.WRITES_REGISTER else []
        for _, value in self.items():
            if isinstance(value, SSAValue):
                values.append(known(value))
            elif isinstance(value, tuple):
                register, offset = value
                base = 0 if register is None else known(register)
                values.append(None if base is None else base + offset)
            else:
                values.append(value)
        return self.SPEC.Operands(*values)

    def record_operands(self, number: Callable[[SSAValue], Reg]) -> tuple[Operand, ...]:
        """The operands of a record, in field order, with registers numbered by `number`."""
        operands: list[Operand] = [number(self.results[0])] if self.WRITES_REGISTER else []
        for _, value in self.items():
            if isinstance(value, SSAValue):
                operands.append(number(value))
            elif isinstance(value, tuple):
                register, offset = value
                operands.append(Addr(None if register is None else number(register), offset))
            else:
                operands.append(value)
        return tuple(operands)

    def verify_(self) -> None:
        """Every operand is what its field takes, and together they make an instruction."""
        payloads = self.fields.data
        if len(payloads) != len(self.INPUTS):
            raise VerifyException(f"has {len(payloads)} fields, not {len(self.INPUTS)}")
        used = sum(p is None or (isinstance(p, Offset) and p.based) for p in payloads)
        if used != len(self.operands):
            raise VerifyException(f"its fields use {used} registers, not {len(self.operands)}")
        if len(self.results) != self.WRITES_REGISTER:
            raise VerifyException(f"writes {int(self.WRITES_REGISTER)} register")
        operands = self.record_operands(_placeholder)
        for field, operand in zip(self.SPEC.fields, operands, strict=True):
            wrong = field.check(operand)
            if wrong is not None:
                raise VerifyException(wrong)
        wrong = self.SPEC.constraint(self.bind(lambda _: None))
        if wrong is not None:
            raise VerifyException(wrong)

    def print(self, printer: Printer) -> None:
        """Print the operands, then a physical result, then other attributes."""
        separator = " "
        for field, value in self.items():
            if field.default is not None and value == field.default_operand:
                continue
            printer.print_string(f"{separator}{field.name} = ")
            print_operand(printer, value)
            separator = ", "
        if self.WRITES_REGISTER and self.results[0].type != RegType.of():
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> InstrOp:
        """Parse what `print` writes; fields may come in any order."""
        values: dict[str, Value] = {}
        by_name = {field.name: field for field in cls.INPUTS}

        def one() -> None:
            name = parser.parse_identifier(context_msg=" for a field")
            if name not in by_name or name in values:
                known = ", ".join(by_name)
                parser.raise_error(f"expected one of {known}, each once, not {name}")
            parser.parse_punctuation("=")
            values[name] = parse_operand(parser, by_name[name])

        if cls.INPUTS:
            parser.parse_comma_separated_list(parser.Delimiter.NONE, one)
        missing = [f.name for f in cls.INPUTS if f.default is None and f.name not in values]
        if missing:
            parser.raise_error(f"{cls.name} needs {', '.join(missing)}")
        type_: Attribute | None = None
        if cls.WRITES_REGISTER and parser.parse_optional_punctuation(":"):
            type_ = parser.parse_type()
        op = _create(cls, values, type_)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op


def _placeholder(value: SSAValue) -> Reg:
    """Any valid register for a virtual one."""
    type_ = value.type
    physical = type_.physical if isinstance(type_, RegType) else None
    return Reg(0 if physical is None else physical)


def _pack(
    spec: type[Instruction], inputs: Sequence[Field], values: Mapping[str, Value]
) -> tuple[list[SSAValue], FieldsAttr]:
    """Register operands and `fields` of an instruction; InternalError for a value left out."""
    registers: list[SSAValue] = []
    payloads: list[Payload] = []
    for field in inputs:
        default = field.default_operand
        if isinstance(default, Addr):
            default = Address(None, default.offset)
        value = values.get(field.name, default)
        if value is None:
            raise InternalError(f"{spec.mnemonic} is built without {field.name}")
        if isinstance(value, SSAValue):
            registers.append(value)
            payloads.append(None)
        elif isinstance(value, tuple):
            register, offset = value
            if register is not None:
                registers.append(register)
            payloads.append(Offset(register is not None, offset))
        elif field.kind == "f32" and isinstance(value, (int, float)):
            payloads.append(Float.of(value))
        else:
            payloads.append(cast(int | str, value))
    return registers, FieldsAttr(tuple(payloads))


def _create(
    cls: type[InstrOp], values: Mapping[str, Value], result_type: Attribute | None = None
) -> InstrOp:
    registers, fields = _pack(cls.SPEC, cls.INPUTS, values)
    results = [result_type or RegType.of()] if cls.WRITES_REGISTER else []
    return cls.create(operands=registers, result_types=results, properties={"fields": fields})


def build(
    spec: type[Instruction], operands: Mapping[str, Value], result_type: Attribute | None = None
) -> InstrOp:
    """An op of `spec` from operands by field name, its result in a virtual register by default.

    A register is an SSA value, an address `(register or None, byte offset)`.  Fields left out take
    their default.  InternalError names a field left out without one, or unknown.  Ranges are the
    verifier's to check.
    """
    cls = OPS[spec]
    unknown = set(operands) - {field.name for field in cls.INPUTS}
    if unknown:
        raise InternalError(f"{spec.mnemonic} has no field {', '.join(sorted(unknown))}")
    return _create(cls, operands, result_type)


def make_op(spec: type[Instruction]) -> type[InstrOp]:
    """The op class of one specification."""
    traits: list[OpTrait] = []
    if issubclass(spec, Scalar):
        traits.append(Pure())
    if spec is End:
        traits.append(IsTerminator())
    inputs = tuple(field for field in spec.fields if field.kind != "out")
    namespace: dict[str, Any] = {
        "__doc__": spec.__doc__,
        "__module__": __name__,
        "__annotations__": {"SPEC": ClassVar, "INPUTS": ClassVar, "WRITES_REGISTER": ClassVar},
        "name": f"npu_isa.{spec.mnemonic}",
        "SPEC": spec,
        "INPUTS": inputs,
        "WRITES_REGISTER": len(inputs) != len(spec.fields),
        "traits": traits_def(*traits),
    }
    return irdl_op_definition(type(f"{spec.__name__}Op", (InstrOp,), namespace))


OPS: dict[type[Instruction], type[InstrOp]] = {
    spec: make_op(spec)
    for spec in instructions.OPCODES.values()
    if spec is not Loop and not issubclass(spec, Redirection)
}
"""Op class of each instruction; a loop is `structure.LoopOp`, branches are `conditional.IfOp`."""
