"""The kinds of vector ops, and how a source spreads over rows and columns."""

from enum import auto

from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.utils.str_enum import StrEnum


class Unary(StrEnum):
    """One-source vector ops."""

    EXP = auto()
    LN = auto()
    SQRT = auto()
    RSQRT = auto()
    REC = auto()
    ABSOLUTE = auto()
    RELU = auto()
    COPY = auto()


class Binary(StrEnum):
    """Two-source vector ops; those of `tile.scalar` are the first four."""

    ADD = auto()
    MUL = auto()
    MAXIMUM = auto()
    MINIMUM = auto()
    SUB = auto()
    DIV = auto()


SCALAR_KINDS = (Binary.ADD, Binary.MUL, Binary.MAXIMUM, Binary.MINIMUM)


class Reduce(StrEnum):
    """Reductions along a row."""

    ADD = auto()
    MAX = auto()
    MIN = auto()


class Mode(StrEnum):
    """How a source of `tile.binary` spreads over the destination's rows and columns."""

    FULL = auto()
    ROW = auto()
    BLOCK = auto()


@irdl_attr_definition
class UnaryAttr(EnumAttribute[Unary], SpacedOpaqueSyntaxAttribute):
    """Kind of a `tile.unary`."""

    name = "tile.unary_kind"


@irdl_attr_definition
class BinaryAttr(EnumAttribute[Binary], SpacedOpaqueSyntaxAttribute):
    """Kind of a `tile.binary` or `tile.scalar`."""

    name = "tile.binary_kind"


@irdl_attr_definition
class ReduceAttr(EnumAttribute[Reduce], SpacedOpaqueSyntaxAttribute):
    """Kind of a `tile.reduce`."""

    name = "tile.reduce_kind"


@irdl_attr_definition
class ModeAttr(EnumAttribute[Mode], SpacedOpaqueSyntaxAttribute):
    """Spread of a source."""

    name = "tile.mode"
