"""`ImageInput.tensor` as a graph."""

from __future__ import annotations

import numpy as np

from onnxlet.tasks import ImageInput

from .folded import Unfoldable
from .pixels import gray, resample
from .values import Value

__all__ = ["image_tensor"]

Pair = tuple[Value, Value]  # of width and height, int64 [] each


def image_tensor(picture: Value, how: ImageInput) -> Value:
    """The input, float32 [1, C, H, W] or [1, H, W, C].

    Args:
        picture: uint8 [W, 3, H].
    """
    if how.channels == 1:
        picture = gray(picture)
    graph = picture.graph
    wanted = [Value.constant(graph, side, np.int64) for side in how.size]
    scaled, offset = _frame(picture, how, (wanted[0], wanted[1]))
    pads = []
    for side, start, full in zip(scaled, offset, wanted, strict=True):
        first, count, margins = side * 0, side, None
        if how.fit in ("letterbox", "center_crop"):
            behind = full - side - start
            first = (-start).at_least(0)
            count = side - (-behind).at_least(0) - first
            margins = start.at_least(0), behind.at_least(0)
        pads.append(margins)
        picture = resample(picture, side, first, count, how.method, antialias=how.antialias).transpose(2, 1, 0)
    # width first, then height: [W, C, H] -> [H, C, w] -> [w, C, h]
    x = picture.transpose(1, 2, 0) if how.layout == "NCHW" else picture.transpose(2, 0, 1)
    rows, channels = (1, 0) if how.layout == "NCHW" else (0, 2)
    if pads[0] and pads[1]:
        x = _padded(x, pads[1], pads[0], rows, how.margin if how.fit == "letterbox" else 0)
    if how.bgr and how.channels == 3:
        x = x.take([2, 1, 0], axis=channels)
    shape = (-1, 1, 1) if how.layout == "NCHW" else (1, 1, -1)
    mean, std = (np.asarray(level, np.float32).reshape(shape) for level in (how.mean, how.std))
    x = x.cast(np.float32) * np.float32(how.rescale)
    return ((x - mean) / std).expand_dims(0)


def _padded(x: Value, vertical: Pair, horizontal: Pair, rows: int, level: int) -> Value:
    """Margins around the axes `rows` and the next one."""
    (top, bottom), (left, right) = vertical, horizontal
    pads = top.reshape(1).op("Concat", *[side.reshape(1) for side in (left, bottom, right)], axis=0)
    return x.op("Pad", pads, level, np.array([rows, rows + 1], np.int64))


def _frame(picture: Value, how: ImageInput, wanted: Pair) -> tuple[Pair, Pair]:
    """As `ImageInput.frame`: the sides that the picture is scaled to, and where it begins in the input."""
    width, height = (picture.size(axis).cast(np.float64) for axis in (0, 2))
    zero = wanted[0] * 0
    if how.fit == "stretch":
        return wanted, (zero, zero)
    if how.fit == "center_crop":
        scaled = _shortest_edge(width, height, how.edge or max(how.size))
        return scaled, (_middle(scaled[0], wanted[0]), _middle(scaled[1], wanted[1]))
    if how.fit != "letterbox":
        raise Unfoldable(f'fit "{how.fit}" makes inputs of many sizes')
    scale = (how.size[0] / width).at_most(how.size[1] / height)
    sides = [(side * scale).op("Round").at_least(1.0).cast(np.int64) for side in (width, height)]
    return (sides[0], sides[1]), ((wanted[0] - sides[0]) / 2, (wanted[1] - sides[1]) / 2)


def _shortest_edge(width: Value, height: Value, shorter: int) -> Pair:
    """The shorter side gets `shorter` pixels, and the longer one its share, cut to whole pixels."""
    low = width.at_most(height)
    sides = [(side * float(shorter) / low).cast(np.int64) for side in (width, height)]
    return sides[0], sides[1]


def _middle(side: Value, inner: Value) -> Value:
    """As `image_input._middle`: halved as Python rounds where it is cut, downwards where it is padded."""
    half = (side - inner).cast(np.float64) / 2.0
    return (-half.at_least(0.0).op("Round") + (-half).at_least(0.0).op("Floor")).cast(np.int64)
