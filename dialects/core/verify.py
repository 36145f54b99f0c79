"""Verifying IR: each op by its own rules, then dominance, with the op that fails in the error."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from . import dominance
from .errors import InputError, VerifyError
from .locations import where


def verify(op: Operation) -> None:
    """Check `op` and all it holds; `VerifyError` for the first op that breaks a rule.

    Unlike xDSL's own `verify` it sees a use before its definition, and it names the place.
    """
    for inner in op.walk():
        try:
            inner.verify(verify_nested_ops=False)
            _check_ends(inner)
        except (VerifyException, InputError) as error:
            raise VerifyError(f"`{inner.name}`: {error}", where=where(inner)) from error
    dominance.check(op)


def _check_ends(op: Operation) -> None:
    """A region of one block ends with a terminator unless the op says otherwise."""
    for region in op.regions:
        only = region.blocks.first
        empty = only is not None and only.next_block is None and not only.ops
        if empty and not op.has_trait(NoTerminator):
            raise VerifyException("has an empty region, which needs at least a terminator")
