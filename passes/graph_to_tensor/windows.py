"""What convolutions and poolings share: the windows of an operator over images, channels last."""

from collections.abc import Sequence

from ...dialects.core.errors import PassError
from ...dialects.core.locations import where
from ...dialects.graph.layout import CHANNELS_LAST, ImageOp, WindowedOp
from ...dialects.tensor.structured import Window


def require_channels_last(op: ImageOp) -> None:
    """Raise PassError for an operator whose channels are not the last axis."""
    if op.layout != CHANNELS_LAST:
        raise PassError(
            f"{op.name} with the layout {op.layout} has no form in the tensor dialect",
            where=where(op),
            why=f"the device works along channels, so they must be last: {CHANNELS_LAST}",
            hint="run graph-assign-layout first",
        )


def window_axes(op: WindowedOp, points: Sequence[int], taps: Sequence[int]) -> list[Window]:
    """The spatial axes of the operand, given the dims of output positions and of taps."""
    before, after = op.pads[: len(points)], op.pads[len(points) :]
    return [
        Window(*axis)
        for axis in zip(points, taps, op.strides, op.dilations, before, after, strict=True)
    ]
