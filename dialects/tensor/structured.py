"""`StructuredOp`: what fusion, tiling and execution see of a computation over an iteration space.

The iteration space is a box of integer points `(d0, .., dn)`. At each point the scalar `body` reads
one element of each input and yields one value; an input's map says which element. The result's map
says where the value goes; points that differ only in `reduction` dims meet in the same element and
are joined by the combiner. No pass looks at the class of a structured op, only at this interface,
so a new op tiles, fuses and runs without a change anywhere else.

Maps are projected permutations for now: each result expression is a dim of its own or the constant
0 (an axis of size 1). A dim an input's map leaves out is a broadcast of that input.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Literal, Self, cast

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, StringAttr, TensorType
from xdsl.dialects.tensor import YieldOp
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import element_name, tensor_type
from ..core.dtypes import Array
from ..core.ops import Cost, NpucOp, tensor_bytes
from .bodies import arithmetic_ops, verify_body
from .evaluation import IterationPlan, evaluate_plan
from .syntax import parse_structured, print_structured

Iterator = Literal["parallel", "reduction"]
"""How the points along a dim relate: independent, or joined by the combiner."""

COMBINERS = ("add", "max", "min", "mul")
"""Combiners of reduction dims: associative and commutative, applied in f32 for 16-bit floats."""


def map_from_axes(rank: int, axes: Sequence[int | None]) -> AffineMap:
    """The map from `rank` dims whose i-th result is dim `axes[i]`, or the constant 0 for None."""
    exprs = (AffineExpr.constant(0) if a is None else AffineExpr.dimension(a) for a in axes)
    return AffineMap(rank, 0, tuple(exprs))


def axes_of_map(map: AffineMap) -> tuple[int | None, ...]:
    """Per result of a projected permutation: its dim, or None for the constant 0.

    Raises ValueError for any other expression.
    """
    axes: list[int | None] = []
    for expr in map.results:
        if isinstance(expr, AffineDimExpr):
            axes.append(expr.position)
        elif isinstance(expr, AffineConstantExpr) and expr.value == 0:
            axes.append(None)
        else:
            raise ValueError(f"{expr} is neither a dim nor the constant 0")
    return tuple(axes)


class StructuredOp(HasCanonicalizationPatternsInterface, NpucOp):
    """Base of every structured computation; see the module for what it means.

    `inputs` are ranked static tensors, `output` is the one result. A subclass adds only
    constraints (`verify_form`); it shares syntax, evaluation, cost and canonicalisation:

    ```mlir
    %r = tensor.reduce(%x) maps [affine_map<(d0, d1) -> (d0, d1)>] -> affine_map<(d0, d1) -> (d0)>
        iterators [parallel, reduction] combine max {
    ^bb0(%a : f32):
      tensor.yield %a : f32
    } : (tensor<4x8xf32>) -> tensor<4xf32>
    ```
    """

    FREE_INPUTS: ClassVar[bool] = True
    """Whether canonicalisation may change how many inputs there are."""

    inputs = var_operand_def(TensorType)
    output = result_def(TensorType)
    indexing_maps = prop_def(ArrayAttr[AffineMapAttr])
    iterator_types = prop_def(ArrayAttr[StringAttr])
    combine = opt_prop_def(StringAttr)
    body_region = region_def("single_block")
    traits = traits_def(IsolatedFromAbove())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        maps: Sequence[AffineMap],
        iterators: Sequence[str],
        body: Region | Block,
        result_type: Attribute,
        combiner: str | None = None,
    ):
        """Build the op; `maps` has one map per input and the result's map last.

        `iterators` are "parallel" or "reduction" per dim.
        """
        super().__init__(
            operands=[list(inputs)],
            result_types=[result_type],
            properties={
                "indexing_maps": ArrayAttr(AffineMapAttr(m) for m in maps),
                "iterator_types": ArrayAttr(StringAttr(i) for i in iterators),
                "combine": None if combiner is None else StringAttr(combiner),
            },
            regions=[Region(body) if isinstance(body, Block) else body],
        )

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """The rewrites every structured op shares; see `canonicalize.py`."""
        from .canonicalize import STRUCTURED_PATTERNS

        return STRUCTURED_PATTERNS

    @property
    def maps(self) -> tuple[AffineMap, ...]:
        """One map per input, then the result's map."""
        return tuple(m.data for m in self.indexing_maps)

    @property
    def input_maps(self) -> tuple[AffineMap, ...]:
        """One map per input."""
        return self.maps[:-1]

    @property
    def result_map(self) -> AffineMap:
        """Where the value of a point goes."""
        return self.indexing_maps.data[-1].data

    @property
    def iterators(self) -> tuple[Iterator, ...]:
        """The kind of each dim of the iteration space."""
        return tuple(cast(Iterator, i.data) for i in self.iterator_types)

    @property
    def combiner(self) -> str | None:
        """What joins the points along reduction dims; None without such dims."""
        return None if self.combine is None else self.combine.data

    @property
    def body(self) -> Block:
        """The scalar body: one argument per input, ends in `tensor.yield` of one value."""
        return self.body_region.block

    @property
    def yielded(self) -> SSAValue:
        """The value the body yields (mapped, or combined along reduction dims)."""
        last = self.body.last_op
        assert isinstance(last, YieldOp)
        return last.arguments[0]

    def extents(self) -> tuple[int, ...]:
        """Size of each dim of the iteration space."""
        sizes: dict[int, int] = {}
        for value, map in zip((*self.inputs, self.output), self.maps, strict=True):
            for dim, size in zip(axes_of_map(map), tensor_type(value).get_shape(), strict=True):
                if dim is not None:
                    sizes.setdefault(dim, size)
        return tuple(sizes[d] for d in range(len(self.iterator_types)))

    def set_inputs(self, inputs: Sequence[SSAValue], maps: Sequence[AffineMap]) -> None:
        """Read other values in place: one map per input; the body has to fit already."""
        self.operands = list(inputs)
        self.indexing_maps = ArrayAttr(AffineMapAttr(m) for m in (*maps, self.result_map))

    def infer(self) -> Sequence[Attribute]:
        """Result type: the result map's dims (constant axes: 1) of the yielded type."""
        extents = self.extents()
        axes = axes_of_map(self.result_map)
        return [TensorType(self.yielded.type, [1 if a is None else extents[a] for a in axes])]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """Evaluate the body once over whole arrays, then reduce; contractions go through BLAS."""
        plan = IterationPlan(
            body=self.body,
            input_axes=tuple(axes_of_map(m) for m in self.input_maps),
            result_axes=axes_of_map(self.result_map),
            extents=self.extents(),
            reductions=tuple(d for d, i in enumerate(self.iterators) if i == "reduction"),
            combiner=self.combiner,
            dtype=element_name(tensor_type(self.output).element_type),
        )
        return [evaluate_plan(plan, args)]

    def cost(self) -> Cost:
        """Arithmetic of the body and combiner at every point; every input read once."""
        per_point = arithmetic_ops(self.body) + (self.combiner is not None)
        values = dict.fromkeys(self.inputs)
        return Cost(
            flops=per_point * prod(self.extents()),
            bytes_read=sum(tensor_bytes(v.type) for v in values),
            bytes_written=tensor_bytes(self.output.type),
        )

    def verify_form(self) -> None:
        """Constraints of a subclass on top of the shared ones; raise VerifyException."""

    def verify_(self) -> None:
        """Check maps, extents, iterators, combiner and body, then the inferred type."""
        self._verify_maps()
        self._verify_extents()
        self._verify_iterators()
        verify_body(
            self.body,
            [tensor_type(v).element_type for v in self.inputs],
            tensor_type(self.output).element_type,
        )
        self.verify_form()
        super().verify_()

    def _verify_maps(self) -> None:
        maps, values = self.maps, (*self.inputs, self.output)
        if len(maps) != len(values):
            raise VerifyException(
                f"{len(values) - 1} inputs and a result need {len(values)} maps, got {len(maps)}"
            )
        rank = len(self.iterator_types)
        for map, value in zip(maps, values, strict=True):
            if map.num_dims != rank or map.num_symbols:
                raise VerifyException(f"map {map} is not over the {rank} dims of the iterators")
            shape = tensor_type(value).get_shape()
            if len(map.results) != len(shape):
                raise VerifyException(f"map {map} has not the {len(shape)} axes of {value.type}")
            try:
                dims = [a for a in axes_of_map(map) if a is not None]
            except ValueError as error:
                raise VerifyException(f"map {map} is no projected permutation: {error}") from None
            if len(set(dims)) != len(dims):
                raise VerifyException(f"map {map} uses a dim twice")

    def _verify_extents(self) -> None:
        sizes: dict[int, int] = {}
        for map, value in zip(self.maps, (*self.inputs, self.output), strict=True):
            for axis, size in zip(axes_of_map(map), tensor_type(value).get_shape(), strict=True):
                if size < 0:
                    raise VerifyException(f"{value.type} is not static")
                if axis is None and size != 1:
                    raise VerifyException(f"map {map} has 0 for an axis of size {size}, not 1")
                if axis is not None and sizes.setdefault(axis, size) != size:
                    raise VerifyException(f"dim d{axis} is both {sizes[axis]} and {size}")
        unknown = set(range(len(self.iterator_types))) - set(sizes)
        if unknown:
            raise VerifyException(f"no map uses dim d{min(unknown)}, so its size is unknown")

    def _verify_iterators(self) -> None:
        in_result = {a for a in axes_of_map(self.result_map) if a is not None}
        for dim, kind in enumerate(self.iterators):
            if kind not in ("parallel", "reduction"):
                raise VerifyException(f"iterator '{kind}' is not 'parallel' or 'reduction'")
            if (kind == "parallel") != (dim in in_result):
                where = "is in" if dim in in_result else "is not in"
                raise VerifyException(f"dim d{dim} is a {kind} dim but {where} the result's map")
        if ("reduction" in self.iterators) != (self.combiner is not None):
            raise VerifyException("a combiner and reduction dims only exist together")
        if self.combiner is not None and self.combiner not in COMBINERS:
            raise VerifyException(f"combiner '{self.combiner}' is not one of {list(COMBINERS)}")

    def print(self, printer: Printer) -> None:
        """Print `(inputs) maps [..] -> map iterators [..] combine c {body} : types`."""
        fields = {"iterators": f"[{', '.join(self.iterators)}]"}
        if self.combiner is not None:
            fields["combine"] = self.combiner
        print_structured(self, self.indexing_maps, fields, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse what `print` writes."""
        operands, result_type, properties, attributes, body = parse_structured(parser)
        return cls.create(
            operands=operands,
            result_types=[result_type],
            properties=properties,
            attributes=attributes,
            regions=[body],
        )
