"""The page about instructions: a section each, by pipe."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from ...dialects.npu_isa import instructions
from ...dialects.npu_isa.instructions import MNEMONICS, MODULES
from ...dialects.npu_isa.spec import (
    OPCODE_BITS,
    PIPES,
    REGISTERS,
    WORD_BITS,
    Field,
    Instruction,
    Part,
)
from ...dialects.target import costs
from ...dialects.target.machine import FEATURES, builtin_names, load
from .features import Needs, needs
from .markdown import code, fill, prose, summary, table

PIPE_WORDS = {
    "S": "the issuing thread, and what any pipe may be told by it",
    "V": "the vector unit, on UB",
    "M": "the matrix unit, from L0A and L0B into L0C",
    "MTE1": "moves from L1 to L0 and beside",
    "MTE2": "loads from GM",
    "MTE3": "stores to GM, and UB to L1",
    "FIX": "the drain of the matrix unit's results, of parts that have one of its own",
}
KINDS = (
    ("`imm`", "an integer, or the name of an enum, in the word"),
    ("`ri`", "an integer in the word, or a register that holds it"),
    ("`addr`", "bytes in a memory: a register (or, on chip, none) plus an offset in the word"),
    ("`in`, `out`", f"a register, r0..r{REGISTERS - 1}, that is read or written"),
    ("`f32`", "an IEEE single in the word"),
)


def isa_page() -> str:
    """The manual of instructions as Markdown."""
    by_pipe = {pipe: [spec for spec in MNEMONICS.values() if spec.pipe == pipe] for pipe in PIPES}
    parts = ["# Instructions\n", _introduction(len(MNEMONICS))]
    parts += [_contents(by_pipe), _conventions()]
    for pipe, specs in by_pipe.items():
        parts += [f"## Pipe {pipe}: {PIPE_WORDS[pipe]}\n", *_pipe(specs)]
    parts.append(_cost_rules())
    return "\n".join(parts)


def _introduction(count: int) -> str:
    text = f"""
    {count} instructions, each a word of {WORD_BITS} bits: the opcode in bits 0..{OPCODE_BITS - 1},
    then the fields, and zeros in all other bits. Every instruction restates a published one, named
    with its limits. What a machine must have for it is a feature, described in
    [machines.md](machines.md): real on the part, or granted by its description.

    A field is of one of these kinds. Ranges are those of a value in the word; a register holds any
    number that the instruction takes, unless the range says otherwise.
    """
    note = """
    In the fields' tables, `mode` is a bit that is 1 where a register is named, `reg` the number of
    the register, `value` and `offset` what the word holds. A field with a default may be left out
    of assembly text.
    """
    kinds = table(("kind", "operand"), KINDS)
    return f"{prose(text)}\n{kinds}\n{prose(note)}"


def _contents(by_pipe: dict[Any, list[type[Instruction]]]) -> str:
    """Every instruction in one line, by pipe."""
    rows = [
        (
            pipe,
            f"[`{spec.mnemonic}`](#{spec.mnemonic})",
            f"`{spec.opcode:#05x}`",
            _short(spec),
            ", ".join(map(code, needs(spec).always)),
        )
        for pipe, specs in by_pipe.items()
        for spec in specs
    ]
    head = ("pipe", "instruction", "opcode", "what it does", "always needs")
    return f"## Contents\n\n{table(head, rows)}"


def _short(spec: type[Instruction]) -> str:
    return summary(spec.__doc__ or "")


def _conventions() -> str:
    """What several files of instructions share, each in its own words."""
    found: list[str] = []
    for module in _shared_modules():
        text = inspect.cleandoc(module.__doc__ or "")
        # One line says only what is in the file.
        if "\n" in text:
            found.append(prose(text))
    return "## Conventions\n\n" + "\n".join(found)


def _shared_modules() -> Iterator[ModuleType]:
    """The modules beside the instructions that define none, by name."""
    defining = {module.__name__ for module in MODULES}
    for info in pkgutil.iter_modules(instructions.__path__):
        name = f"{instructions.__name__}.{info.name}"
        if name not in defining:
            yield import_module(name)


def _pipe(specs: list[type[Instruction]]) -> Iterator[str]:
    """The sections of a pipe; those of one file follow what the file says about them."""
    for module in MODULES:
        own = [spec for spec in specs if spec.__module__ == module.__name__]
        if own:
            yield prose(module.__doc__ or "")
            for spec in own:
                yield _section(spec)


def _section(spec: type[Instruction]) -> str:
    """Everything about one instruction."""
    need = needs(spec)
    facts = f"Opcode `{spec.opcode:#05x}`, pipe {spec.pipe}. Needs {_needs_text(need)}."
    parts = [f"### `{spec.mnemonic}`\n", prose(spec.__doc__ or "")]
    parts += [prose(f"*Family*: {text}") for text in _families(spec)]
    parts.append(fill(f"{facts} Machines: {_machines(need)}.") + "\n")
    parts.append(fill(f"*Restates* {spec.restates}") + "\n")
    rules = (
        ("Features", _own_words(spec, "features")),
        ("Operands together", _own_words(spec, "constraint")),
        ("Memory", _own_words(spec, "footprints")),
        ("Cycles", _cycles(spec)),
    )
    parts += [fill(f"*{title}*: {text}") + "\n" for title, text in rules if text]
    if spec.fields:
        parts.append(_fields(spec))
    return "\n".join(parts)


def _families(spec: type[Instruction]) -> Iterator[str]:
    """What its bases say in more than one sentence, which only names them; but for bases that are
    instructions themselves."""
    for base in spec.__mro__[1:-2]:
        text = inspect.cleandoc(base.__doc__ or "")
        told = len(summary(text)) + len("Base: .") < len(" ".join(text.split()))
        for start in ("Base of ", "Base: "):
            if told and "opcode" not in base.__dict__ and text.startswith(start):
                yield text.removeprefix(start)


def _own_words(spec: type[Instruction], name: str) -> str:
    """The docstring of a method, if some class below `Instruction` has its own."""
    method = next(c.__dict__[name] for c in spec.__mro__ if name in c.__dict__)
    if method is Instruction.__dict__[name]:
        return ""
    return " ".join((method.__doc__ or "").split())


def _cycles(spec: type[Instruction]) -> str:
    """The cost rule, with the functions it calls."""
    called = [name for name in spec.cycles.__code__.co_names if name in _COSTS]
    links = ", ".join(f"[`{name}`](#cost-{name})" for name in dict.fromkeys(called))
    words = _own_words(spec, "cycles")
    return f"{words} By {links}." if links else words


def _needs_text(need: Needs) -> str:
    parts = [", ".join(map(code, need.always))] if need.always else []
    by_features: dict[tuple[str, ...], list[str]] = {}
    for (field, name), features in need.chosen.items():
        by_features.setdefault(features, []).append(f"{field} = {name}")
    for features, choices in by_features.items():
        parts.append(f"{', '.join(map(code, features))} with {', '.join(map(code, choices))}")
    if need.other:
        parts.append(f"by its operands: {', '.join(map(code, need.other))}")
    return "; ".join(parts) or "nothing"


def _machines(need: Needs) -> str:
    """Which machines have what it always needs."""
    having: dict[str, list[str]] = {"real": [], "modelled": [], "not": []}
    for name in builtin_names():
        features = load(name).features
        states = [features[f].state if f in features else "not" for f in need.always]
        state = "not" if "not" in states else "modelled" if "modelled" in states else "real"
        having[state].append(name)
    if not need.always:
        return "all"
    words = {"real": "", "modelled": "modelled on ", "not": "not on "}
    parts = [words[state] + ", ".join(names) for state, names in having.items() if names]
    return "; ".join(parts)


def _fields(spec: type[Instruction]) -> str:
    """The table of fields, and the names of its enums."""
    rows = [
        (
            code(field.name),
            ", ".join(_bits(field, part) for part in field.parts),
            field.kind if field.space is None else f"{field.kind} in {field.space}",
            "" if field.unit == "1" or field.enum else field.unit,
            _range(field),
            "" if field.default is None else code(field.default),
        )
        for field in spec.fields
    ]
    used = max(field.lo + field.bits for field in spec.fields)
    names = [
        fill(f"`{f.name}`: " + ", ".join(f"{n} {code(x)}" for n, x in enumerate(f.enum))) + "\n"
        for f in spec.fields
        if f.enum
    ]
    head = ("field", "bits", "kind", "unit", "range", "default")
    return "\n".join([table(head, rows), f"{used} bits of {WORD_BITS} are used.\n", *names])


def _bits(field: Field, part: Part) -> str:
    bits = f"{part.lo}..{part.lo + part.width - 1}" if part.width > 1 else str(part.lo)
    return bits if len(field.parts) == 1 else f"{part.name} {bits}"


def _range(field: Field) -> str:
    """What the word may hold."""
    if field.enum is not None:
        return f"{len(field.enum)} names"
    if field.kind == "addr":
        multiple = f", multiples of {field.align}" if field.align > 1 else ""
        return f"offset < 2^{field.offset_bits}{multiple}"
    if field.kind in ("in", "out", "f32"):
        return ""
    wide = "; a register: any number" if field.wide else ""
    held = f"; held less {field.bias}" if field.bias else ""
    return f"{field.low}..{field.high}{held}{wide}"


_COSTS = {
    name: function
    for name, function in vars(costs).items()
    if inspect.isfunction(function)
    and function.__module__ == costs.__name__
    and next(iter(inspect.signature(function).parameters.values())).name == "machine"
}
"""The cost functions by name."""


def _cost_rules() -> str:
    """Every cost function, in its own words."""
    named = {name for spec in MNEMONICS.values() for name in spec.cycles.__code__.co_names}
    parts = [f"## Cycles\n\n{prose(costs.__doc__ or '')}"]
    parts += [
        f'<a id="cost-{name}"></a>\n**`{name}`**\n\n{prose(function.__doc__ or "")}'
        for name, function in _COSTS.items()
        if name in named
    ]
    words = [(code(name), text) for name, text in FEATURES.items()]
    parts.append("## Features\n\n" + table(("feature", "what it is"), words))
    return "\n".join(parts)
