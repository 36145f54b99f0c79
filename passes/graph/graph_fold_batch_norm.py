"""The pass `graph-fold-batch-norm`."""

from dataclasses import dataclass
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.core.constants import constant_array, constant_op
from ...dialects.core.dtypes import Array, to_numpy
from ...dialects.core.errors import UnsupportedError
from ...dialects.core.kernels.cast import cast
from ...dialects.core.locations import where
from ...dialects.core.origins import move_location, move_origins, origins_of
from ...dialects.core.store import Store
from ...dialects.graph.base import accumulator, dtype, static_shape
from ...dialects.graph.convolution import ConvOp
from ...dialects.graph.elementwise import AddOp, MulOp
from ...dialects.graph.layout import CHANNELS_FIRST
from ...dialects.graph.normalization import BatchNormOp, affine
from ..base import NpucPass


@dataclass(frozen=True)
class GraphFoldBatchNormPass(NpucPass):
    """Compute what batch norms do to a channel once, at compile time.

    A batch norm of a convolution that nothing else uses goes into its filters and its bias, which
    become new weights. Any other becomes a product and a sum with constants.

    Before:
    ```mlir
    func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
      %one = core.constant dense<"0x0000803F"> : tensor<2xf32>
      %two = core.constant dense<"0x00000040"> : tensor<2xf32>
      %four = core.constant dense<"0x00008040"> : tensor<2xf32>
      %0 = graph.batch_norm %x scale %four bias %one mean %two variance %four
        epsilon 0.000000e+00 : f32 channel_axis 1
        : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
        -> tensor<1x2x4xf32>
      func.return %0 : tensor<1x2x4xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
      %one = core.constant dense<"0x0000803F"> : tensor<2xf32>
      %two = core.constant dense<"0x00000040"> : tensor<2xf32>
      %four = core.constant dense<"0x00008040"> : tensor<2xf32>
      %factor = core.constant dense<"0x00000040"> : tensor<2x1xf32>
      %0 = graph.mul %x, %factor : tensor<1x2x4xf32>, tensor<2x1xf32> -> tensor<1x2x4xf32>
      %offset = core.constant dense<"0x000040C0"> : tensor<2x1xf32>
      %1 = graph.add %0, %offset : tensor<1x2x4xf32>, tensor<2x1xf32> -> tensor<1x2x4xf32>
      func.return %1 : tensor<1x2x4xf32>
    }
    ```
    Leaves alone: everything else, also the old weights, which `graph-canonicalize` removes.
    Assumes: parameters are constants; casts of them are folded (`graph-canonicalize` has run).
    Factor and offset are computed in f32 (f64 for f64) and rounded once to the type they replace.
    """

    name = "graph-fold-batch-norm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace every batch norm; `UnsupportedError` for parameters that are not constants."""
        store = self.context(ctx).store
        for inner in [*op.walk()]:
            if isinstance(inner, BatchNormOp):
                self._replace(inner, store)

    def _replace(self, op: BatchNormOp, store: Store) -> None:
        channel = _affine(op, store)
        conv = op.x.owner
        if isinstance(conv, ConvOp) and (constants := _constants(conv, op, store)) is not None:
            for origin in origins_of(conv.out):
                self.lose(origin, "the batch norm behind it is folded into its filters")
            made = _folded(conv, constants, channel, store)
            _put(op, made)
            conv.detach()
            conv.erase()
        else:
            _put(op, _decomposed(op, channel, store))


class _Affine(NamedTuple):
    """A batch norm as `x * factor + offset`, by channel."""

    factor: Array
    offset: Array


class _Constants(NamedTuple):
    """The filters of a convolution and its bias, if it has one."""

    filters: Array
    bias: Array | None


def _affine(op: BatchNormOp, store: Store) -> _Affine:
    wide = to_numpy(accumulator(dtype(op.x)))
    arrays = list[Array]()
    for name in ("scale", "bias", "mean", "variance"):
        array = constant_array(getattr(op, name), store)
        if array is None:
            raise UnsupportedError(
                "a batch norm with a parameter that is not a constant is not supported",
                where=where(op),
                why=f"its {name} is computed by the program",
                hint="export the model for inference",
            )
        arrays.append(array.astype(wide))
    scale, bias, mean, variance = arrays
    return _Affine(*affine(scale, bias, mean, variance, op.epsilon))


def _constants(conv: ConvOp, op: BatchNormOp, store: Store) -> _Constants | None:
    """What to scale if `op` can go into `conv`, else None."""
    rank = len(static_shape(conv.out))
    channel_axis = 1 if conv.layout == CHANNELS_FIRST else rank - 1
    if not conv.out.has_one_use() or op.channel_axis != channel_axis:
        return None
    filters = constant_array(conv.w, store)
    bias = None if conv.bias is None else constant_array(conv.bias, store)
    if filters is None or (bias is None and conv.bias is not None):
        return None
    return _Constants(filters, bias)


def _folded(conv: ConvOp, constants: _Constants, channel: _Affine, store: Store) -> list[Operation]:
    """The convolution with the batch norm in its weights, and these."""
    factor, offset = channel
    wide = factor.dtype
    axis = 0 if conv.layout == CHANNELS_FIRST else constants.filters.ndim - 1
    scaled = constants.filters.astype(wide) * _along(factor, axis, constants.filters.ndim)
    if constants.bias is not None:
        offset = offset + constants.bias.astype(wide) * factor
    filters = constant_op(cast(scaled, dtype(conv.w)), store)
    bias = constant_op(cast(offset, dtype(conv.out)), store)
    new = ConvOp(
        conv.x,
        filters.result,
        bias.result,
        strides=conv.strides,
        dilations=conv.dilations,
        pads=conv.pads,
        groups=conv.groups,
        layout=conv.layout,
        out=dtype(conv.out),
    )
    return [filters, bias, new]


def _along(values: Array, axis: int, rank: int) -> Array:
    """Values by channel, shaped to broadcast along an axis of a tensor of `rank`."""
    return values.reshape(-1, *[1] * (rank - axis - 1))


def _decomposed(op: BatchNormOp, channel: _Affine, store: Store) -> list[Operation]:
    """A product and a sum."""
    rank = len(static_shape(op.x))
    factor, offset = (
        constant_op(cast(_along(values, op.channel_axis, rank), dtype(op.x)), store)
        for values in channel
    )
    product = MulOp(op.x, factor.result)
    return [factor, product, offset, AddOp(product.out, offset.result)]


def _put(op: BatchNormOp, made: list[Operation]) -> None:
    """Replace `op` by ops of which the last one gives its result."""
    block = op.parent_block()
    assert block is not None
    for new in made:
        block.insert_op_before(new, op)
        move_location(op, new)
    result: SSAValue = made[-1].results[0]
    move_origins(op.out, result)
    result.name_hint = op.out.name_hint
    op.out.replace_all_uses_with(result)
    op.detach()
    op.erase()
