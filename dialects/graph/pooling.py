"""Pooling: windows of each channel reduced to their maximum or average."""

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import Array, to_numpy
from ..core.kernels.cast import cast
from ..core.kernels.elementwise import div
from ..core.kernels.reduce import reduce_add, reduce_max
from ..core.kernels.windows import Windows, elements_in, pool_average, pool_max
from ..core.ops import Cost
from .base import accumulator, dtype, element, float_element, shaped, static_shape
from .layout import (
    CHANNELS_FIRST,
    ImageOp,
    WindowedOp,
    from_last,
    image_of,
    ints,
    output_sizes,
    to_last,
    window_properties,
    windows_of,
)


class PoolOp(WindowedOp):
    """An operator that makes one element of each window of each channel."""

    x = operand_def(TensorType)
    window_attr = prop_def(DenseArrayBase.constr(i64), prop_name="window")
    out = result_def(TensorType)

    @property
    def window(self) -> tuple[int, ...]:
        """Taps of a window, per spatial axis."""
        return self.window_attr.get_values()

    def infer(self) -> Sequence[Attribute]:
        """Images of the sizes that the windows leave, with the operand's element type."""
        shape = pooled_shape(static_shape(self.x), self.windows, self.layout)
        return [shaped(shape, element(self.x))]

    def cost(self) -> Cost:
        """One operation per tap."""
        taps = math.prod(self.window)
        return Cost(taps * math.prod(static_shape(self.out)), *self.traffic())


def pooled_shape(shape: Sequence[int], windows: Windows, layout: str) -> tuple[int, ...]:
    """The shape of a pooled tensor; `VerifyException` if the windows do not fit it.

    A window must meet an element of the tensor, as padding has no maximum and no mean.
    """
    image = image_of(shape, layout)
    sizes = output_sizes(image.sizes, windows)
    none = (0,) * len(sizes)
    if not elements_in(windows, image.sizes, none, none).all():
        raise VerifyException(
            f"a window lies on padding alone: sizes {list(image.sizes)}, window "
            f"{list(windows.window)}, pads {[*windows.before, *windows.after]}"
        )
    return image._replace(sizes=sizes).shape(layout)


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """The maximum of each window of each channel; NaN if one is NaN. Padding is never chosen.

    ```mlir
    %x = "test.op"() : () -> tensor<1x8x8x16xf32>
    %y = graph.max_pool %x window [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
      layout "channels_last" : tensor<1x8x8x16xf32> -> tensor<1x4x4x16xf32>
    ```
    """

    name = "graph.max_pool"
    assembly_format = (
        "$x `window` $window `strides` $strides `dilations` $dilations `pads` $pads "
        "`layout` $layout attr-dict `:` type($x) `->` type($out)"
    )

    def __init__(
        self,
        x: SSAValue,
        window: Sequence[int],
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
        layout: str = CHANNELS_FIRST,
    ) -> None:
        """The maxima of the windows of `x`."""
        windows = windows_of(window, strides, dilations, pads)
        shape = pooled_shape(static_shape(x), windows, layout)
        properties = window_properties(strides, dilations, pads, layout)
        super().__init__(
            operands=[x],
            properties={**properties, "window": ints(window)},
            result_types=[shaped(shape, element(x))],
        )

    def infer(self) -> Sequence[Attribute]:
        """Images of the sizes that the windows leave, with the operand's element type."""
        if dtype(self.x) == "bool":
            raise VerifyException("there is no maximum of bool; cast to i32 first")
        return super().infer()

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The maxima."""
        return [from_last(pool_max(to_last(args[0], self.layout), self.windows), self.layout)]


@irdl_op_definition
class AveragePoolOp(PoolOp):
    """The mean of each window of each channel, computed in f32 and rounded once.

    Padding adds nothing to a sum. It counts as elements only under `count_include_pad`, except the
    last `uncounted` elements after each spatial axis, which are there to complete a last window
    (what frameworks call ceil mode).

    ```mlir
    %x = "test.op"() : () -> tensor<1x8x8x16xf32>
    %y = graph.average_pool %x window [3, 3] strides [2, 2] dilations [1, 1] pads [1, 1, 2, 2]
      count_include_pad uncounted [1, 1]
      layout "channels_last" : tensor<1x8x8x16xf32> -> tensor<1x5x5x16xf32>
    ```
    """

    name = "graph.average_pool"

    count_attr = opt_prop_def(UnitAttr, prop_name="count_include_pad")
    uncounted_attr = opt_prop_def(DenseArrayBase.constr(i64), prop_name="uncounted")
    assembly_format = (
        "$x `window` $window `strides` $strides `dilations` $dilations `pads` $pads "
        "(`count_include_pad` $count_include_pad^)? (`uncounted` $uncounted^)? "
        "`layout` $layout attr-dict `:` type($x) `->` type($out)"
    )

    def __init__(
        self,
        x: SSAValue,
        window: Sequence[int],
        *,
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
        count_include_pad: bool = False,
        uncounted: Sequence[int] = (),
        layout: str = CHANNELS_FIRST,
    ) -> None:
        """The means of the windows of `x`."""
        windows = windows_of(window, strides, dilations, pads)
        shape = pooled_shape(static_shape(x), windows, layout)
        super().__init__(
            operands=[x],
            properties={
                **window_properties(strides, dilations, pads, layout),
                "window": ints(window),
                "count_include_pad": UnitAttr() if count_include_pad else None,
                "uncounted": ints(uncounted) if any(uncounted) else None,
            },
            result_types=[shaped(shape, element(x))],
        )

    @property
    def count_include_pad(self) -> bool:
        """Whether padding counts as elements."""
        return self.count_attr is not None

    @property
    def uncounted(self) -> tuple[int, ...]:
        """Padding elements after each spatial axis that do not count in any case."""
        if self.uncounted_attr is None:
            return (0,) * len(self.strides)
        return self.uncounted_attr.get_values()

    def counts(self) -> Array:
        """By how many elements each window's sum is divided: [spatial sizes of the result], i64."""
        rank = len(self.strides)
        before, after = (0,) * rank, (0,) * rank
        if self.count_include_pad:
            before = self.pads[:rank]
            after = tuple(a - b for a, b in zip(self.pads[rank:], self.uncounted, strict=True))
        sizes = image_of(static_shape(self.x), self.layout).sizes
        return elements_in(self.windows, sizes, before, after)

    def infer(self) -> Sequence[Attribute]:
        """Images of the sizes that the windows leave, with the operand's element type."""
        float_element(self.x)
        after = self.windows.after
        if self.uncounted_attr is not None and (
            not self.count_include_pad
            or len(self.uncounted) != len(after)
            or any(not 0 <= n <= pad for n, pad in zip(self.uncounted, after, strict=True))
        ):
            raise VerifyException(
                f"uncounted {list(self.uncounted)} is no part of the padding after the axes that "
                f"counts, which is {list(after) if self.count_include_pad else 'none'}"
            )
        return super().infer()

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The means."""
        x = to_last(args[0], self.layout)
        return [from_last(pool_average(x, self.windows, self.counts()), self.layout)]


class GlobalPoolOp(ImageOp):
    """An operator that makes one element of each channel of each image."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    assembly_format = "$x `layout` $layout attr-dict `:` type($x) `->` type($out)"

    def __init__(self, x: SSAValue, layout: str = CHANNELS_FIRST) -> None:
        """The pooled channels of `x`."""
        super().__init__(
            operands=[x],
            properties={"layout": StringAttr(layout)},
            result_types=[shaped(global_shape(static_shape(x), layout), element(x))],
        )

    def infer(self) -> Sequence[Attribute]:
        """The operand's type with spatial sizes 1."""
        return [shaped(global_shape(static_shape(self.x), self.layout), element(self.x))]

    def rows(self, array: Array) -> Array:
        """The elements of each channel in a row: [images, channels, elements]."""
        last = to_last(array, self.layout)
        return np.moveaxis(last.reshape(last.shape[0], -1, last.shape[-1]), 1, 2)

    def cost(self) -> Cost:
        """One operation per element."""
        return Cost(math.prod(static_shape(self.x)), *self.traffic())


