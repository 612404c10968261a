"""Draw strokes into pixels, the same in Python and in the page: no canvas is read back."""

from collections.abc import Iterable

import numpy as np

from ..dtypes import Array

__all__ = ["draw_strokes"]


def draw_strokes(width: int, height: int, strokes: Iterable[tuple[float, Array]], ink: int, paper: int) -> Array:
    """Draw polylines with round caps and joins, antialiased.

    A pixel's coverage is the distance from its centre to the line, over one pixel's width; crossings do not add up.
    IEEE 754 defines every operation to the bit: web/src/direct/strokes.js does the same before Python is there.

    Args:
        strokes: (size, points): the line's width in pixels, and [N, 2] x, y in pixels, pixel (0, 0) being the
            square from 0 to 1. One point is a dot. Points may lie outside.
        ink, paper: grey levels.
    Returns: uint8 [height, width].
    """
    coverage = np.zeros((height, width), np.float32)
    for size, points in strokes:
        ends = points[1:] if len(points) > 1 else points
        for start, end in zip(points, ends, strict=False):
            _segment(coverage, start, end, size / 2)
    return np.rint(paper + (float(ink) - paper) * coverage).astype(np.uint8)


def _segment(coverage: Array, start: Array, end: Array, radius: float) -> None:
    height, width = coverage.shape
    x0, y0 = np.floor(np.minimum(start, end) - radius - 1).clip(0, (width, height)).astype(int)
    x1, y1 = np.ceil(np.maximum(start, end) + radius + 1).clip(0, (width, height)).astype(int)
    if x0 >= x1 or y0 >= y1:
        return
    x = np.arange(x0, x1) + 0.5 - start[0]
    y = np.arange(y0, y1)[:, None] + 0.5 - start[1]
    dx, dy = end - start
    length2 = dx * dx + dy * dy
    along = ((x * dx + y * dy) / length2).clip(0, 1) if length2 else 0.0
    off_x, off_y = x - along * dx, y - along * dy
    distance = np.sqrt(off_x * off_x + off_y * off_y)
    box = coverage[y0:y1, x0:x1]
    np.maximum(box, (radius + 0.5 - distance).clip(0, 1), out=box)
