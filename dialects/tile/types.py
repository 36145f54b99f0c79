"""`!tile.buffer`: a statically shaped buffer in one memory space, and the bytes it takes there.

The physical layout is a function of the space, so that no pass has to carry it (units: elements;
`C0` = 32 bytes of elements):

| space | layout of a `rows x cols` buffer |
|---|---|
| `gm` | row-major, or `strides [..] offset n` in elements |
| `ub` | row-major, rows padded to 32 bytes or `strides [..]` apart; with `nz`: as `l0c` |
| `l1` | Nz: `[ceil(cols/C0)][rows up to 16][C0]` |
| `l0a` | zZ: `[ceil(rows/16)][ceil(cols/C0)][16][C0]` |
| `l0b` | nZ: `[ceil(rows/C0)][ceil(cols/16)][16 of cols][C0 of rows]` |
| `l0c` | Nz of accumulators: `[ceil(cols/16)][rows up to 16][16]` |
"""

from collections.abc import Sequence
from math import prod
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import element_name
from ..core.dtypes import itemsize

SPACES = ("gm", "l1", "l0a", "l0b", "l0c", "ub")
BLOCK_BYTES = 32
"""Unit of every on-chip address and stride."""
FRACTAL_ROWS = 16
"""Rows of a fractal, and columns of an accumulator fractal."""


def round_up(value: int, unit: int) -> int:
    """Smallest multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


def _ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
    return ArrayAttr(IntAttr(v) for v in values)


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A buffer: shape in elements, element type, memory space, layout.

    `nz` marks a fractal buffer in UB. `strides` (elements) exist in GM, and in UB for a sub-view
    whose rows are further apart than its columns need; `offset` (elements) exists in GM.
    """

    name = "tile.buffer"
    shape: ArrayAttr[IntAttr] = param_def()
    element_type: Attribute = param_def()
    space: StringAttr = param_def()
    layout: StringAttr = param_def()
    strides: ArrayAttr[IntAttr] = param_def()
    offset: IntAttr = param_def()

    @classmethod
    def of(
        cls,
        dims: Sequence[int],
        element_type: Attribute,
        space: str,
        *,
        layout: str = "nd",
        strides: Sequence[int] = (),
        offset: int = 0,
    ) -> Self:
        """Build the type from plain Python values."""
        return cls(
            _ints(dims),
            element_type,
            StringAttr(space),
            StringAttr(layout),
            _ints(strides),
            IntAttr(offset),
        )

    @property
    def dims(self) -> tuple[int, ...]:
        """Shape in elements."""
        return tuple(d.data for d in self.shape)

    @property
    def dtype(self) -> str:
        """Name of the element type (`f16`, `i32`, ...)."""
        return element_name(self.element_type)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return itemsize(self.dtype)

    @property
    def c0(self) -> int:
        """Elements in one 32-byte block."""
        return BLOCK_BYTES // self.itemsize

    @property
    def row_major_strides(self) -> tuple[int, ...]:
        """Stride of each axis in elements (GM only): the explicit ones, else row-major."""
        if self.strides.data:
            return tuple(s.data for s in self.strides)
        dims = self.dims
        return tuple(prod(dims[i + 1 :]) for i in range(len(dims)))

    @property
    def row_bytes(self) -> int:
        """Bytes from one row of a UB buffer by rows to the next."""
        if self.strides.data:
            return self.strides.data[0].data * self.itemsize
        return self.padded_cols * self.itemsize

    @property
    def padded_cols(self) -> int:
        """Columns of a UB buffer by rows, up to whole blocks of 32 bytes."""
        return round_up(self.dims[-1], self.c0)

    @property
    def nbytes(self) -> int:
        """Bytes of one slot of this buffer in its space, padding included."""
        dims, size, space = self.dims, self.itemsize, self.space.data
        if space == "gm":
            spans = ((d - 1) * s for d, s in zip(dims, self.row_major_strides, strict=True))
            return (sum(spans) + 1) * size if prod(dims) else 0
        if space == "ub" and self.layout.data == "nd":
            if not dims:
                return BLOCK_BYTES
            if self.strides.data:
                return (dims[0] - 1) * self.row_bytes + self.padded_cols * size
            return prod(dims[:-1]) * self.padded_cols * size
        rows, cols = dims
        row_unit, col_unit = {
            "l1": (FRACTAL_ROWS, self.c0),
            "l0a": (FRACTAL_ROWS, self.c0),
            "l0b": (self.c0, FRACTAL_ROWS),
            "l0c": (FRACTAL_ROWS, FRACTAL_ROWS),
            "ub": (FRACTAL_ROWS, FRACTAL_ROWS),
        }[space]
        return round_up(rows, row_unit) * round_up(cols, col_unit) * size

    def verify(self) -> None:
        """Check space, layout and strides against each other."""
        space, layout = self.space.data, self.layout.data
        if space not in SPACES:
            raise VerifyException(f"unknown memory space '{space}'; there are {', '.join(SPACES)}")
        if layout not in ("nd", "nz") or (layout == "nz" and space != "ub"):
            raise VerifyException(f"layout '{layout}' does not exist in {space}; only ub has 'nz'")
        if self.strides.data and len(self.strides) != len(self.shape):
            raise VerifyException("strides need one entry an axis")
        if self.strides.data and space != "gm":
            self._check_row_strides()
        if any(d < 0 for d in self.dims):
            raise VerifyException(f"a buffer has static sizes, not {list(self.dims)}")
        fractal = space in ("l1", "l0a", "l0b", "l0c") or layout == "nz"
        if fractal and len(self.shape) != 2:
            raise VerifyException(f"a fractal buffer in {space} has 2 axes, not {len(self.shape)}")

    def _check_row_strides(self) -> None:
        """Strides on chip are those of rows in UB, whole blocks of 32 bytes, without overlap."""
        if self.space.data != "ub" or self.layout.data != "nd" or len(self.shape) != 2:
            raise VerifyException("strides exist only in gm and for rows in ub")
        rows, cols = (s.data for s in self.strides)
        if cols != 1 or rows % self.c0 or rows < self.padded_cols:
            raise VerifyException(
                f"rows of {self.dims[1]} x {self.dtype} in ub are a multiple of {self.c0} elements "
                f"apart, {self.padded_cols} or more, and columns 1, not {[rows, cols]}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<128x64xf16, ub, nz>`."""
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            space = parser.parse_identifier()
            layout, strides, offset = "nd", [], 0
            while parser.parse_optional_punctuation(","):
                if parser.parse_optional_keyword("strides"):
                    strides = parser.parse_comma_separated_list(
                        parser.Delimiter.SQUARE, parser.parse_integer
                    )
                    continue
                if parser.parse_optional_keyword("offset"):
                    offset = parser.parse_integer()
                    continue
                layout = parser.parse_identifier()
        shape_attr = _ints([int(d) for d in shape])
        return (
            shape_attr,
            element_type,
            StringAttr(space),
            StringAttr(layout),
            _ints(strides),
            IntAttr(offset),
        )

    def print_parameters(self, printer: Printer) -> None:
        """Print `<128x64xf16, ub, nz>`."""
        with printer.in_angle_brackets():
            for dim in self.dims:
                printer.print_string(f"{dim}x")
            printer.print_attribute(self.element_type)
            printer.print_string(f", {self.space.data}")
            if self.layout.data != "nd":
                printer.print_string(f", {self.layout.data}")
            if self.strides.data:
                printer.print_string(f", strides {[s.data for s in self.strides]}")
            if self.offset.data:
                printer.print_string(f", offset {self.offset.data}")
