"""Import of operators on sliding windows: convolution and pooling."""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import static_shape
from ....dialects.graph.convolution import ConvOp
from ....dialects.graph.layout import SPATIAL_RANKS
from ....dialects.graph.pooling import (
    AveragePoolOp,
    GlobalAveragePoolOp,
    GlobalMaxPoolOp,
    GlobalPoolOp,
    MaxPoolOp,
)
from .builder import GraphBuilder
from .node import Node
from .rule import Build, Refuse, Rule

_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


class Placement(NamedTuple):
    """How the windows of a node lie: integers per spatial axis, `pads` before and after each.

    The last `extra` elements of the padding after each axis only complete a last window.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    extra: tuple[int, ...]


def placement(node: Node, sizes: Sequence[int], window: Sequence[int]) -> Placement:
    """The placement for spatial `sizes`, with `auto_pad` and `ceil_mode` worked out.

    `VerifyException` for lists of another length and an unknown `auto_pad`.
    """
    rank = len(sizes)
    strides = _per_axis(node, "strides", (1,) * rank)
    dilations = _per_axis(node, "dilations", (1,) * rank)
    pads = _per_axis(node, "pads", (0,) * 2 * rank)
    mode = node.text("auto_pad", "NOTSET")
    if mode not in _AUTO_PADS:
        raise VerifyException(f"its auto_pad is `{mode}`, not {', '.join(_AUTO_PADS)}")
    if len(window) != rank or min((*strides, *dilations), default=1) < 1:
        raise VerifyException(f"its window {list(window)} does not fit the sizes {list(sizes)}")
    reaches = [(taps - 1) * step + 1 for taps, step in zip(window, dilations, strict=True)]
    if mode.startswith("SAME"):
        pads = _same(sizes, strides, reaches, upper=mode == "SAME_UPPER")
    elif mode == "VALID":
        pads = (0,) * 2 * rank
    extra = (0,) * rank
    if node.integer("ceil_mode", 0):
        extra = _completing(sizes, strides, reaches, pads)
    after = (pad + more for pad, more in zip(pads[rank:], extra, strict=True))
    return Placement(strides, dilations, (*pads[:rank], *after), extra)


def _per_axis(node: Node, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
    values = node.integers(name)
    if values is not None and len(values) != len(default):
        raise VerifyException(f"its {name} {list(values)} should be {len(default)} integers")
    return default if values is None else values


def _same(
    sizes: Sequence[int], strides: Sequence[int], reaches: Sequence[int], *, upper: bool
) -> tuple[int, ...]:
    """Padding that gives size / stride outputs, rounded up; an odd element goes to one end."""
    before, after = list[int](), list[int]()
    for size, stride, reach in zip(sizes, strides, reaches, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + reach - size)
        less, more = total // 2, total - total // 2
        before.append(less if upper else more)
        after.append(more if upper else less)
    return (*before, *after)


def _completing(
    sizes: Sequence[int], strides: Sequence[int], reaches: Sequence[int], pads: Sequence[int]
) -> tuple[int, ...]:
    """Padding that completes a last window which would be cut off, if it starts before the end.

    The end is that of the elements; a window that starts in the padding after them is dropped.
    """
    extra = list[int]()
    for axis, (size, stride, reach) in enumerate(zip(sizes, strides, reaches, strict=True)):
        end = size + pads[axis]
        total = end + pads[axis + len(sizes)]
        count = -(-(total - reach) // stride) + 1
        if (count - 1) * stride >= end:
            count -= 1
        extra.append(max(0, (count - 1) * stride + reach - total))
    return tuple(extra)


def _conv(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x, w = (graph.value(name) for name in node.inputs[:2])
    window = static_shape(w)[2:]
    said = node.integers("kernel_shape")
    if said is not None and said != window:
        raise VerifyException(f"its kernel_shape is {list(said)}, its filters say {list(window)}")
    place = placement(node, static_shape(x)[2:], window)
    out = ConvOp(
        x,
        w,
        graph.value(node.inputs[2]) if node.has_input(2) else None,
        strides=place.strides,
        dilations=place.dilations,
        pads=place.pads,
        groups=node.integer("group", 1),
    )
    return [graph.add(out)]


def _max_pool(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    x = graph.value(node.inputs[0])
    window = node.integers("kernel_shape") or ()
    place = placement(node, static_shape(x)[2:], window)
    out = MaxPoolOp(x, window, strides=place.strides, dilations=place.dilations, pads=place.pads)
    return [graph.add(out)]


def _average_pool(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
    """Padding counts on request only; before opset 7 there was no way to request it."""
    x = graph.value(node.inputs[0])
    window = node.integers("kernel_shape") or ()
    place = placement(node, static_shape(x)[2:], window)
    counted = bool(node.integer("count_include_pad", 0))
    out = AveragePoolOp(
        x,
        window,
        strides=place.strides,
        dilations=place.dilations,
        pads=place.pads,
        count_include_pad=counted,
        uncounted=place.extra if counted else (),
    )
    return [graph.add(out)]


def _global(op: type[GlobalPoolOp]) -> Build:
    def build(node: Node, graph: GraphBuilder) -> Sequence[SSAValue]:
        return [graph.add(op(graph.value(node.inputs[0])))]

    return build


def _wrong_rank(node: Node) -> str | None:
    """Refuses what has neither one nor two spatial axes."""
    shape = node.info(0).shape
    if shape is None or len(shape) - 2 in SPATIAL_RANKS:
        return None
    return f"its input has {len(shape) - 2} spatial axes, only one or two are supported"


def _only_floats(what: str) -> Refuse:
    """Refuses integers, and what `_wrong_rank` refuses."""

    def refuse(node: Node) -> str | None:
        dtype = node.info(0).dtype
        if dtype not in ("f16", "bf16", "f32", "f64", None):
            return f"{what} of {dtype} are not supported, only those of floats"
        return _wrong_rank(node)

    return refuse


def _max_refusal(node: Node) -> str | None:
    if node.uses_output(1):
        return f"its output `{node.outputs[1]}` (where the maxima are) is not supported"
    return _wrong_rank(node)


_RANKS = "one or two spatial axes"
CONV = f"floats, {_RANKS}, all attributes"

RULES = {
    "Conv": Rule(_conv, CONV, _only_floats("convolutions")),
    "MaxPool": Rule(_max_pool, f"{_RANKS}, all attributes; without Indices", _max_refusal),
    "AveragePool": Rule(_average_pool, f"{_RANKS}, all attributes", _only_floats("averages")),
    "GlobalMaxPool": Rule(_global(GlobalMaxPoolOp), _RANKS, _wrong_rank),
    "GlobalAveragePool": Rule(_global(GlobalAveragePoolOp), _RANKS, _only_floats("averages")),
}
"""The operators of this family."""
