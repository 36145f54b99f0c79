"""Scalar bodies of structured ops: building, checking and recognising them.

A body is a block of `arith` and `math` ops on element types, closed over its arguments, that ends
in `tensor.yield` of one value.
"""

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

BODY_DIALECTS = ("arith", "math")
"""Dialects whose ops may stand in a body."""

_WIDENING = (arith.ExtFOp, arith.ExtSIOp)
_CASTS = (
    arith.ExtFOp,
    arith.TruncFOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.TruncIOp,
    arith.SIToFPOp,
    arith.UIToFPOp,
    arith.FPToSIOp,
    arith.FPToUIOp,
)
_STEP_CASTS = (arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.SIToFPOp)
_PRODUCTS = (arith.MulfOp, arith.MuliOp)


def make_body(
    arg_types: Sequence[Attribute],
    build: Callable[[Builder, tuple[SSAValue, ...]], SSAValue],
) -> Block:
    """A body over `arg_types` that yields what `build(builder, arguments)` returns."""
    block = Block(arg_types=arg_types)
    builder = Builder(InsertPoint.at_end(block))
    builder.insert(YieldOp(build(builder, block.args)))
    return block


def arithmetic_ops(body: Block) -> int:
    """Arithmetic operations at a point; constants and conversions of type are free."""
    free = (YieldOp, arith.ConstantOp, *_CASTS)
    return sum(not isinstance(op, free) for op in body.ops)


def is_forwarding(body: Block) -> bool:
    """Whether the body only yields an argument, so that the op moves elements unchanged."""
    first = body.first_op
    return isinstance(first, YieldOp) and isinstance(first.arguments[0], BlockArgument)


def cast_as_step(body: Block) -> Operation | None:
    """The conversion of the only argument, if it is the whole body and equals the step `cast`.

    Conversions that truncate or wrap differ from the step, which rounds to nearest and saturates.
    """
    first, last = body.first_op, body.last_op
    if not isinstance(first, _STEP_CASTS) or not isinstance(last, YieldOp) or len(body.args) != 1:
        return None
    whole = first.next_op is last and last.arguments[0].owner is first
    return first if whole and first.operands[0] is body.args[0] else None


def product_args(body: Block) -> tuple[int, int] | None:
    """Indices of the two arguments whose (widened) product is all the body yields, else None.

    With the combiner `add` such a body is a contraction: a sum of products.
    """
    last = body.last_op
    if not isinstance(last, YieldOp):
        return None
    product = last.arguments[0].owner
    if not isinstance(product, _PRODUCTS):
        return None
    factors = [_widened_argument(operand) for operand in product.operands]
    lhs, rhs = factors
    if lhs is None or rhs is None or lhs is rhs:
        return None
    return lhs.index, rhs.index


def _widened_argument(value: SSAValue) -> BlockArgument | None:
    if isinstance(value, BlockArgument):
        return value
    owner = value.owner
    if not isinstance(owner, _WIDENING):
        return None
    source = owner.operands[0]
    return source if isinstance(source, BlockArgument) else None


def verify_body(body: Block, arg_types: Sequence[Attribute], result_type: Attribute) -> None:
    """Check arguments, ops and the yield of a body; raise VerifyException."""
    have = [arg.type for arg in body.args]
    if have != list(arg_types):
        raise VerifyException(
            f"the body takes {_types(have)} but the inputs have elements {_types(arg_types)}"
        )
    last = body.last_op
    if not isinstance(last, YieldOp) or len(last.arguments) != 1:
        raise VerifyException("the body must end in tensor.yield of one value")
    if last.arguments[0].type != result_type:
        raise VerifyException(
            f"the body yields {last.arguments[0].type} but the result has elements {result_type}"
        )
    for op in body.ops:
        if op is not last and op.name.partition(".")[0] not in BODY_DIALECTS:
            raise VerifyException(f"{op.name} may not stand in a body; only arith and math ops may")


def _types(types: Sequence[Attribute]) -> str:
    return f"({', '.join(str(t) for t in types)})"
