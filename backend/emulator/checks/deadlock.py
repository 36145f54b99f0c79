"""Why a wait never ends: which set it waits for, and which other wait keeps that from happening."""

from __future__ import annotations

from ....dialects.npu_isa.instructions.sync import SetFlag, WaitFlag
from ....dialects.npu_isa.record import Record
from ...program import Kernel
from ..locate import describe


def explain_wait(kernel: Kernel, word: int, event: int) -> str:
    """The reason that the wait at `word`, for event id `event`, finds no flag set.

    Follows the program: the pipe that would set the flag may itself be held by a wait that comes
    first, whose flag is set by a pipe that is held, and so on.
    """
    src, dst = _pair(kernel.records[word])
    found = _set_after(kernel, word, src, dst, event)
    if found is None:
        return f"nothing after it sets the flag, so {dst} waits for ever"
    chain = [f"the flag is set only by {describe(kernel, found)}"]
    held = {dst}
    while src not in held:
        held.add(src)
        blocker = _wait_between(kernel, word, found, src, held)
        if blocker is None:
            return f"{chain[0]}, which comes after the wait in program order"
        wait, found = blocker
        src, _ = _pair(kernel.records[wait])
        chain.append(
            f"which {describe(kernel, wait)} comes before; it waits for {describe(kernel, found)}"
        )
    chain.append(f"which waits behind {describe(kernel, word)}")
    return ", ".join(chain)


def _pair(record: Record) -> tuple[str, str]:
    return str(record.operand("src")), str(record.operand("dst"))


def _matches(record: Record, src: str, dst: str, event: object) -> bool:
    """Whether a flag instruction may be about this flag; an id in a register may be any."""
    own = record.operand("id")
    same_id = own == event or not (_is_plain(own) and _is_plain(event))
    return _pair(record) == (src, dst) and same_id


def _is_plain(event: object) -> bool:
    return type(event) is int


def _set_after(kernel: Kernel, word: int, src: str, dst: str, event: object) -> int | None:
    for index in range(word + 1, len(kernel.records)):
        record = kernel.records[index]
        if record.spec is SetFlag and _matches(record, src, dst, event):
            return index
    return None


def _wait_between(
    kernel: Kernel, word: int, until: int, pipe: str, held: set[str]
) -> tuple[int, int] | None:
    """A wait of `pipe` before `until` whose flag only a pipe that is held sets, and that set."""
    for index in range(word + 1, until):
        record = kernel.records[index]
        if record.spec is not WaitFlag:
            continue
        src, dst = _pair(record)
        if dst != pipe or src not in held:
            continue
        found = _set_after(kernel, word, src, dst, record.operand("id"))
        if found is not None:
            return index, found
    return None
