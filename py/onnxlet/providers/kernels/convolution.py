"""Convolutions and pooling, on values whose channels lie in groups of 4."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import Array
from ...errors import InvalidInput
from ...ops.windows import Geometry
from .linear import COLUMNS
from .lowering import Unfit, rule
from .program import LANES, NO_LIMITS, Builder, Held, Value

_MAXIMUM, _AVERAGE, _AVERAGE_WITH_PADDING = range(3)


@rule("Conv")
def conv(
    builder: Builder,
    x: Value,
    w: Value,
    b: Value | None = None,
    *,
    kernel_shape: Sequence[int] | None = None,
    group: int = 1,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
) -> Held:
    """Over lines or pictures, with weights that are known."""
    x = _picture(builder, x)
    if not isinstance(w, np.ndarray) or w.dtype != np.float32 or isinstance(b, Held):
        raise Unfit("weights that are computed, or no float32")
    g = _geometry(x, w.shape[2:], strides, dilations, pads, auto_pad, 0)
    n, channels = x.shape[:2]
    cin, cout = channels // group, len(w) // group
    if w.shape[1] != cin or cout * group != len(w):
        raise Unfit(f"{channels} channels in {group} groups, and weights {w.shape}")
    bias = None if b is None else builder.held(b)
    y = builder.new((n, len(w), *g.out), blocked=True)
    params = [n, group, cin, cout, *_places(g), *NO_LIMITS]
    if cin == cout == 1 and group > 1:
        weights = builder.prepared(w, "depthwise", _depthwise)
        builder.emit("depthwise_f32", [x, weights, bias, y], params)
        return y
    if group > 1 and (cin % LANES or cout % LANES):
        raise Unfit(f"groups of {cin} and {cout} channels, expected multiples of {LANES}")
    weights = builder.prepared(w, ("panels", group), lambda array: _panels(array, group))
    frame = builder.new((-(-channels // LANES) * LANES, *_two(g.reach, 1))) if g.reach != g.size else None
    builder.emit("conv_f32", [x, weights, bias, frame, y], params)
    return y


def _picture(builder: Builder, x: Value) -> Held:
    if x.dtype != np.float32 or len(x.shape) not in (3, 4):
        raise Unfit(f"{x.dtype} of shape {x.shape}, expected float32 [n, c, w] or [n, c, h, w]")
    return builder.blocked(x)


def _geometry(
    x: Held,
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str,
    ceil_mode: int,
) -> Geometry:
    try:
        g = Geometry.of(
            x.shape[2:], kernel, strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad, ceil_mode=ceil_mode
        )
    except InvalidInput as error:
        raise Unfit(str(error)) from None
    if 0 in (*x.shape, *g.out) or min((*g.begin, *g.end)) < 0:
        raise Unfit("an empty picture, or one that is cut")
    return g


def _two(numbers: Sequence[int], fill: int) -> list[int]:
    """Numbers a spatial axis as those of a picture: a line is one of height 1."""
    return [fill] * (2 - len(numbers)) + list(numbers)


def _places(g: Geometry) -> list[int]:
    """The params that say where windows lie."""
    numbers = ((g.size, 1), (g.out, 1), (g.kernel, 1), (g.strides, 1), (g.dilations, 1), (g.begin, 0))
    return [n for values, fill in numbers for n in _two(values, fill)]


def _panels(w: Array, group: int) -> Array:
    """[m, c, *kernel] to [group, ceil(m / group / 8), taps, c, 8], zeros where there is no channel."""
    m, c = w.shape[:2]
    each = m // group
    panels = -(-each // COLUMNS)
    padded = np.zeros((group, panels * COLUMNS, c, w[0, 0].size), np.float32)
    padded[:, :each] = w.reshape(group, each, c, -1)
    return np.ascontiguousarray(padded.reshape(group, panels, COLUMNS, c, -1).transpose(0, 1, 4, 3, 2))


def _depthwise(w: Array) -> Array:
    """[c, 1, *kernel] to [ceil(c / 4), taps, 4]."""
    c = len(w)
    padded = np.zeros((-(-c // LANES) * LANES, w[0].size), np.float32)
    padded[:c] = w.reshape(c, -1)
    return np.ascontiguousarray(padded.reshape(-1, LANES, w[0].size).transpose(0, 2, 1))


def _pool(builder: Builder, x: Held, g: Geometry, kind: int) -> Held:
    n, channels = x.shape[:2]
    y = builder.new((n, channels, *g.out), blocked=True)
    builder.emit("pool_f32", [x, y], [n, channels, *_places(g), kind, *_two(g.end, 0)])
    return y


@rule("MaxPool")
def max_pool(
    builder: Builder,
    x: Value,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    storage_order: int = 0,
) -> Held:
    """The greatest of each window; storage_order is about indices, which are not given."""
    x = _picture(builder, x)
    return _pool(builder, x, _geometry(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode), _MAXIMUM)


@rule("AveragePool")
def average_pool(
    builder: Builder,
    x: Value,
    *,
    kernel_shape: Sequence[int],
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
) -> Held:
    """The mean of each window."""
    x = _picture(builder, x)
    kind = _AVERAGE_WITH_PADDING if count_include_pad else _AVERAGE
    return _pool(builder, x, _geometry(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode), kind)


@rule("GlobalAveragePool")
def global_average_pool(builder: Builder, x: Value) -> Held:
    """The mean of each channel."""
    x = _picture(builder, x)
    return pool_mean(builder, x, Geometry.of(x.shape[2:], x.shape[2:]))


def pool_mean(builder: Builder, x: Held, g: Geometry) -> Held:
    """The mean of each window, padding left out."""
    return _pool(builder, x, g, _AVERAGE)
