"""Operators on images: where their channels are, and windows that slide over the rest."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from ..core.dtypes import Array
from ..core.kernels.windows import Windows
from .base import GraphOp

CHANNELS_FIRST = "channels_first"
"""Tensors are [n, c, sizes..], filters [o, c, taps..]: what most frameworks say."""
CHANNELS_LAST = "channels_last"
"""Tensors are [n, sizes.., c], filters [taps.., c, o]: what the device computes in."""

LAYOUTS = (CHANNELS_FIRST, CHANNELS_LAST)
SPATIAL_RANKS = (1, 2)
"""How many axes besides images and channels a tensor may have."""


def last_order(rank: int) -> tuple[int, ...]:
    """The permutation from channels first to channels last: 0, 2, .., 1."""
    return (0, *range(2, rank), 1)


def first_order(rank: int) -> tuple[int, ...]:
    """The permutation from channels last to channels first: 0, rank - 1, 1, .."""
    return (0, rank - 1, *range(1, rank - 1))


def filter_order(rank: int) -> tuple[int, ...]:
    """The permutation of filters from [o, c, taps..] to [taps.., c, o]."""
    return (*range(2, rank), 1, 0)


def to_last(array: Array, layout: str) -> Array:
    """The tensor with its channels last."""
    return array.transpose(last_order(array.ndim)) if layout == CHANNELS_FIRST else array


def from_last(array: Array, layout: str) -> Array:
    """The tensor with its channels where `layout` has them, given one with channels last."""
    return array.transpose(first_order(array.ndim)) if layout == CHANNELS_FIRST else array


def ints(values: Sequence[int]) -> Attribute:
    """A list of integers as an attribute."""
    return DenseArrayBase.from_list(i64, values)


class ImageOp(GraphOp):
    """An operator on a tensor of images, channels and one or two spatial axes."""

    layout_attr = prop_def(StringAttr, prop_name="layout")

    @property
    def layout(self) -> str:
        """`channels_first` or `channels_last`: the order of the axes of all its tensors."""
        return self.layout_attr.data


class Image(NamedTuple):
    """The shape of a tensor of images, whatever its layout."""

    images: int
    channels: int
    sizes: tuple[int, ...]

    def shape(self, layout: str) -> tuple[int, ...]:
        """The sizes in the order of a layout."""
        if layout == CHANNELS_FIRST:
            return (self.images, self.channels, *self.sizes)
        return (self.images, *self.sizes, self.channels)


def image_of(shape: Sequence[int], layout: str) -> Image:
    """A tensor's shape as images; `VerifyException` for a wrong rank or layout."""
    if layout not in LAYOUTS:
        raise VerifyException(f"the layout is `{layout}`, not {' or '.join(LAYOUTS)}")
    if len(shape) - 2 not in SPATIAL_RANKS:
        raise VerifyException(
            f"a tensor of shape {list(shape)} has {max(0, len(shape) - 2)} spatial axes; "
            "one or two are supported"
        )
    if layout == CHANNELS_FIRST:
        return Image(shape[0], shape[1], tuple(shape[2:]))
    return Image(shape[0], shape[-1], tuple(shape[1:-1]))


class WindowedOp(ImageOp):
    """An operator that computes each element of its result from a window of its operand.

    Output `i` of a spatial axis reads `i * stride + tap * dilation - pad before` for every tap.
    """

    strides_attr = prop_def(DenseArrayBase.constr(i64), prop_name="strides")
    dilations_attr = prop_def(DenseArrayBase.constr(i64), prop_name="dilations")
    pads_attr = prop_def(DenseArrayBase.constr(i64), prop_name="pads")

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one window to the next, per spatial axis."""
        return self.strides_attr.get_values()

    @property
    def dilations(self) -> tuple[int, ...]:
        """Elements from one tap of a window to the next, per spatial axis."""
        return self.dilations_attr.get_values()

    @property
    def pads(self) -> tuple[int, ...]:
        """Padding elements before each spatial axis, then those after each."""
        return self.pads_attr.get_values()

    @property
    @abstractmethod
    def window(self) -> tuple[int, ...]:
        """Taps of a window, per spatial axis."""

    @property
    def windows(self) -> Windows:
        """How the windows lie; `VerifyException` if the lists of integers do not fit."""
        return windows_of(self.window, self.strides, self.dilations, self.pads)


def windows_of(
    window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int]
) -> Windows:
    """Windows over as many spatial axes as `window` has; `VerifyException` for other lists."""
    rank = len(window)
    for what, values, count, least in (
        ("window", window, rank, 1),
        ("strides", strides, rank, 1),
        ("dilations", dilations, rank, 1),
        ("pads", pads, 2 * rank, 0),
    ):
        if len(values) != count or min(values, default=least) < least:
            raise VerifyException(
                f"{what} {list(values)} must be {count} integers from {least} on, "
                f"for {rank} spatial axes"
            )
    return Windows(*map(tuple, (window, strides, dilations, pads[:rank], pads[rank:])))


def output_sizes(sizes: Sequence[int], windows: Windows) -> tuple[int, ...]:
    """How many windows fit along each spatial axis; `VerifyException` if not even one does."""
    if len(windows.window) != len(sizes):
        raise VerifyException(
            f"the window {list(windows.window)} does not have the {len(sizes)} spatial axes of "
            "the operand"
        )
    counts = windows.counts(tuple(sizes))
    for axis, count in enumerate(counts):
        if count < 1:
            padded = sizes[axis] + windows.before[axis] + windows.after[axis]
            raise VerifyException(
                f"the window reaches over {windows.reach(axis)} elements of spatial axis {axis}, "
                f"which has {padded} with padding"
            )
    return counts


def window_properties(
    strides: Sequence[int], dilations: Sequence[int], pads: Sequence[int], layout: str
) -> dict[str, Attribute | None]:
    """The properties of a `WindowedOp`."""
    return {
        "strides": ints(strides),
        "dilations": ints(dilations),
        "pads": ints(pads),
        "layout": StringAttr(layout),
    }
