"""Convolution."""

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.attributes import tensor_of
from ..core.dtypes import Array
from ..core.kernels.cast import cast
from ..core.kernels.elementwise import add
from ..core.kernels.windows import Windows, convolution
from ..core.ops import Cost
from .base import ContractionOp, contraction_element, dtype, same_element, shaped, static_shape
from .layout import (
    CHANNELS_FIRST,
    WindowedOp,
    filter_order,
    from_last,
    image_of,
    output_sizes,
    to_last,
    window_properties,
    windows_of,
)


@irdl_op_definition
class ConvOp(WindowedOp, ContractionOp):
    """Every window of the images times every filter, summed in f32, plus a bias per filter.

    The channels are split into `groups` equal runs and so are the filters; a filter sees the run of
    channels at the place of its own run. Padding is zeros. `pads` are those before each spatial
    axis, then those after. The bias has the element type of the result or of the factors; it is
    added in f32, and the result is rounded once.

    ```mlir
    %x = "test.op"() : () -> tensor<1x3x8x8xf16>
    %w = "test.op"() : () -> tensor<16x3x3x3xf16>
    %b = "test.op"() : () -> tensor<16xf32>
    %y = graph.conv %x, %w add %b strides [2, 2] dilations [1, 1] pads [1, 1, 1, 1] groups 1
      layout "channels_first"
      : (tensor<1x3x8x8xf16>, tensor<16x3x3x3xf16>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
    ```
    """

    name = "graph.conv"

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    groups_attr = prop_def(IntegerAttr.constr(i64), prop_name="groups")
    out = result_def(TensorType)
    assembly_format = (
        "$x `,` $w (`add` $bias^)? `strides` $strides `dilations` $dilations `pads` $pads "
        "`groups` $groups `layout` $layout attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        x: SSAValue,
        w: SSAValue,
        bias: SSAValue | None = None,
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
        groups: int = 1,
        layout: str = CHANNELS_FIRST,
        out: str | None = None,
    ) -> None:
        """The convolution with the element type named `out`, by default that of the factors."""
        images, filters = static_shape(x), static_shape(w)
        windows = windows_of(taps_of(filters, layout), strides, dilations, pads)
        shape = convolution_shape(images, filters, windows, groups, layout)
        super().__init__(
            operands=[x, w, bias],
            properties={
                **window_properties(strides, dilations, pads, layout),
                "groups": IntegerAttr(groups, i64),
            },
            result_types=[tensor_of(out or dtype(x), shape)],
        )

    @property
    def groups(self) -> int:
        """Into how many runs channels and filters are split."""
        return self.groups_attr.value.data

    @property
    def window(self) -> tuple[int, ...]:
        """The taps of a filter, per spatial axis."""
        return taps_of(static_shape(self.w), self.layout)

    @property
    def depth(self) -> int:
        """The channels that a filter sees."""
        return static_shape(self.w)[1 if self.layout == CHANNELS_FIRST else -2]

    def infer(self) -> Sequence[Attribute]:
        """Images of as many channels as there are filters, of the sizes that the windows leave."""
        result = contraction_element(self.x, self.w, self.out)
        if self.bias is not None and dtype(self.bias) not in (dtype(self.out), dtype(self.x)):
            same_element(self.out, self.bias)
        filters = static_shape(self.w)
        shape = convolution_shape(
            static_shape(self.x), filters, self.windows, self.groups, self.layout
        )
        count = image_of(shape, self.layout).channels
        if self.bias is not None and static_shape(self.bias) != (count,):
            raise VerifyException(
                f"the bias has shape {list(static_shape(self.bias))}, but there are {count} filters"
            )
        return [shaped(shape, result)]

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The sum in f32 (f64 for f64 factors), rounded once to the result's type."""
        w = args[1]
        if self.layout == CHANNELS_FIRST:
            w = w.transpose(filter_order(w.ndim))
        total = convolution(to_last(args[0], self.layout), w, self.windows, self.groups)
        if len(args) > 2:
            total = add(total, args[2].astype(total.dtype))
        return [from_last(cast(total, dtype(self.out)), self.layout)]

    def cost(self) -> Cost:
        """Two operations per product, padding included, and one per element for the bias."""
        taps = math.prod(self.window) * self.depth
        extra = int(self.bias is not None)
        return Cost((2 * taps + extra) * math.prod(static_shape(self.out)), *self.traffic())


def taps_of(filters: Sequence[int], layout: str) -> tuple[int, ...]:
    """The spatial sizes of filters."""
    return tuple(filters[2:] if layout == CHANNELS_FIRST else filters[:-2])


def convolution_shape(
    images: Sequence[int], filters: Sequence[int], windows: Windows, groups: int, layout: str
) -> tuple[int, ...]:
    """The shape of a convolution; `VerifyException` if the operands do not fit each other."""
    image = image_of(images, layout)
    if len(filters) != len(images):
        raise VerifyException(
            f"filters {list(filters)} must have as many axes as the images {list(images)}"
        )
    first = layout == CHANNELS_FIRST
    count, depth = (filters[0], filters[1]) if first else (filters[-1], filters[-2])
    if groups < 1 or count % groups or image.channels % groups:
        raise VerifyException(
            f"{image.channels} channels and {count} filters cannot be split into {groups} groups"
        )
    if depth * groups != image.channels:
        raise VerifyException(
            f"filters see {depth} channels in each of {groups} groups, but the images have "
            f"{image.channels}"
        )
    return image._replace(channels=count, sizes=output_sizes(image.sizes, windows)).shape(layout)
