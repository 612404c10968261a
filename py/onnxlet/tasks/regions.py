"""Connected regions of a mask, and the smallest rectangles around them, without OpenCV.

Only runs (stretches of a row inside the mask) are looked at one by one, never pixels, and runs in numpy: a page of a
megapixel takes milliseconds in the page as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..dtypes import Array

__all__ = ["Regions", "Runs", "regions", "smallest_rectangle"]


class Runs(NamedTuple):
    """Stretches of rows inside a mask, in reading order: row, first column, last column; int64 [R] each."""

    row: Array
    first: Array
    last: Array


class Regions(NamedTuple):
    """Runs by region: those of region i are ``runs[bounds[i]:bounds[i + 1]]`` of each array of `runs`."""

    runs: Runs
    bounds: Array

    def pixels(self) -> Array:
        """How many pixels each region has, int64 [regions]."""
        counted = np.concatenate([[0], np.cumsum(self.runs.last - self.runs.first + 1)])
        return counted[self.bounds[1:]] - counted[self.bounds[:-1]]

    def outline(self, region: int) -> Array:
        """Centres of the first and last pixel of each of a region's rows, int64 [2 * rows, 2], x and y."""
        row, first, last = (part[self.bounds[region] : self.bounds[region + 1]] for part in self.runs)
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        ends = np.append(starts[1:], len(row)) - 1
        sides = [np.stack([first[starts], row[starts]], 1), np.stack([last[ends], row[ends]], 1)]
        return np.concatenate(sides)


def regions(mask: Array) -> Regions:
    """Regions whose pixels touch at sides or corners, in the order of their first pixels.

    Source: runs joined as in Rosenfeld & Pfaltz 1966, doi:10.1145/321356.321357, all at once by hooking and pointer
    jumping as in Shiloach & Vishkin 1982, doi:10.1016/0196-6774(82)90008-6.

    Args:
        mask: bool [H, W].
    """
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, first = np.nonzero(edges == 1)
    last = np.nonzero(edges == -1)[1] - 1
    span = mask.shape[1] + 2
    # Runs of the row above that reach from one column before a run to one after it: from `low` up to `high`.
    above = (row - 1) * span
    low = np.searchsorted(row * span + last, above + first - 1)
    high = np.searchsorted(row * span + first, above + last + 1, side="right")
    counts = np.maximum(high - low, 0)
    below = np.repeat(np.arange(len(row)), counts)
    touched = np.arange(len(below)) - np.repeat(np.cumsum(counts) - counts, counts) + low[below]
    root = _roots(len(row), below, touched)
    order = np.argsort(root, kind="stable")
    starts = np.flatnonzero(np.diff(root[order], prepend=-1))
    return Regions(Runs(row[order], first[order], last[order]), np.append(starts, len(row)))


def _roots(count: int, a: Array, b: Array) -> Array:
    """The smallest number among those that a node is connected with, int64 [count]; a and b are the edges' ends."""
    root = np.arange(count)
    while True:
        ends = np.sort(np.stack([root[a], root[b]]), axis=0)
        apart = ends[0] != ends[1]
        if not apart.any():
            return root
        np.minimum.at(root, ends[1, apart], ends[0, apart])
        while (root[root] != root).any():
            root = root[root]


def smallest_rectangle(points: Array) -> tuple[Array, Array, Array]:
    """The rectangle of least area around points; one of its sides lies on a side of their convex hull.

    Source: Freeman & Shapira 1975, doi:10.1145/360881.360919.

    Args:
        points: [N, 2], x and y.
    Returns: its centre [2], its two sides' lengths [2], and the unit vectors along them [2, 2]; float64.
    """
    hull = _hull(points)
    sides = np.roll(hull, -1, axis=0) - hull
    lengths = np.hypot(sides[:, 0], sides[:, 1])
    along = sides[lengths > 0] / lengths[lengths > 0, None] if (lengths > 0).any() else np.array([[1.0, 0.0]])
    axes = np.stack([along, np.stack([-along[:, 1], along[:, 0]], 1)], 1)  # [S, 2, 2]
    places = axes @ hull.T  # [S, 2, N]
    low, high = places.min(2), places.max(2)
    best = int(np.argmin(np.prod(high - low, axis=1)))
    return (low[best] + high[best]) / 2 @ axes[best], high[best] - low[best], axes[best]


def _hull(points: Array) -> Array:
    """Corners of the convex hull in order, float64 [C, 2]. Source: Andrew 1979, doi:10.1016/0020-0190(79)90072-3."""
    sorted_points = sorted({(float(x), float(y)) for x, y in points.tolist()})
    halves = []
    for way in (sorted_points, sorted_points[::-1]):
        half: list[tuple[float, float]] = []
        for x, y in way:
            while len(half) > 1:
                (x0, y0), (x1, y1) = half[-2:]
                if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                    break
                half.pop()
            half.append((x, y))
        halves.append(half)
    corners = halves[0][:-1] + halves[1][:-1]
    return np.array(corners or sorted_points, np.float64)
