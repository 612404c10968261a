"""Where text lies: regions, smallest rectangles, boxes, the pieces cut out, and the order that a person reads in."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from onnxlet import Image
from onnxlet.tasks.regions import regions, smallest_rectangle
from onnxlet.tasks.text_boxes import crop, find_boxes, is_steep, reading_order


def painted(found, shape: tuple[int, int]) -> np.ndarray:
    """The number of each pixel's region, 1 and up, from its runs."""
    labels = np.zeros(shape, int)
    for number, (start, end) in enumerate(zip(found.bounds[:-1], found.bounds[1:], strict=True), 1):
        for row, first, last in zip(*(part[start:end] for part in found.runs), strict=True):
            labels[row, first : last + 1] = number
    return labels


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_regions_are_those_of_scipy(height: int, width: int, share: float, seed: int) -> None:
    mask = np.random.default_rng(seed).random((height, width)) < share
    expected, count = ndimage.label(mask, np.ones((3, 3)))
    found = regions(mask)
    assert len(found.bounds) == count + 1
    np.testing.assert_array_equal(painted(found, mask.shape), expected)
    np.testing.assert_array_equal(found.pixels(), np.bincount(expected.ravel(), minlength=count + 1)[1:])


def test_an_outline_has_the_ends_of_every_row() -> None:
    mask = np.array([[1, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]], bool)
    found = regions(mask)
    assert found.outline(0).tolist() == [[0, 0], [0, 1], [3, 0], [2, 1]]
    assert found.outline(1).tolist() == [[1, 3], [1, 3]]


def test_a_snake_that_fills_the_page_is_one_region() -> None:
    mask = np.zeros((301, 301), bool)
    mask[::2] = True
    mask[1::4, -1] = mask[3::4, 0] = True
    assert len(regions(mask).bounds) == 2


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_no_turned_rectangle_is_smaller_than_the_smallest(count: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 50, (count, 2))
    center, sides, axes = smallest_rectangle(points)
    inside = np.abs((points - center) @ axes.T) <= sides / 2 + 1e-6
    assert inside.all()
    for angle in np.radians(np.arange(0, 90, 0.5)):
        turned = points @ np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        assert np.prod(np.ptp(turned, axis=0)) >= np.prod(sides) - 1e-6


def bar(angle: float, length: float = 120, height: float = 16, size: int = 200) -> np.ndarray:
    """A map with one bar in its middle, turned clockwise by degrees."""
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    return ((np.abs(x * cos + y * sin) <= length / 2) & (np.abs(y * cos - x * sin) <= height / 2)).astype(np.float32)


@pytest.mark.parametrize("angle", [-79, -60, -45, -20, 0, 10, 44, 46, 75, 90])
def test_a_turned_bar_gets_a_box_that_is_turned_and_as_much_larger_as_asked(angle: float) -> None:
    (box,) = find_boxes(bar(angle), 0.3, 0.5, unclip_ratio=1.5)
    across, down = box[1] - box[0], box[3] - box[0]
    margin = 120 * 16 * 1.5 / (2 * (120 + 16))
    assert math.degrees(math.atan2(across[1], across[0])) == pytest.approx(angle, abs=1.5)
    assert np.hypot(*across) == pytest.approx(120 + 2 * margin, abs=3)
    assert np.hypot(*down) == pytest.approx(16 + 2 * margin, abs=3)
    assert across[0] * down[1] - across[1] * down[0] > 0  # down is to the right of along: not mirrored
    assert is_steep(box) == (abs(angle) > 80)


def test_what_is_faint_or_small_is_no_text() -> None:
    assert len(find_boxes(bar(0) * 0.35, 0.3, 0.5, 1.5)) == 0
    assert len(find_boxes(bar(0, 3, 2), 0.3, 0.5, 1.5)) == 0
    assert find_boxes(np.zeros((32, 32), np.float32), 0.3, 0.5, 1.5).shape == (0, 4, 2)


def test_specks_beyond_a_thousand_are_left_out_and_the_large_stay() -> None:
    chances = np.zeros((600, 600), np.float32)
    chances[::4, ::4] = 1
    chances[290:310, 100:500] = 1
    assert len(find_boxes(chances, 0.3, 0.5, 1.5)) == 1


def test_a_piece_is_cut_out_upright_whatever_way_it_lies() -> None:
    y, x = np.mgrid[:80, :160]
    piece = np.stack([x * 1.5, y * 3, x + y], 2).astype(np.uint8)
    upright = np.array([[20.0, 10], [140, 10], [140, 50], [20, 50]])
    np.testing.assert_array_equal(crop(Image(piece), upright).array, piece[10:50, 20:140])
    for turns in (1, 2, 3):
        turned = np.rot90(piece, turns)
        corners = upright
        width, height = 160, 80
        for _ in range(turns):  # counter-clockwise
            corners, (width, height) = np.stack([corners[:, 1], width - corners[:, 0]], 1), (height, width)
        got = crop(Image(np.ascontiguousarray(turned)), corners).array
        np.testing.assert_allclose(got, piece[10:50, 20:140], atol=1)


def test_beyond_the_edge_the_outermost_pixels_go_on() -> None:
    tilted = np.array([[-5.0, 2], [5, -2], [7, 3], [-3, 7]])
    assert set(crop(Image(np.full((4, 4, 3), 77, np.uint8)), tilted).array.ravel().tolist()) == {77}


def boxes(*bounds: tuple[float, float, float, float], angle: float = 0) -> np.ndarray:
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    corners = np.array([[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in bounds], float)
    return corners @ np.array([[cos, sin], [-sin, cos]])


@pytest.mark.parametrize("angle", [0, 30, -50])
def test_rows_are_read_from_the_top_and_each_from_the_left(angle: float) -> None:
    things = [(10, 10, 110, 30), (10, 42, 90, 62), (10, 70, 100, 90)]
    prices = [(250, 14, 290, 34), (250, 40, 290, 60), (250, 73, 290, 93)]
    order = reading_order(boxes(*prices, *things, angle=angle))
    assert order == [3, 0, 4, 1, 5, 2]


@pytest.mark.parametrize("angle", [0, 12])
def test_columns_are_read_one_after_the_other_below_a_headline_and_above_a_footer(angle: float) -> None:
    left = [(10, 50 + 20 * i, 190, 64 + 20 * i) for i in range(4)]
    right = [(220, 53 + 20 * i, 400, 67 + 20 * i) for i in range(4)]
    headline, footer = (10, 10, 400, 34), (60, 150, 350, 164)
    order = reading_order(boxes(*right, *left, footer, headline, angle=angle))
    assert order == [9, 4, 5, 6, 7, 0, 1, 2, 3, 8]


def test_three_columns_are_three() -> None:
    columns = [[(200 * c, 20 * i, 200 * c + 170, 20 * i + 14) for i in range(3)] for c in range(3)]
    assert reading_order(boxes(*columns[2], *columns[0], *columns[1])) == [3, 4, 5, 6, 7, 8, 0, 1, 2]


def test_nothing_has_no_order() -> None:
    assert reading_order(np.zeros((0, 4, 2))) == []
