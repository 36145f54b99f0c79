"""Every value is defined before it is used: the check xDSL's verifier leaves out.

One walk, linear in the ops. A region sees the values around it unless its op is isolated from
above; a block sees those of the blocks that dominate it.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.traits import IsolatedFromAbove

from .errors import VerifyError
from .locations import where


def check(op: Operation) -> None:
    """Raise `VerifyError` for the first operand in `op` that its use cannot see."""
    for region in op.regions:
        _check_region(region, set())


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    first = region.blocks.first
    if first is None:
        return
    if first.next_block is None:
        _forget(visible, _check_block(first, visible))
        return
    dominance = DominanceInfo(region)
    for block in region.blocks:
        above = [
            value
            for other in region.blocks
            if other is not block and dominance.dominates(other, block)
            for value in _defined(other)
        ]
        inner = visible.union(above)
        _check_block(block, inner)


def _defined(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _check_block(block: Block, visible: set[SSAValue]) -> list[SSAValue]:
    """Check a block; `visible` grows by the values it defines, which are returned."""
    added: list[SSAValue] = list(block.args)
    visible.update(added)
    for op in block.ops:
        for index, operand in enumerate(op.operands):
            if operand not in visible:
                name = f"%{operand.name_hint}" if operand.name_hint else f"operand #{index}"
                raise VerifyError(
                    f"`{op.name}` uses {name} where it is not defined",
                    where=where(op),
                    why="it is defined later, or in a region this op cannot see",
                )
        for region in op.regions:
            _check_region(region, set() if op.has_trait(IsolatedFromAbove) else visible)
        visible.update(op.results)
        added.extend(op.results)
    return added


def _forget(visible: set[SSAValue], added: list[SSAValue]) -> None:
    visible.difference_update(added)
