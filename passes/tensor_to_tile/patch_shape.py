"""The sizes of what a tile sees of an image through windows; `patch.py` says how it lies in UB."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.core.attributes import tensor_type
from ...dialects.tensor.structured import StructuredOp, Window
from .geometry import Geometry
from .windows import windowed_inputs

NO_TAP = -1
"""The tap of an axis that is read plainly, as a window of one element."""


@dataclass(frozen=True)
class Reach:
    """What a tile sees of one axis of an image: `points` positions of `window` on `extent`
    elements, at `taps` of its taps. `all_points` and `all_taps` are those of all tiles."""

    window: Window
    points: int
    taps: int
    extent: int
    all_points: int
    all_taps: int

    @property
    def length(self) -> int:
        """Elements from the first to the last under the tile."""
        return (self.points - 1) * self.window.stride + self.covered

    @property
    def steps(self) -> int:
        """Positions as far apart as those of the window that `length` has room for."""
        return -(-self.length // self.window.stride)

    @property
    def covered(self) -> int:
        """Elements from the first to the last under one position."""
        return (self.taps - 1) * self.window.dilation + 1

    @property
    def reaches_out(self) -> bool:
        """Whether a tile may see something outside the image."""
        window = self.window
        last = (self.all_points - 1) * window.stride + (self.all_taps - 1) * window.dilation
        return window.before > 0 or last - window.before >= self.extent


@dataclass(frozen=True)
class PatchShape:
    """The sizes of a patch; `result_pitch` are the rows of UB from one output row to the next."""

    down: Reach | None
    across: Reach
    result_pitch: int

    @property
    def lines(self) -> int:
        """Image rows under the tile."""
        return self.down.length if self.down else 1

    @property
    def phases(self) -> int:
        """Image rows from one that lies beside another to that one."""
        return self.down.window.stride if self.down and self.down.points > 1 else 1

    @property
    def depth(self) -> int:
        """Image rows that lie side by side."""
        return -(-self.lines // self.phases)

    @property
    def pitch(self) -> int:
        """Rows of UB for one image row."""
        if self.down is None or self.down.points == 1:
            return self.across.length
        return self.across.window.stride * self.result_pitch

    @property
    def results(self) -> int:
        """Rows of UB of the result, those between its rows included."""
        above = self.down.points - 1 if self.down else 0
        return above * self.result_pitch + self.across.points

    @property
    def rows(self) -> int:
        """Rows of UB of the patch.

        Those behind it are for the analysis of addresses, which knows the start of a load, and its
        length, but not that a load which starts later is shorter.
        """
        return self.phases * self.depth * self.pitch + self.across.window.before


def patch_shapes(
    geometry: Geometry, op: StructuredOp, tiles: Sequence[int]
) -> dict[int, PatchShape]:
    """The patch of each input that `op` reads along windows; their results have one pitch."""
    reaches = {i: _reaches(geometry, op, i, tiles) for i in windowed_inputs(geometry.space, op)}
    pitch = max(
        across.points if down is None or down.points == 1 else across.steps
        for down, across in reaches.values()
    )
    return {i: PatchShape(down, across, pitch) for i, (down, across) in reaches.items()}


def _reaches(
    geometry: Geometry, op: StructuredOp, index: int, tiles: Sequence[int]
) -> tuple[Reach | None, Reach]:
    """Along the axes of an input before its last: perhaps down the image, and across it."""
    axes = geometry.space.axes_of_use(op, index)
    shape = tensor_type(op.inputs[index]).get_shape()

    def reach(place: int) -> Reach:
        axis, extents = axes[place], geometry.space.extents
        assert axis is not None
        window = axis if isinstance(axis, Window) else Window(axis, NO_TAP, 1, 1, 0, 0)
        extent, points = extents[window.point], tiles[window.point]
        taps, all_taps = 1, 1
        if window.tap != NO_TAP:
            taps, all_taps = tiles[window.tap], extents[window.tap]
        all_points = -(-extent // points) * points
        return Reach(window, points, taps, shape[place], all_points, all_taps)

    above = axes[-3] if len(axes) > 2 else None
    down = isinstance(above, Window) or (above is not None and above in geometry.rows)
    return reach(-3) if down else None, reach(-2)
