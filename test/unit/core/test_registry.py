"""The context: every dialect loads when asked for, and clones share weights only."""

import subprocess
import sys

import pytest

from npuc.dialects.core.registry import dialect_names, load_dialect, make_context
from npuc.dialects.core.store import Store


@pytest.mark.parametrize("name", dialect_names())
def test_every_dialect_loads_under_its_name(name: str) -> None:
    dialect = load_dialect(name)
    assert dialect.name == name
    ctx = make_context()
    if name != "builtin":
        ctx.load_registered_dialect(name)
    for op in dialect.operations:
        assert ctx.get_optional_op(op.name) is op


def test_a_dialect_is_imported_only_when_used() -> None:
    code = (
        "import sys\n"
        "from npuc.dialects.core.registry import make_context\n"
        "ctx = make_context()\n"
        "assert not any('.graph.' in m or '.tile.' in m or 'arith' in m for m in sys.modules)\n"
        "assert ctx.get_optional_op('arith.addi') is not None\n"
        "assert not any('.graph.' in m for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_clone_has_its_own_registrations_and_the_same_store() -> None:
    store = Store()
    ctx = make_context(store)
    copy = ctx.clone()
    assert copy.store is store
    copy.load_registered_dialect("arith")
    assert "arith" in [dialect.name for dialect in copy.loaded_dialects]
    assert "arith" not in [dialect.name for dialect in ctx.loaded_dialects]
