"""`InkInput.tensor` as a graph."""

from __future__ import annotations

import numpy as np

from onnxlet.tasks import InkInput

from .pixels import gray, resample
from .values import Value, arange, where

__all__ = ["ink_tensor"]


def ink_tensor(picture: Value, how: InkInput) -> Value:
    """The input, float32 of `InkInput.shape`.

    Args:
        picture: uint8 [W, 3, H].
    """
    levels = gray(picture)
    ends = [_ends(levels.max(1, 2 - axis).cast(np.int32) > how.threshold) for axis in (0, 2)]
    any_ink = ends[0][2]
    for axis, (first, end, _) in zip((0, 2), ends, strict=True):
        levels = levels.part(first, end, axis)
    width, height = (levels.size(axis).cast(np.float64) for axis in (0, 2))
    scale = float(how.inner) / width.at_least(height)
    sign, sides = levels, []
    for side in (width, height):
        size = (side * scale).op("Round").at_least(1.0).cast(np.int64)
        sign = resample(sign, size, size * 0, size, "bilinear", antialias=True).transpose(2, 1, 0)
        sides.append(size)
    # [w, 1, h] now
    left, top = (_place(sign, axis, side, how.size) for axis, side in zip((0, 2), sides, strict=True))
    margins = [top, left, how.size - sides[1] - top, how.size - sides[0] - left]
    pads = margins[0].reshape(1).op("Concat", *[margin.reshape(1) for margin in margins[1:]], axis=0)
    sheet = sign.transpose(2, 0, 1).op("Pad", pads, 0, np.array([0, 1], np.int64))
    return (sheet.cast(np.float32) / 255 * any_ink.cast(np.float32)).reshape(*how.shape)


def _ends(has_ink: Value) -> tuple[Value, Value, Value]:
    """Of bool [S]: the first with ink, the one after the last, and whether there is any; all where there is none."""
    size = has_ink.size(0)
    places = arange(size * 0, size)
    any_ink = has_ink.cast(np.int32).max(0) > 0
    first = where(has_ink, places, size - 1).min(0)
    last = where(has_ink, places, size * 0).max(0)
    return where(any_ink, first, size * 0), where(any_ink, last, size - 1) + 1, any_ink


def _place(sign: Value, axis: int, side: Value, size: int) -> Value:
    """Where the sign begins along an axis: as `InkInput` places it. Returns: int64 []."""
    levels = sign.cast(np.int64).sum(1, 2 - axis)
    odd = arange(side * 0, side) * 2 + 1
    twice = (levels * odd).sum(0).cast(np.float64)
    total = (levels.sum(0) * 2).at_least(1).cast(np.float64)
    start = (size / 2 - twice / total).op("Round").cast(np.int64)
    return start.at_least(0).at_most(size - side)
