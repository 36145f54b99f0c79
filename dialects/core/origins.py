"""Which tensor of the model a value is: reading, moving and listing `core.origins`.

An op carries `core.origins = [[#core.origin...], ...]`, a list per result; a function carries them
and the framework's name of an input in `arg_attrs`. Whoever replaces a value moves its origins to
the heir; the pass base compares `all_origins` before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation

from .attributes import OriginAttr
from .errors import InternalError
from .steps import Step

ORIGINS = "core.origins"
"""Name of the attribute: on ops a list per result, in `arg_attrs` one list."""

NAME = "core.name"
"""Name of the attribute with the framework's name of an input or output of a function."""

NODE = "core.node"
"""Name of the attribute of an op in a kernel with the node of the model it works for."""

_ARG_ATTRS = "arg_attrs"


def origins_of(value: SSAValue) -> tuple[OriginAttr, ...]:
    """The origins of a value; empty for block arguments other than a function's."""
    if isinstance(value, OpResult):
        return _result_origins(value.op, value.index)
    if isinstance(value, BlockArgument) and (holder := _argument_holder(value.block)) is not None:
        return _listed(_argument_attributes(holder, value.index).get(ORIGINS))
    return ()


def set_origins(value: SSAValue, origins: Iterable[OriginAttr]) -> None:
    """Replace the origins of a result or a function argument; `InternalError` for another value."""
    entries = ArrayAttr(tuple(dict.fromkeys(origins)))
    if isinstance(value, OpResult):
        lists = [_listed(x) for x in _lists(value.op)]
        lists += [()] * (len(value.op.results) - len(lists))
        lists[value.index] = entries.data
        if any(lists):
            value.op.attributes[ORIGINS] = ArrayAttr([ArrayAttr(x) for x in lists])
        else:
            value.op.attributes.pop(ORIGINS, None)
        return
    holder = _argument_holder(value.block) if isinstance(value, BlockArgument) else None
    if holder is None or not isinstance(value, BlockArgument):
        raise InternalError("only op results and function arguments can carry origins")
    _set_argument(holder, value.index, ORIGINS, entries if len(entries) else None)


def add_origins(value: SSAValue, origins: Iterable[OriginAttr]) -> None:
    """Add origins to a value, keeping those it has."""
    added = tuple(origins)
    if added:
        set_origins(value, (*origins_of(value), *added))


def move_origins(
    old: SSAValue | Operation, new: SSAValue | Operation, step: Step | None = None
) -> None:
    """Move the origins of `old` to `new`, result by result if they are ops with as many results.

    If `new` is `step` applied to `old`, the origins record it. Nothing is left on `old`.
    """
    if isinstance(old, Operation) or isinstance(new, Operation):
        olds = old.results if isinstance(old, Operation) else (old,)
        news = new.results if isinstance(new, Operation) else (new,)
        if len(olds) != len(news):
            raise InternalError(f"{len(olds)} values cannot hand origins to {len(news)}")
        for before, after in zip(olds, news, strict=True):
            move_origins(before, after, step)
        return
    origins = origins_of(old)
    if old is new or not origins:
        return
    set_origins(old, ())
    add_origins(new, (o if step is None else o.after(step) for o in origins))


def move_location(old: Operation, new: Operation) -> None:
    """Give `new` and everything in it the location of `old` where it has none."""
    if isinstance(old.location, UnknownLoc):
        return
    for op in new.walk():
        if isinstance(op.location, UnknownLoc):
            op.location = old.location


def origins_on(op: Operation) -> Iterator[OriginAttr]:
    """All origins that stand in the attributes and properties of `op` itself, wherever nested."""
    for attributes in (op.attributes, op.properties):
        for attribute in attributes.values():
            yield from _nested(attribute)


def node_of(op: Operation) -> str | None:
    """The node of the model that `op` computes for: its `core.node`, or that of its first origin.

    None if it has neither, and for a function, whose origins are those of its arguments.
    """
    mark = op.attributes.get(NODE)
    if isinstance(mark, StringAttr):
        return mark.data
    if _ARG_ATTRS in op.properties:
        return None
    return next((origin.node.data for origin in origins_on(op)), None)


def all_origins(op: Operation) -> dict[tuple[str, str], OriginAttr]:
    """The origins anywhere in `op`, by node and tensor."""
    return {origin.key: origin for inner in op.walk() for origin in origins_on(inner)}


def name_of(value: BlockArgument) -> str | None:
    """The framework's name of a function argument, if it has one."""
    holder = _argument_holder(value.block)
    name = None if holder is None else _argument_attributes(holder, value.index).get(NAME)
    return name.data if isinstance(name, StringAttr) else None


def _nested(attribute: Attribute) -> Iterator[OriginAttr]:
    if isinstance(attribute, OriginAttr):
        yield attribute
    elif isinstance(attribute, ArrayAttr):
        for entry in cast(ArrayAttr[Attribute], attribute):
            yield from _nested(entry)
    elif isinstance(attribute, DictionaryAttr):
        for entry in attribute.data.values():
            yield from _nested(entry)


def _lists(op: Operation) -> tuple[Attribute, ...]:
    attribute = op.attributes.get(ORIGINS)
    return cast(ArrayAttr[Attribute], attribute).data if isinstance(attribute, ArrayAttr) else ()


def _listed(attribute: Attribute | None) -> tuple[OriginAttr, ...]:
    if not isinstance(attribute, ArrayAttr):
        return ()
    return tuple(x for x in cast(ArrayAttr[Attribute], attribute) if isinstance(x, OriginAttr))


def _result_origins(op: Operation, index: int) -> tuple[OriginAttr, ...]:
    lists = _lists(op)
    return _listed(lists[index]) if index < len(lists) else ()


def _argument_holder(block: Block) -> IRDLOperation | None:
    """The op whose `arg_attrs` describe the arguments of `block`: a function whose entry it is."""
    op = block.parent_op()
    if not isinstance(op, IRDLOperation) or _ARG_ATTRS not in op.get_irdl_definition().properties:
        return None
    return op if op.regions[0].blocks.first is block else None


def _argument_attributes(holder: IRDLOperation, index: int) -> dict[str, Attribute]:
    listed = holder.properties.get(_ARG_ATTRS)
    if not isinstance(listed, ArrayAttr):
        return {}
    entries = cast(ArrayAttr[DictionaryAttr], listed)
    return dict(entries.data[index].data) if index < len(entries) else {}


def _set_argument(holder: IRDLOperation, index: int, key: str, attribute: Attribute | None) -> None:
    """Set or (None) remove one attribute of one argument; drop `arg_attrs` when nothing is left."""
    count = len(holder.regions[0].block.args)
    entries = [_argument_attributes(holder, i) for i in range(count)]
    entries[index].pop(key, None)
    if attribute is not None:
        entries[index][key] = attribute
    if any(entries):
        holder.properties[_ARG_ATTRS] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
    else:
        holder.properties.pop(_ARG_ATTRS, None)
