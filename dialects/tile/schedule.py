"""`#tile.schedule`: how a group is cut into tiles. Made by one pass, applied by another."""

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class ScheduleAttr(ParametrizedAttribute):
    """Tile sizes and core count of one kernel, with the reason for them.

    ```mlir
    #tile.schedule<tiles [128, 128, 256], steps [128, 128, 128], cores 8, cycles 4096, reason "...">
    ```

    * `tiles`: elements of each dim of the group's iteration space in one tile (L1 for a
      contraction, UB for vector work).
    * `steps`: elements of each dim in one mmad; a step divides its tile into equal parts. Equal to
      `tiles` where there is no contraction.
    * `cores`: how many cores share the tiles.
    * `cycles`: what the kernel is expected to take, without its launch; left out where nobody
      has estimated it, as in a schedule written by hand.
    """

    name = "tile.schedule"
    tiles: ArrayAttr[IntAttr] = param_def()
    steps: ArrayAttr[IntAttr] = param_def()
    cores: IntAttr = param_def()
    cycles: IntAttr | NoneAttr = param_def()
    reason: StringAttr = param_def()

    @classmethod
    def of(
        cls,
        tiles: Sequence[int],
        steps: Sequence[int],
        cores: int,
        reason: str,
        cycles: int | None = None,
    ) -> Self:
        """Build from plain Python values."""
        return cls(
            ArrayAttr(IntAttr(t) for t in tiles),
            ArrayAttr(IntAttr(s) for s in steps),
            IntAttr(cores),
            NoneAttr() if cycles is None else IntAttr(cycles),
            StringAttr(reason),
        )

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """Elements of each dim in one tile."""
        return tuple(t.data for t in self.tiles)

    @property
    def step_sizes(self) -> tuple[int, ...]:
        """Elements of each dim in one mmad."""
        return tuple(s.data for s in self.steps)

    @property
    def predicted(self) -> int | None:
        """Cycles the kernel is expected to take, without its launch; None where unknown."""
        return self.cycles.data if isinstance(self.cycles, IntAttr) else None

    def verify(self) -> None:
        """Sizes are positive and every step divides its tile; cycles are not negative."""
        if len(self.tiles) != len(self.steps):
            raise VerifyException("a schedule has one step a tile size")
        for tile, step in zip(self.tile_sizes, self.step_sizes, strict=True):
            if step < 1 or tile < 1 or tile % step:
                raise VerifyException(f"step {step} does not divide tile {tile}")
        if self.cores.data < 1:
            raise VerifyException(f"a kernel runs on at least one core, not {self.cores.data}")
        if self.predicted is not None and self.predicted < 0:
            raise VerifyException(f"a kernel takes no {self.predicted} cycles")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<tiles [..], steps [..], cores n, cycles n, reason "...">`, `cycles` optional."""

        def sizes(keyword: str) -> ArrayAttr[IntAttr]:
            parser.parse_keyword(keyword)
            values = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, parser.parse_integer
            )
            parser.parse_punctuation(",")
            return ArrayAttr(IntAttr(v) for v in values)

        with parser.in_angle_brackets():
            tiles, steps = sizes("tiles"), sizes("steps")
            parser.parse_keyword("cores")
            cores = IntAttr(parser.parse_integer())
            parser.parse_punctuation(",")
            cycles: IntAttr | NoneAttr = NoneAttr()
            if parser.parse_optional_keyword("cycles"):
                cycles = IntAttr(parser.parse_integer())
                parser.parse_punctuation(",")
            parser.parse_keyword("reason")
            return (tiles, steps, cores, cycles, StringAttr(parser.parse_str_literal()))

    def print_parameters(self, printer: Printer) -> None:
        """Print `<tiles [..], steps [..], cores n, cycles n, reason "...">`, `cycles` if known."""
        estimate = "" if self.predicted is None else f"cycles {self.predicted}, "
        with printer.in_angle_brackets():
            printer.print_string(
                f"tiles {list(self.tile_sizes)}, steps {list(self.step_sizes)}, "
                f"cores {self.cores.data}, {estimate}reason "
            )
            printer.print_string_literal(self.reason.data)
