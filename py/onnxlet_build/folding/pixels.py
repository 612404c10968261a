"""Pictures in a graph: what `onnxlet.values.Image` and `onnxlet.media.resize` do to pixels, equal to the level.

Pictures are uint8 [S, C, I] here: the axis that is worked on comes first, so that rows of memory are copied whole.
Weights are the same 22-bit fixed point as Pillow's; sums of them fit an int32.
"""

from __future__ import annotations

import math

import numpy as np

from ..sources.graph import GraphBuilder
from .values import Value, arange, summed, where

__all__ = ["ROWS_A_COLUMN", "gray", "opened", "resample"]

ROWS_A_COLUMN = 100  # Pillow, and so `resize`, treats narrower strips differently
_FIXED_BITS = 22


def opened(graph: GraphBuilder, name: str) -> Value:
    """A graph's input, uint8 [H, W, 4] RGBA, as `Image` opens it: composited over white. Returns: [W, 3, H]."""
    rgba = Value(graph, name, np.uint8).transpose(1, 2, 0)
    color, alpha = (rgba.take(channels, axis=1).cast(np.uint16) for channels in ([0, 1, 2], [3]))
    return ((color * alpha + (255 - alpha) * 255 + 127) / 255).cast(np.uint8)


def gray(picture: Value) -> Value:
    """[S, 3, I] -> [S, 1, I], as `Image.gray`."""
    red, green, blue = (picture.take([channel], axis=1).cast(np.int32) for channel in range(3))
    return ((red * 19595 + green * 38470 + blue * 7471 + 0x8000) / 0x10000).cast(np.uint8)


def resample(picture: Value, size: Value, first: Value, count: Value, method: str, *, antialias: bool) -> Value:
    """Part of a picture whose first axis is scaled.

    Args:
        picture: uint8 [S, C, I].
        size: what S becomes, int64 [].
        first, count: the part that is wanted: count pixels from the first one on, int64 [] each.
        method, antialias: as `onnxlet.media.resize.resize` takes them.
    Returns: uint8 [count, C, I].
    """
    if method == "nearest":
        return picture.take(_nearest(picture.size(0), size, first, count))
    index, weight = _taps(picture.size(0), size, first, count, method, antialias)
    shape = picture.op("Shape", dtype=np.int64, start=1)
    half = Value.constant(picture.graph, [[[1 << (_FIXED_BITS - 1)]]], np.int32)
    start = half.op("Expand", count.reshape(1).op("Concat", shape, axis=0))
    weight = weight.expand_dims(2, 3)
    total = summed(index.size(0), start, lambda i: picture.take(index.take(i)).cast(np.int32) * weight.take(i))
    return (total / (1 << _FIXED_BITS)).clip(0, 255).cast(np.uint8)


def _nearest(old: Value, size: Value, first: Value, count: Value) -> Value:
    """Summed step by step, as `resize` does; int64 [count]."""
    step = old.cast(np.float64) / size.cast(np.float64)
    zero = Value.constant(old.graph, 0, np.int64)
    steps = where(arange(zero, first + count) > 0, step, step * 0.5)
    summed_up = steps.op("CumSum", zero).cast(np.int64).at_most(old - 1)
    return summed_up.part(first, first + count, 0)


def _taps(old: Value, size: Value, first: Value, count: Value, method: str, antialias: bool) -> tuple[Value, Value]:
    """Where each new pixel reads and how much: indices int64 [T, count], and weights int32 [T, count]."""
    support, kernel = _KERNELS[method]
    scale = old.cast(np.float64) / size.cast(np.float64)
    stretch = scale.at_least(1.0) if antialias else scale * 0.0 + 1.0
    reach = stretch * support
    center = (arange(first, first + count).cast(np.float64) + 0.5) * scale
    low = (center - reach + 0.5).cast(np.int64).at_least(0)
    high = (center + reach + 0.5).cast(np.int64).at_most(old)
    taps = (high - low).max(0)
    index = low + arange(taps * 0, taps).expand_dims(1)
    weight = kernel((index.cast(np.float64) - center + 0.5) / stretch)
    weight = where(index >= high, 0.0, weight)
    weight = weight / weight.sum(0, keepdims=True)
    half = where(weight < 0, Value.constant(old.graph, -0.5, np.float64), 0.5)
    fixed = (weight * float(1 << _FIXED_BITS) + half).cast(np.int32)
    return index.at_most(old - 1), fixed


def _triangle(x: Value) -> Value:
    return (1.0 - x.op("Abs")).at_least(0.0)


def _cubic(x: Value) -> Value:
    x = x.op("Abs")
    near = (x * 1.5 - 2.5) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * -0.5
    return where(x < 1.0, near, where(x < 2.0, far, 0.0))


def _lanczos3(x: Value) -> Value:
    return where((x >= -3.0) & (x < 3.0), _sinc(x) * _sinc(x / 3.0), 0.0)


def _sinc(x: Value) -> Value:
    angle = where(x.equals(0.0), 1e-20, x) * math.pi
    return angle.op("Sin") / angle


_KERNELS = {"bilinear": (1.0, _triangle), "bicubic": (2.0, _cubic), "lanczos": (3.0, _lanczos3)}