def global_shape(shape: Sequence[int], layout: str) -> tuple[int, ...]:
    """The shape with spatial sizes 1; `VerifyException` for a wrong rank, or no elements."""
    image = image_of(shape, layout)
    if not all(image.sizes):
        raise VerifyException(f"a tensor of shape {list(shape)} has no elements to pool")
    return image._replace(sizes=(1,) * len(image.sizes)).shape(layout)


@irdl_op_definition
class GlobalMaxPoolOp(GlobalPoolOp):
    """The maximum of each channel of each image; NaN if one is NaN. Spatial sizes become 1.

    ```mlir
    %x = "test.op"() : () -> tensor<1x7x7x16xf32>
    %y = graph.global_max_pool %x layout "channels_last"
      : tensor<1x7x7x16xf32> -> tensor<1x1x1x16xf32>
    ```
    """

    name = "graph.global_max_pool"

    def infer(self) -> Sequence[Attribute]:
        """The pooled shape with the operand's element type."""
        if dtype(self.x) == "bool":
            raise VerifyException("there is no maximum of bool; cast to i32 first")
        return super().infer()

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The maxima."""
        return [reduce_max(self.rows(args[0])).reshape(static_shape(self.out))]


@irdl_op_definition
class GlobalAveragePoolOp(GlobalPoolOp):
    """The mean of each channel of each image, computed in f32 and rounded once.

    Spatial sizes become 1.

    ```mlir
    %x = "test.op"() : () -> tensor<1x7x7x16xf32>
    %y = graph.global_average_pool %x layout "channels_last"
      : tensor<1x7x7x16xf32> -> tensor<1x1x1x16xf32>
    ```
    """

    name = "graph.global_average_pool"

    def infer(self) -> Sequence[Attribute]:
        """The pooled shape with the operand's element type."""
        float_element(self.x)
        return super().infer()

    def evaluate(self, *args: Array) -> Sequence[Array]:
        """The means."""
        rows = self.rows(args[0])
        total = reduce_add(rows.astype(to_numpy(accumulator(dtype(self.x)))))
        mean = div(total, np.full((), rows.shape[-1], total.dtype))
        return [cast(mean, dtype(self.out)).reshape(static_shape(self.out))]
