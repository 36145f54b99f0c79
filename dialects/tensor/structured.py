"""`StructuredOp`: what fusion, tiling and execution see of a computation over an iteration space.

The iteration space is a box of integer points `(d0, .., dn)`. At each point the scalar `body` reads
one element of each input and yields one value; an input's map says which element. The result's map
says where the value goes; points that differ only in `reduction` dims meet in the same element and
are joined by the combiner. No pass looks at the class of a structured op, only at this interface,
so a new op tiles, fuses and runs without a change anywhere else.

The result's map is a projected permutation: each expression is a dim of its own or the constant 0
(an axis of size 1). So are the maps of inputs, but for axes that are read along a *window*,
`d_point * stride + d_tap * dilation`. A dim an input's map leaves out is a broadcast of that input.

The axes of an input that windows read may have padding (`pads`). A window's coordinates are those
of the padded axis; what is read from the padding is 0 in a sum of products and without a combiner,
else the combiner's neutral element. Elements at the end that no window reaches are not read.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Literal, Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IntegerType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.tensor import YieldOp
from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
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
from .axes import (
    Axis,
    Window,
    axes_of_map,
    dims_of_axes,
    input_axes_of_map,
    map_from_axes,
    pads_of_axes,
)
from .bodies import arithmetic_ops, verify_body
from .evaluation import IterationPlan, evaluate_plan
from .syntax import parse_structured, print_structured
from .verification import verify_extents, verify_iterators, verify_maps

__all__ = [
    "Axis",
    "Iterator",
    "Pads",
    "StructuredOp",
    "Window",
    "axes_of_map",
    "dims_of_axes",
    "map_from_axes",
    "pads_of_axes",
]

Iterator = Literal["parallel", "reduction"]
"""How the points along a dim relate: independent, or joined by the combiner."""

Pads = Sequence[Sequence[tuple[int, int]]]
"""Per input the padding (before, after) of each axis, in elements; empty for an input without."""


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
    pads_attr = opt_prop_def(ArrayAttr.constr(DenseArrayBase.constr(i64)), prop_name="pads")
    bounds_attr = opt_prop_def(DenseArrayBase.constr(i64), prop_name="bounds")
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
        pads: Pads | None = None,
        bounds: Sequence[int] | None = None,
    ):
        """Build the op; `maps` has one map per input and the result's map last.

        `iterators` are "parallel" or "reduction" per dim. `bounds` are the sizes of all dims, given
        only when some dim has no axis of its own in any map.
        """
        super().__init__(
            operands=[list(inputs)],
            result_types=[result_type],
            properties={
                "indexing_maps": ArrayAttr(AffineMapAttr(m) for m in maps),
                "iterator_types": ArrayAttr(StringAttr(i) for i in iterators),
                "combine": None if combiner is None else StringAttr(combiner),
                "pads": _pads_attribute(pads),
                "bounds": None if bounds is None else DenseArrayBase.from_list(i64, bounds),
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

    @property
    def pads(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per input the padding (before, after) of each axis; empty for an input without."""
        if self.pads_attr is None:
            return ((),) * len(self.inputs)
        flat = [pads.get_values() for pads in self.pads_attr]
        return tuple(tuple(zip(sizes[::2], sizes[1::2], strict=True)) for sizes in flat)

    @property
    def bounds(self) -> tuple[int, ...] | None:
        """The sizes of all dims, where some dim has no axis of its own; else None."""
        if self.bounds_attr is None:
            return None
        return self.bounds_attr.get_values()

    @property
    def has_windows(self) -> bool:
        """Whether some axis of some input is read along a window."""
        return any(
            isinstance(a, Window) for i in range(len(self.inputs)) for a in self.input_axes(i)
        )

    def input_axes(self, index: int) -> tuple[Axis, ...]:
        """What each axis of input `index` is read along; ValueError if its map has another form."""
        return input_axes_of_map(self.input_maps[index], self.pads[index])

    def extents(self) -> tuple[int, ...]:
        """Size of each dim of the iteration space."""
        sizes = self.bounds
        if sizes is None:
            known = self.plain_sizes()
            sizes = tuple(known[d] for d in range(len(self.iterator_types)))
        return sizes

    def plain_sizes(self) -> dict[int, int]:
        """The sizes of the dims that have an axis of their own in some map.

        Raises VerifyException if two axes disagree.
        """
        axes = [self.input_axes(index) for index in range(len(self.inputs))]
        axes.append(axes_of_map(self.result_map))
        sizes: dict[int, int] = {}
        for value, entries in zip((*self.inputs, self.output), axes, strict=True):
            for axis, size in zip(entries, tensor_type(value).get_shape(), strict=True):
                if isinstance(axis, int) and sizes.setdefault(axis, size) != size:
                    raise VerifyException(f"dim d{axis} is both {sizes[axis]} and {size}")
        return sizes

    def set_inputs(
        self, inputs: Sequence[SSAValue], maps: Sequence[AffineMap], pads: Pads | None = None
    ) -> None:
        """Read other values in place: one map per input; body and bounds have to fit already."""
        self.operands = list(inputs)
        self.indexing_maps = ArrayAttr(AffineMapAttr(m) for m in (*maps, self.result_map))
        self.pads_attr = _pads_attribute(pads)

    def infer(self) -> Sequence[Attribute]:
        """Result type: the result map's dims (constant axes: 1) of the yielded type."""
        extents = self.extents()
        axes = axes_of_map(self.result_map)
        return [TensorType(self.yielded.type, [1 if a is None else extents[a] for a in axes])]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """Evaluate the body once over whole arrays, then reduce; contractions go through BLAS."""
        plan = IterationPlan(
            body=self.body,
            input_axes=tuple(self.input_axes(index) for index in range(len(self.inputs))),
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
        verify_maps(self)
        verify_extents(self)
        verify_iterators(self)
        verify_body(
            self.body,
            [tensor_type(v).element_type for v in self.inputs],
            tensor_type(self.output).element_type,
        )
        self.verify_form()
        super().verify_()

    def print(self, printer: Printer) -> None:
        """Print `(inputs) maps [..] -> map iterators [..] combine c pads [..] {body} : types`."""
        fields = {"iterators": f"[{', '.join(self.iterators)}]"}
        if self.combiner is not None:
            fields["combine"] = self.combiner
        if self.pads_attr is not None:
            fields["pads"] = str([[list(pair) for pair in entry] for entry in self.pads])
        if self.bounds is not None:
            fields["bounds"] = str(list(self.bounds))
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


def _pads_attribute(pads: Pads | None) -> ArrayAttr[DenseArrayBase[IntegerType]] | None:
    """Flat lists before, after, before, ..; None where nothing is padded."""
    flat = [[size for pair in entry for size in pair] for entry in pads or ()]
    if not any(map(any, flat)):
        return None
    return ArrayAttr(DenseArrayBase.from_list(i64, sizes if any(sizes) else []) for sizes in flat)
