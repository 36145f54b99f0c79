"""The machine in the IR: `target.machine = #target.machine<"name", "digest">` on the module.

A built-in machine stands there by name and digest; a user's is there whole, so that the text alone
says what it was compiled for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..core.errors import InputError
from .machine import Machine, builtin_names, from_description, is_builtin, load

MACHINE = "target.machine"
"""Name of the module's attribute."""


@irdl_attr_definition
class MachineAttr(ParametrizedAttribute):
    """A machine: `<"name", "digest">` for a built-in, else with all of it behind: `, {..}>`."""

    name = "target.machine"
    machine_name: StringAttr = param_def()
    digest: StringAttr = param_def()
    description: DictionaryAttr = param_def()
    """What the machine is built from; empty for a built-in."""

    @staticmethod
    def of(machine: Machine) -> MachineAttr:
        """The attribute of a machine, in its short form where that is enough."""
        short = is_builtin(machine)
        description = DictionaryAttr({}) if short else _to_attribute(machine.description)
        return MachineAttr(
            StringAttr(machine.name), StringAttr(machine.digest), cast(DictionaryAttr, description)
        )

    def machine(self) -> Machine:
        """The machine.  Raises InputError when a built-in has changed since, or the description is
        bad."""
        name, digest = self.machine_name.data, self.digest.data
        if self.description.data:
            description = cast(Mapping[str, Any], _from_attribute(self.description))
            machine = from_description(description, f"the {MACHINE} attribute")
        else:
            machine = load(name)
        if (machine.name, machine.digest) != (name, digest):
            raise InputError(
                f"the machine {name} is not the one this IR was made for",
                why=f"it has the digest {machine.digest}, the IR says {digest}",
                hint="compile the model again, or use the npuc that made the IR",
            )
        return machine

    def verify(self) -> None:
        """Refuse an empty name."""
        if not self.machine_name.data:
            raise VerifyException("a machine has a name")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<"name", "digest">` or `<"name", "digest", {..}>`.

        By hand, `<"name">` is enough: the built-in machine as it is now.
        """
        with parser.in_angle_brackets():
            name = parser.parse_str_literal()
            if parser.parse_optional_punctuation(",") is None:
                if name not in builtin_names():
                    parser.raise_error(f"no built-in machine is called {name}")
                return (StringAttr(name), StringAttr(load(name).digest), DictionaryAttr({}))
            digest = parser.parse_str_literal()
            description: Attribute = DictionaryAttr({})
            if parser.parse_optional_punctuation(","):
                description = parser.parse_attribute()
            return (StringAttr(name), StringAttr(digest), description)

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_string_literal(self.machine_name.data)
            printer.print_string(", ")
            printer.print_string_literal(self.digest.data)
            if self.description.data:
                printer.print_string(", ")
                printer.print_attribute(self.description)


def _to_attribute(value: object) -> Attribute:
    """A description as attributes: texts, integers and tables of them."""
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    table = cast(Mapping[str, object], value)
    return DictionaryAttr({key: _to_attribute(item) for key, item in table.items()})


def _from_attribute(attribute: Attribute) -> object:
    """What `_to_attribute` took."""
    match attribute:
        case StringAttr():
            return attribute.data
        case IntegerAttr():
            return attribute.value.data
        case DictionaryAttr():
            return {key: _from_attribute(item) for key, item in attribute.data.items()}
        case _:
            raise InputError(
                f"{attribute} has no place in a machine description",
                hint="use texts, integers and tables",
            )


def attribute_of(module: ModuleOp) -> MachineAttr | None:
    """The machine attribute of a module, if it has one."""
    attribute = module.attributes.get(MACHINE)
    if attribute is None or isinstance(attribute, MachineAttr):
        return attribute
    raise InputError(f"{MACHINE} is {attribute}", hint='write #target.machine<"name", "digest">')


def machine_of(module: ModuleOp) -> Machine:
    """The machine of a module; InputError when none is attached."""
    attribute = attribute_of(module)
    if attribute is None:
        raise InputError(
            "the module does not say which machine it is for",
            hint="run target-attach-machine{target=NAME} first",
        )
    return attribute.machine()
