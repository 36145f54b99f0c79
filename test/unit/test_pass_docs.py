"""Every pass does what its docstring shows.

A docstring has at least one pair `Before:` and `After:`, each with a fenced mlir block; the pass
with its default options must turn the one into the other. SSA names do not matter.
"""

import re
from inspect import cleandoc
from io import StringIO
from typing import NamedTuple

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from npuc.dialects.core.parser import parse_module
from npuc.dialects.core.registry import NpucContext, make_context
from npuc.dialects.core.verify import verify
from npuc.passes.table import load_pass, pass_names

BLOCK = r":\n+```mlir\n(.*?)```"
PAIR = re.compile(rf"^Before{BLOCK}\n+After{BLOCK}", re.DOTALL | re.MULTILINE)


class Example(NamedTuple):
    """The IR before and after a pass."""

    before: str
    after: str


def examples(docstring: str) -> list[Example]:
    """The pairs in a docstring."""
    return [Example(*match.groups()) for match in PAIR.finditer(cleandoc(docstring))]


def generic_text(module: ModuleOp) -> str:
    """The module in generic form, its values numbered."""
    stream = StringIO()
    Printer(stream, print_generic_format=True).print_op(module.clone(clone_name_hints=False))
    return stream.getvalue()


def read(context: NpucContext, text: str) -> ModuleOp:
    """The module in `text`; it must verify."""
    module = parse_module(context, text)
    verify(module)
    return module


@pytest.mark.parametrize("name", pass_names())
def test_pass_does_what_its_docstring_shows(name: str) -> None:
    pass_class = load_pass(name)
    found = examples(pass_class.__doc__ or "")
    assert found, f"the docstring of {pass_class.__qualname__} has no Before/After pair"
    for example in found:
        context = make_context()
        module = read(context, example.before)
        pass_class().apply(context, module)
        verify(module)
        assert generic_text(module) == generic_text(read(context, example.after))


def test_examples_are_found_in_an_indented_docstring() -> None:
    docstring = """Summary.

    Before:
    ```mlir
    a {
      b
    }
    ```
    After:

    ```mlir
    c
    ```
    More text.
    """
    assert examples(docstring) == [Example("a {\n  b\n}\n", "c\n")]


def test_generic_text_ignores_names_only() -> None:
    one, other, third = (
        generic_text(parse_module(make_context(), text))
        for text in (
            '%a = "test.op"() : () -> i32\n"test.op"(%a) : (i32) -> ()',
            '%b = "test.op"() : () -> i32\n"test.op"(%b) : (i32) -> ()',
            '%b = "test.op"() : () -> i64\n"test.op"(%b) : (i64) -> ()',
        )
    )
    assert one == other
    assert one != third
