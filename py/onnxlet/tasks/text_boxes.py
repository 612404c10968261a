"""Where text lies: from a text detector's map to boxes in the picture, in reading order, and the pieces cut out.

A box is four corners, [4, 2], x and y: the text's upper left, upper right, lower right and lower left, so that a turned
line has a turned box.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import Array
from ..values import Image
from .regions import regions, smallest_rectangle

__all__ = ["crop", "find_boxes", "is_steep", "reading_order"]

_MOST_REGIONS = 1000  # the largest: a noisy picture has thousands of specks, which are no text
_SMALLEST = 3  # pixels of the map that a line's short side has at least
_LONG = 1.5  # as often as high is a text as long, at least, whose direction its box tells
_STEEPEST = 80  # degrees that a text rises at most; steeper ones are read from the top down


def find_boxes(chances: Array, threshold: float, box_threshold: float, unclip_ratio: float) -> Array:
    """Boxes around what is likely to be text.

    Source: Liao et al. 2020, Real-time Scene Text Detection with Differentiable Binarization, arXiv:1911.08947: such a
    network marks the kernel of each line, and the line is as much larger as its area to its perimeter.

    Args:
        chances: float [h, w], 0 to 1.
        threshold: pixels with more belong to a line.
        box_threshold: the mean of the pixels in a line's box is at least this.
        unclip_ratio: how much larger than its kernel a line is: by area * ratio / perimeter on each side.
    Returns: float64 [N, 4, 2], in pixels of the map, from pixel centres at whole numbers.
    """
    found = regions(chances > threshold)
    largest = np.argsort(-found.pixels(), kind="stable")[:_MOST_REGIONS]
    boxes = []
    for region in np.sort(largest).tolist():
        center, (width, height), axes = _upright(*smallest_rectangle(found.outline(region)))
        if min(width, height) < _SMALLEST or _mean(chances, center, (width, height), axes) < box_threshold:
            continue
        margin = width * height * unclip_ratio / (2 * (width + height))
        half = axes * (np.array([[width], [height]]) / 2 + margin)
        boxes.append(
            [
                center - half[0] - half[1],
                center + half[0] - half[1],
                center + half[0] + half[1],
                center - half[0] + half[1],
            ]
        )
    return np.array(boxes).reshape(-1, 4, 2)


def _upright(center: Array, sides: Array, axes: Array) -> tuple[Array, tuple[float, float], Array]:
    """The same rectangle, its first side along the text and the second one down."""
    width, height = sides.tolist()
    angle = math.degrees(math.atan2(axes[0, 1], axes[0, 0]))
    is_long = max(width, height) >= _LONG * min(width, height)
    if is_long and height > width:
        width, height, angle = height, width, angle + 90
    while angle > (180 - _STEEPEST if is_long else 45):
        angle -= 180 if is_long else 90
        width, height = (width, height) if is_long else (height, width)
    while angle <= (-_STEEPEST if is_long else -45):
        angle += 180 if is_long else 90
        width, height = (width, height) if is_long else (height, width)
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return center, (width, height), np.array([[cos, sin], [-sin, cos]])


def _mean(values: Array, center: Array, sides: tuple[float, float], axes: Array) -> float:
    """The mean of the pixels whose centres are in a rectangle."""
    reach = np.abs(axes).T @ np.array(sides) / 2
    (x0, y0), (x1, y1) = np.floor(center - reach).astype(int), np.ceil(center + reach).astype(int)
    x = np.arange(max(0, x0), min(values.shape[1], x1 + 1)) - center[0]
    y = np.arange(max(0, y0), min(values.shape[0], y1 + 1))[:, None] - center[1]
    inside = np.ones((len(y), x.size), bool)
    for axis, side in zip(axes, sides, strict=True):
        inside &= np.abs(x * axis[0] + y * axis[1]) <= side / 2 + 1e-6  # corners lie on pixels
    count = inside.sum()
    part = values[max(0, y0) : y1 + 1, max(0, x0) : x1 + 1]
    return float(part[inside].sum(dtype=np.float64) / count) if count else 0.0


def is_steep(box: Array) -> bool:
    """Whether a text rises or falls so much that it could be read from either end."""
    across, down = box[1] - box[0], box[3] - box[0]
    is_long = math.hypot(*across) >= _LONG * math.hypot(*down)
    return is_long and abs(across[1]) > math.tan(math.radians(_STEEPEST)) * abs(across[0])


def crop(image: Image, box: Array) -> Image:
    """The piece of a picture in a box, turned upright; beyond the picture's edge its outermost pixels go on."""
    left_up, right_up, _, left_down = box
    across, down = right_up - left_up, left_down - left_up
    if max(abs(across[1]), abs(down[0])) < 1 and across[0] > 0:
        x0, y0 = np.clip(np.floor(box.min(0)), 0, np.array(image.size) - 1).astype(int).tolist()
        x1, y1 = np.minimum(np.ceil(box.max(0)), image.size).astype(int).tolist()
        return image.crop(x0, y0, max(x1, x0 + 1), max(y1, y0 + 1))
    width, height = (max(1, round(math.hypot(*side))) for side in (across, down))
    steps_x, steps_y = (np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height
    places = left_up + steps_y[:, None, None] * down + steps_x[None, :, None] * across - 0.5
    x, y = (np.clip(places[..., axis], 0, image.size[axis] - 1) for axis in range(2))
    x0, y0 = x.astype(np.intp), y.astype(np.intp)
    x1, y1 = np.minimum(x0 + 1, image.width - 1), np.minimum(y0 + 1, image.height - 1)
    right, lower = (x - x0)[..., None], (y - y0)[..., None]
    pixels = image.rgb().array
    upper_row = pixels[y0, x0] * (1 - right) + pixels[y0, x1] * right
    lower_row = pixels[y1, x0] * (1 - right) + pixels[y1, x1] * right
    return Image(np.rint(upper_row * (1 - lower) + lower_row * lower).astype(np.uint8))


def reading_order(boxes: Array) -> list[int]:
    """The order in which a person reads boxes: rows from the top, each from the left; columns one after the other.

    Boxes are in one row where their middles are nearer than half the lower one's height. Columns are where a gap goes
    down between texts that are long on both sides: a list of things with their prices is no two columns.

    Args:
        boxes: [N, 4, 2].
    """
    if not len(boxes):
        return []
    across = boxes[:, 1] - boxes[:, 0]
    # Of a page that lies askew, the rows do too: everything is turned back by the angle of most of the text.
    weights = np.hypot(across[:, 0], across[:, 1])
    angles = np.arctan2(across[:, 1], across[:, 0])
    by_angle = np.argsort(angles, kind="stable")
    middle = np.searchsorted(np.cumsum(weights[by_angle]), weights.sum() / 2)
    angle = float(angles[by_angle][min(int(middle), len(boxes) - 1)])
    cos, sin = math.cos(angle), math.sin(angle)
    turned = boxes @ np.array([[cos, -sin], [sin, cos]])
    bounds = np.concatenate([turned.min(1), turned.max(1)], axis=1)
    return _ordered(bounds, np.arange(len(boxes)))


def _ordered(bounds: Array, chosen: Array) -> list[int]:
    """The order of some boxes. bounds: [N, 4], x0, y0, x1, y1."""
    gap = _gap(bounds[chosen])
    if gap is None:
        return _by_rows(bounds, chosen)
    left, right = chosen[bounds[chosen, 2] <= gap], chosen[bounds[chosen, 0] >= gap]
    across = np.setdiff1d(chosen, np.concatenate([left, right]))
    across = across[np.argsort(bounds[across, 1], kind="stable")]
    order: list[int] = []
    middles = (bounds[:, 1] + bounds[:, 3]) / 2
    for above, spanning in zip([-math.inf, *middles[across]], [*across.tolist(), None], strict=True):
        below = math.inf if spanning is None else middles[spanning]
        for side in (left, right):
            band = side[(middles[side] > above) & (middles[side] <= below)]
            order += _ordered(bounds, band) if len(band) else []
        order += [] if spanning is None else [spanning]
    return order


def _gap(bounds: Array) -> float | None:
    """x in the middle of the widest gap between two columns; None where there are no two."""
    heights, widths = bounds[:, 3] - bounds[:, 1], bounds[:, 2] - bounds[:, 0]
    height = float(np.median(heights))
    best, best_width = None, height / 2  # a space between words is narrower
    for x in np.unique(bounds[:, 2]).tolist():
        left, right = bounds[:, 2] <= x, bounds[:, 0] > x
        if min(left.sum(), right.sum()) < 2 or (~left & ~right).sum() > len(bounds) / 4:
            continue
        width = float(bounds[right, 0].min()) - x
        long = all(np.median(widths[side]) > 6 * height for side in (left, right))  # some three words
        beside = min(bounds[left, 3].max(), bounds[right, 3].max()) - max(bounds[left, 1].min(), bounds[right, 1].min())
        if long and beside > height and width > best_width:
            best, best_width = x + width / 2, width
    return best


def _by_rows(bounds: Array, chosen: Array) -> list[int]:
    rows: list[tuple[float, float, list[int]]] = []
    middles, heights = (bounds[:, 1] + bounds[:, 3]) / 2, bounds[:, 3] - bounds[:, 1]
    for i in sorted(chosen.tolist(), key=lambda i: (middles[i], bounds[i, 0])):
        if rows and abs(middles[i] - rows[-1][0]) < min(heights[i], rows[-1][1]) / 2:
            rows[-1][2].append(i)
        else:
            rows.append((float(middles[i]), float(heights[i]), [i]))
    return [i for _, _, row in rows for i in sorted(row, key=lambda i: bounds[i, 0])]
