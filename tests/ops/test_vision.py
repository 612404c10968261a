import io

import numpy as np
import pytest
from PIL import Image

from .oracle import assert_same, ours

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sampling_ratio", [0, 2])
def test_aligned_regions_equal_native_ones(mode, sampling_ratio):
    x = RNG.normal(size=(2, 3, 10, 12)).astype(np.float32)
    corners = RNG.uniform(-2, 8, (6, 2))
    rois = np.concatenate([corners, corners + RNG.uniform(0.5, 7, (6, 2))], axis=1).astype(np.float32)
    batch = RNG.integers(0, 2, 6)
    options = {"mode": mode, "sampling_ratio": sampling_ratio, "output_height": 3, "output_width": 2, "atol": 1e-4}
    for transform in ("half_pixel", "output_half_pixel"):
        assert_same("RoiAlign", x, rois, batch, opset=16, coordinate_transformation_mode=transform, **options)
    assert_same("RoiAlign", x, rois, batch, opset=10, spatial_scale=0.5, **options)


def test_maxima_over_regions_equal_native_ones():
    x = RNG.normal(size=(2, 3, 10, 12)).astype(np.float32)
    corners = RNG.integers(0, 6, (5, 2))
    rois = np.concatenate([RNG.integers(0, 2, (5, 1)), corners, corners + RNG.integers(0, 7, (5, 2))], axis=1)
    assert_same("MaxRoiPool", x, rois.astype(np.float32), pooled_shape=[3, 2], spatial_scale=0.8)


@pytest.mark.parametrize("center_point_box", [0, 1])
def test_chosen_boxes_equal_native_ones(center_point_box):
    boxes = RNG.uniform(0, 10, (2, 40, 4)).astype(np.float32)
    scores = RNG.random((2, 3, 40)).astype(np.float32)
    limits = np.array([9]), np.array([0.4], np.float32), np.array([0.2], np.float32)
    assert_same("NonMaxSuppression", boxes, scores, *limits, center_point_box=center_point_box)


def test_equal_scores_keep_their_order_and_no_limit_means_nothing():
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3]]], np.float32)
    scores = np.full((1, 1, 3), 0.5, np.float32)
    (chosen,) = ours("NonMaxSuppression", boxes, scores, np.array(5), np.array(0.5, np.float32))
    assert chosen.tolist() == [[0, 0, 0], [0, 0, 2]]
    assert ours("NonMaxSuppression", boxes, scores)[0].shape == (0, 3)


@pytest.mark.parametrize("format", ["PNG", "BMP", "TIFF", "WEBP", "PPM"])
def test_pictures_are_decoded_in_the_order_of_channels_asked_for(format):
    pixels = RNG.integers(0, 256, (4, 5, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format, **({"lossless": True} if format == "WEBP" else {}))
    stream = np.frombuffer(file.getvalue(), np.uint8)
    np.testing.assert_array_equal(ours("ImageDecoder", stream)[0], pixels)
    np.testing.assert_array_equal(ours("ImageDecoder", stream, pixel_format="BGR")[0], pixels[..., ::-1])
    assert ours("ImageDecoder", stream, pixel_format="Grayscale")[0].shape == (4, 5, 1)


def test_what_is_no_picture_gives_an_empty_one():
    for data in (b"", b"no picture", b"\x89PNG\r\n\x1a\n0000"):
        assert ours("ImageDecoder", np.frombuffer(data, np.uint8))[0].shape == (0, 0, 3)
