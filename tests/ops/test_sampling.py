import itertools

import numpy as np
import pytest
from scipy import ndimage

from .oracle import assert_same, ours

RNG = np.random.default_rng(10)


def grid(*shape: int) -> np.ndarray:
    return RNG.uniform(-1.8, 1.8, size=shape).astype(np.float32)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("opset", [16, 20])
def test_sampling_equals_the_native_one(padding_mode, align_corners, opset):
    x = RNG.normal(size=(2, 3, 5, 6)).astype(np.float32)
    for mode in ("nearest", "linear") if opset >= 20 else ("nearest", "bilinear"):
        options = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners, "opset": opset}
        assert_same("GridSample", x, grid(2, 4, 7, 2), atol=1e-4, **options)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_cubic_sampling_equals_the_native_one_within_the_picture(align_corners):
    x = RNG.normal(size=(1, 2, 8, 9)).astype(np.float32)
    inside = grid(1, 4, 7, 2) * 0.3
    assert_same("GridSample", x, inside, mode="cubic", align_corners=align_corners, opset=20, atol=1e-4)


@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
def test_volumes_are_sampled_as_scipy_does(padding_mode):
    x = RNG.normal(size=(1, 1, 4, 5, 6)).astype(np.float32)
    points = grid(1, 3, 3, 3, 3)
    (y,) = ours("GridSample", x, points, padding_mode=padding_mode, align_corners=1, opset=20)
    places = [(points[0, ..., 2 - axis] + 1) / 2 * (n - 1) for axis, n in enumerate((4, 5, 6))]
    mode = {"zeros": "constant", "border": "nearest", "reflection": "mirror"}[padding_mode]
    source = np.pad(x[0, 0], 8) if mode == "constant" else x[0, 0]
    places = [p + 8 for p in places] if mode == "constant" else places
    np.testing.assert_allclose(y[0, 0], ndimage.map_coordinates(source, places, order=1, mode=mode), atol=1e-4)


def test_one_axis_and_integers_are_sampled_too():
    x = np.array([[[0, 10, 20, 30]]], np.int32)
    points = np.array([[[-1.0], [0.1], [1.0]]], np.float32)
    (y,) = ours("GridSample", x, points, align_corners=1, opset=20)
    assert y.dtype == np.int32
    assert y.tolist() == [[[0, 16, 30]]]


def test_a_grid_of_nothing_and_nan_do_not_crash():
    x = RNG.normal(size=(1, 2, 3, 3)).astype(np.float32)
    assert ours("GridSample", x, np.zeros((1, 0, 4, 2), np.float32))[0].shape == (1, 2, 0, 4)
    assert ours("GridSample", x, np.full((1, 1, 1, 2), np.nan, np.float32))[0].shape == (1, 2, 1, 1)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_affine_grids_equal_native_ones(align_corners):
    for rank in (2, 3):
        theta = RNG.normal(size=(2, rank, rank + 1)).astype(np.float32)
        size = np.array([2, 3, 4, 5, 6][: rank + 2])
        assert_same("AffineGrid", theta, size, align_corners=align_corners, opset=20, atol=1e-5)


def test_the_identity_samples_the_picture_itself():
    x = RNG.normal(size=(1, 1, 4, 5)).astype(np.float32)
    theta = np.eye(2, 3, dtype=np.float32)[None]
    for align_corners, mode in itertools.product((0, 1), ("nearest", "linear", "cubic")):
        (places,) = ours("AffineGrid", theta, np.array(x.shape), align_corners=align_corners)
        (y,) = ours("GridSample", x, places, align_corners=align_corners, mode=mode)
        np.testing.assert_allclose(y, x, atol=1e-5)
